"""`SweepRewriter`: one walk through a graph with several local rewriters, as passes use it."""

from collections import deque
from collections.abc import Sequence

from explorer.rewrite import FromQuery
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.processing import Processor
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import FailurePolicy, LocalRewriter, Rewriter
from explorer.tensor.rewriting.walking import (
    MAX_USE_RATIO,
    Arrivals,
    Order,
    by_operator,
    report_limit,
    start_nodes,
)


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
