"""Levels: an ordered partition of the nodes of a graph in which they can be computed.

The level of a node is its longest distance from the inputs (a layer-wise topological ordering); its height is the same
from the outputs. Which of several legal orderings is best for folding is decided in `explorer.fold`.
"""

from collections import defaultdict
from collections.abc import Mapping

from explorer.graph.graph import Graph, Node

Ordering = tuple[tuple[int, ...], ...]


def levels(graph: "Graph[Node]") -> dict[int, int]:
    """Longest distance of each node from the nodes without inputs.

    >>> levels(Graph({0: "a", 1: "b", 2: "c"}, {0: (), 1: (0,), 2: (0, 1)}, (2,)))
    {0: 0, 1: 1, 2: 2}
    """
    found: dict[int, int] = {}
    for node in graph.nodes:
        sources = graph.inputs[node]
        found[node] = 1 + max([found[source] for source in sources]) if sources else 0
    return found


def heights(graph: "Graph[Node]") -> dict[int, int]:
    """Longest distance of each node to a node without users.

    >>> heights(Graph({0: "a", 1: "b", 2: "c"}, {0: (), 1: (0,), 2: (0, 1)}, (2,)))
    {0: 2, 1: 1, 2: 0}
    """
    found = dict.fromkeys(graph.nodes, 0)
    for node in reversed(list(graph.nodes)):
        above = found[node] + 1
        for source in graph.inputs[node]:
            if found[source] < above:
                found[source] = above
    return found


def group_levels(level_of: Mapping[int, int]) -> Ordering:
    """The nodes of each level, levels ascending, nodes in the order of the mapping."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for node, level in level_of.items():
        groups[level].append(node)
    return tuple(tuple(groups[level]) for level in sorted(groups))
