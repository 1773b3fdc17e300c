"""One local rewriter at one application: its result is checked, applied as one transaction, counted and recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from explorer.errors import CircuitError, InconsistencyError, RuleError, warn
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import FailurePolicy, LocalRewriter, changes_bits
from explorer.trace import Refusal, RefusalKind


class RewriteWarning(UserWarning):
    """A rule failed and was ignored, as the policy says."""


@dataclass
class Processor:
    """Applies local rewriters to the applications of one graph, for one run of a navigator."""

    graph: FunctionGraph
    policy: FailurePolicy = FailurePolicy.RAISE
    profile: Profile = field(default_factory=Profile)
    failed: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Rules and the nodes at which they failed; they are not tried there again."""

    def process(self, rewriter: LocalRewriter, node: Apply) -> bool:
        """Try a rewriter at an application; returns whether the graph changed.

        Raises: RuleError under the policy RAISE, if the rule raises or returns an invalid replacement.
        """
        name = rewriter.label
        if (name, node.id) in self.failed:
            return False
        counts = self.profile.rule(name)
        counts.tried += 1
        started = perf_counter()
        try:
            return self._process(rewriter, node)
        finally:
            counts.seconds += perf_counter() - started

    def _process(self, rewriter: LocalRewriter, node: Apply) -> bool:
        graph = self.graph
        try:
            given = rewriter.attempt(node)
        except Exception as error:  # noqa: BLE001  # rules are user code: the policy decides
            return self._fail(rewriter, node, error)
        if given is False or given is None:
            return False
        if isinstance(given, Refusal):
            if given.entry:  # the root fitted: a near miss
                self.graph.observer.on_refusal(given)
            return False
        if isinstance(given, Declined):
            self._refuse(rewriter, node, given)
            return False
        counts = self.profile.rule(rewriter.label)
        before = graph.next_id
        try:
            wanted = _parse_result(node, given)
        except RuleError as error:
            return self._fail(rewriter, node, error)
        if not wanted.pairs:
            return False
        user = changes_bits(graph, rewriter, wanted.pairs)
        if user is not None:
            self._refuse(rewriter, node, Declined(f"{user} would compute other bits: the strides of its input change"))
            return False
        counts.matched += 1
        matched = rewriter.matched_nodes(node)
        makers = {graph.made_by[n] for n in matched if n in graph.made_by}
        mark = graph.checkpoint()
        try:
            graph.replace_all_validate(wanted.pairs, rewriter, wanted.remove, matched, wanted.layouts)
        except InconsistencyError:  # not a failure of the rule; the graph has recorded the reason
            self.failed.add((rewriter.label, node.id))
            return False
        except Exception as error:  # noqa: BLE001  # features are user code as well
            return self._fail(rewriter, node, error, is_recorded=True)
        if graph.checkpoint() == mark:
            return False
        counts.applied += 1
        counts.nodes_made += graph.next_id - before
        for maker in sorted(makers):
            pair = (maker, rewriter.label)
            self.profile.enabled[pair] = self.profile.enabled.get(pair, 0) + 1
        return True

    def _refuse(self, rewriter: LocalRewriter, node: Apply, declined: Declined) -> None:
        if self.graph.observer:
            self.graph.observer.on_refusal(declined.refusal(rewriter.label, node))

    def _fail(self, rewriter: LocalRewriter, node: Apply, error: Exception, is_recorded: bool = False) -> bool:
        """Handle a failure by the policy; `is_recorded`: the graph has already recorded that it was reverted."""
        what = str(error) if isinstance(error, CircuitError) else f"{type(error).__name__}: {error}"
        message = f"the rule {rewriter.label} ({rewriter.source}) failed at node {node.id} ({node.op.name}): {what}"
        if self.policy is FailurePolicy.RAISE:
            self.graph.observer.on_failure(message)
            raise RuleError(message) from error
        if self.policy is FailurePolicy.WARN:
            warn(f"{message}; it was ignored", RewriteWarning)
        self.failed.add((rewriter.label, node.id))
        if self.graph.observer and not is_recorded:
            self.graph.observer.on_refusal(
                Refusal(rewriter.label, node.id, 0, node.id, RefusalKind.REVERTED, found=f"it failed: {what}")
            )
        return False


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A checked replacement: pairs (old, new), applications and variables to remove, layouts."""

    pairs: list[tuple[Variable, Variable]]
    remove: Sequence[object]
    layouts: Mapping[Variable, str]


def _parse_result(node: Apply, given: Any) -> _Wanted:
    """Check the result of a transform. Raises: RuleError."""
    remove: Sequence[object] = ()
    layouts: Mapping[Variable, str] = {}
    if isinstance(given, Mapping):
        found: dict[Any, Any] = dict(given)  # pyright: ignore[reportUnknownArgumentType]
        remove, layouts = found.pop("remove", ()), found.pop("layouts", {})
        pairs = list(found.items())
    elif isinstance(given, list | tuple):
        if len(given) != len(node.outputs):
            wanted = "one result" if len(node.outputs) == 1 else f"{len(node.outputs)} results"
            raise RuleError(f"{node.op.name} has {wanted}, and it returned {len(given)} replacements")
        pairs = list(zip(node.outputs, given, strict=True))
    else:
        raise RuleError(
            f"it returned {given!r}; expected False, Declined, a list of variables, or a mapping of variables"
        )
    kept: list[tuple[Variable, Variable]] = []
    for old, new in pairs:
        if new is None:
            if old.clients:
                raise RuleError(f"it returned None for a result of {node.op.name} that is used")
            continue
        if not isinstance(old, Variable) or not isinstance(new, Variable):
            raise RuleError(f"it returned {new!r} for {old!r}; only variables can be replaced, by variables")
        if new is not old:
            kept.append((old, new))
    return _Wanted(kept, remove, layouts)
