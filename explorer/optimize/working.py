"""A circuit while passes work on it: the graphs are values, and this holds the newest one and records each step."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from explorer.backend import TorchInnerLayer, TorchLayer
from explorer.errors import GraphError
from explorer.graph import Graph
from explorer.trace import LimitReached, Listener

Work = Callable[[Graph[TorchLayer]], Graph[TorchLayer] | None]
"""The work of a step: a new graph, or None if nothing changed."""

StepRunner = Callable[[str, Graph[TorchLayer], Work], Graph[TorchLayer] | None]
"""Runs the work of a step at a path: tells listeners that it begins and ends, and times it."""


@dataclass(eq=False)
class WorkingCircuit:
    """What the pass manager needs of a graph, for a compiled circuit; its passes change it through `change`."""

    graph: Graph[TorchLayer]
    run_step: StepRunner
    listeners: tuple[Listener, ...] = ()

    def __post_init__(self) -> None:
        self._changes = 0
        self._path: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Where the passes are: `optimize/round 2/fuse`."""
        return "/".join(self._path)

    def change(self, work: Work) -> None:
        """Do the work of a pass as a step of its own."""
        after = self.run_step(self.path, self.graph, work)
        if after is not None:
            self.graph = after
            self._changes += 1

    @property
    def observer(self) -> "WorkingCircuit":
        """The circuit records for itself."""
        return self

    @contextmanager
    def scope(self, name: str, rules: Sequence[str] = ()) -> Iterator[None]:
        """The steps inside are recorded under a name."""
        del rules  # a step lists all rules of the run
        outside = self._path
        self._path = (*outside, name)
        try:
            yield
        finally:
            self._path = outside

    def limit(self, what: str, limit: int, message: str) -> None:
        """Tell the listeners of a bound."""
        for listener in self.listeners:
            listener(LimitReached(what, limit, message))

    def checkpoint(self) -> int:
        """How many steps changed it so far."""
        return self._changes

    def verify(self) -> None:
        """Raises: GraphError if a layer reads other layers than it is made for."""
        for node, layer in self.graph.nodes.items():
            sources = self.graph.inputs[node]
            if not isinstance(layer, TorchInnerLayer):
                continue
            found = [self.graph.nodes[source].num_output_units for source in sources]
            if found != [layer.num_input_units] * layer.arity:
                wanted = f"{layer.arity} layers of {layer.num_input_units} units"
                raise GraphError(f"{type(layer).__name__} {node} reads {wanted}; found layers of {found} units")

    def __len__(self) -> int:
        return len(self.graph)
