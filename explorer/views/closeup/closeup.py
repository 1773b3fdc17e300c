"""The close-up of a plate, from its parts."""

from collections.abc import Sequence

import numpy as np

from explorer.views.box import box_id
from explorer.views.closeup.code import code_view
from explorer.views.closeup.memory import known_read, memory_view, reads_of
from explorer.views.closeup.parameters import parameters_view
from explorer.views.index import TraceIndex
from explorer.views.plates.cells import Plate, plates_of
from explorer.views.words import plural
from explorer_widgets.schema import CloseupView


def closeup(index: TraceIndex, step: int, ids: Sequence[int], *, before: bool = False) -> CloseupView | None:
    """Return the close-up of the plate that consists of these nodes, as `find_plate` finds it; None if none does."""
    found = find_plate(index, step, ids, before=before)
    if found is None:
        return None
    at, plate = found
    reads, read = reads_of(index, at, plate), known_read(index, at, plate)
    return {
        "title": title_of(plate),
        "memory": memory_view(plate, reads, read),
        "parameters": parameters_view(plate, index.trace),
        "code": code_view(plate, reads, read),
    }


def find_plate(index: TraceIndex, step: int, ids: Sequence[int], *, before: bool = False) -> tuple[int, Plate] | None:
    """Return the plate that consists of these nodes, and the step after which it is.

    That is `step`, or the one before if the plate is only there; with `before`, the other way round.
    """
    if not index.trace.level.has_circuit:
        return None
    name = box_id(np.array(ids, np.int32))
    after_then_before = (step, step - 1)[: 1 + (step > 0)]
    for at in reversed(after_then_before) if before else after_then_before:
        for plate in plates_of(index, at).plates:
            if plate.id == name:
                return at, plate
    return None


def title_of(plate: Plate) -> str:
    """Return the name of a plate: `Sum #171, 64 slices`, `Sum, 64 layers`."""
    title, count = plate.record.title, len(plate.cells)
    if plate.node is not None:
        return f"{title} #{plate.node}, {plural(count, 'slice')}"
    return f"{title} #{plate.ids[0]}" if count == 1 else f"{title}, {plural(count)}"
