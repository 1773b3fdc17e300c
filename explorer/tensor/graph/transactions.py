"""The changes of a graph in their order: several are applied atomically, and all can be reverted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.errors import CircuitError, CycleError, GraphError, InconsistencyError, RuleError, TypeMismatchError
from explorer.tensor.graph.wiring import (
    Change,
    ErrorCollector,
    apply_change,
    name_of,
    number_leaves,
    read_at,
    revert_change,
)
from explorer.tensor.ir.variables import Apply, Variable, toposort

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """The order of the axes of a variable got another name; `old` is the previous one."""

    variable: Variable
    old: str
    new: str
    reason: object


class Transactions:
    """Applies the changes of one graph, records them, and reverts them."""

    def __init__(self, graph: "FunctionGraph") -> None:
        self._graph = graph
        self.changes: list[Change | Naming] = []
        self._removed: dict[Apply, int] = {}
        """Applications that were removed for good, with the number of changes at that time."""

    # ------------------------------------------------------------------ applying changes

    def change_input(self, node: Apply | None, index: int, new: Variable, reason: object) -> None:
        """Change one edge. Raises: as `replace_all`."""
        with self._transaction(reason, [read_at(self._graph, node, index)], [new]):
            self._change(node, index, new, reason)

    def replace_all(self, pairs: Sequence[tuple[Variable, Variable]], reason: object) -> None:
        """Make several replacements in one transaction, without asking features.

        Raises: TypeMismatchError, CycleError, GraphError, InconsistencyError; then nothing has changed.
        """
        with self._transaction(reason, [old for old, _ in pairs], [new for _, new in pairs]):
            self._replace(pairs, reason)

    def replace_all_validate(
        self,
        pairs: Sequence[tuple[Variable, Variable]],
        reason: object,
        remove: Sequence[object],
        matched: Sequence[Apply],
        layouts: Mapping[Variable, str],
    ) -> None:
        """Make several replacements in one transaction, if all features agree.

        Raises: as `replace_all`; RuleError if something in `remove` is still in the graph.
        """
        with self._transaction(reason, [old for old, _ in pairs], [new for _, new in pairs], matched):
            for variable, layout in layouts.items():
                self._name(variable, layout, reason)
            self._replace(pairs, reason)
            self._graph.validate()
            self._require_removed(remove, reason)
        self._removed.update((item, len(self.changes)) for item in remove if isinstance(item, Apply))

    @contextmanager
    def _transaction(
        self, reason: object, old: Sequence[Variable], new: Sequence[Variable], matched: Sequence[Apply] = ()
    ) -> Iterator[None]:
        """Keep all changes made inside, or revert all of them if anything is raised; features are notified of either.

        Raises: errors from inside; or an error of a feature while changes are reverted, if that is worse.
        """
        graph, mark = self._graph, len(self.changes)
        self._begin()
        try:
            yield
        except BaseException as error:
            raised = self._revert(mark)
            for feature in graph.features:
                feature.on_revert(graph, reason, old, matched, error)
            worse = _worse(error, raised)
            if worse is not None:
                raise worse from error
            raise
        if len(self.changes) > mark:
            self._notify(reason, old, new, matched)

    def _begin(self) -> None:
        for feature in self._graph.features:
            feature.on_begin(self._graph)

    def _notify(
        self, reason: object, old: Sequence[Variable], new: Sequence[Variable], matched: Sequence[Apply] = ()
    ) -> None:
        for feature in self._graph.features:
            feature.on_apply(self._graph, reason, old, new, matched)

    def _replace(self, pairs: Sequence[tuple[Variable, Variable]], reason: object) -> None:
        for old, new in pairs:
            for node, index in tuple(old.clients):
                self._change(node, index, new, reason)

    def _change(self, node: Apply | None, index: int, new: Variable, reason: object) -> None:
        old = read_at(self._graph, node, index)
        if old is not new:
            coming = self._check(node, old, new)
            number_leaves(self._graph, new, coming)
            change = Change(node, index, old, new, reason, coming)
            self.changes.append(change)
            apply_change(self._graph, change)

    def _name(self, variable: Variable, layout: str, reason: object) -> None:
        kind = variable.tensor_type
        if kind.layout != layout:
            self.changes.append(Naming(variable, kind.layout, layout, reason))
            self._set_layout(variable, layout)

    def _set_layout(self, variable: Variable, layout: str) -> None:
        old = variable.tensor_type
        variable.type = replace(old, layout=layout)
        for feature in self._graph.features:
            feature.on_layout(self._graph, variable, old)

    # ------------------------------------------------------------------ checks

    def _check(self, node: Apply | None, old: Variable, new: Variable) -> list[Apply]:
        """Return the applications that would enter the graph. Raises: as `replace_all`."""
        graph = self._graph
        if old.type != new.type:
            raise TypeMismatchError(f"{_short(new)} is a {new.type} and cannot replace a {old.type}")
        if node is not None:
            blocked = graph.order.path(new, [node])
            if blocked is not None:
                reader, replace_with = f"%{node.id} {node.op.name}", f"in place of {_short(old)}: a cycle"
                if new.owner is node:
                    raise CycleError(f"{reader} would read its own result {replace_with}")
                raise CycleError(f"{_short(new)} depends on {reader}, which would read it {replace_with}")
        coming = toposort([new], stop=graph.nodes)
        back = next((owner for owner in coming if owner in self._removed), None)
        if back is not None:
            raise InconsistencyError(f"%{back.id} {back.op.name} was removed for good, and would come back")
        return coming

    def _require_removed(self, remove: Sequence[object], reason: object) -> None:
        graph = self._graph
        for item in remove:
            owner = item if isinstance(item, Apply) else item.owner if isinstance(item, Variable) else None
            if owner in graph.nodes if owner is not None else item in graph.ids:
                raise RuleError(f"the replacement by {name_of(reason)} did not remove {item} as announced")

    # ------------------------------------------------------------------ reverting

    def undo(self, mark: int) -> None:
        """Revert all changes since a mark.

        Raises: GraphError for a mark in the future; errors of features, after everything was reverted.
        """
        if not 0 <= mark <= len(self.changes):
            raise GraphError(f"cannot undo to change {mark}: there are {len(self.changes)} changes")
        self._begin()
        undone = self.changes[mark:]
        raised = self._revert(mark)
        if undone:
            edges = [change for change in undone if isinstance(change, Change)]
            self._notify("undo", [edge.new for edge in edges], [edge.old for edge in edges])
        raised.reraise()

    def _revert(self, mark: int) -> ErrorCollector:
        """Revert all changes since a mark; returns the errors of features."""
        raised = ErrorCollector()
        while len(self.changes) > mark:
            change = self.changes[-1]
            if isinstance(change, Naming):
                self._set_layout(change.variable, change.old)
            else:
                revert_change(self._graph, change, raised)
            self.changes.pop()
        while self._removed and next(reversed(self._removed.values())) > mark:
            self._removed.popitem()
        return raised


def text_of(error: BaseException) -> str:
    """Return the message of an error, with its class if it is not one of ours."""
    return str(error) if isinstance(error, CircuitError) else f"{type(error).__name__}: {error}"


def _worse(error: BaseException, raised: ErrorCollector) -> BaseException | None:
    """Return the worst error of features if it is not an `Exception`, or `error` a refusal; else add a note."""
    found = raised.worst()
    if found is None:
        return None
    if isinstance(error, InconsistencyError) or not isinstance(found, Exception):
        return found
    error.add_note(f"while it was reverted, a feature raised {text_of(found)}")
    return None


def _short(variable: Variable) -> str:
    if variable.owner is not None:
        return f"%{variable.owner.id} {variable.owner.op.name}" if variable.owner.id >= 0 else variable.owner.op.name
    return variable.name or "a variable"
