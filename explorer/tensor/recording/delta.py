"""What changed in a graph since a step began, so that the state after it can be told, cheaply and at any time.

A change notes which application, constant or output it touched, and no more. What these are is asked only when the
step ends. It may end because of a transaction that was made already; for this each touched thing keeps, until the next
transaction begins, what it was before the present one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.recording.snapshot import GraphState, NodeState

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph

Inputs = tuple[Variable, ...]


class Delta:
    """The changes of one graph since a state of it."""

    def __init__(self, graph: "FunctionGraph") -> None:
        self._graph = graph
        self.state: GraphState | None = None
        """The state when the step began; None: nobody asked for it yet."""
        self.drawn: set[int] = set()
        """The nodes that were drawn when the step began."""
        self._exits: dict[Variable, int] = {}
        """The constants that are outputs now, and how often."""
        self._exits_drawn: frozenset[int] = frozenset()
        self._begin_step()
        self.begin()

    # ------------------------------------------------------------------ what happens

    def begin(self) -> None:
        """A transaction begins."""
        self._touched: dict[Apply, Inputs | None] = {}
        self._leaves: dict[Constant, None] = {}
        self._outputs_before: dict[int, Variable] = {}
        self._types_before: dict[Variable, TensorType] = {}

    def imported(self, node: Apply) -> None:
        """An application came."""
        self._touched.setdefault(node, None)

    def pruned(self, node: Apply) -> None:
        """An application went."""
        if node not in self._touched:
            self._touched[node] = tuple(node.inputs)

    def rewired(self, node: Apply | None, index: int, old: Variable, new: Variable) -> None:
        """An application (None: the outputs) reads something else at a position."""
        if node is None:
            self._outputs_before.setdefault(index, old)
            self._count_exit(old, -1)
            self._count_exit(new, 1)
        elif node not in self._touched:
            inputs = node.inputs.copy()
            inputs[index] = old
            self._touched[node] = tuple(inputs)
        if isinstance(old, Constant):
            self._leaves[old] = None

    def leaf(self, variable: Variable) -> None:
        """An input or a constant came, or lost a reader; inputs stay in the graph in any case."""
        if isinstance(variable, Constant):
            self._leaves[variable] = None

    def renamed(self, variable: Variable, old: TensorType) -> None:
        """The type of a variable has another name for the order of its axes."""
        self._types_before.setdefault(variable, old)
        if variable.owner is not None:
            self._touched.setdefault(variable.owner, tuple(variable.owner.inputs))

    def commit(self) -> None:
        """The present transaction stands: what it touched has changed in this step."""
        self._nodes.update(self._touched)
        for leaf in self._leaves:
            self._ends[leaf] = bool(leaf.clients)
        for variable in self._types_before:
            if variable.owner is None:
                self._ends[variable] = True
        if self._outputs_before:
            self._outputs_changed = True

    # ------------------------------------------------------------------ what is asked of it

    def came_and_went(self) -> tuple[list[Apply], list[Apply]]:
        """The applications that came in the present transaction, and those that went, each in order."""
        nodes = self._graph.nodes
        came: list[Apply] = []
        went: list[Apply] = []
        for node, before in self._touched.items():
            if before is None:
                if node in nodes:
                    came.append(node)
            elif node not in nodes:
                went.append(node)
        return came, went

    def touched(self) -> list[int]:
        """The applications that were drawn when the step began, and that the present transaction touched."""
        return [node.id for node in self._touched if node.id in self.drawn]

    def exits(self) -> tuple[list[int], list[int]]:
        """The constants that became outputs in the present transaction and are not drawn, and those the other way."""
        if not self._exits and not self._exits_drawn:
            return [], []
        ids = self._graph.ids
        touched = [(constant in self._exits, ids[constant]) for constant in self._leaves]
        now = [number for is_exit, number in touched if is_exit and number not in self.drawn]
        return now, [number for is_exit, number in touched if not is_exit and number in self.drawn]

    def start(self) -> GraphState:
        """The state when the step began; the present one, if nobody asked before."""
        if self.state is None:
            self.state = GraphState.of(self._graph)
            self.drawn, self._exits_drawn = self.state.drawn(), self.state.exits
            self._exits = {}
            for variable in self._graph.outputs:
                self._count_exit(variable, 1)
        return self.state

    def end_step(self, before_transaction: bool) -> GraphState:
        """The state now, or the one before the present transaction; the next step begins there."""
        state = self.start()
        if self._nodes or self._ends or self._outputs_changed:
            changed = dict(self._node_states(before_transaction))
            outputs = self._outputs_now(before_transaction) if self._outputs_changed else state.outputs
            after = state.after(changed, outputs)
            self._redraw(after, changed)
            self.state = state = after
        self._begin_step()
        return state

    # ------------------------------------------------------------------ helpers

    def _begin_step(self) -> None:
        self._nodes: dict[Apply, Inputs | None] = {}
        self._ends: dict[Variable, bool] = {}
        """Inputs and constants, and whether something read them when a transaction touched them last."""
        self._outputs_changed = False

    def _count_exit(self, variable: Variable, by: int) -> None:
        if isinstance(variable, Constant):
            count = self._exits.get(variable, 0) + by
            if count:
                self._exits[variable] = count
            else:
                self._exits.pop(variable, None)

    def _node_states(self, before_transaction: bool) -> Iterator[tuple[int, NodeState | None]]:
        graph = self._graph
        undone = self._touched if before_transaction else {}
        types = self._types_before if before_transaction else {}
        for node in self._nodes:
            if node in undone:
                inputs = undone[node]
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
