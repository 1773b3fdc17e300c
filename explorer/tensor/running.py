"""What a graph that is rewritten holds: whether anything in it is trained, and that strides stay where they matter."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from explorer.tensor.features import Feature
from explorer.tensor.function_graph import FunctionGraph
from explorer.tensor.strides import KeepStrides
from explorer.tensor.variables import Apply, Constant, Variable


class _Trained(Feature):
    """Whether a graph has had a constant that training changes since this was attached."""

    def __init__(self) -> None:
        self.seen = False

    def on_attach(self, graph: FunctionGraph) -> None:
        self._look(*graph.constants)

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._look(*node.inputs)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        self._look(new)

    def _look(self, *variables: Variable) -> None:
        self.seen = self.seen or any(isinstance(v, Constant) and v.trainable for v in variables)


_present: ContextVar[_Trained | None] = ContextVar("_present", default=None)


@contextmanager
def running_on(graph: FunctionGraph) -> Iterator[None]:
    """Let rules know what the graph holds that they are tried on; how operators want tensors to lie stays."""
    feature, strides = _Trained(), KeepStrides()
    graph.attach_feature(feature)
    graph.attach_feature(strides)
    token = _present.set(feature)
    try:
        yield
    finally:
        _present.reset(token)
        graph.remove_feature(strides)
        graph.remove_feature(feature)


def trained_among(*variables: Variable) -> Constant | None:
    """A constant that training changes, on which one of some variables depends; None if there is none.

    It looks at all that they are made of, but in a graph that holds no such constant at nothing.
    """
    present = _present.get()
    if present is not None and not present.seen:
        return None
    return next((found for v in variables if (found := trained_below(v)) is not None), None)


def trained_below(variable: Variable) -> Constant | None:
    """A constant that training changes, on which a variable depends; None if there is none."""
    seen: set[Variable] = set()
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, Constant) and current.trainable:
            return current
        if current.owner is not None:
            waiting.extend(current.owner.inputs)
    return None
