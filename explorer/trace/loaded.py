"""The state after a step of a trace that was read from a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.trace.changes import GraphChange, GraphHistory
from explorer.trace.ladder import COMPILED, Level
from explorer.trace.memory import MemoryRecord
from explorer.trace.records import NodeRecord


@dataclass(frozen=True, eq=False)
class LoadedSnapshot:
    """A state read from a file: everything but the tensors."""

    history: GraphHistory
    step: int
    stats: Mapping[str, int]
    reads: Mapping[int, Mapping[str, Any]]
    level: Level = COMPILED
    memory: MemoryRecord | None = None

    @property
    def graph(self) -> Graph[NodeRecord]:
        """The records of the nodes."""
        return self.history.graph_after(self.step)

    @property
    def change(self) -> GraphChange:
        """How the graph differs from that of the step before."""
        return self.history.changes[self.step]

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and of folds."""
        return self.history.sizes[self.step]

    def circuit(self) -> Any:
        """Raises: CircuitError: a file holds no tensors."""
        raise CircuitError(f"this trace was loaded from a file and holds no tensors; {self.level.rerun}")

    def results(self, x: Any) -> tuple[Any, ...]:
        """Raises: CircuitError: a file holds no tensors."""
        return self.circuit()
