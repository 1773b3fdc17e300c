"""Records what PyTorch's autograd runs for a tensor graph: its operators, then those of the backward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch._export.utils import _compiling_state_context
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import Node
from torch.func import functionalize
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx

from explorer.errors import ExportError
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.torch_io.exporting import constants_of, operators_of

LOCATION = ("stack_trace", "nn_module_stack")
"""What a node of an fx graph knows of the user's program."""


@dataclass(frozen=True, slots=True)
class TracedGradients:
    """Operators of a forward and backward pass.

    They accept inputs, constants and a tangent for each of the `differentiable` outputs, and return the outputs and,
    for each tensor that requires a gradient, that gradient or None. New values of buffers have no tangent: they are
    copied into these without autograd.
    """

    operators: fx.GraphModule
    differentiable: tuple[int, ...]


def trace_gradients(graph: FunctionGraph, learned: Sequence[int]) -> TracedGradients:
    """Record the gradients of a graph for the tensors at these positions among its inputs and constants.

    Only shapes are computed, as in an export: the tensors are fake. Raises: ExportError if PyTorch refuses.
    """
    operators = operators_of(graph)
    mode = FakeTensorMode()
    try:
        with mode, torch.enable_grad(), _compiling_state_context(), traceback.preserve_node_meta():
            given = _fake_arguments(graph)
            for position in learned:
                given[position].requires_grad_()
            outputs = operators(*given)
            num_updated = len(graph.interface.mutations)
            differentiable = tuple(i for i, v in enumerate(outputs) if v.requires_grad and i >= num_updated)
            tangents = [_dense_like(outputs[i]) for i in differentiable]
            recorded = make_fx(_Joint(operators, learned, differentiable))(given, tangents)
            if any(isinstance(n.target, OpOverload) and n.target._schema.is_mutable for n in recorded.graph.nodes):
                with torch.no_grad():
                    recorded = make_fx(functionalize(fx.Interpreter(recorded).run))(*given, *tangents)
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ExportError(f"PyTorch cannot record the backward pass: {first}") from error
    return TracedGradients(recorded, differentiable)


def _fake_arguments(graph: FunctionGraph) -> list[Tensor]:
    """Tensors for the inputs and constants of a graph, in its types and strides."""
    found = [torch.empty(v.tensor_type.shape, dtype=v.tensor_type.dtype, device=v.device) for v in graph.inputs]
    if graph.interface.argument_strides:
        found = [_with_strides(v, steps) for v, steps in zip(found, graph.interface.argument_strides, strict=True)]
    return [*found, *(_with_strides(c.data, c.data.stride()) for c in constants_of(graph))]


def _with_strides(like: Tensor, strides: Sequence[int]) -> Tensor:
    return torch.empty_strided(like.shape, strides, dtype=like.dtype, device=like.device)


def _dense_like(value: Tensor) -> Tensor:
    """A tensor with the strides of another one, if these have no gaps and overlaps; else a contiguous one."""
    return torch.empty_like(value.detach())


class _Joint:
    """The function that is recorded."""

    def __init__(self, operators: fx.GraphModule, learned: Sequence[int], differentiable: Sequence[int]) -> None:
        self._operators = operators
        self._learned = learned
        self._differentiable = differentiable

    def __call__(self, given: list[Tensor], tangents: list[Tensor]) -> list[Any]:
        outputs = _LocatedInterpreter(self._operators).run(*given)
        wanted = [given[position] for position in self._learned]
        chosen = [outputs[position] for position in self._differentiable]
        return [*outputs, *torch.autograd.grad(chosen, wanted, tangents, allow_unused=True)]


class _LocatedInterpreter(fx.Interpreter):
    """Runs operators so that those of the backward pass have the location of the operator that they differentiate."""

    def __init__(self, operators: fx.GraphModule) -> None:
        super().__init__(operators)
        self._located: set[Node] = set()

    def run_node(self, n: fx.Node) -> Any:
        """Run an operator, and locate its nodes of the autograd graph."""
        result = super().run_node(n)
        about = {key: n.meta[key] for key in LOCATION if key in n.meta}
        waiting = [v.grad_fn for v in _tensors(result) if v.grad_fn is not None]
        while waiting:
            step = waiting.pop()
            if step in self._located:
                continue
            self._located.add(step)
            step.register_prehook(lambda gradients, about=about: _locate(about))
            waiting += [following for following, _ in step.next_functions if following is not None]
        return result


def _locate(about: dict[str, Any]) -> None:
    """Give the nodes that are recorded from now on a location."""
    present = traceback.get_current_meta()
    for key in LOCATION:
        present.pop(key, None)
    present.update(about)


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return [v for item in result for v in _tensors(item)] if isinstance(result, list | tuple) else []
