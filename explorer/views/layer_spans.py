"""The spans in which layers, or modules, run: the sources of the instructions of a program."""

from collections.abc import Mapping, Sequence

from explorer.trace import LayerOrigin, MemoryRecord, NodeRecord, ids_text, layer_of_path, paths_of, title_of_path
from explorer.views.index import TraceIndex, cached
from explorer.views.words import plural
from explorer_widgets.schema import LayerSpanView, NodeKind, SectionView

MAX_SPANS = 400
"""Maximum number of layers that are drawn: more would be too narrow to be seen."""
MAX_NAMED = 4
"""Maximum number of symbolic layers that are named one by one where there is room for a line only."""
OTHER: NodeKind = "operator"


def layer_spans(index: TraceIndex, step: int, memory: MemoryRecord) -> list[LayerSpanView]:
    """Return the layers in the order in which they run after a step; none if too many, not known, or nothing runs."""
    starts = _starts(index, step, memory)
    if not 0 < len(starts) <= MAX_SPANS:
        return []
    ends = [*(start for start, _ in starts[1:]), len(memory.order)]
    runs = [memory.order[start:end] for (start, _), end in zip(starts, ends, strict=True)]
    spans = zip(starts, ends, runs, strict=True)
    return [_span(index, start, end, path, own) for (start, path), end, own in spans if path]


def undrawn_layers(index: TraceIndex, step: int, memory: MemoryRecord) -> str:
    """Say that the layers are too many to be drawn; empty if they are drawn."""
    count = len(_starts(index, step, memory))
    if count <= MAX_SPANS:
        return ""
    return f"Which layer runs when is not drawn: they take {count:,} turns, and at most {MAX_SPANS} would be seen."


def _starts(index: TraceIndex, step: int, memory: MemoryRecord) -> list[tuple[int, str]]:
    """Return the moments at which another layer runs, with its path, empty where none is known."""
    graph = index.trace.steps[step].snapshot.graph
    starts: list[tuple[int, str]] = []
    for moment, node in enumerate(memory.order):
        path = ", ".join(paths_of(graph.nodes[node]))
        if not starts or starts[-1][1] != path:
            starts.append((moment, path))
    return starts


def _span(index: TraceIndex, start: int, end: int, path: str, runs: Sequence[int]) -> LayerSpanView:
    origin = _origin_of(index, path)
    title = title_of_path(path, index.trace.layers)
    made_of = f", made from {_short_text(origin)}" if origin is not None else ""
    return {
        "start": start,
        "end": end,
        "label": title,
        "kind": OTHER if origin is None else origin.kind,
        "text": f"{title}{made_of}: {plural(len(runs), index.trace.level.noun)} {ids_text(tuple(runs), '#')}",
        "runs": list(runs),
    }


def _origin_of(index: TraceIndex, path: str) -> LayerOrigin | None:
    layer = layer_of_path(path)
    return None if layer is None else index.trace.layers.get(layer)


def _symbolic_text(origin: LayerOrigin) -> str:
    noun = "symbolic layer" if len(origin.symbolic) == 1 else "symbolic layers"
    return f"{noun} {ids_text(origin.symbolic)}"


def _short_text(origin: LayerOrigin) -> str:
    """Name the symbolic layers in a few words: if they are many, their number, the first and the last."""
    ids = origin.symbolic
    return f"{len(ids):,} symbolic layers, {ids[0]} to {ids[-1]}" if len(ids) > MAX_NAMED else _symbolic_text(origin)


def layer_words(index: TraceIndex, record: NodeRecord) -> str:
    """Return the layers, or the modules, that a node comes from: `Sum layer 256`; empty if none is known."""
    return ", ".join(title_of_path(path, index.trace.layers) for path in paths_of(record))


def layer_section(index: TraceIndex, step: int, record: NodeRecord) -> SectionView:
    """Describe the layer that a node of a lower level comes from, and what else came of it."""
    paths = () if index.trace.level.has_circuit else paths_of(record)
    return {
        "heading": "Layer",
        "rows": [row for path in paths for row in _rows_of_path(index, step, path)],
        "lines": [],
    }


@cached
def _rows_of_path(index: TraceIndex, step: int, path: str) -> list[list[str]]:
    """Name a module, what it was made from, and what came of it until after a step."""
    origin, (nodes, buffers) = _origin_of(index, path), _parts_by_path(index, step).get(path, ((), ()))
    slices = f", {plural(origin.num_folds, 'slice')}" if origin is not None and origin.num_folds > 1 else ""
    rows = [["layer" if origin is not None else "module", title_of_path(path, index.trace.layers) + slices]]
    rows += [["made from", _symbolic_text(origin)]] if origin is not None else []
    rows.append([f"its {index.trace.level.noun}s", ids_text(nodes, "#")])
    return [*rows, *([["its buffers", ids_text(buffers, "%")]] if buffers else [])]


@cached
def _parts_by_path(index: TraceIndex, step: int) -> Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the nodes of each module after a step, and the buffers that these write."""
    snapshot = index.trace.steps[step].snapshot
    nodes: dict[str, list[int]] = {}
    buffers: dict[str, list[int]] = {}
    for node, record in snapshot.graph.nodes.items():
        for path in paths_of(index.trace.records.of(record)):
            nodes.setdefault(path, []).append(node)
    for buffer in snapshot.memory.buffers if snapshot.memory is not None else ():
        writers = (snapshot.graph.nodes[writer] for writer in buffer.writers)
        for path in dict.fromkeys(path for writer in writers for path in paths_of(writer)):
            buffers.setdefault(path, []).append(buffer.id)
    return {path: (tuple(own), tuple(buffers.get(path, ()))) for path, own in nodes.items()}
