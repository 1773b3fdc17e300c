"""Which steps and rules of a trace belong to a pass."""

from collections.abc import Sequence

from explorer.trace.events import TENSOR, RuleDescription
from explorer.trace.steps import Step

PASS_OF_KIND = {"parameter": "parameters", "shatter": "shatter", "fuse": "fuse"}
"""Kind of a rule on layers -> the pass that tries all of this kind."""
DEAD_CODE = "DCE"
"""The pass that many passes run before they begin; its rules are not theirs."""


def tries(step: Step, rule: RuleDescription) -> bool:
    """Whether a step tries a rule: it says which ones, or it is the pass of the rule's kind."""
    if rule.kind == TENSOR:
        return rule.name in step.rules
    return step.pass_name == PASS_OF_KIND[rule.kind]


def pass_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """The passes that were run, each once; the first step is the import."""
    return tuple(dict.fromkeys(step.at.names[0] for step in steps[1:]))


def steps_of_pass(name: str, steps: Sequence[Step]) -> list[Step]:
    """The steps in which a pass was run, or a part of the pipeline that has this name."""
    return [step for step in steps[1:] if name in step.at.names]


def rules_of_pass(name: str, steps: Sequence[Step], rules: Sequence[RuleDescription]) -> list[RuleDescription]:
    """The rules that a pass tried."""
    tried = {rule for step in steps_of_pass(name, steps) for rule in step.rules}
    if name != DEAD_CODE:
        tried -= {rule for step in steps_of_pass(DEAD_CODE, steps) for rule in step.rules}
    return [rule for rule in rules if rule.name in tried]
