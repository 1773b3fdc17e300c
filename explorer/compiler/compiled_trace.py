"""A trace of one step from a compiled circuit, to view a circuit whose compilation was not recorded."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from explorer.backend import TorchCircuit
from explorer.compiler.fold_states import reads_of
from explorer.compiler.stats import StatsCounter
from explorer.graph import Graph
from explorer.trace import NodeRecord, Step, StepPath, Trace, record_of


@dataclass(frozen=True, eq=False)
class CircuitSnapshot:
    """The state of a compiled circuit. The origin of its folded layers is unknown; their reads are known."""

    compiled: TorchCircuit

    @cached_property
    def _graph(self) -> Graph[NodeRecord]:
        graph, names = self.compiled.graph, self.compiled.leaf_names
        nodes = {node: record_of(layer, names.__getitem__) for node, layer in graph.nodes.items()}
        return Graph[NodeRecord](nodes, graph.inputs, graph.outputs)

    @property
    def graph(self) -> Graph[NodeRecord]:
        """The layers, as records."""
        return self._graph

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    @property
    def change(self) -> None:
        """There is no previous step."""
        return None

    @cached_property
    def _reads(self) -> Mapping[int, Mapping[str, Any]]:
        graph = self.compiled.graph
        return reads_of(graph, self.compiled.fold_index, self._counter.number_bytes(graph))

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied."""
        return self._reads

    @cached_property
    def _counter(self) -> StatsCounter:
        return StatsCounter(self.compiled.semiring.is_complex)

    @cached_property
    def _stats(self) -> Mapping[str, int]:
        stats = self._counter.stats(self.compiled.graph)
        if self.compiled.fold_index is None:
            return stats
        return {**stats, "copied_bytes": sum(read["copied_bytes"] for read in self.reads.values())}

    @property
    def stats(self) -> Mapping[str, int]:
        """Layers, folds, parameters, FLOPs and bytes, for one example."""
        return self._stats

    def circuit(self) -> TorchCircuit:
        """A copy of the circuit with the current values."""
        return deepcopy(self.compiled)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit for rows of data."""
        return (self.compiled(x).detach(),)


def trace_of_circuit(circuit: TorchCircuit) -> Trace:
    """A trace whose only step is the given circuit: it can be viewed and run, but has no history."""
    step = Step(
        0, StepPath.of("compiled circuit"), "compiled", changed=True, seconds=0.0, snapshot=CircuitSnapshot(circuit)
    )
    return Trace(None, None, {}, (), (step,), circuit)
