"""What a trace file names must exist: options, kinds of rules, matches and nodes."""

from collections.abc import Container, Mapping
from typing import Any

from explorer.trace.equivalence import EXACTNESS_ORDER
from explorer.trace.events import TENSOR, RuleDescription
from explorer.trace.passes import PASS_OF_KIND
from explorer.trace.steps import Step

TENSOR_OPTION_TYPES: Mapping[str, type] = {
    "level": str,
    "subject": str,
    "pipeline": list,
    "mode": str,
    "operators": str,
    "layout": str,
    "one_by_one": bool,
}


def check_tensor_options(options: Mapping[str, Any]) -> None:
    """Raises: ValueError for an option that is missing or of another type."""
    missing = [name for name in TENSOR_OPTION_TYPES if name not in options]
    if missing:
        raise ValueError(f"the options lack {', '.join(missing)}")
    for name, kind in TENSOR_OPTION_TYPES.items():
        if type(options[name]) is not kind:
            raise ValueError(f"the option {name} is {options[name]!r}; expected {kind.__name__}")


def check_rule(rule: RuleDescription) -> None:
    """Raises: ValueError for a rule of an unknown kind or exactness, or without entries."""
    if rule.kind not in (*PASS_OF_KIND, TENSOR) or rule.exactness not in EXACTNESS_ORDER or not rule.entries:
        raise ValueError(f"the rule {rule.name} has an unknown kind or exactness, or no entries")


def check_before(step: Step, nodes: Container[int]) -> None:
    """Check what a step says about the nodes before it. Raises: ValueError for a missing match, node or level."""
    numbers = [rewrite.number for rewrite in step.rewrites]
    numbers += [number for lost in step.lost for number in (lost.loser, lost.winner)]
    for number in numbers:
        if number not in range(len(step.matches)):
            raise ValueError(f"{_name(step)} names match {number!r}, but has {len(step.matches)}")
    named = [node for match in step.matches if not match.parameter_path for node in (match.root, *match.nodes)]
    named += [refused.refusal.root for refused in step.refusals if not refused.parameter_path]
    named += [lost.node for lost in step.lost if not lost.parameter_path]
    named += [node for rewrite in step.rewrites if not rewrite.parameter_path for node in rewrite.removed]
    named += [node for group in step.folds for node in group.members]
    _check_exist(named, nodes, f"before {_name(step)}")
    for group in step.folds:
        if group.level not in range(step.index):
            raise ValueError(f"{_name(step)} folds level {group.level!r}, but there are too few steps before it")


def check_after(step: Step, nodes: Container[int]) -> None:
    """Check what a step says about the nodes after it. Raises: ValueError for a node that does not exist."""
    created = [group.node for group in step.folds]
    created += [node for rewrite in step.applied if not rewrite.parameter_path for node in rewrite.added]
    _check_exist(created, nodes, f"after {_name(step)}")


def _check_exist(named: list[int], nodes: Container[int], when: str) -> None:
    for node in named:
        if node not in nodes:
            raise ValueError(f"node {node!r} does not exist {when}, which names it")


def _name(step: Step) -> str:
    return f"step {step.index} ({step.path})"
