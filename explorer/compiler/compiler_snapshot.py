"""The state of a compilation after a step: graph, statistics, reads and an executable circuit, built on demand."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from explorer.backend import (
    FoldIndexInfo,
    ParameterStore,
    TorchCircuit,
    TorchLayer,
    allocate_parameters,
    parameter_nodes,
)
from explorer.compiler.fold_states import FoldStates
from explorer.compiler.stats import StatsCounter
from explorer.graph import Graph
from explorer.symbolic import Circuit
from explorer.trace import GraphChange

if TYPE_CHECKING:
    from explorer.compiler.compiler import TorchCompiler


@dataclass(frozen=True, eq=False)
class LayersSnapshot(ABC):
    """The layers of a circuit after a step."""

    compiler: "TorchCompiler"
    symbolic: Circuit
    counter: StatsCounter

    @property
    @abstractmethod
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        """The layers, folded up to the step, and how they read; None before folding begins."""

    @property
    @abstractmethod
    def stats(self) -> Mapping[str, int]:
        """Layers, folds, parameters, FLOPs and bytes, for one example."""

    @property
    def graph(self) -> Graph[TorchLayer]:
        """The layers, folded up to the step."""
        return self._folded_graph[0]

    @property
    def memory(self) -> None:
        """Layers have no buffers."""
        return None

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    @property
    @abstractmethod
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied."""

    def circuit(self) -> TorchCircuit:
        """An executable circuit of this state, with its own tensors and the current values of the compiled circuit."""
        graph, fold_index = self._folded_graph
        store = ParameterStore()
        names, seed_names = self.symbolic.leaf_names, self.symbolic.seed_names
        compiled = self.compiler.circuits.compiled.get(self.symbolic)
        values = compiled.leaf_values() if compiled is not None else {}
        tensors = allocate_parameters(store, parameter_nodes(graph), seed_names, self.compiler.options.seed, values)
        semiring, width = self.compiler.semiring, self.symbolic.num_variables
        return TorchCircuit(graph, fold_index, semiring, tensors, store, names, seed_names, width)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit for rows of data."""
        return (self.circuit()(x).detach(),)


@dataclass(frozen=True, eq=False)
class CompiledSnapshot(LayersSnapshot):
    """The layers after a step before folding."""

    layers: Graph[TorchLayer]
    change: GraphChange | None = None

    @property
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        return self.layers, None

    @property
    def stats(self) -> Mapping[str, int]:
        return self.counter.stats(self.layers)

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        return {}


@dataclass(frozen=True, eq=False)
class FoldingSnapshot(LayersSnapshot):
    """The layers after a level of folding."""

    states: FoldStates
    level: int

    @property
    def _folded_graph(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        return self.states.folded_graph(self.level)

    @property
    def change(self) -> GraphChange | None:
        """The change by the level; None for the first one."""
        return self.states.change(self.level)

    @property
    def stats(self) -> Mapping[str, int]:
        return self.states.stats(self.level)

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        return self.states.reads(self.level)
