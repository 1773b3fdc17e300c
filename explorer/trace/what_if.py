"""What a rule would match if the question that refused an attempt were answered otherwise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from explorer.trace.answers import WhatIf
from explorer.trace.events import RuleDescription
from explorer.trace.refusal import Refusal, RefusalKind
from explorer.trace.steps import MatchRefused, Step

Found = tuple[tuple[int, ...], ...]
Searcher = Callable[[int, str, Refusal | None], tuple[Found, tuple[Refusal, ...]]]
"""Searches the layers before a step: (step, pattern, the refusal whose question is waived) -> (matches, refusals)."""

STRUCTURE: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.WRONG_TYPE: "the rule is made for layers of this type, and computes nothing for another",
        RefusalKind.SEVERAL_INPUTS: "a pattern is a chain, and here it would not be known which input to follow",
        RefusalKind.NO_INPUT: "there is no layer for the next entry of the pattern",
        RefusalKind.OTHER_VALUE: "a variable of a pattern is one node",
        RefusalKind.REVERTED: "it was applied, and had to be reverted",
    }
)
"""Why a question cannot be waived: the answer decides what the pattern binds, or what came of it."""
IN_PARAMETER = "the rule rewrites a parameter, and only rules on layers are searched again"
LOADED = "the trace was loaded from a file; compile its circuit again to ask"
LOST: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.SEVERAL_USERS: "the other users of #{node} still need it, so it would be computed twice",
        RefusalKind.INTERIOR_OUTPUT: "#{node} is an output of the circuit, which would be lost",
        RefusalKind.SUB_PATTERN_FAILED: "what the rule looks for in {what} would be missing there",
    }
)
"""What the question protects."""


def what_if(step: Step, rule: RuleDescription, miss: MatchRefused, searcher: Searcher | None) -> WhatIf:
    """Search the layers of a step again, with the question of a refusal waived; without a searcher, say why not."""
    refusal = miss.refusal
    unasked = STRUCTURE.get(refusal.kind) or (IN_PARAMETER if miss.parameter_path else "")
    if not unasked and searcher is None:
        unasked = LOADED
    if unasked or searcher is None:
        return WhatIf(refusal, unasked)
    is_declined = refusal.kind is RefusalKind.DECLINED
    found, stopped = searcher(step.index, refusal.pattern, None if is_declined else refusal)
    kept = tuple(match.nodes for match in step.matches if match.rule == rule.pattern)
    usual = set(kept if is_declined or not rule.guarded else searcher(step.index, refusal.pattern, None)[0])
    matches = tuple(nodes for nodes in found if nodes not in usual)
    later = next((one for one in stopped if one.root == refusal.root), None)
    notes = (
        [LOST[refusal.kind].format(node=refusal.node, what=refusal.what)] if refusal.kind in LOST and matches else []
    )
    if rule.guarded and not is_declined and matches:
        notes.append("the rule may still decline")
    return WhatIf(refusal, "", len(kept), matches, len(list(_applicable(step, matches))), later, tuple(notes))


def _applicable(step: Step, matches: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The matches that share no layer with what the step applied, nor with one before them."""
    claimed = {node for rewrite in step.applied if not rewrite.parameter_path for node in rewrite.removed}
    for nodes in matches:
        if claimed.isdisjoint(nodes):
            claimed.update(nodes)
            yield nodes
