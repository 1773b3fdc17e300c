"""Navigators: global rewriters that lead local ones through a graph.

Source: Theano, Graph optimization: Navigator, TopoOptimizer, EquilibriumOptimizer, LocalOptGroup.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from torch._ops import OpOverloadPacket

from explorer.errors import LimitWarning, RuleError, unknown_name
from explorer.rewrite import FromQuery
from explorer.tensor.graph.features import ChangeTracker, Feature, NodeFinder, ReplaceValidate
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
    checked_tracks,
    is_tracked,
)

Order = Literal["in_to_out", "out_to_in", "dfs"]
ORDERS = ("in_to_out", "out_to_in", "dfs")
MAX_USE_RATIO = 8.0
"""So many rewrites a node of the graph a navigator may make; more is taken for an oscillation."""


class LocalRewriterGroup(FromQuery, LocalRewriter):
    """Several local rewriters as one: the first that applies; or with `apply_all` on and on, until none applies."""

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
            tracked = checked_tracks(rewriter)
            if tracked is not None and not any(is_tracked(node.op, wanted) for wanted in tracked):
                continue
            given = rewriter.attempt(node)
            if isinstance(given, list | tuple | dict) and given:
                self._last = self._last or rewriter
                return given
            if isinstance(given, Declined):
                self._declined = self._declined or given
        return None

    def matched(self, node: Apply) -> Sequence[Apply]:
        return (node,) if self._last is None else self._last.matched(node)

    def tracks(self) -> Sequence[Tracked] | None:
        found: list[Tracked] = []
        for rewriter in self.rewriters:
            tracked = checked_tracks(rewriter)
            if tracked is None:
                return None
            found.extend(tracked)
        return found

    def requirements(self) -> Sequence[Feature]:
        return [feature for rewriter in self.rewriters for feature in rewriter.requirements()]


class TopoRewriter(Rewriter):
    """Leads one local rewriter through the graph once.

    `order`: from the inputs on, from the outputs on, or depth first from the outputs. What a rewrite makes is visited
    as well, at the end, unless `ignore_newtrees`; "auto" visits it only if the rewriter is reentrant. At most
    `max_use_ratio` rewrites for each node of the graph are made; more is an event and a warning.
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
        if order not in ORDERS:
            raise unknown_name("order", order, ORDERS)
        self.name = name or local_rewriter.label
        self.local_rewriter = local_rewriter
        self.order: Order = order
        self.policy = policy
        self.max_use_ratio = max_use_ratio
        self.ignore_newtrees = not local_rewriter.reentrant if ignore_newtrees == "auto" else ignore_newtrees

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(ReplaceValidate())
        for feature in self.local_rewriter.requirements():
            graph.attach_feature(feature)

    def apply(self, graph: FunctionGraph) -> Profile:
        processor = Processor(graph, self.policy)
        tracked = checked_tracks(self.local_rewriter)
        waiting = deque(start_nodes(graph, self.order))
        limit = max(1, int(self.max_use_ratio * max(1, len(graph))))
        arrivals = Arrivals()
        graph.attach_feature(arrivals)
        try:
            while waiting:
                node = waiting.popleft()
                if node not in graph.nodes or not _wanted(node.op, tracked):
                    continue
                changed = processor.process(self.local_rewriter, node)
                new = [found for found in arrivals.take() if found is not node and found in graph.nodes]
                if changed and not self.ignore_newtrees:
                    waiting.extend(new if self.order == "in_to_out" else new[::-1])
                if processor.profile.applied >= limit and (waiting and changed):
                    tell_limit(graph, processor.profile, self.label, limit)
                    break
        finally:
            graph.remove_feature(arrivals)
        return processor.profile

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        return _flat(self.local_rewriter)

    def rule_names(self) -> tuple[str, ...]:
        return (self.local_rewriter.label,)


def in2out(local_rewriter: LocalRewriter, **options: Any) -> TopoRewriter:
    """From the inputs on."""
    return TopoRewriter(local_rewriter, "in_to_out", **options)


