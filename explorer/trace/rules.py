"""The matches, near misses and conflicts of each rule."""

from collections.abc import Sequence

from explorer.errors import unknown_name
from explorer.trace.answers import Answers
from explorer.trace.events import RuleDescription
from explorer.trace.passes import rules_of_pass
from explorer.trace.rule_answers import ConflictRecord, NearMisses, RuleInteraction, RuleStats
from explorer.trace.steps import Step

WHERE_LISTED = "print(trace.rules) lists all rules by pass, with what each does"


def find_rule(rules: Sequence[RuleDescription], pattern: str) -> RuleDescription:
    """The rule with this pattern. Raises: UnknownNameError, which says where the rules are listed."""
    found = {rule.pattern: rule for rule in rules}
    if pattern not in found:
        raise unknown_name("pattern", pattern, list(found), WHERE_LISTED)
    return found[pattern]


def near_misses(
    rules: Sequence[RuleDescription], every: Sequence[Step], steps: Sequence[Step], pattern: str | None
) -> Answers[NearMisses]:
    """The near misses in some of all steps: of a pattern, of the rules of a pass, or of each pattern that has some.

    Passes are those of the tensor level. Raises: UnknownNameError.
    """
    selected = rules if pattern is None else rules_of_pass(pattern, every, rules) or [find_rule(rules, pattern)]
    names = [rule.pattern for rule in selected]
    answers: list[NearMisses] = []
    for name in names:
        refusals = tuple(r.refusal for s in steps for r in s.refusals if r.refusal.pattern == name)
        over = sum(s.refusals_over.get(name, 0) for s in steps)
        matched = sum(match.rule == name for s in steps for match in s.matches)
        if pattern is not None or refusals:
            answers.append(NearMisses(name, matched, refusals, over))
    return Answers(answers)


def conflicts(steps: Sequence[Step]) -> Answers[ConflictRecord]:
    """The matches that lost a conflict."""
    return Answers(
        ConflictRecord(s.index, s.matches[lost.loser], s.matches[lost.winner], lost.node, lost.strategy, lost.reason)
        for s in steps
        for lost in s.lost
    )


def rule_interactions(steps: Sequence[Step]) -> Answers[RuleInteraction]:
    """How often each rule produced the input of another one, in order of their names."""
    maker: dict[tuple[str, int], str] = {}
    counts: dict[tuple[str, str], int] = {}
    for step in steps:
        for rewrite in step.applied:
            read = [(rewrite.parameter_path, node) for node in step.matches[rewrite.number].nodes]
            found = {maker[node] for node in read if node in maker}
            for rule in found:
                counts[rule, rewrite.rule] = counts.get((rule, rewrite.rule), 0) + 1
        for rewrite in step.applied:
            maker.update({(rewrite.parameter_path, node): rewrite.rule for node in rewrite.added})
    return Answers(RuleInteraction(*pair, count) for pair, count in sorted(counts.items()))


def rule_stats(rules: Sequence[RuleDescription], steps: Sequence[Step]) -> Answers[RuleStats]:
    """The counts of each rule, in order of the rules."""
    stats: list[RuleStats] = []
    for rule in rules:
        applied = [w for s in steps for w in s.applied if w.rule == rule.name]
        matched = sum(m.rule == rule.name for s in steps for m in s.matches)
        misses = sum(r.refusal.pattern == rule.pattern for s in steps for r in s.refusals)
        misses += sum(s.refusals_over.get(rule.pattern, 0) for s in steps)
        removed, added = sum(len(w.removed) for w in applied), sum(len(w.added) for w in applied)
        seconds = sum(w.seconds for w in applied)
        lost = sum(s.matches[x.loser].rule == rule.name for s in steps for x in s.lost)
        stats.append(
            RuleStats(rule.name, rule.kind, matched, len(applied), lost, misses, removed, added, seconds, rule.source)
        )
    return Answers(stats)
