"""The boxes of a step: which nodes share a box, and what the step did to them.

The pictures before, after and of the difference share one partition, so switching between them moves nothing. Nodes
share a box if they agree on the grouping (level and fold key; scope; none), on what the step did to them, and on their
roles in its matches. A node created by folding has its own box.
"""

import numpy as np
from numpy.typing import NDArray

from explorer.views.box import Box, Boxes, box_id, with_folds
from explorer.views.changes import CHANGED, CHANGES, KEPT, match_roles, node_changes
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.boxes import plate_boxes
from explorer.views.scopes import scope_numbers
from explorer.views.states import ABSENT, IntArray, State
from explorer_widgets.schema import Change, GroupBy


@cached
def boxes_of(index: TraceIndex, step: int, group_by: GroupBy) -> Boxes:
    """Return the boxes of a step, lowest level first, in a deterministic order."""
    if group_by == "plates":
        return plate_boxes(index, step)
    before, after = index.before(step), index.state(step)
    ids = np.flatnonzero(before.present | after.present).astype(np.int32)
    change = node_changes(index, step)[ids]
    roles = match_roles(index, step)[ids]
    own = np.where(index.folded_at[ids] <= step, ids, ABSENT)
    columns: list[NDArray[np.int32]] = [change, roles, own]
    if group_by == "none":
        columns = [ids]
    elif group_by == "scope":
        columns += [scope_numbers(index, state)[ids] for state in (before, after)]
    else:
        old = np.where(change == CHANGED, ABSENT, before.key[ids])
        columns += [before.level[ids], after.level[ids], after.key[ids], np.where(change == KEPT, ABSENT, old)]
    codes, count = _number_rows(columns)
    order = np.argsort(codes, kind="stable")
    parts = np.split(ids[order], np.cumsum(np.bincount(codes, minlength=count))[:-1]) if len(ids) else []
    all_changes, all_roles = node_changes(index, step), match_roles(index, step)
    found = [_box(part, before, after, CHANGES[int(all_changes[part[0]])], int(all_roles[part[0]])) for part in parts]
    found.sort(key=lambda box: (box.level, box.ids[0]))
    return with_folds(index, step, found)


MAX_DRAWN_BOXES = 2_000
"""Maximum number of boxes drawn by default: beyond it, a step takes seconds and is illegible."""


def drawn_grouping(index: TraceIndex, step: int, group_by: GroupBy) -> GroupBy:
    """Return the grouping, or `fold` if it would draw more boxes than the limit."""
    if group_by in ("plates", "fold"):
        return group_by
    if group_by == "none":
        count = int(np.count_nonzero(index.before(step).present | index.state(step).present))
    else:
        count = len(boxes_of(index, step, group_by).boxes)
    return "fold" if count > MAX_DRAWN_BOXES else group_by


def _box(ids: IntArray, before: State, after: State, change: Change, roles: int) -> Box:
    low = int(before.level[ids].max())
    level = low if change == "removed" else int(after.level[ids].max())
    return Box(box_id(ids), tuple(ids.tolist()), change, level, level if change == "added" else low, roles)


def _number_rows(columns: list[NDArray[np.int32]]) -> tuple[NDArray[np.intp], int]:
    """Return a number for each row, equal for equal rows, and how many there are."""
    codes, count = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        distinct, codes = np.unique(codes * len(values) + numbers, return_inverse=True)
        count = len(distinct)
    return codes, count
