"""The list of rules to read: what each pass looks for, and what each of its rules does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from explorer.trace.events import LISTED_KINDS, RuleDescription
from explorer.trace.passes import PASS_OF_KIND, pass_names, rules_of_pass
from explorer.trace.steps import Step
from explorer.trace.text import VISIBLE

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
    """The passes on layers and parameters, each of which tries all rules of a kind."""
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
            lines.append(f"{one.name}: {doc or one.doc or 'at ' + entries}{f' ({source})' if source else ''}")
            continue
        lines.append(f"{one.name}{f': {one.doc}' if one.doc else ''}")
        widths = [max(len(row[column]) for row in rows) for column in range(2)] if rows else []
        for name, entries, doc, source in rows:
            text = f"  {name:<{widths[0]}}  {entries:<{widths[1]}}  {doc}{f' ({source})' if source else ''}"
            lines.append(text.rstrip())
    return "\n".join(lines).translate(VISIBLE) or "(none)"


def _entries_text(rule: RuleDescription) -> str:
    """Where a rule is tried, root first."""
    text = " > ".join(rule.entries)
    return text if len(text) <= MAX_TRIED_CHARS else f"{text[: MAX_TRIED_CHARS - 3]}..."
