"""Graph passes and their registry.

pool = passes.new("OptimizePool")

@pool.rule([aten.max_pool2d.default], exactness=Exactness.EXACT)
def relu_below_max_pool(node): ...
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch._ops import OpOverload

from explorer.errors import DuplicateNameError
from explorer.passes import purposes_of
from explorer.rewrite import CompilationMode, Exactness, PassRegistry
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.rewriting import LocalRewriter, Profile, Rewriter, SweepRewriter, node_rewriter
from explorer.tensor.rewriting.describing import describe_rules
from explorer.tensor.rewriting.navigators import Order
from explorer.tensor.rewriting.rewriters import FunctionRewriter, Tracked
from explorer.trace import TENSOR, RuleDescription

WEAKEST = (Exactness.EXACT, Exactness.REAL, Exactness.LOSSY)


@dataclass(eq=False)
class GraphPass:
    """A named pass: local rules for one walk through the graph, or one global rewriter."""

    name: str
    doc: str = ""
    """Its purpose; by default that of the page of all passes."""
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
