"""Events of a changing graph: transactions become matches and rewrites of steps, refusals become near misses.

A step contains rewrites that match only nodes of the graph when it began; a rewrite of newer nodes begins another step.
So every step has one graph before and one after it, in whatever order a rewriter walks.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from explorer.errors import InconsistencyError
from explorer.levels import NO_OBSERVER, Change, Recording
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.transactions import text_of
from explorer.tensor.graph.wiring import name_of
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.recording.tensor_snapshot import GraphState, NodeState, TensorSnapshot
from explorer.trace import TENSOR, Listener, Refusal, RefusalKind, StepPath

Inputs = tuple[Variable, ...]


class Observer(Recording, Feature):
    """Reports the changes of the graph to which it is attached to its listeners.

    With `one_by_one` every rewrite is a separate step.
    """

    def __init__(self, listeners: Sequence[Listener], one_by_one: bool = False) -> None:
        super().__init__(TENSOR, listeners)
        self.one_by_one = one_by_one
        self.delta = _Delta()
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


class _Delta(Feature):
    """The changes of one graph since a state of it, so that the state after a step is cheap to record at any time.

    A change only notes which application, constant or output it touched; their states are read when the step ends. The
    step may have to end before the current transaction: so the previous state of everything touched is kept until the
    next transaction begins.
    """

    def __init__(self) -> None:
        self.state: GraphState | None = None
        """The state when the step began; None if it was not needed yet."""
        self.drawn: set[int] = set()
        """The nodes that were drawn when the step began."""
        self._exits: set[Variable] = set()
        """The constants that are outputs now."""
        self._exits_drawn: frozenset[int] = frozenset()
        self._start_step()
        self._clear()

    # ------------------------------------------------------------------ notifications

    def on_attach(self, graph: FunctionGraph) -> None:
        self._graph = graph

    def on_begin(self, graph: FunctionGraph) -> None:
        self.start()
        self._clear()

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._touched.setdefault(node, None)
        self._touch_constants(node.inputs)

    def on_prune(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        if node not in self._touched:
            self._touched[node] = tuple(node.inputs)
        self._touch_constants(node.inputs)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        if node is None:
            self._outputs_before.setdefault(index, old)
        elif node not in self._touched:
            inputs = node.inputs.copy()
            inputs[index] = old
            self._touched[node] = tuple(inputs)
        self._touch_constants((old, new))

    def on_layout(self, graph: FunctionGraph, variable: Variable, old: TensorType) -> None:
        self._types_before.setdefault(variable, old)
        if variable.owner is not None:
            self._touched.setdefault(variable.owner, tuple(variable.owner.inputs))

    def commit(self) -> None:
        """Commit the current transaction: everything it touched has changed in this step."""
        self._nodes.update(self._touched)
        for leaf in self._leaves:
            self._ends[leaf] = bool(leaf.clients)
        for variable in self._types_before:
            if variable.owner is None:
                self._ends[variable] = True
        if self._outputs_before:
            self._outputs_changed = True

    # ------------------------------------------------------------------ queries

    def added_and_removed(self) -> tuple[list[Apply], list[Apply]]:
        """The applications that entered in the current transaction, and those that left, each in order."""
        nodes = self._graph.nodes
        added: list[Apply] = []
        removed: list[Apply] = []
        for node, before in self._touched.items():
            if before is None:
                if node in nodes:
                    added.append(node)
            elif node not in nodes:
                removed.append(node)
        return added, removed

    def touched_ids(self) -> list[int]:
        """The applications that were drawn when the step began, and that the current transaction touched."""
        return [node.id for node in self._touched if node.id in self.drawn]

    def exits(self) -> tuple[list[int], list[int]]:
        """Undrawn constants that became outputs in the current transaction, and drawn ones that no longer are."""
        if self._outputs_before:
            self._exits = {variable for variable in self._graph.outputs if isinstance(variable, Constant)}
        if not self._exits and not self._exits_drawn:
            return [], []
        ids = self._graph.ids
        touched = [(constant in self._exits, ids[constant]) for constant in self._leaves]
        now = [number for is_exit, number in touched if is_exit and number not in self.drawn]
        return now, [number for is_exit, number in touched if not is_exit and number in self.drawn]

    def start(self) -> GraphState:
        """The state when the step began; the current one if it was not needed before."""
        if self.state is None:
            self.state = GraphState.of(self._graph)
            self.drawn, self._exits_drawn = self.state.drawn_nodes(), self.state.exits
            self._exits = {variable for variable in self.state.outputs if isinstance(variable, Constant)}
        return self.state

    def end_step(self, before_transaction: bool) -> GraphState:
        """The current state, or the one before the current transaction; the next step begins there."""
        state = self.start()
        if self._nodes or self._ends or self._outputs_changed:
            changed = dict(self._node_states(before_transaction))
            outputs = self._outputs_now(before_transaction) if self._outputs_changed else state.outputs
            after = state.after(changed, outputs)
            self._redraw(after, changed)
            self.state = state = after
        self._start_step()
        return state

    # ------------------------------------------------------------------ helpers

    def _start_step(self) -> None:
        self._nodes: dict[Apply, Inputs | None] = {}
        self._ends: dict[Variable, bool] = {}
        """Inputs and constants, and whether they had users when a transaction touched them last."""
        self._outputs_changed = False

    def _clear(self) -> None:
        self._touched: dict[Apply, Inputs | None] = {}
        self._leaves: dict[Constant, None] = {}
        self._outputs_before: dict[int, Variable] = {}
        self._types_before: dict[Variable, TensorType] = {}

    def _touch_constants(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            if isinstance(variable, Constant):
                self._leaves[variable] = None

    def _node_states(self, before_transaction: bool) -> Iterator[tuple[int, NodeState | None]]:
        graph = self._graph
        touched = self._touched if before_transaction else {}
        types = self._types_before if before_transaction else {}
        for node in self._nodes:
            if node in touched:
                inputs = touched[node]
            else:
                inputs = tuple(node.inputs) if node in graph.nodes else None
            yield node.id, None if inputs is None else NodeState.of(node, inputs, graph.ids, types)
        for leaf, is_read in self._ends.items():
            yield graph.ids[leaf], NodeState.of(leaf, (), graph.ids, types) if is_read else None

    def _outputs_now(self, before_transaction: bool) -> Inputs:
        outputs = self._graph.outputs.copy()
        if before_transaction:
            for index, variable in self._outputs_before.items():
                outputs[index] = variable
        return tuple(outputs)

    def _redraw(self, after: GraphState, changed: dict[int, NodeState | None]) -> None:
        for number, node in changed.items():
            if node is None:
                self.drawn.discard(number)
            elif not isinstance(node.value, Constant):
                self.drawn.add(number)
        if self._outputs_changed:
            self.drawn -= self._exits_drawn
            self.drawn |= after.exits
            self._exits_drawn = after.exits
