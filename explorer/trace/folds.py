"""Fold groups, the reason that two layers are in different ones, and groups that were nearly one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any

from explorer.errors import UnknownNameError
from explorer.graph import key_differences
from explorer.trace.answers import Answers, Differences, FoldAnswer, FoldChain, FoldGroup, MissedFold
from explorer.trace.records import plain_text
from explorer.trace.refusal import type_words
from explorer.trace.steps import Step

FoldKey = tuple[str, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold groups of all levels; `no_folds` says why there may be none."""

    steps: Sequence[Step]
    no_folds: str

    @cached_property
    def groups(self) -> Answers[FoldGroup]:
        """The groups in order, with keys and (F, H, 2) index tables."""
        reads: Mapping[int, Mapping[str, Any]] = self.steps[-1].snapshot.reads if self.steps else {}
        return Answers(
            FoldGroup(
                step.index,
                group.level,
                group.node,
                group.type,
                {name: plain_text(value) for name, value in group.key},
                group.members,
                reads[group.node]["kind"] if group.node in reads else None,
                reads[group.node]["index"] if group.node in reads else None,
            )
            for step in self.steps
            for group in step.folds
        )

    @cached_property
    def slices(self) -> Mapping[int, tuple[int, int]]:
        """Layer that was folded -> (folded node, slice)."""
        groups = [group for step in self.steps for group in step.folds]
        return {member: (group.node, i) for group in groups for i, member in enumerate(group.members)}

    def why_not(self, one: int, other: int) -> FoldAnswer:
        """Whether two layers were folded together, and if not, why; a folded layer stands for its slices.

        Raises: UnknownNameError.
        """
        here, there = self._group_of(one), self._group_of(other)
        if here.node == there.node:
            inside = [str(self.slices[node][1]) for node in (one, other) if node in self.slices]
            slices = f"slice{'s' * (len(inside) > 1)} {' and '.join(inside)}" if inside else "all slices"
            return FoldAnswer(True, f"{slices} of {here.node}")
        reasons = [f"{name} is {mine} here and {theirs} there" for name, mine, theirs in group_differences(here, there)]
        if here.level != there.level:
            reasons.append(f"level {here.level} here and level {there.level} there")
            return FoldAnswer(False, "; ".join(reasons) if len(reasons) > 1 else f"equal keys, but {reasons[0]}")
        return FoldAnswer(False, "; ".join(reasons) or f"equal keys, but level {here.level} was switched off")

    def _group_of(self, node: int) -> FoldGroup:
        if not self.slices:
            raise UnknownNameError(f"nothing was folded in this trace, so layer {node} was not either: {self.no_folds}")
        is_id = isinstance(node, Integral)  # pyright: ignore[reportUnnecessaryIsInstance]
        folded = self.slices[node][0] if is_id and node in self.slices else node
        found = next((group for group in self.groups if is_id and group.node == folded), None)
        if found is None:
            raise UnknownNameError(
                f"layer {node!r} was not there when folding began, nor was it made by folding; ids are those of the "
                "graph before folding, or of folded layers"
            )
        return found


def fold_key(group: FoldGroup) -> FoldKey:
    """The type and the key, which must be equal for two groups to be one."""
    return (group.type, tuple(group.key.items()))


def group_differences(one: FoldGroup, other: FoldGroup) -> tuple[tuple[str, str, str], ...]:
    """The fields in which the keys of two groups differ, as text: name, here, there."""
    found = key_differences(fold_key(one), fold_key(other))
    return tuple((name, mine or "absent", theirs or "absent") for name, mine, theirs in found)


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


def fold_chains(groups: Sequence[FoldGroup], steps: Sequence[Step]) -> Answers[FoldChain]:
    """Return the longest runs of groups with equal keys of which each depends on the one before."""
    by_key: dict[FoldKey, list[FoldGroup]] = {}
    for group in groups:
        if DEAD not in group.key:
            by_key.setdefault(fold_key(group), []).append(group)
    pairs = [(one, other) for alike in by_key.values() for one, other in pairwise(alike) if one.level != other.level]
    joinable = _could_join(pairs, steps)
    follows = {one.node: other for one, other in pairs if (one.node, other.node) not in joinable}
    later = {other.node for other in follows.values()}
    found: list[FoldChain] = []
    for group in groups:
        if group.node in follows and group.node not in later:
            chain = [group]
            while chain[-1].node in follows:
                chain.append(follows[chain[-1].node])
            nodes, levels = tuple(one.node for one in chain), tuple(one.level for one in chain)
            found.append(FoldChain(nodes, levels, group.type))
    return Answers(found)


def _could_join(pairs: Sequence[tuple[FoldGroup, FoldGroup]], steps: Sequence[Step]) -> set[tuple[int, int]]:
    """The pairs (earlier, later) in which a member of the later group does not depend on the earlier group.

    One traversal serves all pairs: each node has a bit for each pair if it depends on the earlier group of the pair.
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
