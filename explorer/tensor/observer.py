"""What a change of a graph tells listeners: transactions become matches and rewrites of steps, refusals near misses.

A step holds rewrites that look only at what was there when it began; a rewrite of something newer begins another
step. So every step shows one graph before and one after it, however a rewriter walks. Without listeners nothing is
made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from explorer.tensor.snapshot import GraphState, NodeState, Read, TensorSnapshot, changed_nodes, output_reads
from explorer.trace import (
    TENSOR,
    AttemptsRefused,
    Event,
    LimitReached,
    Listener,
    MatchFound,
    Refusal,
    RefusalKind,
    Rewritten,
    StepEnded,
    StepFailed,
    StepStarted,
)

if TYPE_CHECKING:
    from explorer.tensor.function_graph import FunctionGraph
    from explorer.tensor.variables import Apply, Variable


class Observer:
    """Follows the changes of one graph for its listeners."""

    def __init__(self, graph: "FunctionGraph", listeners: Sequence[Listener], one_by_one: bool = False) -> None:
        self.listeners = tuple(listeners)
        self.one_by_one = one_by_one
        """Whether every rewrite is a step of its own."""
        self._graph = graph
        self._scopes: list[str] = []
        self._rules: list[tuple[str, ...]] = [()]
        self._told: list[bool] = [False]
        self._seen: dict[str, int] = {}
        self._parts = 0
        self._touched: dict[Apply | None, bool] = {}
        self._leaves: dict[Variable, None] = {}
        self._started = self._began = perf_counter()
        self._state: GraphState | None = None
        self._clear()

    def listen(self, listeners: Sequence[Listener], one_by_one: bool = False) -> None:
        """Tell these listeners from now on."""
        self.listeners, self.one_by_one = tuple(listeners), one_by_one
        self._state = None

    def __bool__(self) -> bool:
        return bool(self.listeners)

    # ------------------------------------------------------------------ steps

    @contextmanager
    def scope(self, name: str, rules: Sequence[str] = ()) -> Iterator[None]:
        """A part of the pipeline: what happens inside is recorded under its name; `rules` are those it tries."""
        if not self.listeners:
            yield
            return
        self._close()
        self._scopes.append(self._unique(name))
        self._rules.append(tuple(rules))
        self._told[-1] = True
        self._told.append(False)
        parts, self._parts = self._parts, 0
        self._started = perf_counter()
        try:
            yield
            self._close()
            if self._later or not self._told[-1]:
                self._close(always=True)
        finally:
            self._scopes.pop()
            self._rules.pop()
            self._told.pop()
            self._parts = parts
            self._later = []

    def first(self, name: str) -> None:
        """The first step of a record: the graph as it is."""
        if self.listeners:
            self._state = GraphState.of(self._graph)
            self._tell(StepStarted(name, TENSOR))
            self._tell(StepEnded(True, 0.0, self._snapshot()))
            self._started = perf_counter()

    def limit(self, what: str, limit: int, message: str) -> None:
        """A bound was reached while more was possible."""
        self._close()
        self._tell(LimitReached(what, limit, message))

    def failed(self, error: str) -> None:
        """A rule raised and the compilation ends."""
        if self.listeners:
            self._close()
            self._tell(StepStarted(self._path(), TENSOR, self._rules[-1]))
            self._tell(StepFailed(error, self._snapshot()))
            self._told[-1] = True

    # ------------------------------------------------------------------ what the graph tells

    def begin(self) -> None:
        """A transaction begins."""
        self._touched, self._leaves = {}, {}
        self._began = perf_counter()

    def imported(self, node: "Apply") -> None:
        """An application came."""
        if self.listeners:
            self._touched[node] = self._touched.get(node, False)

    def pruned(self, node: "Apply") -> None:
        """An application went."""
        if self.listeners:
            self._touched.setdefault(node, True)

    def rewired(self, node: "Apply | None", old: "Variable") -> None:
        """An application reads something else than `old`."""
        if self.listeners:
            self._touched.setdefault(node, True)
            if old.owner is None:
                self._leaves[old] = None

    def leaf(self, variable: "Variable") -> None:
        """An input or a constant came, or lost a reader."""
        if self.listeners:
            self._leaves[variable] = None

    def applied(
        self, rule: str, old: Sequence["Variable"], new: Sequence["Variable"], matched: Sequence["Apply"]
    ) -> None:
        """The transaction stands."""
        if not self.listeners:
            return
        graph = self._graph
        root = next((v.owner for v in old if v.owner is not None), None)
        gone = [n for n, was in self._touched.items() if n is not None and was and n not in graph.nodes]
        came = [n for n, was in self._touched.items() if n is not None and not was and n in graph.nodes]
        removed = sorted((n.id for n in gone), key=lambda i: (root is None or i != root.id, i))
        looked = [n.id for n in (matched or ([root] if root is not None else []))]
        looked = list(dict.fromkeys([*looked, *removed]))
        state = self._present()
        if self.one_by_one or any(i not in state for i in looked):
            self._close()
            state = self._present()
        known = [i for i in looked if i in state]
        if not known:  # an input of the graph or a constant was replaced: those that read it are meant
            known = [n.id for n, was in self._touched.items() if n is not None and was and n.id in state]
        pairs = [(graph.ids[v], bool(v.clients)) for v in self._leaves if v in graph.ids and v not in graph.declared]
        exits = {graph.ids[v] for v in graph.outputs if v.owner is None}
        removed += [i for i, _ in pairs if i in state and i not in exits]
        added = [i for i, _ in pairs if i not in state and i in exits and i not in self._fresh]
        added += [n.id for n in graph.order.sorted(came)]
        top = self._id(new[0]) if new else None
        added.sort(key=lambda i: i == top)
        stands = [i for v in new if (i := self._id(v)) is not None and i in state and i not in added]
        number = len(self._matches)
        self._matches.append(MatchFound(number, rule, known[0] if known else -1, tuple(known)))
        seconds = perf_counter() - self._began
        gone_ids = tuple(i for i in removed if i in state)
        self._rewrites.append(Rewritten(number, rule, gone_ids, tuple(added), seconds, became=tuple(stands[:1])))
        self._fresh.update(dict.fromkeys(added))
        self._changed |= changed_nodes(graph, self._touched, self._leaves)
        self._outputs = output_reads(graph)
        self._touched, self._leaves = {}, {}

    def reverted(self, rule: str, old: Sequence["Variable"], why: str) -> None:
        """The transaction was taken back."""
        if self.listeners:
            root = next((v.owner.id for v in old if v.owner is not None), -1)
            self._touched, self._leaves = {}, {}
            if root >= 0:
                self.refused(Refusal(rule, root, 0, root, RefusalKind.REVERTED, found=why))

    def refused(self, refusal: Refusal) -> None:
        """A rule was tried and does not apply; one at a node that this step made belongs to the next step."""
        if self.listeners:
            newer = refusal.root in self._fresh or refusal.node in self._fresh
            (self._later if newer else self._refusals).append(refusal)

    # ------------------------------------------------------------------ helpers

    def _unique(self, name: str) -> str:
        """A name that no part at this place had before: `CSE (2)` for the second one."""
        path = "/".join([*self._scopes, name])
        count = self._seen[path] = self._seen.get(path, 0) + 1
        return name if count == 1 else f"{name} ({count})"

    def _clear(self) -> None:
        self._matches: list[MatchFound] = []
        self._rewrites: list[Rewritten] = []
        self._refusals: list[Refusal] = []
        self._later: list[Refusal] = []
        self._fresh: dict[int, None] = {}
        self._changed: dict[int, NodeState | None] = {}
        self._outputs: tuple[Read, ...] = ()

    def _present(self) -> GraphState:
        if self._state is None:
            self._state = GraphState.of(self._graph)
        return self._state

    def _id(self, variable: "Variable") -> int | None:
        return variable.owner.id if variable.owner is not None else self._graph.ids.get(variable)

    def _path(self) -> str:
        self._parts += 1
        part = f", part {self._parts}" if self._parts > 1 else ""
        return "/".join(self._scopes or ["change"]) + part

    def _snapshot(self) -> TensorSnapshot:
        return TensorSnapshot(self._present())

    def _close(self, always: bool = False) -> None:
        """End the step that is open, if something happened in it."""
        if not self.listeners or not (always or self._rewrites or self._refusals):
            return
        self._tell(StepStarted(self._path(), TENSOR, self._rules[-1]))
        for match in self._matches:
            self._tell(match)
        before = self._present()
        refusals = [
            r for r in (*self._refusals, *(self._later if always else ())) if r.root in before and r.node in before
        ]
        if refusals:
            self._tell(AttemptsRefused(tuple(refusals)))
        for rewrite in self._rewrites:
            self._tell(rewrite)
        changed = bool(self._rewrites)
        if changed:
            self._state = before.after(self._changed, self._outputs)
        now = perf_counter()
        self._tell(StepEnded(changed, now - self._started, self._snapshot()))
        self._started = now
        self._told[-1] = True
        later = [] if always else self._later
        self._clear()
        self._refusals = later

    def _tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)
