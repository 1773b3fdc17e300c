"""Layers in time: the spans in which they run in a program, and their measured times.

The spans are the sources of the instructions; the times are a heat map, the slowest layers, and their sum.
"""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import TypeVar

from explorer.errors import CircuitError
from explorer.timings import CPU, LAYER, READ, SUM, WHOLE, PartTime, Run, Timing
from explorer.trace import LayerOrigin, MemoryRecord, NodeRecord, ids_text, layer_of_path, paths_of, title_of_path
from explorer.trace.ladder import level_of
from explorer.views.index import TraceIndex, cached
from explorer.views.lanes import LayerTimes, main_lane
from explorer.views.plates.cells import plates_of
from explorer.views.timing_words import UNMEASURED, device_text, roof_share_text, share_text, timed_noun
from explorer.views.timings import check_fits
from explorer.views.words import bytes_text, number_text, plural, time_text
from explorer_widgets.schema import LayerSpanView, NodeKind, SectionView, TableView

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


Time = TypeVar("Time")
"""Milliseconds, or a time with its interval."""


def layer_heat(run: Run, device: str = CPU) -> dict[int, float]:
    """Return milliseconds by layer id, for `picture(times=...)` and `details(times=...)`."""
    return {node: found.median for node, found in part_times(run, device).items()}


def part_times(run: Run, device: str) -> dict[int, PartTime]:
    """Return the time of each layer or kernel call of a run by its id."""
    timings = [timing for timing in run.on(device) if timing.what == LAYER]
    return {t.node: PartTime(t.estimate, t.roof_ms) for t in timings if t.node is not None and t.estimate is not None}


def layer_times_at(index: TraceIndex, step: int, measured: Mapping[int, Mapping[int, Time]]) -> dict[int, Time]:
    """Return the time of each layer at a step, from layers measured at some steps, nearest first.

    A layer keeps its time at every step at which it has the same inputs and settings.
    """
    state, inputs = index.state(step), index.step(step).snapshot.graph.inputs
    found: dict[int, Time] = {}
    for known in sorted(measured, key=lambda other: (abs(other - step), other)):
        there, inputs_there = index.state(known), index.step(known).snapshot.graph.inputs
        for node, time in measured[known].items():
            is_here = node not in found and node in inputs and inputs.get(node) == inputs_there.get(node)
            if is_here and index.same(int(state.node[node]), int(there.node[node])):
                found[node] = time
    return found


def heat_at(index: TraceIndex, step: int, measured: LayerTimes) -> dict[int, float] | None:
    """Return milliseconds by layer id at a step, of one lane; None if no layer was measured."""
    lane = main_lane(measured)
    if lane is None:
        return None
    return {node: found.median for node, found in layer_times_at(index, step, measured[lane]).items()}


def roofs_at(index: TraceIndex, step: int, measured: LayerTimes) -> dict[int, float]:
    """Return the least possible milliseconds by id at a step, of one lane, of the kernel calls where it is known."""
    lane = main_lane(measured)
    found = {} if lane is None else layer_times_at(index, step, measured[lane])
    return {node: time.roof_ms for node, time in found.items() if time.roof_ms is not None}


def layer_table(index: TraceIndex, run: Run, device: str = CPU, limit: int = 10) -> TableView:
    """Return the slowest layers, the rest together, the sum, and the whole program for comparison.

    Kernel calls are listed by the plates that they are in, with the share of the roof that these reach.
    Raises: CircuitError for a run of another trace.
    """
    check_fits(index, run)
    level = index.trace.level
    if level.has_own_memory:
        return _call_table(index, run, device)
    heat, noun = layer_heat(run, device), timed_noun(level)
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    longest = sorted(heat, key=lambda node: (-heat[node], node))
    step = next((timing.step for timing in run.timings if timing.step is not None), 0)
    reads = {t.node: t.estimate.median for t in run.on(device) if t.what == READ and t.estimate is not None}

    def row(name: str, milliseconds: float, nodes: Sequence[int]) -> list[str]:
        more = _copied_text(reads, nodes) if level.has_circuit else _moved_text(index, step, nodes)
        return [name, time_text(milliseconds), share_text(milliseconds, sum(heat.values())), more]

    rows = [row(_layer_name(index, step, node), heat[node], [node]) for node in longest[:limit]]
    if rest := longest[limit:]:
        rows.append(row(plural(len(rest), f"other {noun}"), sum(heat[node] for node in rest), rest))
    why = run.missing.get(device, "not measured")
    for name, part in ((f"sum of {noun}s", total), (f"whole {_program_noun(run)}", whole)):
        if part is None or part.estimate is None:
            rows.append([name, (part.missing if part else "") or why, "", ""])
        elif part is total:
            rows.append(row(name, part.estimate.median, longest))
        else:
            rows.append([name, time_text(part.estimate.median), "", ""])
    return {
        "columns": [noun, "time", "share", "copying its inputs" if level.has_circuit else "bytes moved"],
        "rows": rows,
    }


