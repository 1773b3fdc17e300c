"""Selects the patterns that may match in a graph, by the types of its nodes alone.

Searches without listeners try only these: in a circuit without Kronecker products, no rule about them matches. To look
into parameters, for the types of sub-patterns, takes as long as trying.
"""

from collections.abc import Sequence
from typing import Any

from explorer.graph import Graph
from explorer.rewrite.patterns import ChainEntry, Condition, GraphOptPattern

MIN_NODES = 32
"""In a smaller graph, trying a pattern takes less time than this test."""


def select_occurring(patterns: Sequence[GraphOptPattern], graph: Graph[Any]) -> tuple[GraphOptPattern, ...]:
    """The patterns without those that surely fail: no node has the type of an entry, and no question before can raise.

    So a search for them finds the same matches, and raises the same errors.
    """
    if len(graph) < MIN_NODES:
        return tuple(patterns)
    types = {node.__class__ for node in graph.nodes.values()}
    return tuple([pattern for pattern in patterns if not _surely_fails(pattern, types)])


def _surely_fails(pattern: GraphOptPattern, types: set[type]) -> bool:
    for entry in pattern.chain:
        fitting = [one for one in types if entry.accepts(one)]
        if not fitting:
            return True
        if not _compares_fields(entry, fitting):
            return False
    return False


def _compares_fields(entry: ChainEntry, types: Sequence[type]) -> bool:
    """Whether an entry asks only whether dataclass fields of these types equal given values, which raises nothing."""
    return not entry.sub_patterns and all(
        not isinstance(condition, Condition) and all(name in getattr(one, "__dataclass_fields__", ()) for one in types)
        for name, condition in entry.conditions
    )
