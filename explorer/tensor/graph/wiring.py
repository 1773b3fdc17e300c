"""One edge of a graph: changing and restoring it, and the topological order that detects cycles in advance.

Nothing else changes `inputs` of an application or `outputs` of a graph, and only transactions call it. A change records
each of its effects in advance, and features are notified at the end: so it can be reverted wherever an error is raised.

Every application has a label, which is larger than the labels of the applications that it reads. An edge that agrees
with the labels costs nothing to check. For an edge that does not, the applications between its ends exchange their
labels: the first ones get the smallest, the last ones the largest, and no other label changes.
Source: Pearce and Kelly 2007, A dynamic topological sort algorithm for directed acyclic graphs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING

from explorer.errors import GraphError
from explorer.tensor.ir.variables import NOWHERE, Apply, Constant, SourceLocation, Variable, toposort

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph


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
        """Assign a new application a label above its inputs, if possible below a position."""
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
        """Return the position of an application, which is not below its inputs."""
        return self._label[node][0]

    def labels(self, nodes: Iterable[Apply]) -> dict[Apply, Label]:
        """Return the labels of some applications, to be restored with `restore`."""
        return {node: self._label[node] for node in nodes}

    def restore(self, labels: Mapping[Apply, Label]) -> None:
        """Set the labels of some applications."""
        self._label.update(labels)

    def path(self, source: Variable, targets: Iterable[Apply]) -> Apply | None:
        """Find a target that `source` depends on, which must not read it; None if there is none."""
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
        """Return the labels that must change for `node` to read `source`, which does not depend on it.

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
        """Sort applications topologically."""
        return sorted(nodes, key=self._label.__getitem__)

    def _reachable(
        self, start: Apply, around: Callable[[Apply], Iterator[Apply]], is_between: Callable[[Label], bool]
    ) -> dict[Apply, Label]:
        """Find the applications reachable through labels between two bounds, and their labels."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """An input of an application (None: of the graph's outputs) became another variable."""

    node: Apply | None
    index: int
    old: Variable
    new: Variable
    reason: object
    added: Sequence[Apply] = field(default=(), repr=False)
    """The applications that entered the graph with the new variable, inputs first."""
    removed: list[Apply] = field(default_factory=list[Apply], repr=False)
    """The applications that left with the old one, inputs last; filled in during the change, as are the next fields."""
    labels: dict[Apply, Label] = field(default_factory=dict[Apply, Label], repr=False)
    """The labels before the change, where one changed or was removed."""
    named: list[Apply] = field(default_factory=list[Apply], repr=False)
    """The applications that were never in the graph before."""
    requires_grad: list[Variable] = field(default_factory=list[Variable], repr=False)
    """Variables that require a gradient because of the change."""


class ErrorCollector(list[BaseException]):
    """Errors of features: a `with` block suppresses an error and adds it."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.append(error)
        return True

    def worst(self) -> BaseException | None:
        """Return the first error, with notes of the others; one that is not an `Exception` has precedence."""
        if not self:
            return None
        worst = next((error for error in self if not isinstance(error, Exception)), self[0])
        for error in self:
            if error is not worst:
                worst.add_note(f"in addition, a feature raised {type(error).__name__}: {error}")
        return worst

    def reraise(self) -> None:
        """Raise the worst error, if any."""
        worst = self.worst()
        if worst is not None:
            raise worst


def read_at(graph: "FunctionGraph", node: Apply | None, index: int) -> Variable:
    """Return the variable that an application (None: the outputs) reads at a position."""
    return graph.outputs[index] if node is None else node.inputs[index]


def number_leaves(graph: "FunctionGraph", variable: Variable, coming: Iterable[Apply]) -> None:
    """Assign numbers to the inputs and constants that enter the graph with a variable.

    Raises: GraphError for a variable without owner that is not among the inputs; then none is assigned.
    """
    found = [leaf for node in coming for leaf in node.inputs if leaf.owner is None]
    leaves = found if variable.owner is not None else [variable]
    for leaf in leaves:
        if leaf not in graph.ids and not isinstance(leaf, Constant) and leaf not in graph.declared:
            name = leaf.name or "a variable without a name"
            raise GraphError(f"{name} is needed, but is not among the inputs of the graph")
    for leaf in leaves:
        if leaf not in graph.ids:
            graph.number(leaf)


def import_variable(graph: "FunctionGraph", variable: Variable) -> None:
    """Import a variable with everything that it needs. Raises: GraphError, as `number_leaves`."""
    coming = toposort([variable], stop=graph.nodes)
    number_leaves(graph, variable, coming)
    for node in coming:
        _number(graph, node)
        graph.order.add(node)
        _enter(graph, node)
    raised = ErrorCollector()
    for node in coming:
        for feature in graph.features:
            with raised:
                feature.on_import(graph, node, None)
    raised.reraise()


def apply_change(graph: "FunctionGraph", change: Change) -> None:
    """Apply a change; its leaves have numbers. Raises: errors of features, after all features were notified."""
    node, new = change.node, change.new
    location, below = _location_of(change), graph.order.label(node) if node is not None else None
    for coming in change.added:
        if coming.id < 0:
            change.named.append(coming)
        if coming.draw < 0 and change.old.owner is not None:
            coming.draw = change.old.owner.draw if coming.op.is_random else -1
        _number(graph, coming)
        if coming.location == NOWHERE:
            coming.location = location
        if change.reason is not None:
            graph.made_by.setdefault(coming, name_of(change.reason))
        graph.order.add(coming, below)
        _enter(graph, coming)
    if node is not None and new.owner is not None:
        raised = graph.order.plan_labels(node, new.owner)
        change.labels.update(graph.order.labels(raised))
        graph.order.restore(raised)
    _rewire(graph, change)
    _propagate_requires_grad(change)
    _drop(graph, change)
    errors = ErrorCollector()
    _notify(graph, change, errors)
    errors.reraise()


def revert_change(graph: "FunctionGraph", change: Change, raised: ErrorCollector) -> None:
    """Revert the last change, also if it was applied in part; errors of features are collected in `raised`."""
    reverse = replace(
        change,
        old=change.new,
        new=change.old,
        reason=("undo", change.reason),
        added=change.removed[::-1],
        removed=list(change.added[::-1]),
    )
    for restored in reverse.added:
        _enter(graph, restored)
    _rewire(graph, reverse)
    for variable in change.requires_grad:
        variable.requires_grad = False
    graph.order.restore(change.labels)
    for added in reverse.removed:
        _leave(graph, added)
    for node in change.named:
        graph.made_by.pop(node, None)
    _notify(graph, reverse, raised)


def _location_of(change: Change) -> SourceLocation:
    """Return the source location of the replaced variable; if it has none, the location of its user."""
    replaced = change.old.owner.location if change.old.owner is not None else NOWHERE
    return change.node.location if replaced == NOWHERE and change.node is not None else replaced


def _number(graph: "FunctionGraph", node: Apply) -> None:
    if node.id < 0:
        node.id = graph.next_id
    graph.next_id = max(graph.next_id, node.id + 1)
    if node.draw < 0 and node.op.is_random:
        node.draw = graph.next_draw
    graph.next_draw = max(graph.next_draw, node.draw + 1)


def _enter(graph: "FunctionGraph", node: Apply) -> None:
    graph.nodes[node] = None
    for i, source in enumerate(node.inputs):
        source.clients[(node, i)] = None


def _leave(graph: "FunctionGraph", node: Apply) -> None:
    graph.nodes.pop(node, None)
    graph.order.remove(node)
    for i, source in enumerate(node.inputs):
        source.clients.pop((node, i), None)


def _rewire(graph: "FunctionGraph", change: Change) -> None:
    user = (change.node, change.index)
    change.new.clients[user] = None
    change.old.clients.pop(user, None)
    edges = graph.outputs if change.node is None else change.node.inputs
    edges[change.index] = change.new


def _propagate_requires_grad(change: Change) -> None:
    """Mark all variables that depend on the application if the new variable requires a gradient."""
    waiting = [change.node] if change.node is not None and change.new.requires_grad else []
    while waiting:
        found = [variable for variable in waiting.pop().outputs if not variable.requires_grad]
        for variable in found:
            change.requires_grad.append(variable)
            variable.requires_grad = True
            waiting.extend(client for client, _ in variable.clients if client is not None)


def _drop(graph: "FunctionGraph", change: Change) -> None:
    """Remove applications that have no users left."""
    waiting = [change.old]
    while waiting:
        owner = waiting.pop().owner
        if owner is None or owner not in graph.nodes or any(v.clients for v in owner.outputs):
            continue
        for node, label in graph.order.labels([owner]).items():
            change.labels.setdefault(node, label)  # a label raised before the removal is restored below it
        change.removed.append(owner)
        _leave(graph, owner)
        waiting.extend(owner.inputs)


def _notify(graph: "FunctionGraph", change: Change, raised: ErrorCollector) -> None:
    """Notify all features of a complete change, even if some of them raise."""
    for node in change.added:
        for feature in graph.features:
            with raised:
                feature.on_import(graph, node, change.reason)
    for node in change.removed:
        for feature in graph.features:
            with raised:
                feature.on_prune(graph, node, change.reason)
    for feature in graph.features:
        with raised:
            feature.on_change_input(graph, change.node, change.index, change.old, change.new, change.reason)


def name_of(reason: object) -> str:
    """Return the name under which a change is recorded: the name of a rewriter, or a string."""
    if isinstance(reason, str):
        return reason
    return str(getattr(reason, "name", "")) or ("a change by hand" if reason is None else type(reason).__name__)
