"""A box: nodes that are drawn as one."""

import zlib
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from explorer.views.index import TraceIndex
from explorer.views.states import ABSENT, IntArray
from explorer_widgets.schema import Change


@dataclass(frozen=True)
class Box:
    """Nodes drawn as one box. `level` is that after the step, or before it for removed nodes."""

    id: str
    ids: tuple[int, ...]
    change: Change
    level: int
    level_before: int
    roles: int
    merges: int | None = None
    """For a folded node: the position of the box of exactly its slices, if any, which it replaces."""
    merged: int | None = None
    """For such a box of slices: the position of the folded node's box."""
    only: Literal["before", "after"] | None = None
    """For a plate that gains or loses some of its layers: the state that has it."""

    @property
    def before(self) -> bool:
        """Return whether its nodes existed before the step."""
        return self.change != "added" and self.merges is None and self.only != "after"

    @property
    def after(self) -> bool:
        """Return whether its nodes exist after the step."""
        return self.change != "removed" and self.merged is None and self.only != "before"


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a step; the arrays map each id to the position of its box before and after the step, or -1."""

    boxes: tuple[Box, ...]
    before: IntArray
    after: IntArray


def box_id(ids: IntArray) -> str:
    """Return an id that depends only on the nodes: `n12` for one; first id, count and checksum for several."""
    if len(ids) == 1:
        return f"n{ids[0]}"
    return f"g{ids[0]}x{len(ids)}-{zlib.crc32(ids.astype('<i4').tobytes()):08x}"


def with_folds(index: TraceIndex, step: int, boxes: list[Box]) -> Boxes:
    """Let each folded node replace the box of its slices, if they fill exactly one."""
    place = {box.id: i for i, box in enumerate(boxes)}
    for group in index.step(step).folds:
        if group.members == (group.node,):
            continue
        slices = place.get(box_id(np.array(sorted(group.members), np.int32)))
        folded = place[f"n{group.node}"]
        if slices is not None:
            boxes[slices] = replace(boxes[slices], change="changed", merged=folded)
            boxes[folded] = replace(boxes[folded], change="changed", merges=slices)
    before, after = np.full(index.size, ABSENT, np.int32), np.full(index.size, ABSENT, np.int32)
    for i, box in enumerate(boxes):
        if box.before:
            before[list(box.ids)] = i
        if box.after:
            after[list(box.ids)] = i
    return Boxes(tuple(boxes), before, after)


ShownMode = Literal["before", "after", "diff"]


def is_shown(box: Box, mode: ShownMode) -> bool:
    """Return whether a box is drawn in a mode; `diff` shows a folded node instead of the box it replaces."""
    if mode == "diff":
        return box.merged is None
    return box.before if mode == "before" else box.after
