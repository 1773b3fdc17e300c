"""The databases of the rules of this package, each with the tags of its rules, and all rewriters in their order.

`optdb.query(Query(include=["fast_run"]))` is the pipeline for a fast program, `fast_compile` the one for a fast
compilation. Rewriters that overwrite inputs are tagged `inplace` and come after the mark; in-place programs are for
inference: exclude `inplace` where gradients of inputs are needed. Rules are also tagged `exact` or `real`, so
`excluding("real")` selects the rules that keep every bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch._ops import OpOverload

from explorer.rewrite import Exactness
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.rewriting import (
    AddDestroyHandler,
    EquilibriumDB,
    LocalRewriter,
    MergeRewriter,
    PatternSub,
    SequenceDB,
    SweepDB,
    node_rewriter,
)
from explorer.tensor.rewriting.rewriters import FunctionRewriter, Tracked

R = TypeVar("R", bound=LocalRewriter)


@dataclass(frozen=True, slots=True, eq=False)
class RuleFamily:
    """Registers rules in a database, with these tags and their exactness as one more."""

    database: EquilibriumDB | SweepDB
    tags: tuple[str, ...]

    def rule(
        self,
        tracks: Sequence[Tracked] | None,
        *,
        above: Sequence[OpOverload] | None = None,
        exactness: Exactness = Exactness.REAL,
    ) -> Callable[[Callable[..., Rewrite]], FunctionRewriter]:
        """Decorator: register a function as a rule; `above` is as in `node_rewriter`."""
        return lambda function: self.add(node_rewriter(tracks, above=above, exactness=exactness)(function))

    def pattern(
        self,
        name: str,
        pattern: Any,
        replacement: Any,
        doc: str,
        *,
        exactness: Exactness = Exactness.REAL,
        allow_multiple_clients: bool = False,
    ) -> PatternSub:
        """Register a `PatternSub` that keeps types and tries the inputs of sums and products in both orders."""
        return self.add(
            PatternSub(
                pattern,
                replacement,
                name=name,
                allow_multiple_clients=allow_multiple_clients,
                commutative=True,
                allow_cast=False,
                exactness=exactness,
                doc=doc,
            )
        )

    def add(self, rule: R) -> R:
        """Register a rule."""
        self.database.register(rule.label, rule, *self.tags, rule.exactness.value)
        return rule


canonicalize = EquilibriumDB("canonicalize", ignore_newtrees=False)
"""Rules that bring a graph into a canonical form: rare operators become elementary, constants are evaluated."""

stabilize = EquilibriumDB("stabilize")
"""Rules that replace operators that overflow, underflow or lose digits by stable ones."""

specialize = EquilibriumDB("specialize")
"""Rules that replace several operators by one that is faster or more exact; `fast_compile` omits them."""

overwrite = SweepDB("overwrite")
"""Rules that let an operator overwrite an input that is no longer needed, after the mark for in-place rules."""

canonical = RuleFamily(canonicalize, ("fast_run", "fast_compile"))
stable = RuleFamily(stabilize, ("fast_run", "fast_compile"))
special = RuleFamily(specialize, ("fast_run",))
overwriting = RuleFamily(overwrite, ("fast_run", "inplace"))


MARK = 49.5
"""Rewriters after this position may let operators overwrite their inputs."""

optdb = SequenceDB("optdb", not_before={"inplace": MARK})
optdb.register("merge1", MergeRewriter(), 0, "fast_run", "fast_compile", "merge")
optdb.register("canonicalize", canonicalize, 1, "fast_run", "fast_compile")
optdb.register("merge1.2", MergeRewriter(), 1.2, "fast_run", "fast_compile", "merge")
optdb.register("stabilize", stabilize, 1.5, "fast_run", "fast_compile")
optdb.register("specialize", specialize, 2, "fast_run")
optdb.register("merge2", MergeRewriter(), 49, "fast_run", "merge")
optdb.register("add_destroy_handler", AddDestroyHandler(), MARK, "fast_run", "inplace")
optdb.register("overwrite", overwrite, 50, "fast_run", "inplace")
optdb.register("merge3", MergeRewriter(), 100, "fast_run", "merge")
