"""Why PyTorch cannot export a module, in words of the user, and without the pages that PyTorch prints about it."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import TextIO

from torch import nn
from torch.nn.modules.batchnorm import _NormBase  # pyright: ignore[reportPrivateUsage]

LOGGERS = ("torch.export._trace", "torch.fx.experimental.symbolic_shapes", "torch._dynamo.exc")
"""They log what the error of a failed export says, too."""
GRAPH = "partial_fx_graph"
"""The attribute of an error with the graph up to it, which PyTorch prints."""


@contextmanager
def without_reports() -> Iterator[None]:
    """Export without the logs and the graph that PyTorch writes to standard error on failure."""
    with ExitStack() as stack:
        for logger in map(logging.getLogger, LOGGERS):
            logger.addFilter(_no_record)
            stack.callback(logger.removeFilter, _no_record)
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


def _no_record(record: logging.LogRecord) -> bool:
    del record
    return False


class _WithoutGraph(io.TextIOBase):
    """A stream that drops what is written while the error of a failed export is handled."""

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
