"""Support for exports: failures in words of the user, parts without gradients, modes, missing derivatives.

- PyTorch prints pages about a failed export; the error has the reason.
- `run_decompositions` inlines the operators of parts without gradients, so their results are detached before. In an
  exported program these parts are never nested.
- An export has the operators of one mode, `train()` or `eval()`. The code of a module tells whether it asks for it.
"""

import inspect
import io
import logging
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from types import CodeType, FunctionType
from typing import Any, TextIO

import torch
from torch import fx, nn
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.nn.modules.batchnorm import _NormBase  # pyright: ignore[reportPrivateUsage]

from explorer.tensor.ir.result_types import drop_record
from explorer.tensor.ir.schemas import aten

LOGGERS = (
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo.exc",
    "torch._subclasses.fake_tensor",
)
"""Loggers that repeat the error of a failed export."""
GRAPH = "partial_fx_graph"
"""The attribute of an error with the graph up to it, which PyTorch prints."""


@contextmanager
def without_reports() -> Iterator[None]:
    """Export without the logs and the graph that PyTorch writes to standard error on failure."""
    with ExitStack() as stack:
        for logger in map(logging.getLogger, LOGGERS):
            logger.addFilter(drop_record)
            stack.callback(logger.removeFilter, drop_record)
        stack.enter_context(redirect_stderr(_WithoutGraph(sys.stderr)))
        yield


def reason(module: nn.Module, error: Exception) -> str:
    """Return why a module cannot be exported, and what to do if that is known."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode  # which an export has loaded

    if not isinstance(error, GuardOnDataDependentSymNode):
        return first_line(error)
    averaging = [name for name, part in module.named_modules() if _averages_all_batches(part)]
    if averaging:
        return (
            f"{averaging[0] or 'it'} has momentum=None, so that its running statistics depend on the number of batches "
            "so far, which a graph does not know; give it a momentum, or call eval()"
        )
    return (
        "its Python code needs a number that is in a tensor, so that the rest depends on the data (data-dependent "
        "control flow, or a shape); choose with torch.where, and keep the number in a tensor"
    )


def first_line(error: Exception) -> str:
    """Return the first line of the message of an error of PyTorch."""
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return f"{first.strip()} (the cause of this error says more)"


def _averages_all_batches(part: nn.Module) -> bool:
    return isinstance(part, _NormBase) and part.training and part.track_running_stats and part.momentum is None


class _WithoutGraph(io.TextIOBase):
    """A stream that drops all output while the error of a failed export is handled."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        return len(text) if hasattr(sys.exception(), GRAPH) else self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


DETACH = torch.ops.aten.detach.default


@contextmanager
def detach_parts(program: ExportedProgram) -> Iterator[None]:
    """Detach the results of the parts without gradients inside; restore the program afterwards."""
    added: list[fx.Node] = []
    for node in list(program.graph.nodes):
        if node.target is wrap_with_set_grad_enabled and node.args[0] is False:
            added += [_detach(part) for part in list(node.users) if part.target is operator.getitem]
    try:
        yield
    finally:
        for node in added:
            node.replace_all_uses_with(node.all_input_nodes[0])
            program.graph.erase_node(node)


def _detach(part: fx.Node) -> fx.Node:
    users = list(part.users)
    with part.graph.inserting_after(part):
        made = part.graph.call_function(DETACH, (part,))
    made.meta = dict(part.meta)
    for user in users:
        user.replace_input_with(part, made)
    return made


def training_modes(module: nn.Module) -> frozenset[bool]:
    """Return the modes of the submodules that ask for theirs: True for training, False for evaluation."""
    return frozenset(part.training for part in module.modules() if _asks_for_mode(type(part)) and not _is_idle(part))


def _asks_for_mode(kind: type[nn.Module]) -> bool:
    """Return whether a method of a class of modules, and not of `nn.Module`, reads `training`."""
    classes = [found for found in kind.__mro__ if found not in nn.Module.__mro__]
    functions = [value for found in classes for value in vars(found).values() if isinstance(value, FunctionType)]
    return any("training" in code.co_names for function in functions for code in _codes(inspect.unwrap(function)))


def _codes(function: FunctionType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions inside."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [value for value in code.co_consts if isinstance(value, CodeType)]


def _is_idle(module: nn.Module) -> bool:
    """Return whether a module of PyTorch asks for its mode for a dropout that it does not have."""
    return isinstance(module, nn.RNNBase | nn.MultiheadAttention) and not module.dropout


def _copy(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Compute `aten.copy`, which has no derivative: a copy of the source in the shape and dtype of the target."""
    source = source.to(target.device, target.dtype, non_blocking)
    return source.expand(target.shape).clone(memory_format=torch.contiguous_format)


def _as_strided_scatter(
    target: torch.Tensor,
    source: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> torch.Tensor:
    """Compute `as_strided_scatter`; its derivative in PyTorch mixes up the overwritten part and the rest."""
    if not target.is_contiguous() or target.storage_offset():
        return NotImplemented
    indices = torch.full((), storage_offset or 0, device=target.device)
    for length, step in zip(size, stride, strict=True):
        indices = indices.unsqueeze(-1) + torch.arange(length, device=target.device) * step
    flat = target.reshape(-1).index_put((indices.reshape(-1),), source.reshape(-1))
    return flat.reshape(target.shape)


DIFFERENTIABLE: dict[OpOverload, Callable[..., Any]] = {
    aten.copy.default: _copy,
    aten.as_strided_scatter.default: _as_strided_scatter,
}
