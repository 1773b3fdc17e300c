"""What a rule would match if the question that refused an attempt were answered otherwise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from explorer.trace.events import RuleDescription
from explorer.trace.near_misses import MatchRefused
from explorer.trace.refusal import Refusal, RefusalKind
from explorer.trace.rule_answers import WhatIf
from explorer.trace.steps import Step

Found = tuple[tuple[int, ...], ...]
Searcher = Callable[[int, str, Refusal | None], tuple[Found, tuple[Refusal, ...]]]
"""Searches the layers before a step: (step, pattern, the refusal whose question is waived) -> (matches, refusals)."""

STRUCTURE: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.WRONG_TYPE: "the rule is made for layers of this type, and computes nothing for another",
        RefusalKind.SEVERAL_INPUTS: "a pattern is a chain, and it is unclear which input to follow",
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
        RefusalKind.SEVERAL_USERS: "other layers read a layer inside the match, so it would be computed twice",
        RefusalKind.INTERIOR_OUTPUT: "an output of the circuit would be lost inside the match",
        RefusalKind.SUB_PATTERN_FAILED: "what the rule looks for in {what} would be missing there",
    }
)
"""What the question protects."""


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


def what_if(step: Step, rule: RuleDescription, miss: MatchRefused, searcher: Searcher | None) -> WhatIf:
    """Search the layers of a step again, with the question of a refusal waived; without a searcher, say why not."""
    refusal = miss.refusal
    unasked = STRUCTURE.get(refusal.kind) or (IN_PARAMETER if miss.parameter_path else "")
    if not unasked and searcher is None:
        unasked = LOADED
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
