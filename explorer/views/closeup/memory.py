"""The memory reads of a plate: its sources, copies, and its own slices, as strips with lines between them."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.views.fold_level import READS
from explorer.views.index import NodeRead, TraceIndex
from explorer.views.plates.cells import Plate, last_unfolded, num_variables_of, plates_of
from explorer.views.states import scopes_of
from explorer.views.words import bytes_text, list_text, plural
from explorer_widgets.schema import MemoryView, NodeKind, StripView

MAX_LINES = 2_048
"""Maximum number of lines between the strips."""
MAX_SOURCES = 4
"""Maximum number of sources named in the sentence."""


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
        return strip_view(whole, plate.record.kind, count, (f"#{plate.node}[", "]"))
    layers = [cell.layer for cell in plate.cells]
    whole = f"{title} #{layers[0]}" if count == 1 else f"{count:,} {title} layers"
    return {**strip_view(whole, plate.record.kind, count, ("#", "")), "numbers": layers, "apart": True}


def strip_view(title: str, kind: NodeKind, count: int, name: tuple[str, str]) -> StripView:
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
    return Reads((strip_view(plural(count, "variable"), "leaf", count, ("x", "")),), scopes)


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
