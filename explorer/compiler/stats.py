"""Statistics of states: layers, parameters, operations and bytes. Each layer is counted once for all states.

The states of a compilation share most of their layers, so a state costs little more than its new layers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import torch

from explorer.backend import TorchLayer, count_copied_slices
from explorer.backend.parameters import TorchLeafParameter, TorchParameter
from explorer.graph import Graph, field_names
from explorer.symbolic import TensorParameter


@dataclass(slots=True)
class Totals:
    """The costs of layers with all their folds, per example, updated by adding and removing layers."""

    layers: int = 0
    folds: int = 0
    flops: int = 0
    transcendentals: int = 0
    parameter_flops: int = 0
    units: int = 0
    copied: int = 0
    """Count the numbers that the reads of all layers copy."""

    def add(self, other: "Totals", sign: int = 1) -> None:
        """Add further costs, or subtract them if `sign` is -1."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))

    def stats(self, parameters: int, number_bytes: int) -> Mapping[str, int]:
        """The statistics of a state with these totals."""
        return {
            "layers": self.layers,
            "folds": self.folds,
            "parameters": parameters,
            "flops": self.flops,
            "transcendentals": self.transcendentals,
            "parameter_flops": self.parameter_flops,
            "activation_bytes": self.units * number_bytes,
            "copied_bytes": self.copied * number_bytes,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LayerCounts:
    """The costs of one layer without its reads, its learnable leaves with their sizes, and the types of all leaves."""

    layer: TorchLayer
    """Kept alive, so that its id stays unique."""
    costs: Totals
    leaves: tuple[tuple[TensorParameter, int], ...]
    types: tuple[torch.dtype, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GraphCounts:
    """The total costs of the layers of a graph; `copied` is how many numbers each layer copies when it reads."""

    graph: Graph[TorchLayer]
    totals: Totals
    copied: Mapping[int, int]
    parameters: int
    number_bytes: int


class StatsCounter:
    """Statistics of the states of one compilation. `is_complex`: whether the semiring uses complex numbers."""

    def __init__(self, is_complex: bool) -> None:
        self._is_complex = is_complex
        self._layers: dict[int, LayerCounts] = {}
        self._graphs: dict[int, GraphCounts] = {}

    def number_bytes(self, graph: Graph[TorchLayer]) -> int:
        """Bytes of one activation: of the widest leaf, twice that under a complex semiring if leaves are real."""
        return self.graph(graph).number_bytes

    def stats(self, graph: Graph[TorchLayer]) -> Mapping[str, int]:
        """Statistics of a graph in which nothing is folded."""
        counts = self.graph(graph)
        return counts.totals.stats(counts.parameters, counts.number_bytes)

    def graph(self, graph: Graph[TorchLayer]) -> GraphCounts:
        """The counts of a graph."""
        known = self._graphs.get(id(graph))
        if known is None:
            known = self._graphs[id(graph)] = self._count_graph(graph)
        return known

    def _count_graph(self, graph: Graph[TorchLayer]) -> GraphCounts:
        layers = [self.layer(layer) for layer in graph.nodes.values()]
        copied = _count_copied_numbers(graph)
        totals = Totals(copied=sum(copied.values()))
        leaves: dict[TensorParameter, int] = {}
        types: dict[torch.dtype, None] = {}
        for layer in layers:
            totals.add(layer.costs)
            leaves.update(layer.leaves)
            types.update(dict.fromkeys(layer.types))
        numbers = [dtype for dtype in types if dtype.is_floating_point or dtype.is_complex]
        widest = max((dtype.to_real().itemsize for dtype in numbers), default=torch.get_default_dtype().itemsize)
        complex_numbers = self._is_complex or any(dtype.is_complex for dtype in numbers)
        return GraphCounts(graph, totals, copied, sum(leaves.values()), widest * (2 if complex_numbers else 1))

    def layer(self, layer: TorchLayer) -> LayerCounts:
        """The counts of a layer."""
        known = self._layers.get(id(layer))
        if known is None:
            known = self._layers[id(layer)] = _count_layer(layer)
        return known


def _count_copied_numbers(graph: Graph[TorchLayer]) -> Mapping[int, int]:
    """For each layer that reads layers, how many numbers it copies if nothing is folded."""
    units = {node: layer.num_output_units for node, layer in graph.nodes.items()}
    found: dict[int, int] = {}
    for node, sources in graph.inputs.items():
        if len(sources) == 2:
            found[node] = 0 if sources[0] == sources[1] else 2 * units[sources[0]]
        elif sources:
            found[node] = count_copied_slices([(source, 0) for source in sources], {}) * units[sources[0]]
    return found


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
    transcendentals, units = layer.transcendentals * folds, layer.num_output_units * folds
    costs = Totals(1, folds, layer.flops * folds, transcendentals, operators, units)
    return LayerCounts(layer, costs, tuple(leaves), tuple(types))


def _parameters(layer: TorchLayer) -> Iterator[TorchParameter]:
    """The parameters of a layer and of the layers inside it."""
    kind = type(layer)
    for name in field_names(kind, "parameter"):
        parameter = getattr(layer, name)
        if parameter is not None:
            yield parameter
    for name in field_names(kind, "nested"):
        yield from _parameters(getattr(layer, name))
