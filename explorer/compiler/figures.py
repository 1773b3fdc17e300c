"""How many layers, parameters, operations and bytes a state has; what one state counted, the others do not count again.

The states of a compilation share most of their layers, and folding makes one layer of several and leaves the rest, so
a state costs little more than what is new in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch

from explorer.backend import TorchLayer, copied_by_one_fold, plan_read
from explorer.backend.parameters import TorchLeafParameter, TorchParameter
from explorer.fold import FoldedGroup
from explorer.graph import Graph, field_names
from explorer.symbolic import TensorParameter


@dataclass(frozen=True, slots=True, eq=False)
class LayerCounts:
    """What one layer costs, all its folds together, for one example."""

    layer: TorchLayer
    """Kept, so that its identity stays its own."""
    folds: int
    flops: int
    transcendentals: int
    parameter_flops: int
    units: int
    leaves: tuple[tuple[TensorParameter, int], ...]
    """Leaves that learn, and how many numbers each holds."""
    types: tuple[torch.dtype, ...]
    """Types of all leaves."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphCounts:
    """What the layers of a graph cost together."""

    graph: Graph[TorchLayer]
    layers: tuple[LayerCounts, ...]
    parameters: int
    number_bytes: int


class FigureCounter:
    """Figures of the states of one compilation. `is_complex`: whether values in the semiring are complex numbers."""

    def __init__(self, is_complex: bool) -> None:
        self._is_complex = is_complex
        self._layers: dict[int, LayerCounts] = {}
        self._graphs: dict[int, GraphCounts] = {}
        self._copied: dict[int, tuple[FoldedGroup, int]] = {}
        self._plain: dict[int, tuple[Graph[TorchLayer], Mapping[int, int]]] = {}

    def number_bytes(self, graph: Graph[TorchLayer]) -> int:
        """Bytes of one activation: of the widest leaf, twice that under a complex semiring if leaves are real."""
        return self._graph(graph).number_bytes

    def figures(self, graph: Graph[TorchLayer], groups: Sequence[FoldedGroup] | None) -> Mapping[str, int]:
        """Figures of the state in which these groups of the graph are folded; None: before folding began."""
        base = self._graph(graph)
        found = base.layers
        if groups:
            folded = {member for group in groups for member in group.members}
            alone = [layer for node, layer in zip(graph.nodes, base.layers, strict=True) if node not in folded]
            found = (*[self._layer(group.value) for group in groups], *alone)
        copied = self._copied_numbers(graph, groups or ())
        return {
            "layers": len(found),
            "folds": sum([layer.folds for layer in found]),
            "parameters": base.parameters,
            "flops": sum([layer.flops for layer in found]),
            "transcendentals": sum([layer.transcendentals for layer in found]),
            "parameter_flops": sum([layer.parameter_flops for layer in found]),
            "activation_bytes": sum([layer.units for layer in found]) * base.number_bytes,
            "copied_bytes": copied * base.number_bytes,
        }

    # ------------------------------------------------------------------ layers

    def _graph(self, graph: Graph[TorchLayer]) -> GraphCounts:
        known = self._graphs.get(id(graph))
        if known is None:
            known = self._graphs[id(graph)] = self._count_graph(graph)
        return known

    def _count_graph(self, graph: Graph[TorchLayer]) -> GraphCounts:
        layers = tuple([self._layer(layer) for layer in graph.nodes.values()])
        leaves: dict[TensorParameter, int] = {}
        types: dict[torch.dtype, None] = {}
        for layer in layers:
            leaves.update(layer.leaves)
            types.update(dict.fromkeys(layer.types))
        numbers = [dtype for dtype in types if dtype.is_floating_point or dtype.is_complex]
        widest = max((dtype.to_real().itemsize for dtype in numbers), default=torch.get_default_dtype().itemsize)
        complex_numbers = self._is_complex or any(dtype.is_complex for dtype in numbers)
        return GraphCounts(graph, layers, sum(leaves.values()), widest * (2 if complex_numbers else 1))

    def _layer(self, layer: TorchLayer) -> LayerCounts:
        known = self._layers.get(id(layer))
        if known is None:
            known = self._layers[id(layer)] = _count_layer(layer)
        return known

    # ------------------------------------------------------------------ reads

    def _copied_numbers(self, graph: Graph[TorchLayer], groups: Sequence[FoldedGroup]) -> int:
        """How many numbers the reads of a state copy for one example."""
        place: dict[int, tuple[int, int]] = {}
        folds: dict[int, int] = {}
        for group in groups:
            folds[group.node] = len(group.members)
            for i, member in enumerate(group.members):
                place[member] = (group.node, i)
        total = sum([self._copied_by_group(graph, group, place, folds) for group in groups])
        folded = place.keys()
        for node, plain in self._plain_reads(graph).items():
            if node in folded:
                continue
            sources = graph.inputs[node]
            if folded.isdisjoint(sources):
                total += plain
            else:
                rows = copied_by_one_fold([place.get(source, (source, 0)) for source in sources], folds)
                total += rows * graph.nodes[sources[0]].num_output_units
        return total

    def _plain_reads(self, graph: Graph[TorchLayer]) -> Mapping[int, int]:
        """For each layer that reads layers, how many numbers it copies while neither it nor they are folded."""
        if id(graph) not in self._plain:
            units = {node: layer.num_output_units for node, layer in graph.nodes.items()}
            found: dict[int, int] = {}
            for node, sources in graph.inputs.items():
                if len(sources) == 2:
                    found[node] = 0 if sources[0] == sources[1] else 2 * units[sources[0]]
                elif sources:
                    rows = copied_by_one_fold([(source, 0) for source in sources], {})
                    found[node] = rows * units[sources[0]]
            self._plain[id(graph)] = (graph, found)
        return self._plain[id(graph)][1]

    def _copied_by_group(
        self,
        graph: Graph[TorchLayer],
        group: FoldedGroup,
        place: Mapping[int, tuple[int, int]],
        folds: Mapping[int, int],
    ) -> int:
        """What the read of a folded layer copies; it never changes, because what it reads is folded before it."""
        known = self._copied.get(id(group))
        if known is None:
            first = graph.inputs[group.members[0]]
            rows = 0
            if first:
                index = [[place[source] for source in graph.inputs[member]] for member in group.members]
                rows = plan_read(np.array(index, np.int64), folds).rows_copied
            units = graph.nodes[first[0]].num_output_units if first else 0
            known = self._copied[id(group)] = (group, rows * units)
        return known[1]


def _count_layer(layer: TorchLayer) -> LayerCounts:
    folds = layer.num_folds
    leaves: list[tuple[TensorParameter, int]] = []
    types: list[torch.dtype] = []
    operators = 0
    for parameter in _parameters(layer):
        for node in parameter.graph.nodes.values():
            if isinstance(node, TorchLeafParameter):
                types.append(node.dtype)
                if node.learnable:
                    size = prod(node.shape)
                    leaves.extend([(leaf, size) for leaf in node.leaves])
            else:
                operators += node.flops * node.num_folds
    flops, transcendentals = layer.flops * folds, layer.transcendentals * folds
    units = layer.num_output_units * folds
    return LayerCounts(layer, folds, flops, transcendentals, operators, units, tuple(leaves), tuple(types))


def _parameters(layer: TorchLayer) -> Iterator[TorchParameter]:
    """The parameters of a layer and of the layers inside it."""
    kind = type(layer)
    for name in field_names(kind, "parameter"):
        parameter = getattr(layer, name)
        if parameter is not None:
            yield parameter
    for name in field_names(kind, "nested"):
        yield from _parameters(getattr(layer, name))
