"""Which layers were folded together, and why two of them were not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from explorer.errors import UnknownNameError
from explorer.graph import first_difference
from explorer.trace.answers import Answers, FoldAnswer, FoldGroup
from explorer.trace.records import plain_text
from explorer.trace.steps import Step

FoldKey = tuple[str, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True, eq=False)
class Folds:
    """The folded groups of all levels."""

    steps: Sequence[Step]

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
        """Whether two layers were folded together, and if not, why. Raises: UnknownNameError."""
        here, there = self._group_of(one), self._group_of(other)
        if here.node == there.node:
            return FoldAnswer(
                True, f"Folded together: slices {self.slices[one][1]} and {self.slices[other][1]} of {here.node}."
            )
        difference = key_difference(here, there)
        if difference is not None:
            name, mine, theirs = difference
            return FoldAnswer(False, f"Not folded together: {name} is {mine} here and {theirs} there.")
        if here.level == there.level:
            return FoldAnswer(False, f"Not folded together: equal keys, but level {here.level} was switched off.")
        return FoldAnswer(
            False, f"Not folded together: equal keys, but level {here.level} here and level {there.level} there."
        )

    def _group_of(self, node: int) -> FoldGroup:
        if node not in self.slices:
            raise UnknownNameError(
                f"layer {node} was not there when folding began; ids are those of the graph before folding"
            )
        folded = self.slices[node][0]
        return next(group for group in self.groups if group.node == folded)


def fold_key(group: FoldGroup) -> FoldKey:
    """What must be equal for two groups to be one: the type and the key."""
    return (group.type, tuple(group.key.items()))


def key_difference(one: FoldGroup, other: FoldGroup) -> tuple[str, str, str] | None:
    """The first thing in which the keys of two groups differ, as text: its name, here, there."""
    found = first_difference(fold_key(one), fold_key(other))
    return None if found is None else (found[0], found[1] or "absent", found[2] or "absent")
