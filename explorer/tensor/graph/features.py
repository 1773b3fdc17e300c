"""Features of a graph are notified of every change, and may refuse it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from explorer.errors import OperatorError
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph


class AlreadyThere(Exception):  # noqa: N818  # Theano's name; it is not an error
    """Raised by `on_attach`: the graph has such a feature, so this one is ignored."""


class Feature:
    """Base of all features; override the notifications that you need.

    `publishes` names methods that the graph then offers as its own. A feature is not notified of
    applications that are in the graph before: it reads the graph in `on_attach`.
    """

    publishes: ClassVar[tuple[str, ...]] = ()
    is_single: ClassVar[bool] = False
    """Whether a graph has at most one feature of this class; another one is ignored."""

    def on_attach(self, graph: "FunctionGraph") -> None:
        """Prepare to be attached. Raises: AlreadyThere to be ignored."""

    def on_detach(self, graph: "FunctionGraph") -> None:
        """Clean up after it was detached."""

    def on_import(self, graph: "FunctionGraph", node: Apply, reason: object) -> None:
        """Note an application that entered the graph."""

    def on_prune(self, graph: "FunctionGraph", node: Apply, reason: object) -> None:
        """Note an application that left the graph."""

    def on_change_input(
        self, graph: "FunctionGraph", node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        """Note that an application (None: the outputs) reads another variable at a position."""

    def on_layout(self, graph: "FunctionGraph", variable: Variable, old: TensorType) -> None:
        """Note a new layout name of a variable; `old` is its previous type."""

    def on_begin(self, graph: "FunctionGraph") -> None:
        """Note the begin of a transaction."""

    def on_apply(
        self,
        graph: "FunctionGraph",
        reason: object,
        old: Sequence[Variable],
        new: Sequence[Variable],
        matched: Sequence[Apply],
    ) -> None:
        """Note that a transaction replaced `old` by `new`; `matched` are the applications that the rule matched."""

    def on_revert(
        self,
        graph: "FunctionGraph",
        reason: object,
        old: Sequence[Variable],
        matched: Sequence[Apply],
        error: BaseException,
    ) -> None:
        """Note that a transaction was reverted because of an error."""

    def on_validate(self, graph: "FunctionGraph") -> None:
        """Check the current graph. Raises: InconsistencyError to refuse it."""

    def orderings(self, graph: "FunctionGraph") -> Mapping[Apply, Sequence[Apply]]:
        """Map applications to others that must run before them although they do not read their results."""
        return {}


class ReplaceValidate(Feature):
    """Declares that `replace_validate` and its variants are needed. Every graph has them."""

    is_single = True


class NodeFinder(Feature):
    """`get_nodes(op)`: the applications of an operator, in the order in which they entered the graph."""

    publishes = ("get_nodes",)
    is_single = True

    def __init__(self) -> None:
        self._nodes: dict[Op, dict[Apply, None]] = {}

    def on_attach(self, graph: "FunctionGraph") -> None:
        for node in graph.toposort():
            self.on_import(graph, node, "attached")

    def on_import(self, graph: "FunctionGraph", node: Apply, reason: object) -> None:
        self._nodes.setdefault(node.op, {})[node] = None

    def on_prune(self, graph: "FunctionGraph", node: Apply, reason: object) -> None:
        self._nodes[node.op].pop(node, None)

    def get_nodes(self, op: Op) -> tuple[Apply, ...]:
        """Return the applications of an operator. Raises: OperatorError if `op` is not an operator."""
        if not isinstance(op, Op):
            raise OperatorError(f"expected an operator, got {op!r}, a {type(op).__name__}")
        return tuple(self._nodes.get(op, ()))


class ChangeTracker(Feature):
    """Tracks whether the graph has changed."""

    def __init__(self) -> None:
        self._changed = False

    def on_import(self, graph: "FunctionGraph", node: Apply, reason: object) -> None:
        self._changed = True

    def on_change_input(
        self, graph: "FunctionGraph", node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        self._changed = True

    def take(self) -> bool:
        """Return whether anything changed since the last call."""
        changed, self._changed = self._changed, False
        return changed
