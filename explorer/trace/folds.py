"""Fold groups, and why two layers were not folded together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

from explorer.errors import UnknownNameError
from explorer.graph import key_differences
from explorer.trace.answers import Answers, FoldAnswer, FoldGroup
from explorer.trace.records import plain_text
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
