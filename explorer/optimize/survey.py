"""How many parameter nodes the layers of a circuit have, and which layers the parameter rules may change.

Rounds share most of their layers, and layers are frozen, so each layer is examined once.
"""

from collections.abc import Sequence
from functools import cache

from explorer.backend import TorchLayer, all_parameters
from explorer.graph import Graph
from explorer.rewrite import Rule


class ParameterSurvey:
    """The parameters of the layers of one optimization, for these parameter rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        roots = tuple(rule.pattern.entries[0] for rule in rules)
        self._is_root = cache(lambda kind: issubclass(kind, roots))
        self._known: dict[TorchLayer, tuple[int, bool]] = {}

    def num_nodes(self, graph: Graph[TorchLayer]) -> int:
        """The number of layers and of the nodes of their parameters."""
        known = self._known
        return len(graph) + sum([(known.get(layer) or self._examine(layer))[0] for layer in graph.nodes.values()])

    def may_match(self, layer: TorchLayer) -> bool:
        """Whether a parameter of the layer has a node of a type at which a rule begins."""
        return (self._known.get(layer) or self._examine(layer))[1]

    def _examine(self, layer: TorchLayer) -> tuple[int, bool]:
        """The number of parameter nodes of a layer, and whether it may match."""
        number, may_match, is_root = 0, False, self._is_root
        for parameter in all_parameters(layer).values():
            nodes = parameter.graph.nodes
            number += len(nodes)
            may_match = may_match or any(is_root(node.__class__) for node in nodes.values())
        found = self._known[layer] = (number, may_match)
        return found
