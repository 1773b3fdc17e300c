"""The reason in words why a pattern was not applied at a node, read from what one step recorded.

The id of a match or refusal counts in the graph that was searched: the layers, or one parameter,
which `parameter_path` names. A rule on parameters is therefore asked about by the layer that holds the parameter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from explorer.trace.events import LISTED_KINDS, MatchFound, RuleDescription
from explorer.trace.records import NodeRecord
from explorer.trace.refusal import type_with_article
from explorer.trace.steps import MAX_NEAR_MISSES, MatchRefused, Step

ANY_OPERATOR, OR = "any operator", " or "
"""The first entry of a rule that is tried at all operators, and the separator of several names."""
MAX_OPERATORS = 6
"""Maximum number of operators listed in a reason."""
MAX_RULES = 6
"""Maximum number of rules described in a reason."""


def matches_at(rule: RuleDescription, node: int, step: Step) -> tuple[MatchFound, ...]:
    """The matches of a rule at a layer."""
    return tuple(m for m in step.matches if m.rule == rule.pattern and _is_at(rule, m.root, m.parameter_path, node))


def refusals_at(rule: RuleDescription, node: int, step: Step) -> tuple[MatchRefused, ...]:
    """The near misses of a rule at a layer that were kept."""
    return tuple(
        r
        for r in step.refusals
        if r.refusal.pattern == rule.pattern and _is_at(rule, r.refusal.root, r.parameter_path, node)
    )


def _is_at(rule: RuleDescription, root: int, parameter_path: str, node: int) -> bool:
    return (
        parameter_path.split(".")[0] == str(node) if rule.kind == "parameter" else not parameter_path and root == node
    )


def fate_of_matches(found: Sequence[MatchFound], step: Step) -> tuple[bool, str]:
    """Whether one of these matches was applied, and in words what happened to them."""
    numbers = {match.number for match in found}
    if any(rewrite.number in numbers for rewrite in step.applied):
        return True, "it matched and was applied"
    lost = next((loss for loss in step.lost if loss.loser in numbers), None)
    if lost is None:
        return False, "it matched, but the step ended before it was applied"
    winner = step.matches[lost.winner]
    return False, (
        f"it matched, but lost node {lost.node} to {winner.rule} at {list(winner.nodes)} "
        f"({lost.strategy}: {lost.reason})"
    )


@dataclass(frozen=True, slots=True)
class NodeContext:
    """A node before a step: its id, its record and the records of its inputs."""

    node: int
    record: NodeRecord
    reads: Mapping[int, NodeRecord]

    def __str__(self) -> str:
        sources = ", ".join(f"node {source} ({known.title})" for source, known in self.reads.items())
        return f"node {self.node} is {self.record.title}, which reads {sources or 'no other node'}"


def reason_without_refusal(rule: RuleDescription, context: NodeContext, step: Step, fits: bool) -> str:
    """Explain an attempt without a recorded match or refusal; `fits`: the matcher now finds a match.

    A trace knows types by name only, and the first entry may be a base class. So a different name is the reason only
    if every near miss was kept.
    """
    if rule.kind in LISTED_KINDS:
        return _reason_at_operator(rule, context)
    node, record = context.node, context.record
    wanted = rule.entries[0]
    fits = fits or wanted in _searched_types(rule, record)
    over = step.refusals_over.get(rule.pattern, 0)
    if fits and over:
        return f"it was refused; the reason was not kept (limit {MAX_NEAR_MISSES} per pattern, step and reason)"
    if fits or over:
        return "it was not tried here, or its reason was not kept"
    if rule.kind == "parameter":
        return f"no parameter of node {node} holds {type_with_article(wanted)}"
    found = type_with_article(record.type)
    return f"node {node} is {found}; {rule.pattern} begins with {type_with_article(wanted)}"


def reason_of_pass(
    name: str, rules: Sequence[RuleDescription], fitting: Sequence[RuleDescription], context: NodeContext
) -> str:
    """Explain why no rule of a pass reported a reason; `fitting` are the rules that are tried at the operator."""
    if not rules:
        return f"{name} has no rules that are tried at single nodes; {context}"
    if not fitting:
        return f"the rules of {name} are tried at {_operators_text(rules)}, and {context}"
    named = [rule for rule in fitting if rule.entries[0] != ANY_OPERATOR] or fitting
    purposes = "; ".join(f"{rule.name}: {rule.doc}" for rule in named[:MAX_RULES])
    more = f"; and {len(named) - MAX_RULES} more" if len(named) > MAX_RULES else ""
    return f"no rule of {name} applies here, and none reported a reason: {context}. Their purposes: {purposes}{more}"


def is_tried_at(rule: RuleDescription, record: NodeRecord) -> bool:
    """Whether a rule on operators, which names them in its first entry, is tried at such a node."""
    wanted = rule.entries[0]
    return wanted == ANY_OPERATOR or record.title in (name.split(".")[0] for name in wanted.split(OR))


def _operators_text(rules: Sequence[RuleDescription]) -> str:
    """The operators at which rules are tried; of many, the first ones."""
    names = list(dict.fromkeys(name for rule in rules for name in rule.entries[0].split(OR)))
    more = len(names) - MAX_OPERATORS
    return OR.join(names) if more < 2 else OR.join([*names[:MAX_OPERATORS], f"one of {more} others"])


def _reason_at_operator(rule: RuleDescription, context: NodeContext) -> str:
    """Explain a rule on operators that reported no reason."""
    wanted = _operators_text([rule])
    if not is_tried_at(rule, context.record):
        return f"node {context.node} is {context.record.title}; {rule.pattern} is tried at {wanted}"
    what = f"; its purpose: {rule.doc}" if rule.doc else ""
    return f"it does not apply here, and reports no reason: it is tried at {wanted}, and {context}{what}"


def _searched_types(rule: RuleDescription, record: NodeRecord) -> Iterator[str]:
    """The types at which the rule's first entry was tried: the layer's, or those inside its parameters."""
    if rule.kind != "parameter":
        yield record.type
        return
    for parameter in record.parameters.values():
        yield from (inner.type for inner in parameter.nodes)
    for nested in record.nested.values():
        yield from _searched_types(rule, nested)
