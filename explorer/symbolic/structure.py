"""Structural properties of circuits, each with the reason if it does not hold."""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.graph import Graph
from explorer.symbolic.layers import InnerLayer, Layer
from explorer.symbolic.scope import Scope, shared_variables

MULTIPLYING = ("product", "fused")


@dataclass(frozen=True)
class Finding:
    """Whether a property holds, and if not, why; usable as a bool."""

    holds: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.holds


def smooth(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The inputs of every sum layer depend on the same variables."""
    for node, layer in graph.nodes.items():
        if not _adds(layer):
            continue
        for source in graph.inputs[node]:
            if scopes[source] != scopes[node]:
                missing = sorted(set(scopes[node]) - set(scopes[source]))
                return Finding(False, f"sum layer %{node}: its input %{source} does not depend on variables {missing}")
    return Finding(True)


def decomposable(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The inputs of every product layer depend on disjoint variables."""
    for node, layer in graph.nodes.items():
        if _multiplies(layer):
            shared = shared_variables(scopes[source] for source in graph.inputs[node])
            if shared:
                return Finding(False, f"product layer %{node}: its inputs share variables {list(shared)}")
    return Finding(True)


def structured_decomposable(graph: Graph[Layer], scopes: Mapping[int, Scope]) -> Finding:
    """The circuit is smooth and decomposable, and all products over one scope split it in the same way."""
    for finding in (smooth(graph, scopes), decomposable(graph, scopes)):
        if not finding:
            return finding
    splits: dict[Scope, tuple[int, tuple[Scope, ...]]] = {}
    for node, layer in graph.nodes.items():
        if not _multiplies(layer):
            continue
        split = tuple(sorted(scopes[source] for source in graph.inputs[node] if scopes[source]))
        first, known = splits.setdefault(scopes[node], (node, split))
        if known != split:
            return Finding(False, f"product layers {first} and {node} split the same variables in different ways")
    return Finding(True)


def _adds(layer: Layer) -> bool:
    return layer.kind == "sum" or (isinstance(layer, InnerLayer) and layer.multiplies is False)


def _multiplies(layer: Layer) -> bool:
    return layer.kind in MULTIPLYING or (isinstance(layer, InnerLayer) and layer.multiplies is True)
