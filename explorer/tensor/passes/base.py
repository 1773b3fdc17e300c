"""Graph passes, their registry, their default pipeline, and their rules as a trace describes them.

pool = passes.new("OptimizePool")

@pool.rule([aten.max_pool2d.default], exactness=Exactness.EXACT)
def relu_below_max_pool(node): ...
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from torch._ops import OpOverload

from explorer.errors import DuplicateNameError
from explorer.passes import PASSES, purposes_of
from explorer.rewrite import CompilationMode, Exactness, FunctionPassPipeline, PassRegistry
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.rewriting import Profile, SweepRewriter, node_rewriter
from explorer.tensor.rewriting.navigators import Order
from explorer.tensor.rewriting.rewriters import (
    FunctionRewriter,
    LocalRewriter,
    Rewriter,
    Tracked,
    check_tracks,
    tracked_name,
)
from explorer.trace import TENSOR, RuleDescription
from explorer.trace.reasons import ANY_OPERATOR, OR

WEAKEST = (Exactness.EXACT, Exactness.REAL, Exactness.LOSSY)


@dataclass(eq=False)
class GraphPass:
    """A named pass: local rules for one walk through the graph, or one global rewriter."""

    name: str
    doc: str = ""
    """Its purpose; by default from the page of all passes."""
    order: Order = "in_to_out"
    whole: Callable[[], Rewriter] | None = None
    """Makes the global rewriter for each run: rules may have been registered in its database since the last one."""
    whole_exactness: Exactness = Exactness.EXACT
    rules: list[LocalRewriter] = field(default_factory=list[LocalRewriter])

    def __post_init__(self) -> None:
        self.doc = self.doc or purposes_of(TENSOR).get(self.name, "")

    def rule(
        self,
        tracks: Sequence[Tracked] | None,
        *,
        name: str = "",
        above: Sequence[OpOverload] | None = None,
        sole_user: bool = False,
        exactness: Exactness = Exactness.REAL,
    ) -> Callable[[Callable[..., Rewrite]], FunctionRewriter]:
        """Decorator: register a function as a rule of this pass; the options are as in `node_rewriter`.

        Raises: DuplicateNameError.
        """

        def register(function: Callable[..., Rewrite]) -> FunctionRewriter:
            made = node_rewriter(tracks, name=name, above=above, sole_user=sole_user, exactness=exactness)(function)
            self.add(made)
            return made

        return register

    def add(self, *rules: LocalRewriter) -> None:
        """Add rules, possibly of another pass. Raises: DuplicateNameError for a name that the pass has."""
        for rule in rules:
            if any(known.label == rule.label for known in self.rules):
                raise DuplicateNameError(f"the pass {self.name} already has a rule named {rule.label!r}")
            self.rules.append(rule)

    @property
    def exactness(self) -> Exactness:
        """The weakest exactness of its rules."""
        own = [self.whole_exactness] if self.whole is not None else []
        return max(
            (*own, *(rule.exactness for rule in self.local_rewriters())), key=WEAKEST.index, default=Exactness.EXACT
        )

    def rewriter(self) -> Rewriter:
        """Return the pass as a rewriter."""
        if self.whole is not None:
            return self.whole()
        return SweepRewriter(self.rules, name=self.name, order=self.order)

    def rule_names(self) -> tuple[str, ...]:
        """Return the rules that it tries."""
        return self.rewriter().rule_names()

    def describe(self) -> tuple[RuleDescription, ...]:
        """Return its rules, for a trace."""
        return describe_rules([self.rewriter()])

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        """Return its local rules."""
        return self.rewriter().local_rewriters()

    def run(self, graph: FunctionGraph, mode: CompilationMode = CompilationMode.INFER) -> Profile:
        """Walk through the graph once, in all modes alike; returns the counts of the rules."""
        del mode
        return self.rewriter().run_on(graph)

    def remaining_changes(self, graph: FunctionGraph) -> str:
        """Return a message on the last round: further changes are unknown without running the pass."""
        del graph
        return "the last one still changed the graph"


class GraphPasses(PassRegistry[FunctionGraph]):
    """The passes on tensor graphs."""

    def new(
        self,
        name: str,
        doc: str = "",
        *,
        order: Order = "in_to_out",
        whole: Callable[[], Rewriter] | None = None,
        exactness: Exactness = Exactness.EXACT,
    ) -> GraphPass:
        """Make a pass and register it; `whole` makes a global rewriter with this `exactness`.

        Without a `doc` it has its purpose in `explorer.passes`.

        Raises: DuplicateNameError.
        """
        made = GraphPass(name, doc, order, whole, exactness)
        self.register(made)
        return made


passes = GraphPasses()
"""All passes of this package, by Glow's names."""


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


DEFAULT_PIPELINE = FunctionPassPipeline.of_listed(PASSES[TENSOR])
"""The passes that a graph goes through by default, whose entries are in `explorer.passes`.

It brings the graph into one form before Glow's passes, which are in the order of Glow's source, and specializes it
behind them. It omits the passes that cost time or digits with PyTorch's kernels. Passes that are for inference only say
so in their configuration, so that one pipeline serves both modes. The passes on regression and pooling, which later
versions of Glow do not have, come first and after the sinking.
"""
