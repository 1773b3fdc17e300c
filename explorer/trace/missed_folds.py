"""Fold groups that were nearly one."""

from collections.abc import Sequence

from explorer.trace.answers import Answers, Differences, FoldGroup, MissedFold
from explorer.trace.folds import FoldKey, fold_key, group_differences
from explorer.trace.refusal import type_words
from explorer.trace.steps import Step

DEAD = "is_dead"
"""The setting of layers on which no output depends."""


def missed_folds(groups: Sequence[FoldGroup], steps: Sequence[Step]) -> Answers[MissedFold]:
    """Equal keys on two levels, if these could run at one time; one level and type with fields that differ.

    Layers on which no output depends are not nearly folded with others: nothing would be gained.
    """
    found: list[tuple[FoldGroup, FoldGroup, str, Differences]] = []
    latest: dict[FoldKey, FoldGroup] = {}
    by_level: dict[tuple[int, str], FoldGroup] = {}
    for group in groups:
        if DEAD in group.key:
            continue
        key = fold_key(group)
        if key in latest:
            levels = (latest[key].level, group.level)
            apart = levels[0] != levels[1]
            why = f"levels {levels[0]} and {levels[1]}" if apart else f"level {levels[0]} was switched off"
            found.append((latest[key], group, f"{type_words(group.type)}: equal keys, {why}", ()))
        latest[key] = group
        neighbour = by_level.get((group.level, group.type))
        if neighbour is not None and fold_key(neighbour) != key:
            differences = group_differences(neighbour, group)
            fields = "; ".join(f"{name} is {mine} and {theirs}" for name, mine, theirs in differences)
            found.append((neighbour, group, f"{type_words(group.type)} on level {group.level}: {fields}", differences))
        by_level[(group.level, group.type)] = group
    on_two_levels = [(one, other) for one, other, _, _ in found if one.level != other.level]
    joinable = _could_join(on_two_levels, steps)
    return Answers(
        MissedFold((one.node, other.node), len(one.members) + len(other.members), reason, differences)
        for one, other, reason, differences in found
        if one.level == other.level or (one.node, other.node) in joinable
    )


def _could_join(pairs: Sequence[tuple[FoldGroup, FoldGroup]], steps: Sequence[Step]) -> set[tuple[int, int]]:
    """The pairs (earlier, later) in which a member of the later group does not depend on the earlier group.

    One traversal serves all pairs: each node has the bits of the pairs on whose earlier group it depends.
    """
    foldings: dict[int, list[tuple[FoldGroup, FoldGroup]]] = {}
    for earlier, later in pairs:
        foldings.setdefault(earlier.step - earlier.level - 1, []).append((earlier, later))
    found: set[tuple[int, int]] = set()
    for step, of_folding in foldings.items():
        depends_on: dict[int, int] = {}
        for i, (earlier, _) in enumerate(of_folding):
            for member in earlier.members:
                depends_on[member] = depends_on.get(member, 0) | 1 << i
        for node, sources in steps[step].snapshot.graph.inputs.items():
            bits = depends_on.get(node, 0)
            for source in sources:
                bits |= depends_on.get(source, 0)
            depends_on[node] = bits
        for i, (earlier, later) in enumerate(of_folding):
            if not all(depends_on[member] >> i & 1 for member in later.members):
                found.add((earlier.node, later.node))
    return found
