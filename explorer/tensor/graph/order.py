"""A topological order of the applications of a graph, updated with every change, which detects cycles in advance.

Every application has a label, which is larger than those of the applications that it reads. An edge that agrees with
the labels costs nothing to check. For an edge that does not, the applications between its ends exchange their labels:
those that must come first get the smallest, those that must come last the largest, and no other label changes.
Source: Pearce and Kelly 2007, A dynamic topological sort algorithm for directed acyclic graphs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from explorer.tensor.ir.variables import Apply, Variable

GAP = 1.0
TOO_CLOSE = 1e-9

Label = tuple[float, int]
"""A position and a unique number: positions may be equal, labels are not."""


class Order:
    """Labels of the applications of one graph."""

    def __init__(self) -> None:
        self._label: dict[Apply, Label] = {}
        self._last = 0.0
        self._given = 0

    def add(self, node: Apply, below: float | None = None) -> None:
        """Assign a new application a label above those of its inputs, if possible below a position."""
        low = max((self._label[source][0] for source in _sources(node)), default=0.0)
        if below is not None and below - low > TOO_CLOSE:
            position = (low + below) / 2
        else:
            position = low + GAP if below is not None else max(low, self._last) + GAP
        self._given += 1
        self._last = max(self._last, position)
        self._label[node] = (position, self._given)

    def remove(self, node: Apply) -> None:
        """Remove an application, if it has a label."""
        self._label.pop(node, None)

    def label(self, node: Apply) -> float:
        """The position of an application, at least as large as those of its inputs."""
        return self._label[node][0]

    def labels(self, nodes: Iterable[Apply]) -> dict[Apply, Label]:
        """The labels of some applications, to be restored with `restore`."""
        return {node: self._label[node] for node in nodes}

    def restore(self, labels: Mapping[Apply, Label]) -> None:
        """Set the labels of some applications."""
        self._label.update(labels)

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
            waiting.extend(_sources(node))
        return None

    def plan_labels(self, node: Apply, source: Apply) -> dict[Apply, Label]:
        """The labels that must change for `node` to read `source`, which does not depend on it.

        The affected region consists of the users of `node` before `source` and the applications after `node` that
        `source` needs. They exchange their labels.
        """
        low, high = self._label[node], self._label[source]
        if high < low:
            return {}
        first = self._reachable(source, _sources, lambda label: label > low)
        last = self._reachable(node, _readers, lambda label: label < high)
        moved = [*sorted(first, key=first.__getitem__), *sorted(last, key=last.__getitem__)]
        return dict(zip(moved, sorted([*first.values(), *last.values()]), strict=True))

    def sort(self, nodes: Iterable[Apply]) -> list[Apply]:
        """Applications in topological order."""
        return sorted(nodes, key=self._label.__getitem__)

    def _reachable(
        self, start: Apply, around: Callable[[Apply], Iterator[Apply]], is_between: Callable[[Label], bool]
    ) -> dict[Apply, Label]:
        """Applications reachable through labels between two bounds, and their labels."""
        found = {start: self._label[start]}
        waiting = [start]
        while waiting:
            for node in around(waiting.pop()):
                if node not in found and is_between(label := self._label[node]):
                    found[node] = label
                    waiting.append(node)
        return found


def _sources(node: Apply) -> Iterator[Apply]:
    return (variable.owner for variable in node.inputs if variable.owner is not None)


def _readers(node: Apply) -> Iterator[Apply]:
    return (client for output in node.outputs for client, _ in output.clients if client is not None)
