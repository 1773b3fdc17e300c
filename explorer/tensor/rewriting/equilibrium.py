"""Several local rewriters at once: until none changes the graph, or in one walk, as passes use it."""

from collections import deque
from collections.abc import Callable, Sequence

from explorer.rewrite import FromQuery
from explorer.tensor.graph.features import ChangeTracker
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.navigators import (
    MAX_USE_RATIO,
    Arrivals,
    Order,
    by_operator,
    report_limit,
    start_nodes,
)
from explorer.tensor.rewriting.processing import Processor
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import FailurePolicy, LocalRewriter, Rewriter


class EquilibriumRewriter(FromQuery, Rewriter):
    """Applies rewriters until none of them changes the graph.

    A round applies every global rewriter once, then the cleanup rewriters; then it visits every application from the
    outputs with every local rewriter that tracks it, followed by the cleanup rewriters after each change; then it
    applies the final rewriters. No state is kept between rounds. A rule that is applied more than `max_use_ratio` times
    per node of the initial graph ends the rewriting with an event and a warning; the graph keeps the changes so far.
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

    def parts(self) -> Sequence[Rewriter | LocalRewriter]:
        return (*self.local, *self.globals, *self.final, *self.cleanup)

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
                    report_limit(graph, profile, f"{self.label}: {over}", limit)
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
        """Visit all applications once; returns the rule that exceeded the limit, if any."""
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


class _Touched(Arrivals):
    """Collects the applications that enter the graph or read another input, each once."""

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        if node is not None:
            self.on_import(graph, node, reason)

    def take(self) -> list[Apply]:
        return list(dict.fromkeys(super().take()))


class SweepRewriter(FromQuery, Rewriter):
    """Visits every application with all rewriters that track it.

    Applications that a rewrite made, or that read its result, are visited again at the end. After `max_use_ratio`
    rewrites per node of the graph the walk ends with an event and a warning.
    """

    def __init__(
        self,
        rewriters: Sequence[LocalRewriter],
        *,
        name: str = "sweep",
        order: Order = "in_to_out",
        policy: FailurePolicy = FailurePolicy.RAISE,
        max_use_ratio: float = MAX_USE_RATIO,
    ) -> None:
        self.name = name
        self.rewriters = tuple(rewriters)
        self.order: Order = order
        self.policy = policy
        self.max_use_ratio = max_use_ratio

    def parts(self) -> Sequence[LocalRewriter]:
        return self.rewriters

    def apply(self, graph: FunctionGraph) -> Profile:
        processor = Processor(graph, self.policy)
        find = by_operator(self.rewriters)
        waiting = deque(start_nodes(graph, self.order))
        limit = max(1, int(self.max_use_ratio * max(1, len(graph))))
        queued = set(waiting)
        arrivals = _Touched()
        graph.attach_feature(arrivals)
        try:
            while waiting:
                node = waiting.popleft()
                queued.discard(node)
                for rewriter in find(node.op):
                    if node not in graph.nodes:
                        break
                    if not processor.process(rewriter, node):
                        continue
                    touched = [found for found in arrivals.take() if found is not node and found in graph.nodes]
                    again = [found for found in touched if found not in queued]
                    waiting.extend(again)
                    queued.update(again)
                    if processor.profile.applied >= limit and waiting:
                        report_limit(graph, processor.profile, self.label, limit)
                        return processor.profile
        finally:
            graph.remove_feature(arrivals)
        return processor.profile
