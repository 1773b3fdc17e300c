"""An order of the applications of a graph that changes with it, by which a cycle is found before it is made.

Every application has a label, and each one reads only applications with smaller labels. An edge that agrees with the
labels costs nothing to check; one that does not is searched for between the two labels, and then the labels above it
are raised. Source: the idea of Pearce and Kelly 2007, A dynamic topological sort algorithm for directed acyclic graphs.
"""

from collections.abc import Iterable

from explorer.tensor.variables import Apply, Variable

GAP = 1.0
TOO_CLOSE = 1e-9


class Order:
    """Labels of the applications of one graph."""

    def __init__(self) -> None:
        self._label: dict[Apply, float] = {}
        self._last = 0.0

    def add(self, node: Apply, below: float | None = None) -> None:
        """Give a new application a label above all it reads, if possible below a given label."""
        low = self._highest(node.inputs)
        if below is not None and below - low > TOO_CLOSE:
            self._label[node] = (low + below) / 2
        else:
            self._label[node] = low + GAP if below is not None else max(low, self._last) + GAP
        self._last = max(self._last, self._label[node])

    def remove(self, node: Apply) -> None:
        """Forget an application."""
        del self._label[node]

    def label(self, node: Apply) -> float:
        """The label of an application; larger than those of all it reads."""
        return self._label[node]

    def path(self, source: Variable, targets: Iterable[Apply]) -> Apply | None:
        """One of the targets that `source` depends on, or None: the one that must not read it."""
        wanted = {node for node in targets if node in self._label}
        start = source.owner
        if not wanted or start is None:
            return None
        lowest = min(self._label[node] for node in wanted)
        seen: set[Apply] = set()
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node in wanted:
                return node
            if node in seen or self._label.get(node, lowest) < lowest:
                continue
            seen.add(node)
            waiting.extend(v.owner for v in node.inputs if v.owner is not None)
        return None

    def raise_above(self, node: Apply) -> None:
        """Make the labels right again after `node` was given another input."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            low = self._highest(current.inputs)
            if self._label[current] > low:
                continue
            self._label[current] = low + GAP
            self._last = max(self._last, low + GAP)
            for output in current.outputs:
                waiting.extend(client for client, _ in output.clients if client is not None)

    def sorted(self, nodes: Iterable[Apply]) -> list[Apply]:
        """Applications so that each stands behind all it reads; those of equal labels by their ids."""
        return sorted(nodes, key=lambda node: (self._label[node], node.id))

    def _highest(self, inputs: Iterable[Variable]) -> float:
        return max((self._label.get(v.owner, 0.0) for v in inputs if v.owner is not None), default=0.0)
