"""Differences between the graphs of consecutive steps; graphs are rebuilt from them.

A step of a long compilation changes little, so recording, saving and loading work on changes, never on whole graphs.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from explorer.errors import CycleError, GraphError
from explorer.graph import Graph, topological_order

RECENT_GRAPHS = 16
"""Number of rebuilt graphs that are cached."""


@dataclass(frozen=True, slots=True)
class GraphChange:
    """Ids that were removed, nodes that were added or replaced, and the inputs of added and rewired nodes."""

    removed: tuple[int, ...]
    added: Mapping[int, Any]
    replaced: Mapping[int, Any]
    inputs: Mapping[int, tuple[int, ...]]
    outputs: tuple[int, ...]


def compare_graphs(before: Graph[Any], after: Graph[Any]) -> GraphChange:
    """The change from one graph to another, ids ascending; an equal id with a different object is a replacement."""
    if before is after:
        return GraphChange((), {}, {}, {}, tuple(after.outputs))
    ids = sorted(after.nodes)
    return GraphChange(
        tuple(node for node in sorted(before.nodes) if node not in after.nodes),
        {node: after.nodes[node] for node in ids if node not in before.nodes},
        {node: after.nodes[node] for node in ids if before.nodes.get(node, after.nodes[node]) is not after.nodes[node]},
        {node: after.inputs[node] for node in ids if before.inputs.get(node) != after.inputs[node]},
        tuple(after.outputs),
    )


class GraphHistory:
    """The graphs of consecutive steps, stored as changes and rebuilt on demand.

    Each change is checked when it is added, in time proportional to the change. To prove that there is no cycle, every
    node has a rank above the ranks of the nodes that it reads; a change adjusts ranks only where it has to.
    """

    def __init__(self) -> None:
        self.inputs: dict[int, tuple[int, ...]] = {}
        self.changes: list[GraphChange] = []
        self.sizes: list[tuple[int, int]] = []
        self._users: dict[int, dict[int, None]] = {}
        self._ranks: dict[int, int] = {}
        self._max_rank = 0
        self._folds: dict[int, int] = {}
        self._num_folds = 0
        self.graph_after = lru_cache(RECENT_GRAPHS)(self._graph_after)

    def add(self, change: GraphChange) -> None:
        """Append a change. Raises: GraphError, CycleError if the result is not a graph."""
        for node in (*change.removed, *change.replaced):
            if node not in self.inputs:
                raise GraphError(f"node {node} is removed or replaced, but does not exist")
        for node in change.added:
            if node in self.inputs or node not in change.inputs:
                raise GraphError(f"node {node} is added, but exists already or has no inputs listed")
        for node in change.removed:
            self._connect(node, ())
            del self.inputs[node]
        self.inputs.update(dict.fromkeys(change.added, ()))
        for node, sources in change.inputs.items():
            if node not in self.inputs:
                raise GraphError(f"inputs of node {node} are listed, but it does not exist")
            self._connect(node, sources)
        self._check_ids(change)
        self._raise_ranks(change.inputs)
        self.changes.append(change)
        self._num_folds -= sum(self._folds.pop(node) for node in change.removed)
        for node, value in (*change.added.items(), *change.replaced.items()):
            self._num_folds += value.num_folds - self._folds.get(node, 0)
            self._folds[node] = value.num_folds
        self.sizes.append((len(self.inputs), self._num_folds))

    def _connect(self, node: int, sources: tuple[int, ...]) -> None:
        for source in self.inputs[node]:
            self._users[source].pop(node, None)
        self.inputs[node] = sources
        for source in sources:
            self._users.setdefault(source, {})[node] = None

    def _check_ids(self, change: GraphChange) -> None:
        for node, sources in change.inputs.items():
            for source in sources:
                if source not in self.inputs:
                    raise GraphError(f"node {node} reads node {source}, which does not exist")
        for node in change.removed:
            if self._users.get(node):
                raise GraphError(f"node {node} is removed, but is read by {list(self._users[node])[:10]}")
        for output in change.outputs:
            if output not in self.inputs:
                raise GraphError(f"output {output} is not a node of the graph")

    def _raise_ranks(self, changed: Iterable[int]) -> None:
        inputs = {node: self.inputs[node] for node in changed}
        inside = {node: tuple(source for source in sources if source in inputs) for node, sources in inputs.items()}
        self._max_rank += len(inputs)
        waiting = deque(topological_order(inputs, inside))
        while waiting:
            node = waiting.popleft()
            rank = 1 + max((self._ranks.get(source, 0) for source in self.inputs[node]), default=0)
            if rank > self._max_rank:
                raise CycleError(f"the nodes form a cycle through node {node}")
            if rank > self._ranks.get(node, 0):
                self._ranks[node] = rank
                waiting.extend(user for user in self._users.get(node, ()) if self._ranks.get(user, rank + 1) <= rank)

    def _graph_after(self, step: int) -> Graph[Any]:
        """The graph after a step, in an order that depends on ids and edges only."""
        nodes: dict[int, Any] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        for change in self.changes[: step + 1]:
            for node in change.removed:
                del nodes[node], inputs[node]
            nodes.update(change.added)
            nodes.update(change.replaced)
            inputs.update(change.inputs)
        return Graph[Any].from_unordered(
            {node: nodes[node] for node in sorted(nodes)}, inputs, self.changes[step].outputs
        )
