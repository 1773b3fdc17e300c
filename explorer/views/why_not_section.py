"""Why not: the matches of a trace that contain some nodes, and the near misses that began or stopped at them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from explorer.trace import MAX_NEAR_MISSES, MatchFound, MatchRefused, Step
from explorer.views.index import TraceIndex, cached, owner
from explorer.views.words import list_text, plural
from explorer_widgets.schema import SectionView

Attempt = MatchFound | MatchRefused


def why_not_section(index: TraceIndex, step: int, ids: Sequence[int]) -> SectionView:
    """List the matches and near misses at the first of these nodes, in the last step that has any, or else the first.

    Steps with one that began there come before those in which others only stopped there. Further steps are named, and
    those of several nodes are counted. A folded layer has those of its members. Without any, say so: a reader who asks
    gets an answer.
    """
    members = {group.node: group.members for group in index.groups}
    nodes = [member for node in ids for member in members.get(node, (node,))]
    found = _attempts_by_node(index)
    every = sorted({one for node in nodes for one in found.get(node, {})})
    if not every:
        return {"name": "why-not", "heading": "Why not", "rows": [], "lines": [_nothing_text(index, len(nodes))]}
    mine = found.get(nodes[0], {})
    began = [one for one in sorted(mine) if any(_began_at(index, nodes[0], each) for each in mine[one])]
    steps = began or sorted(mine) or every
    at = max((one for one in steps if one <= step), default=steps[0])
    lines = [f"In step {at}, {index.step(at).at.words}."]
    if len(nodes) > 1:
        here = {id(one): one for node in nodes for one in found.get(node, {}).get(at, ())}
        lines += [
            f"{name}: {plural(count, *words)} in this box."
            for (name, words), count in Counter(map(_sort, here.values())).items()
        ]
    rest = [one for one in every if one != at]
    lines += [f"More in {'step' if len(rest) == 1 else 'steps'} {list_text(rest)}."] if rest else []
    rows = _rows(index, at, nodes[0])
    return {"name": "why-not", "heading": "Why not", "rows": rows, "lines": lines}


def _began_at(index: TraceIndex, node: int, attempt: Attempt) -> bool:
    """Whether an attempt that touches a node is one at this node; a pair is one at both."""
    if isinstance(attempt, MatchFound) or attempt.parameter_path or index.trace.level.tries_pairs:
        return True
    return attempt.refusal.root == node


def match_row(index: TraceIndex, entry: Step, match: MatchFound) -> list[str]:
    """Return the rule of a match, and its nodes with what happened to it."""
    return [match.rule, f"match {match.number}, nodes {list_text(match.nodes)}: {_fate(index, entry, match)}"]


def _fate(index: TraceIndex, entry: Step, match: MatchFound) -> str:
    conflict = next((one for one in entry.lost if one.loser == match.number), None)
    if conflict is not None:
        return f"lost to {entry.matches[conflict.winner].rule}: {conflict.strategy}, {conflict.reason}"
    if any(rewrite.number == match.number for rewrite in entry.applied):
        return "applied"
    if index.trace.level.tries_pairs:  # pairs that share a call are fused into one
        whole = next((one.removed for one in entry.applied if {*match.nodes} <= {*one.removed}), ())
        if whole or match.number in entry.copied:
            return f"applied, as a part of {list_text(whole)}" if whole else "applied, and one of the two stays"
    return "not applied"


def _sort(attempt: Attempt) -> tuple[str, tuple[str, str]]:
    if isinstance(attempt, MatchFound):
        return attempt.rule, ("match", "matches")
    return attempt.refusal.pattern, ("near miss", "near misses")


def _rows(index: TraceIndex, step: int, node: int) -> list[list[str]]:
    """Return the matches that contain a node, then the near misses: of one rule with equal reasons, in one row."""
    attempts = _attempts_by_node(index).get(node, {}).get(step, ())
    rows = [match_row(index, index.step(step), one) for one in attempts if isinstance(one, MatchFound)]
    roots: dict[tuple[str, str], list[int]] = {}
    for one in attempts:
        if isinstance(one, MatchRefused):
            text = one.refusal.reason + (f" (in {one.parameter_path})" if one.parameter_path else "")
            if index.trace.level.tries_pairs:
                text = f"{index.noun}s {one.refusal.root}, {one.refusal.node}: {text}"
            root = node if one.parameter_path or index.trace.level.tries_pairs else one.refusal.root
            roots.setdefault((one.refusal.pattern, text), []).append(root)
    for (pattern, text), at in roots.items():
        rows.append([pattern, text + (f" (tried at {list_text(at)})" if {*at} != {node} else "")])
    return rows


def _nothing_text(index: TraceIndex, count: int) -> str:
    """Say that no match contains some nodes, and that no near miss touches them."""
    noun = index.trace.level.node
    here, them = (f"this {noun}", "it") if count == 1 else (f"any of these {noun}s", "one of them")
    if not index.trace.rules:
        return f"No rule was tried at {here}."
    kept = over = ""
    if any(step.refusals_over for step in index.trace.steps):
        kept, over = " that was kept", f": the trace has the first {MAX_NEAR_MISSES:,} of each reason"
    miss = f"near miss{kept} began or stopped at {them}"
    if index.trace.level.tries_pairs:
        miss = f"refused pair{kept} has {them}"
    return f"No match contains {here}, and no {miss}{over}."


@cached
def _attempts_by_node(index: TraceIndex) -> Mapping[int, Mapping[int, Sequence[Attempt]]]:
    """Return the matches that contain each node and the near misses that began or stopped at it, by step."""
    found: dict[int, dict[int, list[Attempt]]] = {}
    for step in index.trace.steps:
        for attempt in (*step.matches, *step.refusals):
            for node in dict.fromkeys(_nodes_of(index, attempt)):
                found.setdefault(node, {}).setdefault(step.index, []).append(attempt)
    return found


def _nodes_of(index: TraceIndex, attempt: Attempt) -> tuple[int, ...]:
    """Return the nodes of a match, or where a near miss began and stopped; of one in a parameter, its layer."""
    if isinstance(attempt, MatchFound):
        return index.nodes_of(attempt)
    path, refusal = attempt.parameter_path, attempt.refusal
    return (owner(path),) if path else (refusal.root, refusal.node)
