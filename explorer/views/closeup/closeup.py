"""The close-up of a plate, and the lines of code that run for it."""

from collections.abc import Sequence

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.boxes import box_id
from explorer.views.closeup.memory import Reads, known_read, memory_view, reads_of
from explorer.views.closeup.parameters import parameters_view, shape_text
from explorer.views.index import NodeRead, TraceIndex
from explorer.views.plates.cells import Plate, plates_of
from explorer.views.words import plural
from explorer_widgets.schema import CloseupView, CodeView, StripView

MAX_SOURCES = 4
"""Maximum number of tensors that a concatenation names."""


def closeup(
    index: TraceIndex, step: int, ids: Sequence[int], *, before: bool = False, node: int | None = None
) -> CloseupView | None:
    """Return the close-up of the plate that consists of these nodes, as `find_plate` finds it; None if none does.

    Its code is that of `node`, one of them, or else of the first.
    """
    found = find_plate(index, step, ids, before=before)
    if found is None:
        return None
    at, plate = found
    reads, read = reads_of(index, at, plate), known_read(index, at, plate)
    cell = 0 if plate.node is not None else plate.layers.tolist().index(node if node in plate.ids else plate.ids[0])
    return {
        "title": title_of(plate),
        "memory": memory_view(plate, reads, read),
        "parameters": parameters_view(plate, index.trace),
        "code": code_view(plate, reads, read, cell),
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


def code_view(plate: Plate, reads: Reads, read: NodeRead | None, at: int) -> CodeView:
    """Return the code of a folded layer, or of one of separate layers; its formula is added by who knows it."""
    record = plate.record
    node = plate.node if plate.node is not None else plate.cells[at].layer
    arguments = "".join(f", {name}" for name in record.parameters)
    return {
        "type": record.type,
        "lines": [_read_line(record, reads, read, at), f"y{node} = {record.title}(x{arguments})"],
        "formula": "",
        "shapes": _shapes_text(record),
        "source": "",
        "where": "",
        "note": f"This is one of {len(plate.cells):,} calls." if plate.num_calls > 1 else "",
    }


def _read_line(record: NodeRecord, reads: Reads, read: NodeRead | None, at: int) -> str:
    """Return the line that reads the inputs of a layer as x (F, H, B, I)."""
    shape = ", ".join(map(str, record.shapes[0]))
    if record.scope is not None:
        folds, batch, variables = record.shapes[0]
        return f"x = data[:, variables].reshape({batch}, {folds}, {variables}).transpose(0, 1)"
    if read is None:
        return f"x = {_joined(_pieces(reads.sources, reads.rows[at]))}.reshape({shape})" if reads.rows else "x = None"
    whole = _joined([piece for strip in reads.sources for piece in _whole(strip)])
    if read.kind in ("gather", "cat+gather"):
        return f"x = torch.index_select({whole}, 0, index).reshape({shape})"
    folds, arity, batch, units = record.shapes[0]
    if read.kind == "expand":
        axis = 0 if folds > 1 and reads.rows[0] == reads.rows[-1] else 1
        flat = sorted({at for row in reads.rows for at in row})
        return f"x = {_joined(_pieces(reads.sources, flat))}.unsqueeze({axis}).expand({shape})"
    pieces, by_column = _concatenated(reads)
    if by_column:
        return f"x = {_joined(pieces)}.reshape({arity}, {folds}, {batch}, {units}).transpose(0, 1)"
    return f"x = {_joined(pieces)}.reshape({shape})"


def _concatenated(reads: Reads) -> tuple[list[str], bool]:
    """Return the slices that are concatenated, and whether they are in the order of (H, F)."""
    pieces = _pieces(reads.sources, [at for row in reads.rows for at in row])
    by_column = _pieces(reads.sources, [at for column in zip(*reads.rows, strict=True) for at in column])
    return (by_column, True) if len(by_column) < len(pieces) else (pieces, False)


def _pieces(sources: Sequence[StripView], flat: Sequence[int]) -> list[str]:
    """Return evenly spaced runs of positions as slices of variables: `y255[0:4]`, `y12`."""
    places = [_place(sources, at) for at in flat]
    runs: list[tuple[StripView, int, int, int]] = []
    for strip, slot in places:
        if runs and runs[-1][0] is strip and not strip["apart"]:
            _, start, last, by = runs[-1]
            if slot > last and (last == start or slot - last == by):
                runs[-1] = (strip, start, slot, slot - last)
                continue
        runs.append((strip, slot, slot, 1))
    return [_slice_text(*run) for run in runs]


def _slice_text(strip: StripView, start: int, last: int, by: int) -> str:
    if strip["apart"]:
        return f"y{strip['numbers'][start]}"
    name = f"y{strip['prefix'].strip('#[')}"
    if (start, last + 1, by) == (0, strip["count"], 1):
        return name
    return f"{name}[{start}:{last + 1}{f':{by}' if by > 1 else ''}]"


def _whole(strip: StripView) -> list[str]:
    """Return the variables that hold all slices of a strip."""
    if strip["apart"]:
        return [f"y{number}" for number in strip["numbers"]]
    return [f"y{strip['prefix'].strip('#[')}"]


def _joined(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:MAX_SOURCES]) + (", ..." if len(names) > MAX_SOURCES else "")
    return f"torch.cat([{shown}])"


def _place(sources: Sequence[StripView], at: int) -> tuple[StripView, int]:
    """Return the strip and the slot in it of a position that counts through all strips."""
    for strip in sources:
        if at < strip["count"]:
            return strip, at
        at -= strip["count"]
    raise IndexError(at)


def _shapes_text(record: NodeRecord) -> str:
    """Return the shapes of a call: `x 64×1×B×16, weight 64×16×16 → y 64×B×16`."""
    folds = (record.num_folds,)
    parameters = [f"{name} {shape_text((*folds, *value.shape))}" for name, value in record.parameters.items()]
    inputs, outputs = record.shapes
    return f"{', '.join([f'x {shape_text(inputs)}', *parameters])} → y {shape_text(outputs)}"