def out2in(local_rewriter: LocalRewriter, **options: Any) -> TopoRewriter:
    """From the outputs on."""
    return TopoRewriter(local_rewriter, "out_to_in", **options)


def dfs_rewriter(local_rewriter: LocalRewriter, **options: Any) -> TopoRewriter:
    """Depth first from the outputs."""
    return TopoRewriter(local_rewriter, "dfs", **options)


class OpKeyRewriter(Rewriter):
    """Leads a local rewriter to the applications of the operators that it tracks, found by a `NodeFinder`."""

    def __init__(self, local_rewriter: LocalRewriter, policy: FailurePolicy = FailurePolicy.RAISE) -> None:
        tracked = checked_tracks(local_rewriter)
        if tracked is None or not all(isinstance(wanted, Op) for wanted in tracked):
            raise RuleError(
                f"{local_rewriter.label} must track operators with all their attributes to be found by them"
            )
        self.name = local_rewriter.label
        self.local_rewriter = local_rewriter
        self.policy = policy

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(NodeFinder())
        for feature in self.local_rewriter.requirements():
            graph.attach_feature(feature)

    def apply(self, graph: FunctionGraph) -> Profile:
        processor = Processor(graph, self.policy)
        for wanted in checked_tracks(self.local_rewriter) or ():
            for node in graph.get_nodes(wanted):
                if node in graph.nodes:
                    processor.process(self.local_rewriter, node)
        return processor.profile

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        return _flat(self.local_rewriter)


class EquilibriumRewriter(FromQuery, Rewriter):
    """Applies rewriters over and over again until none of them changes anything.

    A round: every global rewriter once, the cleanup rewriters, then every application from the outputs on with every
    local rewriter that tracks it, the cleanup rewriters after each change; then the final rewriters. Between rounds
    nothing is kept. A rule that is applied more than `max_use_ratio` times for each node that there was at first ends
    it: that is an event and a warning, and the graph stays as it is then.
    """

    def __init__(
        self,
        rewriters: Sequence[LocalRewriter | Rewriter],
        *,
        name: str = "equilibrium",
        ignore_newtrees: bool = True,
        max_use_ratio: float = MAX_USE_RATIO,
        final: Sequence[Rewriter] = (),
        cleanup: Sequence[Rewriter] = (),
        policy: FailurePolicy = FailurePolicy.RAISE,
    ) -> None:
        self.name = name
        self.local = tuple(r for r in rewriters if isinstance(r, LocalRewriter))
        self.globals = tuple(r for r in rewriters if isinstance(r, Rewriter))
        self.final = tuple(final)
        self.cleanup = tuple(cleanup)
        self.ignore_newtrees = ignore_newtrees
        self.max_use_ratio = max_use_ratio
        self.policy = policy

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(ReplaceValidate())
        for rewriter in (*self.globals, *self.final, *self.cleanup):
            rewriter.add_requirements(graph)
        for rewriter in self.local:
            for feature in rewriter.requirements():
                graph.attach_feature(feature)

    def apply(self, graph: FunctionGraph) -> Profile:
        processor = Processor(graph, self.policy)
        profile = processor.profile
        tracker = ChangeTracker()
        arrivals = Arrivals()
        graph.attach_feature(tracker)
        graph.attach_feature(arrivals)
        find = by_operator(self.local)
        most = len(graph)
        try:
            changed = True
            while changed:
                profile.rounds += 1
                used: dict[str, int] = {}
                with graph.observer.scope("round", self.rule_names(), profile.rounds):
                    tracker.take()
                    for rewriter in self.globals:
                        profile.add(rewriter.rewrite(graph))
                    self._clean(graph, profile)
                    most = max(most, len(graph)) if profile.rounds == 1 else most
                    limit = max(1, int(most * self.max_use_ratio))
                    over = self._sweep(graph, processor, find, arrivals, used, limit)
                    for rewriter in self.final:
                        profile.add(rewriter.rewrite(graph))
                    self._clean(graph, profile)
                    changed = tracker.take()
                total = {name: counts.applied for name, counts in profile.rules.items()}
                over = over or next((name for name, count in total.items() if count > limit), None)
                if over is not None and changed:
                    tell_limit(graph, profile, f"{self.label}: {over}", limit)
                    break
        finally:
            graph.remove_feature(tracker)
            graph.remove_feature(arrivals)
        return profile

    def _sweep(
        self,
        graph: FunctionGraph,
        processor: Processor,
        find: Callable[[Op], tuple[LocalRewriter, ...]],
        arrivals: "Arrivals",
        used: dict[str, int],
        limit: int,
    ) -> str | None:
        """All applications once; gives the rule that went over the limit, if one did."""
        waiting = deque(graph.toposort())
        arrivals.take()
        while waiting:
            node = waiting.pop()
            if node not in graph.nodes:
                continue
            for rewriter in find(node.op):
                if not processor.process(rewriter, node):
                    continue
                used[rewriter.label] = used.get(rewriter.label, 0) + 1
                self._clean(graph, processor.profile)
                new = [found for found in arrivals.take() if found in graph.nodes]
                if not self.ignore_newtrees:
                    waiting.extend(new)
                if used[rewriter.label] > limit:
                    return rewriter.label
                if node not in graph.nodes:
                    break
        return None

    def _clean(self, graph: FunctionGraph, profile: Profile) -> None:
        for rewriter in self.cleanup:
            profile.add(rewriter.apply(graph) or Profile())

    def rule_names(self) -> tuple[str, ...]:
        names = [r.label for r in self.local]
        names += [name for r in (*self.globals, *self.final, *self.cleanup) for name in r.rule_names()]
        return tuple(dict.fromkeys(names))

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        inner = [local for r in (*self.globals, *self.final, *self.cleanup) for local in r.local_rewriters()]
        return tuple(dict.fromkeys([*(local for r in self.local for local in _flat(r)), *inner]))

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        inner = [one for r in (*self.globals, *self.final, *self.cleanup) for one in r.global_rewriters()]
        return tuple(dict.fromkeys(inner))


