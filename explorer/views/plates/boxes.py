"""The plates before and after a step as boxes, so that everything that is said of a box holds for a plate."""

from typing import Literal

import numpy as np

from explorer.views.box import Box, Boxes, with_folds
from explorer.views.changes import CHANGED, CHANGES, match_roles, node_changes
from explorer.views.index import TraceIndex
from explorer.views.plates.cells import Plate, plates_of


def plate_boxes(index: TraceIndex, step: int) -> Boxes:
    """Return the plates before and after a step, lowest level first; one with the same layers is one box.

    A plate with only some of the layers of another one is a box of its own, whose layers are kept or changed.
    """
    old = {plate.id: plate for plate in plates_of(index, max(step - 1, 0)).plates}
    new = {plate.id: plate for plate in plates_of(index, step).plates}
    found = [_box(index, step, old.get(name), new.get(name)) for name in {**old, **new}]
    found.sort(key=lambda box: (box.level, box.ids[0], box.after))
    return with_folds(index, step, found)


def _box(index: TraceIndex, step: int, before: Plate | None, after: Plate | None) -> Box:
    plate = after or before
    assert plate is not None
    ids = list(plate.ids)
    changes: set[int] = set(node_changes(index, step)[ids].tolist())
    change = CHANGES[changes.pop() if len(changes) == 1 else CHANGED]
    is_part = (before is None or after is None) and change in ("kept", "changed")
    only: Literal["before", "after"] | None = ("after" if before is None else "before") if is_part else None
    roles = int(np.bitwise_or.reduce(match_roles(index, step)[ids]))
    return Box(plate.id, plate.ids, change, plate.level, (before or plate).level, roles, only=only)
