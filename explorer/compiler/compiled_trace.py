"""A trace of one step from a compiled circuit, to view a circuit without a recorded compilation."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch

from explorer.backend import TorchCircuit
from explorer.compiler.fold_states import reads_of
from explorer.compiler.stats import StatsCounter
from explorer.graph import Graph
from explorer.trace import COMPILED, NodeRecord, Step, StepPath, Trace, record_of


@dataclass(frozen=True, eq=False)
class CircuitSnapshot:
    """The state of a compiled circuit. The origin of its folded layers is unknown; their reads are known."""

    compiled: TorchCircuit
    graph: Graph[NodeRecord]
    stats: Mapping[str, int]
    reads: Mapping[int, Mapping[str, Any]]
    change: None = None
    """There is no previous step."""
    memory: None = None
    """Layers have no buffers."""

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    def circuit(self) -> TorchCircuit:
        """A copy of the circuit with the current values."""
        return deepcopy(self.compiled)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit for rows of data."""
        return (self.compiled(x).detach(),)


def trace_of_circuit(circuit: TorchCircuit) -> Trace:
    """A trace with the given circuit as its only step: it can be viewed and run, but has no history."""
    graph, names = circuit.graph, circuit.leaf_names
    nodes = {node: record_of(layer, names.__getitem__) for node, layer in graph.nodes.items()}
    counter = StatsCounter(circuit.semiring.is_complex)
    stats, reads = dict(counter.stats(graph)), reads_of(graph, circuit.fold_index, counter.number_bytes(graph))
    if circuit.fold_index is not None:
        stats["copied_bytes"] = sum(read["copied_bytes"] for read in reads.values())
    snapshot = CircuitSnapshot(circuit, Graph[NodeRecord](nodes, graph.inputs, graph.outputs), stats, reads)
    step = Step(0, StepPath.of("compiled circuit"), COMPILED, changed=True, seconds=0.0, snapshot=snapshot)
    return Trace(None, None, {}, (), (step,), circuit)