class Arrivals(Feature):
    """The applications that came since it was last asked."""

    def __init__(self) -> None:
        self._new: list[Apply] = []

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._new.append(node)

    def take(self) -> list[Apply]:
        """Those that came since the last call."""
        new, self._new = self._new, []
        return new


def start_nodes(graph: FunctionGraph, order: Order) -> Iterator[Apply]:
    """The applications in the order of a walk."""
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


def _wanted(op: Op, tracked: Sequence[Tracked] | None) -> bool:
    return tracked is None or any(is_tracked(op, wanted) for wanted in tracked)


def by_operator(rewriters: Sequence[LocalRewriter]) -> Callable[[Op], tuple[LocalRewriter, ...]]:
    """Which rewriters to try at an operator, in this order.

    Those that track its overload, then all overloads of its name, then its attributes too, then all operators.
    """
    tracks = [(rewriter, checked_tracks(rewriter)) for rewriter in rewriters]
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
    """Theano's order: the class of the operator, the classes above it, the operator with its attributes."""
    target = wanted.target if isinstance(wanted, OpPattern) else wanted
    return 2 if isinstance(target, Op) else 1 if isinstance(target, OpOverloadPacket) else 0


def _flat(rewriter: LocalRewriter) -> tuple[LocalRewriter, ...]:
    return rewriter.rewriters if isinstance(rewriter, LocalRewriterGroup) else (rewriter,)


def tell_limit(graph: FunctionGraph, profile: Profile, name: str, limit: int) -> None:
    """A navigator stops at its bound: an event and a warning."""
    message = f"Stopped {name} at the limit of {limit} rewrites; two rules may be undoing each other's work."
    profile.limits.append(message)
    graph.observer.limit("rewrites", limit, message)
    warnings.warn(message, LimitWarning, stacklevel=3)
