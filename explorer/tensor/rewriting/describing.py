"""The rules of rewriters, as a trace describes them."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.rewriting.rewriters import LocalRewriter, Rewriter, check_tracks, tracked_name
from explorer.trace import TENSOR, RuleDescription
from explorer.trace.reasons import ANY_OPERATOR, OR


@runtime_checkable
class Pipeline(Protocol):
    """Changes a graph, and can list its rules."""

    def rewrite(self, graph: FunctionGraph) -> Any:
        """Change the graph."""
        ...

    def rule_names(self) -> tuple[str, ...]:
        """The names of all rules that it tries."""
        ...

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        """The local rewriters that it applies."""
        ...

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        """The rewriters of whole graphs that it applies."""
        ...


def describe_rules(pipelines: Sequence[Pipeline]) -> tuple[RuleDescription, ...]:
    """Descriptions of the rules of pipelines: local rules, then all others."""
    found: dict[str, RuleDescription] = {}
    for pipeline in pipelines:
        for rewriter in (*pipeline.local_rewriters(), *pipeline.global_rewriters()):
            found.setdefault(rewriter.label, _describe(rewriter))
        for name in pipeline.rule_names():
            found.setdefault(name, RuleDescription(name, name, (ANY_OPERATOR,), TENSOR, "real", "", ""))
    return tuple(found.values())


def _describe(rewriter: LocalRewriter | Rewriter) -> RuleDescription:
    tracked = check_tracks(rewriter) if isinstance(rewriter, LocalRewriter) else None
    first = ANY_OPERATOR if tracked is None else OR.join(dict.fromkeys(map(tracked_name, tracked)))
    name = rewriter.label
    return RuleDescription(
        name, name, (first,), TENSOR, rewriter.exactness.value, rewriter.doc, rewriter.source, guarded=True
    )
