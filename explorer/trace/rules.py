"""The rules of a trace: what each one matched, missed, lost and did, the passes that have it, and the list to read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from explorer.errors import unknown_name
from explorer.trace.answers import Answers
from explorer.trace.events import LISTED_KINDS, RuleDescription
from explorer.trace.rule_answers import ConflictRecord, NearMisses, RuleInteraction, RuleStats
from explorer.trace.steps import Step
from explorer.trace.text import VISIBLE

PASS_OF_KIND = {"parameter": "parameters", "shatter": "shatter", "fuse": "fuse"}
"""Kind of a rule on layers -> the pass that tries all rules of this kind."""
DEAD_CODE = "DCE"
"""The pass that many passes run first; its rules are not counted as theirs."""


def tries(step: Step, rule: RuleDescription) -> bool:
    """Whether a step tries a rule: the step lists it, or is the pass of the rule's kind."""
    if rule.kind in LISTED_KINDS:
        return rule.name in step.rules
    return step.pass_name == PASS_OF_KIND[rule.kind]


def pass_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """The passes that ran, each once; the first step is the import."""
    return tuple(dict.fromkeys(step.at.names[0] for step in steps[1:]))


def steps_of_pass(name: str, steps: Sequence[Step]) -> list[Step]:
    """The steps in which a pass ran, itself or inside another one."""
    return [step for step in steps[1:] if name in step.at.names]


def rules_of_pass(name: str, steps: Sequence[Step], rules: Sequence[RuleDescription]) -> list[RuleDescription]:
    """The rules that a pass tried."""
    tried = {rule for step in steps_of_pass(name, steps) for rule in step.rules}
    if name != DEAD_CODE:
        tried -= {rule for step in steps_of_pass(DEAD_CODE, steps) for rule in step.rules}
    return [rule for rule in rules if rule.name in tried]


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

    Passes belong to the tensor level. Raises: UnknownNameError.
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
    """Count how often each rule produced the input of another one, in order of their names."""
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


MAX_TRIED_CHARS = 36
"""Maximum number of characters of the list of types that a rule is tried at; a longer one is cut."""
NOT_TRIED = "(tried nowhere)"
"""The heading of the rules that no step tried."""


@dataclass(frozen=True, slots=True)
class PassRules:
    """A pass, what it does (empty if not known), and its rules."""

    name: str
    doc: str
    rules: tuple[RuleDescription, ...]


class Rules(tuple[RuleDescription, ...]):
    """The rules of a trace; they print as a table, grouped by the passes that tried them."""

    steps: tuple[Step, ...]

    def __new__(cls, rules: Iterable[RuleDescription] = (), steps: Sequence[Step] = ()) -> Self:
        made = super().__new__(cls, rules)
        made.steps = tuple(steps)
        return made

    def by_pass(self) -> tuple[PassRules, ...]:
        """The passes in the order in which they ran; at the end the rules that no step tried."""
        found = group_by_kind(self)
        found += [PassRules(name, "", tuple(rules_of_pass(name, self.steps, self))) for name in pass_names(self.steps)]
        tried = {rule.name for one in found for rule in one.rules}
        left = tuple(rule for rule in self if rule.name not in tried)
        return tuple(one for one in (*found, PassRules(NOT_TRIED, "", left)) if one.rules)

    def __str__(self) -> str:
        return rules_text(self.by_pass())

    __repr__ = __str__


def group_by_kind(rules: Sequence[RuleDescription]) -> list[PassRules]:
    """The passes on layers and parameters; each tries all rules of a kind."""
    kinds = dict.fromkeys(rule.kind for rule in rules if rule.kind not in LISTED_KINDS)
    return [
        PassRules(PASS_OF_KIND[kind], "", tuple(rule for rule in rules if rule.kind == kind))
        for kind in PASS_OF_KIND
        if kind in kinds
    ]


def rules_text(passes: Sequence[PassRules]) -> str:
    """A line for each pass, and below it one for each rule: its name, where it is tried, what it does, its source.

    The rule of a pass that is one rule of the same name has the line of the pass.
    """
    lines: list[str] = []
    for one in passes:
        is_rule = [rule.name for rule in one.rules] == [one.name]
        rows = [(rule.name, _entries_text(rule), rule.doc, rule.source) for rule in one.rules]
        if is_rule:
            _, entries, doc, source = rows[0]
            lines.append(f"{one.name}: {one.doc or doc or 'at ' + entries}{f' ({source})' if source else ''}")
            continue
        lines.append(f"{one.name}{f': {one.doc}' if one.doc else ''}")
        widths = [max(len(row[column]) for row in rows) for column in range(2)] if rows else []
        for name, entries, doc, source in rows:
            text = f"  {name:<{widths[0]}}  {entries:<{widths[1]}}  {doc}{f' ({source})' if source else ''}"
            lines.append(text.rstrip())
    return "\n".join(lines).translate(VISIBLE) or "(none)"


def _entries_text(rule: RuleDescription) -> str:
    """The kinds of nodes that a rule is tried at, root first."""
    text = " > ".join(rule.entries)
    return text if len(text) <= MAX_TRIED_CHARS else f"{text[: MAX_TRIED_CHARS - 3]}..."
