"""The reason that a pattern, or every rule of a pass, was not applied at a node, and what a different answer allows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from explorer.errors import CircuitError, unknown_name
from explorer.trace.events import RuleDescription
from explorer.trace.lineage import Lineages
from explorer.trace.reasons import (
    NodeContext,
    fate_of_matches,
    is_tried_at,
    matches_at,
    reason_of_pass,
    reason_without_refusal,
    refusals_at,
)
from explorer.trace.records import Records
from explorer.trace.refusal import Check, Refusal, RefusalKind
from explorer.trace.rule_answers import WhatIf, WhyNot
from explorer.trace.rules import WHERE_LISTED, find_rule, pass_names, rules_of_pass, steps_of_pass, tries
from explorer.trace.steps import MatchRefused, Step, find_step

Matcher = Callable[[int, str, int], tuple[tuple[Check, ...], Refusal | None]]
"""Runs the matcher again at a node: (step, pattern, node) -> (its questions, the refusal or None)."""

NO_REASON = (0, 0)
"""The closeness of a rule that refused without a reason."""


@dataclass(frozen=True, eq=False)
class WhyNots:
    """Answers why-not questions from the steps; `matcher` runs again if there is one (None: a loaded trace)."""

    steps: Sequence[Step]
    rules: Sequence[RuleDescription]
    lineages: Lineages
    records: Records
    matcher: Matcher | None

    def of_rule(self, pattern: str, node: int, step: "int | str | None") -> WhyNot:
        """Explain why a pattern was not applied; by default in the last step that tried it at this node.

        Raises: UnknownNameError for an unknown pattern, node or step; CircuitError for a step without one of them.
        """
        rule = find_rule(self.rules, pattern)
        first, last = self.lineages.lifetime(node)
        tried = self._find_step(rule, node) if step is None else find_step(self.steps, step)
        if not tries(tried, rule):
            raise CircuitError(
                f"{pattern} was not tried in step {tried.index} ({tried.path}); it is a {rule.kind} rule"
            )
        if not first < tried.index <= last + 1:
            raise CircuitError(
                f"node {node} did not exist in step {tried.index} ({tried.path}); "
                f"it exists after steps {first} to {last}"
            )
        found = matches_at(rule, node, tried)
        if found:
            applied, reason = fate_of_matches(found, tried)
            return WhyNot(pattern, node, tried.index, True, applied, (), None, reason)
        checks, refusal, parameter_path = (), None, ""
        if self.matcher is not None and rule.kind != "parameter":
            checks, refusal = self.matcher(tried.index, pattern, node)
        for kept in refusals_at(rule, node, tried)[:1]:
            refusal, parameter_path = kept.refusal, kept.parameter_path
        if refusal is not None:
            reason = f"in {parameter_path}: {refusal.reason}" if parameter_path else refusal.reason
        else:
            reason = reason_without_refusal(rule, self._context(node, tried), tried, fits=bool(checks))
        return WhyNot(pattern, node, tried.index, False, False, checks, refusal, reason)

    def of_pass(self, name: str, node: int, step: "int | str | None") -> WhyNot:
        """The answer of the rule that came closest; if none reported a reason, what the rules look for.

        Raises: UnknownNameError for an unknown pass, node or step; CircuitError if it was never run at the node.
        """
        found = steps_of_pass(name, self.steps)
        if not found:
            known = list(dict.fromkeys([*(rule.pattern for rule in self.rules), *pass_names(self.steps)]))
            raise unknown_name("rule or pass", name, known, f"what has no rule is never made; {WHERE_LISTED}")
        first, last = self.lineages.lifetime(node)
        run = [s for s in found if first < s.index <= last + 1]
        run = run if step is None else [s for s in run if s is find_step(self.steps, step)]
        if not run:
            where = "" if step is None else f" in step {step}"
            raise CircuitError(f"{name} was never run{where} while node {node} existed (steps {first} to {last})")
        rules = rules_of_pass(name, self.steps, self.rules)
        informative = [s for s in run if any(matches_at(rule, node, s) or refusals_at(rule, node, s) for rule in rules)]
        tried = (informative or run)[-1]
        rules = [rule for rule in rules if tries(tried, rule)]
        context = self._context(node, tried)
        fitting = [rule for rule in rules if is_tried_at(rule, context.record)]
        best = max((self.of_rule(rule.pattern, node, tried.index) for rule in fitting), key=_closeness, default=None)
        if best is None or _closeness(best) == NO_REASON:
            return WhyNot(
                name, node, tried.index, False, False, (), None, reason_of_pass(name, rules, fitting, context)
            )
        which = "the only rule" if len(rules) == 1 else f"the closest of {len(rules)} rules"
        return replace(best, reason=f"{which} of {name}: {best.reason}")

    def _find_step(self, rule: RuleDescription, node: int) -> Step:
        first, last = self.lineages.lifetime(node)
        tried = [s for s in self.steps if tries(s, rule) and first < s.index <= last + 1]
        if not tried:
            raise CircuitError(f"{rule.pattern} was never tried while node {node} existed (steps {first} to {last})")
        seen = (s for s in reversed(tried) if matches_at(rule, node, s) or refusals_at(rule, node, s))
        return next(seen, tried[-1])

    def _context(self, node: int, step: Step) -> NodeContext:
        """The node before a step, with what it reads."""
        graph = self.steps[step.index - 1].snapshot.graph
        reads = {source: self.records.of(graph.nodes[source]) for source in graph.inputs[node]}
        return NodeContext(node, self.records.of(graph.nodes[node]), reads)


def _closeness(answer: WhyNot) -> tuple[int, int]:
    """Rank the progress of a rule: applied, matched, refused at the end, refused earlier, no reason."""
    if answer.matched:
        return (4 if answer.applied else 3, 0)
    if answer.refusal is None:
        return NO_REASON
    whole = answer.refusal.kind in (RefusalKind.DECLINED, RefusalKind.REVERTED)
    return (2 if whole else 1, answer.refusal.entry)


Found = tuple[tuple[int, ...], ...]
Searcher = Callable[[int, str, Refusal | None], tuple[Found, tuple[Refusal, ...]]]
"""Searches the layers before a step: (step, pattern, the refusal to waive) -> (matches, refusals)."""

STRUCTURE: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.WRONG_TYPE: "the rule is made for layers of this type, and computes nothing for another",
        RefusalKind.SEVERAL_INPUTS: "a pattern is a chain, and it is unclear which input to follow",
        RefusalKind.NO_INPUT: "there is no layer for the next entry of the pattern",
        RefusalKind.OTHER_VALUE: "a variable of a pattern is one node",
        RefusalKind.REVERTED: "it was applied, and had to be reverted",
    }
)
"""The reason that a question cannot be waived: the answer decides the nodes that match, or the result."""
IN_PARAMETER = "the rule rewrites a parameter, and only rules on layers are searched again"
LOADED = "the trace was loaded from a file; compile its circuit again to ask"
LOST: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.SEVERAL_USERS: "other layers read a layer inside the match, so it would be computed twice",
        RefusalKind.INTERIOR_OUTPUT: "an output of the circuit would be lost inside the match",
        RefusalKind.SUB_PATTERN_FAILED: "what the rule looks for in {what} would be missing there",
    }
)
"""Return the property that the question protects."""


def remember(searcher: Searcher) -> Searcher:
    """Return a searcher that searches a step for a pattern once per waived question."""
    known: dict[tuple[object, ...], tuple[Found, tuple[Refusal, ...]]] = {}

    def search(step: int, pattern: str, waived: Refusal | None) -> tuple[Found, tuple[Refusal, ...]]:
        question = None if waived is None else (waived.entry, waived.kind, waived.what)
        key = (step, pattern, question)
        if key not in known:
            known[key] = searcher(step, pattern, waived)
        return known[key]

    return search


def no_answer(miss: MatchRefused, searcher: Searcher | None) -> str:
    """Return why the question of a near miss cannot be waived; empty if it can."""
    if not is_waivable(miss):
        return STRUCTURE.get(miss.refusal.kind, IN_PARAMETER)
    return "" if searcher is not None else LOADED


def is_waivable(miss: MatchRefused) -> bool:
    """Whether the question of a near miss can be waived: it decides neither the nodes nor the result of the match."""
    return miss.refusal.kind not in STRUCTURE and not miss.parameter_path


def what_if(step: Step, rule: RuleDescription, miss: MatchRefused, searcher: Searcher | None) -> WhatIf:
    """Search the layers of a step again, with the question of a refusal waived; without a searcher, say why not."""
    refusal = miss.refusal
    unasked = no_answer(miss, searcher)
    if unasked or searcher is None:
        return WhatIf(refusal, unasked)
    kept = tuple(match.nodes for match in step.matches if match.rule == rule.pattern)
    matched, _ = searcher(step.index, refusal.pattern, None)
    if refusal.kind is RefusalKind.DECLINED:
        accepted = _declined_roots(step, refusal)
        matches = tuple(nodes for nodes in matched if nodes[0] in accepted)
        return WhatIf(refusal, "", len(kept), matches, len(list(_applicable(step, matches))))
    found, stopped = searcher(step.index, refusal.pattern, refusal)
    usual = set(matched)
    matches = tuple(nodes for nodes in found if nodes not in usual)
    later = next((one for one in stopped if one.root == refusal.root), None)
    notes = [LOST[refusal.kind].format(what=refusal.what)] if refusal.kind in LOST and matches else []
    if rule.guarded and matches:
        notes.append("the rule may still decline")
    return WhatIf(refusal, "", len(kept), matches, len(list(_applicable(step, matches))), later, tuple(notes))


def _declined_roots(step: Step, refusal: Refusal) -> set[int]:
    """The roots of the matches of a rule that were declined for the same reason."""
    question = (refusal.pattern, refusal.kind, refusal.found)
    declined = (miss.refusal for miss in step.refusals if not miss.parameter_path)
    return {one.root for one in declined if (one.pattern, one.kind, one.found) == question}


def _applicable(step: Step, matches: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The matches that share no layer with what the step applied, nor with one before them."""
    claimed = {node for rewrite in step.applied if not rewrite.parameter_path for node in rewrite.removed}
    for nodes in matches:
        if claimed.isdisjoint(nodes):
            claimed.update(nodes)
            yield nodes
