"""Shared by all navigators: the order of a walk, the rewriters to try at an operator, new applications, the limit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from torch._ops import OpOverloadPacket

from explorer.errors import LimitWarning, warn
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import Apply
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import LocalRewriter, OpPattern, Tracked, check_tracks, is_tracked

Order = Literal["in_to_out", "out_to_in", "dfs"]
ORDERS = ("in_to_out", "out_to_in", "dfs")
MAX_USE_RATIO = 8.0
"""Maximum number of rewrites per node of the graph; beyond it, rules are assumed to undo each other's work."""


class Arrivals(Feature):
    """Collects the applications that enter the graph."""

    def __init__(self) -> None:
        self._new: list[Apply] = []

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._new.append(node)

    def take(self) -> list[Apply]:
        """The applications that entered since the last call."""
        new, self._new = self._new, []
        return new


def start_nodes(graph: FunctionGraph, order: Order) -> Iterator[Apply]:
    """Yield the applications in the order of a walk."""
    nodes = graph.toposort()
    if order == "in_to_out":
        yield from nodes
    elif order == "out_to_in":
        yield from reversed(nodes)
    else:
        seen: set[Apply] = set()
        waiting = [v.owner for v in reversed(graph.outputs) if v.owner is not None]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            yield node
            waiting.extend(v.owner for v in reversed(node.inputs) if v.owner is not None)


def is_wanted(op: Op, tracked: Sequence[Tracked] | None) -> bool:
    """Whether a rewriter that tracks these operators is tried at an operator."""
    return tracked is None or any(is_tracked(op, wanted) for wanted in tracked)


def by_operator(rewriters: Sequence[LocalRewriter]) -> Callable[[Op], tuple[LocalRewriter, ...]]:
    """A function that returns the rewriters to try at an operator, the most specific tracks first.

    That is: an overload, all overloads of a name, an operator with its attributes, any operator.
    """
    tracks = [(rewriter, check_tracks(rewriter)) for rewriter in rewriters]
    known: dict[Op, tuple[LocalRewriter, ...]] = {}

    def rank(op: Op, tracked: Sequence[Tracked] | None) -> int | None:
        if tracked is None:
            return 3
        fitting = [wanted for wanted in tracked if is_tracked(op, wanted)]
        if not fitting:
            return None
        return min(map(_breadth, fitting))

    def find(op: Op) -> tuple[LocalRewriter, ...]:
        if op not in known:
            ranked = [(r, i) for i, (_, tracked) in enumerate(tracks) if (r := rank(op, tracked)) is not None]
            known[op] = tuple(tracks[i][0] for _, i in sorted(ranked))
        return known[op]

    return find


def _breadth(wanted: Tracked) -> int:
    """Theano's order: the class of an operator, its base classes, the operator with its attributes."""
    target = wanted.target if isinstance(wanted, OpPattern) else wanted
    return 2 if isinstance(target, Op) else 1 if isinstance(target, OpOverloadPacket) else 0


def report_limit(graph: FunctionGraph, profile: Profile, name: str, limit: int) -> None:
    """Emit an event and a warning: a navigator stops at its limit."""
    message = f"Stopped {name} at the limit of {limit} rewrites; two rules may be undoing each other's work."
    profile.limits.append(message)
    graph.observer.on_limit("rewrites", limit, message)
    warn(message, LimitWarning)
