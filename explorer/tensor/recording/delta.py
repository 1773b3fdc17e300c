"""Changes of a graph since a step began, so that the state after the step is cheap to record at any time.

A change only notes which application, constant or output it touched; their states are read when the step ends. The step
may have to end before the current transaction: so the previous state of everything touched is kept until the next
transaction begins.
"""

from collections.abc import Iterable, Iterator

from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.recording.tensor_snapshot import GraphState, NodeState

Inputs = tuple[Variable, ...]


class Delta(Feature):
    """The changes of one graph since a state of it."""

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
