"""The state of a compilation after a step: graph, figures, reads, an executable circuit; made when asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from explorer.backend import (
    AddressBook,
    FoldIndexInfo,
    TorchCircuit,
    TorchLayer,
    leaf_nodes,
    plan_read,
    settle,
)
from explorer.compiler.figures import FigureCounter
from explorer.fold import FoldedGroup, assemble
from explorer.graph import Graph
from explorer.symbolic import Circuit

if TYPE_CHECKING:
    from explorer.compiler.compiler import TorchCompiler


@dataclass(frozen=True, eq=False)
class CompiledSnapshot:
    """Layers after a step. While folding, `groups` are those folded so far and `base` is the graph before folding."""

    compiler: "TorchCompiler"
    symbolic: Circuit
    base: Graph[TorchLayer]
    groups: tuple[FoldedGroup, ...] | None
    counter: FigureCounter

    @cached_property
    def _folded(self) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        return (self.base, None) if self.groups is None else assemble(self.base, self.groups)

    @property
    def graph(self) -> Graph[TorchLayer]:
        """The layers, folded as far as the step goes."""
        return self._folded[0]

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied."""
        return self._reads

    @property
    def figures(self) -> Mapping[str, int]:
        """Layers, folds, parameters, FLOPs and bytes, for one example."""
        return self._figures

    @cached_property
    def _reads(self) -> Mapping[int, Mapping[str, Any]]:
        graph, fold_index = self._folded
        return reads_of(graph, fold_index, self.counter.number_bytes(self.base))

    @cached_property
    def _figures(self) -> Mapping[str, int]:
        return self.counter.figures(self.base, self.groups)

    def circuit(self) -> TorchCircuit:
        """An executable circuit of this state, with its own tensors and the present values of the compiled circuit."""
        graph, fold_index = self._folded
        book = AddressBook()
        names = self.symbolic.leaf_names
        compiled = self.compiler.circuits.compiled.get(self.symbolic)
        values = compiled.leaf_values() if compiled is not None else {}
        tensors = settle(book, leaf_nodes(graph), names, self.compiler.seed, values)
        return TorchCircuit(graph, fold_index, self.compiler.semiring, tensors, book, names)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """What the circuit gives for rows of data."""
        return (self.circuit()(x).detach(),)


def reads_of(
    graph: Graph[TorchLayer], fold_index: FoldIndexInfo | None, number_bytes: int
) -> Mapping[int, Mapping[str, Any]]:
    """For each folded layer that reads layers: kind of read, index table (F, H, 2), bytes copied for one example."""
    if fold_index is None:
        return {}
    folds = {node: layer.num_folds for node, layer in graph.nodes.items()}
    found: dict[int, Mapping[str, Any]] = {}
    for node, table in fold_index.in_fold_idx.items():
        if table.size:
            read = plan_read(table, folds)
            units = graph.nodes[int(table[0, 0, 0])].num_output_units
            found[node] = {
                "kind": read.kind.value,
                "index": table.tolist(),
                "copied_bytes": read.rows_copied * units * number_bytes,
            }
    return found
