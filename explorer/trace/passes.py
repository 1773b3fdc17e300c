"""Which steps and rules of a trace belong to a pass, and which of its rules came closest to be applied at a node."""

import re
from collections.abc import Sequence

from explorer.trace.answers import WhyNot
from explorer.trace.events import RuleDescription
from explorer.trace.reasons import ANY_OPERATOR, Standing, operators_text
from explorer.trace.refusal import RefusalKind
from explorer.trace.steps import Step

DEAD_CODE = "DCE"
"""The pass that many passes run before they begin; its rules are not theirs."""
NO_REASON = (0, 0)
"""How far a rule came that answered no and did not say why."""
MOST_RULES = 6
"""So many rules are described in a reason."""
COUNTED = re.compile(r"( \(\d+\))?(, part \d+)?$")
"""What a path has behind the name of a pass that is run again, or of a step that has several parts."""


def pass_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """The passes that were run, each once; the first step is the import."""
    return tuple(dict.fromkeys(_names(step)[0] for step in steps[1:]))


def steps_of_pass(name: str, steps: Sequence[Step]) -> list[Step]:
    """The steps in which a pass was run, or a part of the pipeline that has this name."""
    return [step for step in steps[1:] if name in _names(step)]


def rules_of_pass(name: str, steps: Sequence[Step], rules: Sequence[RuleDescription]) -> list[RuleDescription]:
    """The rules that a pass tried."""
    tried = {rule for step in steps_of_pass(name, steps) for rule in step.rules}
    if name != DEAD_CODE:
        tried -= {rule for step in steps_of_pass(DEAD_CODE, steps) for rule in step.rules}
    return [rule for rule in rules if rule.name in tried]


def closeness(answer: WhyNot) -> tuple[int, int]:
    """How far a rule came: applied, matched, refused at the end, refused on the way, no reason given."""
    if answer.matched:
        return (4 if answer.applied else 3, 0)
    if answer.refusal is None:
        return NO_REASON
    whole = answer.refusal.kind in (RefusalKind.DECLINED, RefusalKind.REVERTED)
    return (2 if whole else 1, answer.refusal.entry)


def reason_of_pass(
    name: str, rules: Sequence[RuleDescription], asked: Sequence[RuleDescription], place: Standing
) -> str:
    """The reason if none of the rules of a pass gave one; `asked` are those that are tried at the operator."""
    if not rules:
        return f"{name} has no rules that are tried at single nodes; {place}"
    if not asked:
        return f"the rules of {name} are tried at {operators_text(rules)}, and {place}"
    named = [rule for rule in asked if rule.entries[0] != ANY_OPERATOR] or asked
    told = "; ".join(f"{rule.name}: {rule.doc}" for rule in named[:MOST_RULES])
    more = f"; and {len(named) - MOST_RULES} more" if len(named) > MOST_RULES else ""
    return f"no rule of {name} applies here, and none gave a reason: {place}. What they do: {told}{more}"


def _names(step: Step) -> list[str]:
    return [COUNTED.sub("", part) for part in step.path.split("/")]
