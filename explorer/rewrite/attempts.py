"""The attempts of earlier searches, so that a search repeats only those that may end differently.

An attempt reads the nodes of a chain, how many users they have, whether they are outputs, and the inputs of all but the
last. Nodes are frozen, so an attempt has the same result in the next graph if nothing of this differs there.
"""

from typing import Any, Generic, TypeVar

from explorer.graph import Graph
from explorer.rewrite.patterns import GraphOptPattern

Result = TypeVar("Result")


class KnownAttempts(Generic[Result]):
    """The results of the attempts in the latest graph, by pattern and root."""

    def __init__(self) -> None:
        self._graph: Graph[Any] = Graph({}, {}, ())
        self._of: dict[GraphOptPattern, dict[int, Result]] = {}

    def of(self, pattern: GraphOptPattern, graph: Graph[Any]) -> dict[int, Result]:
        """The known results of a pattern in a graph, by root; the caller adds what it finds."""
        if graph is not self._graph:
            chains = _unchanged_chains(self._graph, graph, max((len(known.entries) for known in self._of), default=0))
            for known, results in self._of.items():
                same = chains[len(known.entries) - 1]
                self._of[known] = {root: result for root, result in results.items() if root in same}
            self._graph = graph
        return self._of.setdefault(pattern, {})


def _unchanged_chains(before: Graph[Any], after: Graph[Any], length: int) -> list[set[int]]:
    """For each length up to `length`: roots of the chains that both graphs share and read alike."""
    same = {
        node
        for node, value in after.nodes.items()
        if before.nodes.get(node) is value
        and len(before.users[node]) == len(after.users[node])
        and (node in before.output_set) == (node in after.output_set)
    }
    chains = [same]
    linked = {node for node in same if before.inputs[node] == after.inputs[node]}
    for _ in range(length - 1):
        shorter = chains[-1]
        chains.append({node for node in linked if not after.inputs[node] or after.inputs[node][0] in shorter})
    return chains
