"""The close-up of a plate: its memory reads as strips with lines between them, and the code that runs for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.trace import NodeRecord
from explorer.views.boxes import box_id
from explorer.views.closeup.parameters import parameters_view, shape_text
from explorer.views.fold_level import READS
from explorer.views.index import NodeRead, TraceIndex
from explorer.views.plates.cells import Plate, last_unfolded, num_variables_of, plates_of
from explorer.views.states import scopes_of
from explorer.views.words import bytes_text, list_text, plural
from explorer_widgets.schema import CloseupView, CodeView, MemoryView, NodeKind, StripView

MAX_SOURCES = 4
"""Maximum number of tensors that a concatenation names."""

MAX_LINES = 2_048
"""Maximum number of lines between the strips."""


def closeup(
    index: TraceIndex, step: int, ids: Sequence[int], *, before: bool = False, node: int | None = None
) -> CloseupView | None:
    """Return the close-up of the plate that consists of these nodes, as `find_plate` finds it; None if none does.

    It has the code of `node`, one of them, or else of the first.
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


@dataclass(frozen=True, slots=True)
class Reads:
    """The reads of the first slices of a plate: its sources, and for each slice positions in their slices, in order."""

    sources: Sequence[StripView]
    rows: Sequence[Sequence[int]]


def memory_view(plate: Plate, reads: Reads, read: NodeRead | None) -> MemoryView:
    """Return how a plate reads its inputs; `read` is how a folded layer reads, if it is known."""
    arity = max(map(len, reads.rows), default=0)
    shown = max(1, MAX_LINES // max(1, arity))
    rows, total = reads.rows[:shown], len(reads.rows)
    copied = read.copied_bytes if read is not None else 0
    return {
        "sentence": _sentence(plate, reads, read),
        "line": "copyLine" if copied else "edge" if read is None and plate.node is None else "viewLine",
        "sources": list(reads.sources),
        "own": _strip(plate),
        "arity": arity,
        "reads": [position for row in rows for position in row],
        "copy": f"copied: {bytes_text(copied)} per example" if copied else "",
        "cut": f"The first {len(rows):,} of {plural(total, 'slice')} are drawn." if len(rows) < total else "",
    }


def reads_of(index: TraceIndex, step: int, plate: Plate) -> Reads:
    """Return what the slices of a plate read: variables, or layers."""
    if plate.record.scope is not None:
        return _reads_of_data(index, step, plate)
    return _reads_of_layers(index, step, plate)


def known_read(index: TraceIndex, step: int, plate: Plate) -> NodeRead | None:
    """Return how a plate that is one call reads its inputs, once it is folded."""
    node = plate.ids[0]
    return index.reads.get(node) if plate.num_calls == 1 and index.folded_at[node] <= step else None


def _sentence(plate: Plate, reads: Reads, read: NodeRead | None) -> str:
    what = list_text([strip["title"] for strip in reads.sources], MAX_SOURCES)
    if plate.record.scope is not None:
        each = "slice" if plate.node is not None else "layer"
        return f"Each {each} reads its own of the {what}."
    if read is not None:
        reason = f" {read.reason[:1].upper()}{read.reason[1:]}." if read.reason else ""
        return f"Reads {what} by {read.kind}: {READS[read.kind]}.{reason}"
    arity = max(map(len, reads.rows), default=0)
    copies = arity > 1 and all(strip["apart"] for strip in reads.sources)
    inputs = f"concatenates its {arity} inputs first" if copies else f"reads its {plural(arity, 'input')}"
    return f"Not folded: {plural(plate.num_calls, 'call')}, each {inputs}."


def _strip(plate: Plate) -> StripView:
    """Return the slices of a folded layer, or the tensors of separate layers."""
    title, count = plate.record.title, len(plate.cells)
    if plate.node is not None:
        whole = f"{plural(count, 'slice')} of {title} #{plate.node}"
        return _strip_view(whole, plate.record.kind, count, (f"#{plate.node}[", "]"))
    layers = [cell.layer for cell in plate.cells]
    whole = f"{title} #{layers[0]}" if count == 1 else f"{count:,} {title} layers"
    return {**_strip_view(whole, plate.record.kind, count, ("#", "")), "numbers": layers, "apart": True}


def _strip_view(title: str, kind: NodeKind, count: int, name: tuple[str, str]) -> StripView:
    """Return a strip of slices that are counted from 0; `name` is what precedes and follows the number."""
    prefix, suffix = name
    return {
        "title": title,
        "kind": kind,
        "count": count,
        "prefix": prefix,
        "suffix": suffix,
        "numbers": [],
        "apart": False,
    }


def _reads_of_data(index: TraceIndex, step: int, plate: Plate) -> Reads:
    """Return the variables that input layers, or their slices, read."""
    state = plates_of(index, step).layers
    scopes = plate.record.scope or ()
    if plate.node is None:
        nodes = [index.table.nodes[int(state.node[cell.layer])] for cell in plate.cells]
        scopes = [(scopes_of(node) or ((),))[0] for node in nodes]
    count = num_variables_of(index)
    return Reads((_strip_view(plural(count, "variable"), "leaf", count, ("x", "")),), scopes)


def _reads_of_layers(index: TraceIndex, step: int, plate: Plate) -> Reads:
    """Return the index table of a folded layer, or what each separate layer reads."""
    if known_read(index, step, plate) is not None:
        folded = {other.node: other for other in plates_of(index, step).plates if other.node is not None}
        owner, slot = _positions(index, step)
        table: Sequence[Sequence[tuple[int, int]]] = index.trace.steps[-1].snapshot.reads[plate.ids[0]]["index"]
        return _reads(
            [
                [(folded[node], number) if node in folded else (owner[node], slot[node]) for node, number in row]
                for row in table
            ]
        )
    owner, slot = _positions(index, step)
    inputs = index.step(last_unfolded(index, step)).snapshot.graph.inputs
    return _reads([[(owner[source], slot[source]) for source in inputs[cell.layer]] for cell in plate.cells])


def _positions(index: TraceIndex, step: int) -> tuple[dict[int, Plate], dict[int, int]]:
    """Return the plate and the position in it of each layer; they are kept for one step, since they may be many."""
    known = index.cache.get((_positions,))
    if known is None or known[0] != step:
        plates = plates_of(index, step).plates
        cells = [(plate, i, cell.layer) for plate in plates for i, cell in enumerate(plate.cells)]
        owner = {layer: plate for plate, _, layer in cells}
        known = index.cache[(_positions,)] = (step, owner, {layer: i for _, i, layer in cells})
    return known[1], known[2]


def _reads(table: Sequence[Sequence[tuple[Plate, int]]]) -> Reads:
    """Return the reads of a table of plates and positions in them; plates are in the order of their first use."""
    plates = {plate.id: plate for row in table for plate, _ in row}
    starts: dict[str, int] = {}
    total = 0
    for name, plate in plates.items():
        starts[name] = total
        total += len(plate.cells)
    strips = tuple(map(_strip, plates.values()))
    return Reads(strips, [[starts[plate.id] + at for plate, at in row] for row in table])


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
