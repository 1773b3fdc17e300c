"""Events of a changing graph: transactions become matches and rewrites of steps, refusals become near misses.

A step contains rewrites that match only nodes of the graph when it began; a rewrite of newer nodes begins another step.
So every step has one graph before and one after it, in whatever order a rewriter walks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from explorer.errors import InconsistencyError
from explorer.levels import NO_OBSERVER, Change, Recording
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.transactions import text_of
from explorer.tensor.graph.wiring import name_of
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.recording.delta import Delta
from explorer.tensor.recording.tensor_snapshot import TensorSnapshot
from explorer.trace import TENSOR, Listener, Refusal, RefusalKind, StepPath


class Observer(Recording, Feature):
    """Reports the changes of the graph to which it is attached to its listeners.

    With `one_by_one` every rewrite is a separate step.
    """

    def __init__(self, listeners: Sequence[Listener], one_by_one: bool = False) -> None:
        super().__init__(TENSOR, listeners)
        self.one_by_one = one_by_one
        self.delta = Delta()
        """The changes since the last step."""
        self._has_steps: list[bool] = [False]
        self._parts = 0
        self._began = perf_counter()
        self._clear()

    def __bool__(self) -> bool:
        return True

    def on_attach(self, graph: FunctionGraph) -> None:
        if graph.observer:
            raise InconsistencyError("the graph already has an observer; pass all listeners to that one")
        self._graph = graph
        graph.attach_feature(self.delta)
        graph.observer = self

    def on_detach(self, graph: FunctionGraph) -> None:
        graph.remove_feature(self.delta)
        graph.observer = NO_OBSERVER

    # ------------------------------------------------------------------ steps

    @property
    def snapshot(self) -> TensorSnapshot:
        """The state when the open step began."""
        return TensorSnapshot(self.delta.start())

    @contextmanager
    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> Iterator[None]:
        """Record the changes inside under a name; `rules` are those that are tried."""
        self._close()
        self._has_steps[-1] = True
        self._has_steps.append(False)
        parts, self._parts = self._parts, 0
        self._started = perf_counter()
        with super().scope(name, rules, number):
            try:
                yield
                self._close()
                if self._later or not self._has_steps[-1]:
                    self._close(always=True)
            finally:
                self._has_steps.pop()
                self._parts = parts
                self._later = []

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """Record that a limit was reached."""
        self._close()
        super().on_limit(what, limit, message)

    def on_failure(self, error: str) -> None:
        """Record that a rule raised: the run ends."""
        self._close()
        super().on_failure(error)
        self._has_steps[-1] = True

    # ------------------------------------------------------------------ notifications

    def on_begin(self, graph: FunctionGraph) -> None:
        self._began = perf_counter()

    def on_apply(
        self,
        graph: FunctionGraph,
        reason: object,
        old: Sequence[Variable],
        new: Sequence[Variable],
        matched: Sequence[Apply],
    ) -> None:
        delta, rule = self.delta, name_of(reason)
        arrived, left = delta.added_and_removed()
        root = _root(old)
        removed = [node.id for node in left]
        if len(removed) > 1:
            removed.sort(key=lambda number: (number != root, number))
        touched = [node.id for node in matched] or ([] if root is None else [root])
        touched = list(dict.fromkeys(touched + removed))
        if self.one_by_one or not delta.drawn.issuperset(touched):
            self._close(before_transaction=True)
            touched = [number for number in touched if number in delta.drawn]
            removed = [number for number in removed if number in delta.drawn]
        if not touched:  # an input of the graph or a constant was replaced: record its users
            touched = delta.touched_ids()
        added, dropped = delta.exits()
        added = [number for number in added if number not in self._fresh]
        added += [node.id for node in (graph.order.sort(arrived) if len(arrived) > 1 else arrived)]
        results = [self._id(variable) for variable in new]
        if len(added) > 1 and results and results[0] in added:  # the replacement of the root is last
            added.remove(results[0])
            added.append(results[0])
        became = [node for node in results if node in delta.drawn and node not in added]
        seconds = perf_counter() - self._began
        self._changes.append(
            Change(rule, tuple(touched), tuple(removed + dropped), tuple(added), seconds, tuple(became[:1]))
        )
        self._fresh.update(dict.fromkeys(added))
        delta.commit()

    def on_revert(
        self,
        graph: FunctionGraph,
        reason: object,
        old: Sequence[Variable],
        matched: Sequence[Apply],
        error: BaseException,
    ) -> None:
        root = matched[0].id if matched else _root(old)
        if root is not None and root >= 0:
            self.on_refusal(Refusal(name_of(reason), root, 0, root, RefusalKind.REVERTED, found=text_of(error)))

    def on_refusal(self, refusal: Refusal) -> None:
        """A rule was tried and does not apply; a refusal at a node that this step made belongs to the next step."""
        newer = refusal.root in self._fresh or refusal.node in self._fresh
        (self._later if newer else self._refusals).append(refusal)

    # ------------------------------------------------------------------ helpers

    def _clear(self) -> None:
        self._changes: list[Change] = []
        self._refusals: list[Refusal] = []
        self._later: list[Refusal] = []
        self._fresh: dict[int, None] = {}

    def _id(self, variable: Variable) -> int:
        return variable.owner.id if variable.owner is not None else self._graph.ids.get(variable, -1)

    def _path(self) -> StepPath:
        self._parts += 1
        return replace(super()._path(), part=self._parts)

    def _close(self, always: bool = False, before_transaction: bool = False) -> None:
        """End the open step, if anything happened in it; optionally as it was before the current transaction."""
        delta = self.delta
        if not (always or self._changes or self._refusals):
            return
        delta.start()
        tried = (*self._refusals, *self._later) if always else self._refusals
        refusals = [r for r in tried if r.root in delta.drawn and r.node in delta.drawn]
        state = delta.end_step(before_transaction)
        self._step(self._changes, refusals, TensorSnapshot(state))
        self._has_steps[-1] = True
        later = [] if always else self._later
        self._clear()
        self._refusals = later


def _root(variables: Sequence[Variable]) -> int | None:
    """The number of the first owner of one of these."""
    for variable in variables:
        if variable.owner is not None:
            return variable.owner.id
    return None
