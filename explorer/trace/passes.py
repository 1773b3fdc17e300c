"""The steps and rules of each pass."""

from collections.abc import Sequence

from explorer.trace.events import LISTED_KINDS, RuleDescription
from explorer.trace.steps import Step

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
