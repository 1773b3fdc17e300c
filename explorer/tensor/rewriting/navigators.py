"""Navigators: global rewriters that walk local ones through a graph.

Shared by all of them: the order of a walk, the rewriters to try at an operator, new applications, the limit.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from torch._ops import OpOverloadPacket

from explorer.errors import LimitWarning, check_name, warn
from explorer.rewrite import FromQuery
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined, Replacements, Rewrite
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import Apply
from explorer.tensor.rewriting.processing import Processor
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import (
    FailurePolicy,
    LocalRewriter,
    OpPattern,
    Rewriter,
    Tracked,
    check_tracks,
    is_tracked,
)
from explorer.trace import Refusal

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
        """Return the applications that entered since the last call."""
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
    """Return whether a rewriter that tracks these operators is tried at an operator."""
    return tracked is None or any(is_tracked(op, wanted) for wanted in tracked)


def by_operator(rewriters: Sequence[LocalRewriter]) -> Callable[[Op], tuple[LocalRewriter, ...]]:
    """Return a function that returns the rewriters to try at an operator, the most specific tracks first.

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
    """Rank tracked operators in Theano's order: an overload, all overloads of a name, an operator with attributes."""
    target = wanted.target if isinstance(wanted, OpPattern) else wanted
    return 2 if isinstance(target, Op) else 1 if isinstance(target, OpOverloadPacket) else 0


def report_limit(graph: FunctionGraph, profile: Profile, name: str, limit: int) -> None:
    """Emit an event and a warning: a navigator stops at its limit."""
    message = f"Stopped {name} at the limit of {limit} rewrites; two rules may be undoing each other's work."
    profile.limits.append(message)
    graph.observer.on_limit("rewrites", limit, message)
    warn(message, LimitWarning)


class LocalRewriterGroup(FromQuery, LocalRewriter):
    """Several local rewriters as one: applies the first that matches, or with `apply_all` all until none matches."""

    def __init__(self, *rewriters: LocalRewriter, apply_all: bool = False, name: str = "") -> None:
        self.name = name or "+".join(rewriter.label for rewriter in rewriters)
        self.rewriters = rewriters
        self.apply_all = apply_all
        self.reentrant = any(rewriter.reentrant for rewriter in rewriters)
        self._last: LocalRewriter | None = None
        self._declined: Declined | None = None

    def transform(self, node: Apply) -> Rewrite:
        self._last = self._declined = None
        given: Any = False
        current = node
        seen: set[Apply] = set()
        while current not in seen:
            seen.add(current)
            step = self._first(current)
            if step is None:
                break
            given = step
            top = step[0] if isinstance(step, list | tuple) and step else None
            if not self.apply_all or top is None or top.owner is None:
                break
            current = top.owner
        return given or self._declined or False

    def _first(self, node: Apply) -> Replacements | None:
        for rewriter in self.rewriters:
            tracked = check_tracks(rewriter)
            if not is_wanted(node.op, tracked):
                continue
            given = rewriter.attempt(node)
            if isinstance(given, Declined):
                self._declined = self._declined or given
            elif not isinstance(given, Refusal) and given:
                self._last = self._last or rewriter
                return given
        return None

    def matched_nodes(self, node: Apply) -> Sequence[Apply]:
        return (node,) if self._last is None else self._last.matched_nodes(node)

    def tracks(self) -> Sequence[Tracked] | None:
        found: list[Tracked] = []
        for rewriter in self.rewriters:
            tracked = check_tracks(rewriter)
            if tracked is None:
                return None
            found.extend(tracked)
        return found

    def requirements(self) -> Sequence[Feature]:
        return [feature for rewriter in self.rewriters for feature in rewriter.requirements()]

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        return self.rewriters


class TopoRewriter(Rewriter):
    """Walks one local rewriter through the graph once.

    `order`: from the inputs, from the outputs, or depth first from the outputs. Applications made by a rewrite are
    visited at the end unless `ignore_newtrees`; "auto" visits them if the rewriter is reentrant. After `max_use_ratio`
    rewrites per node of the graph the walk ends with an event and a warning.
    """

    def __init__(
        self,
        local_rewriter: LocalRewriter,
        order: Order = "in_to_out",
        ignore_newtrees: "bool | Literal['auto']" = "auto",
        *,
        name: str = "",
        policy: FailurePolicy = FailurePolicy.RAISE,
        max_use_ratio: float = MAX_USE_RATIO,
    ) -> None:
        check_name("order", order, ORDERS)
        self.name = name or local_rewriter.label
        self.local_rewriter = local_rewriter
        self.order: Order = order
        self.policy = policy
        self.max_use_ratio = max_use_ratio
        self.ignore_newtrees = not local_rewriter.reentrant if ignore_newtrees == "auto" else ignore_newtrees

    def parts(self) -> Sequence[LocalRewriter]:
        return (self.local_rewriter,)

    def apply(self, graph: FunctionGraph) -> Profile:
        processor = Processor(graph, self.policy)
        tracked = check_tracks(self.local_rewriter)
        waiting = deque(start_nodes(graph, self.order))
        limit = max(1, int(self.max_use_ratio * max(1, len(graph))))
        arrivals = Arrivals()
        graph.attach_feature(arrivals)
        try:
            while waiting:
                node = waiting.popleft()
                if node not in graph.nodes or not is_wanted(node.op, tracked):
                    continue
                changed = processor.process(self.local_rewriter, node)
                new = [found for found in arrivals.take() if found is not node and found in graph.nodes]
                if changed and not self.ignore_newtrees:
                    waiting.extend(new if self.order == "in_to_out" else new[::-1])
                if processor.profile.applied >= limit and (waiting and changed):
                    report_limit(graph, processor.profile, self.label, limit)
                    break
        finally:
            graph.remove_feature(arrivals)
        return processor.profile


def in2out(local_rewriter: LocalRewriter, **options: Any) -> TopoRewriter:
    """Walk from the inputs."""
    return TopoRewriter(local_rewriter, "in_to_out", **options)
