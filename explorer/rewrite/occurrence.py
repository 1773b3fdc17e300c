"""Which patterns can match in a graph at all, as far as the types of its nodes tell.

A search that nobody watches need not try the others: in a circuit without Kronecker products, no rule about them
matches. (Looking into parameters for the types of sub-patterns takes as long as trying.)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.graph import Graph
from explorer.rewrite.patterns import GraphOptPattern

SMALL_GRAPH = 32
"""In a graph with fewer nodes, trying a pattern takes less time than this test."""


def occurring(patterns: Sequence[GraphOptPattern], graph: Graph[Any]) -> tuple[GraphOptPattern, ...]:
    """The patterns for each of whose entries a node of the graph has the type.

    A pattern that reads a field that nodes do not have is kept, so that the search reports the error.
    """
    if len(graph) < SMALL_GRAPH:
        return tuple(patterns)
    one_of_type: dict[type, Any] = {node.__class__: node for node in graph.nodes.values()}
    return tuple([one for one in patterns if _has_all(one, one_of_type) or _reads_unknown_field(one, one_of_type)])


def _has_all(pattern: GraphOptPattern, one_of_type: Mapping[type, Any]) -> bool:
    return all(any(map(entry.accepts, one_of_type)) for entry in pattern.chain)


def _reads_unknown_field(pattern: GraphOptPattern, one_of_type: Mapping[type, Any]) -> bool:
    """Whether a condition is about a field that the nodes of a type that fits do not have."""
    return any(
        not hasattr(node, field)
        for entry in pattern.chain
        for field, _ in entry.conditions
        for node_type, node in one_of_type.items()
        if entry.accepts(node_type)
    )