def _copied_text(reads: Mapping[int | None, float], nodes: Sequence[int]) -> str:
    copied = sum(reads.get(node, 0.0) for node in nodes)
    return time_text(copied) if copied else "nothing"


def _moved_text(index: TraceIndex, step: int, nodes: Sequence[int]) -> str:
    """The bytes that calls read and write, parameters included, as far as the trace has them."""
    graph = index.trace.steps[step].snapshot.graph
    names = ("read_bytes", "bytes", "parameter_bytes")
    return bytes_text(sum(graph.nodes[node].config.get(name, 0) for node in nodes for name in names))


def _program_noun(run: Run) -> str:
    return "training step" if run.options.get("mode") == "train" else "forward pass"


def _call_table(index: TraceIndex, run: Run, device: str) -> TableView:
    """Return the plates of kernel calls, the slowest first, their sum, and the whole forward pass."""
    step = next(timing.step for timing in run.timings if timing.step is not None)
    timings = {timing.node: timing for timing in run.on(device) if timing.what == LAYER and timing.median is not None}
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    all_of_it = fsum(timing.median or 0.0 for timing in timings.values())
    found: list[tuple[float, list[str]]] = []
    for plate in plates_of(index, step).plates:
        own = [timings[node] for node in plate.ids if node in timings]
        if not own:
            continue
        time, roof = fsum(timing.median or 0.0 for timing in own), fsum(timing.roof_ms or 0.0 for timing in own)
        reached = roof_share_text(roof, time) if roof else UNMEASURED
        label = f"{plate.record.title} of {layer_words(index, plate.record)}"
        flops = number_text(plate.record.config["flops"] * len(own))
        found.append((time, [label, f"{len(own):,}", flops, time_text(time), share_text(time, all_of_it), reached]))
    rows = [row for _, row in sorted(found, key=lambda one: -one[0])]
    for name, part in (("sum of kernel calls", total), ("whole forward pass", whole)):
        median = None if part is None else part.median
        rows.append([name, "", "", UNMEASURED if median is None else time_text(median), "", ""])
    return {"columns": ["kernel calls", "calls", "FLOP", "time", "share", "share of the roof"], "rows": rows}


def layers_note(run: Run, device: str = CPU) -> str:
    """Compare the sum of the layers with the whole forward pass, on one device."""
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    noun = f"{timed_noun(level_of(run.options))}s"
    if whole is None or total is None or whole.estimate is None or total.estimate is None:
        return f"The {noun} were not timed on {device_text(device)}: {run.missing.get(device, 'not measured')}."
    together = f"The {noun} one by one take {time_text(total.estimate.median)} on {device_text(device)}"
    why = " Alone, each has its own launch and copies." if total.estimate.median > whole.estimate.median else ""
    return f"{together}, the whole {_program_noun(run)} {time_text(whole.estimate.median)}.{why}"


def layers_notes(run: Run) -> list[str]:
    """Return `layers_note` for each device with times; if there is none, for each with a reason, or the CPU."""
    return [layers_note(run, device) for device in run.devices or tuple(run.missing) or (CPU,)]


def _layer_name(index: TraceIndex, step: int, node: int) -> str:
    state = index.state(step)
    number = int(state.node[node]) if node < index.size else -1
    if number < 0:
        raise CircuitError(f"the recorded run names layer {node}, which is not in step {step} of this trace")
    record = index.record(number)
    return f"{node}: {record.title}" + (f" ×{record.num_folds}" if record.num_folds > 1 else "")


def _part(run: Run, device: str, what: str) -> Timing | None:
    return next((timing for timing in run.on(device) if timing.what == what), None)
