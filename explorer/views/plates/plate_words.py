"""The words at a plate."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from explorer.trace import Refusal, RefusalKind, Rewritten
from explorer.views.boxes import results_text
from explorer.views.index import CHANGED, TraceIndex, cached, node_changes
from explorer.views.plates.cells import UNKNOWN, Plate, Plates, plates_of
from explorer.views.scopes import columns_text
from explorer.views.sentences import titles_of
from explorer.views.words import bytes_text, plural
from explorer_widgets.plate_look import PLATES

OPERATOR_LABEL = 118.0
"""Room for `256 = 16×16 units` at a plate, in pixels."""

WHOLE = (RefusalKind.DECLINED, RefusalKind.REVERTED)
"""Kinds of refusals after the whole pattern has matched."""

BOLD, PLAIN = 0.557, 0.53
"""Estimated width of a character, in parts of the size of the font."""
NORMAL = 400
"""The weight of a font that is not bold."""
EPSILON = 1e-9
"""A room may be a whole number of characters, but for rounding."""
MAX_LINES = PLATES["read"]["each"]
"""Beyond it, lines connect plates, not their cells, except at the cell at the pointer."""
MAX_SENT_READS = 20_000
"""Maximum number of reads for which it is sent which cell reads which."""
MIN_LABEL, MAX_LABEL = 78.0, 130.0
"""Room for `was Hadamard + Sum` with the gap to the next plate; longer labels are cut off."""


def label_width(plate: Plate, least: float = MIN_LABEL) -> float:
    """Return how wide the title and the number of calls are, in pixels; at least as wide as `least`."""
    results = results_text(plate.record) if "results" in plate.record.config else ""
    characters = max(len(plate.record.title), len(f"{len(plate.cells):,} → 1 call"), len(results))
    return min(MAX_LABEL, max(least, width_of("title") * characters))


def width_of(kind: str) -> float:
    """Return the estimated width of a character of some words at a plate, in pixels."""
    look = PLATES["words"][kind]
    return (BOLD if look["weight"] > NORMAL else PLAIN) * look["size"]


def broken(text: str, kind: str, room: float) -> tuple[str, str]:
    """Break words at a plate at the last space before a width; the second part is empty if they fit, or have none."""
    most = max_characters(kind, room)
    end = text.rfind(" ", 0, most + 1) if len(text) > most else -1
    return (text, "") if end <= 0 else (text[:end], text[end + 1 :])


def max_characters(kind: str, room: float) -> int:
    """Return how many characters of some words at a plate fit into a width."""
    return int(room / width_of(kind) + EPSILON)


def clip(text: str, kind: str, room: float) -> str:
    """Cut words at a plate to a width, with an ellipsis."""
    most = max_characters(kind, room)
    return text if len(text) <= most else f"{text[: max(0, most - 1)].rstrip()}…"


def calls_text(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return how often PyTorch calls a layer for the plate: `64 calls`, or `64 → 1 call` if this step folded it."""
    if plate.node is not None and step and index.folded_at[plate.node] == step and len(plate.cells) > 1:
        return f"{len(plate.cells):,} → 1 call"
    if index.trace.level.has_circuit or plate.num_calls > 1:
        return plural(plate.num_calls, "call")
    return ""  # an operator is one call, an input none


def outputs_text(index: TraceIndex, at: int, plate: Plate) -> str:
    """Return how many of its cells are outputs after the step `at`, if there are several in all."""
    outputs = set(plates_of(index, at).layers.outputs)
    if len(index.circuits_at(at)) > 1:
        return ""  # outputs of different circuits, which `operator_news` names
    count = len(outputs.intersection(plate.layers.tolist())) if len(outputs) > 1 else 0
    return plural(count, "output") if count else ""


def reads_text(index: TraceIndex, at: int, plate: Plate) -> tuple[str, str]:
    """Return how a layer reads its inputs after the step `at`, in full and in short; empty before its level is folded.

    `gather, copies 64 KiB` is in short `copies 64 KiB`, and `view, no copy` is `no copy`. A layer without an equal one
    reads as it would if it was folded.
    """
    node = plate.ids[0]
    read = index.reads.get(node) if len(plate.ids) == 1 and index.folded_at[node] <= at else None
    if read is None:
        return "", ""
    short = f"copies {bytes_text(read.copied_bytes)}" if read.copied_bytes else "no copy"
    return f"{read.kind}, {short}", short


def copied_bytes(index: TraceIndex, at: int) -> int | None:
    """Return how much all layers copy when they read after the step `at`, per example; None if nothing is compiled."""
    return index.trace.stats(at).get("copied_bytes") if at >= index.trace.start else None


def copies_before_folding(index: TraceIndex, at: int) -> bool:
    """Return whether layers whose level is not folded after the step `at` copy some of their inputs to one place."""
    present = index.state(at).present
    folded = (read.copied_bytes for node, read in index.reads.items() if present[node] and index.folded_at[node] <= at)
    return (copied_bytes(index, at) or 0) > sum(folded)


def note_of_plates(index: TraceIndex, at: int, before: int | None = None) -> str:
    """Return how much a picture shows: `149 layers in 5 plates: 23 calls, ...`, and what it omits.

    Activations and copied inputs of layers, also of those that are not folded, have a line each, so that the line of
    all steps is equally high; the bytes of activations are also those after the step `before`, if they differ.
    """
    plates = plates_of(index, at)
    cells = sum(len(plate.cells) for plate in plates.plates)
    calls = sum(plate.num_calls for plate in plates.plates)
    run = "" if index.trace.level.uncalled else f": {plural(calls, 'call')}"
    shown = f"{index.count_text(calls, cells - calls)} in {plural(len(plates.plates), 'plate')}{run}"
    lines = ",\n".join([shown, *_memory(index, at, at if before is None else before)])
    return " ".join([f"{lines}.", *_limits(plates)])


def _memory(index: TraceIndex, at: int, before: int) -> Iterator[str]:
    """Say how much memory a compiled circuit needs for an example after the step `at`."""
    copied = copied_bytes(index, at)
    if copied is None:
        return
    old, new = (bytes_text(index.trace.stats(step)["activation_bytes"]) for step in (before, at))
    yield f"{old} → {new} of activations" if before >= index.trace.start and old != new else f"{new} of activations"
    yield f"{bytes_text(copied)} copied per example"


def _limits(plates: Plates) -> Iterator[str]:
    """Say which lines are not drawn, and why."""
    reads = sum(map(len, plates.reads.values()))
    if reads > MAX_SENT_READS:
        yield f"{reads:,} reads are too many to draw or to light up: a line is all reads between two plates."
    elif reads > MAX_LINES:
        yield f"{reads:,} reads: a line is all reads between two plates; point at a cell to see its own."
    if any(plate.first_layer == UNKNOWN for plate in plates.plates):
        yield "Which slice reads which is not known, because they were folded before the trace."


def column_names(index: TraceIndex, at: int, plate: Plate) -> str:
    """Return the names of the columns that inputs read; empty if it is not an input, or there is no table."""
    nodes = plate.ids if plate.node is None else (plate.node,)
    return columns_text(index, index.state(at), nodes) if plate.record.scope is not None else ""


def shape_text(index: TraceIndex, at: int, plate: Plate) -> str:
    """Return the shapes of the parameters, `64×16×17`, with their names if there are several; of results, if known.

    Empty for inputs that read a table, whose columns are named in its place.
    """
    if column_names(index, at, plate):
        return ""
    if "results" in plate.record.config:
        return results_text(plate.record)
    folds = (plate.record.num_folds,) if plate.record.num_folds > 1 else ()
    parameters = plate.record.parameters.items()
    shapes = {name: "×".join(map(str, (*folds, *parameter.shape))) for name, parameter in parameters}
    return ", ".join(shapes.values() if len(shapes) == 1 else [f"{name} {shape}" for name, shape in shapes.items()])


def news_text(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return what a rewriting step, or an operator, did to a plate: `was Hadamard + Sum`; empty if nothing."""
    if plate.node is not None:
        return ""
    if index.step(step).operator is not None:
        return operator_news(index, step, plate)
    made_by = rewrites_by_layer(index, step)
    rewrite = next((made_by[layer] for layer in plate.ids if layer in made_by), None) if made_by else None
    if rewrite is not None:
        old, _ = titles_of(index, index.step(step), rewrite)
        return f"was {old}" if old and old != plate.record.title else rewrite.rule
    if step and (node_changes(index, step)[list(plate.ids)] == CHANGED).any():
        has_memory = index.trace.steps[step].snapshot.memory is not None
        return _memory_news(index, step, plate) if has_memory else "parameters rewritten"
    lost = _lost_cells(index, step, plate)
    return f"{lost} of {lost + len(plate.cells)} replaced" if lost else ""


def _memory_news(index: TraceIndex, step: int, plate: Plate) -> str:
    """Say where an instruction has its memory now: `in place` if it overwrites an input, `moved` if that is new."""
    memories = [index.trace.steps[at].snapshot.memory for at in (step - 1, step)]
    before, after = (memory.accesses.get(plate.ids[0], {}) for memory in memories if memory is not None)
    if before == after:
        return ""
    if "rw" in after.values() and "rw" not in before.values():
        return "in place"
    return "input moved" if _written(before) == _written(after) else "moved"


def _written(access: Mapping[int, str]) -> set[int]:
    """The buffers that an instruction writes."""
    return {buffer for buffer, how in access.items() if "w" in how}


@cached
def rewrites_by_layer(index: TraceIndex, step: int) -> dict[int, Rewritten]:
    """Return the rewrite that made each layer in a step."""
    rewrites = index.step(step).applied
    return {layer: rewrite for rewrite in rewrites if not rewrite.parameter_path for layer in rewrite.added}


def _lost_cells(index: TraceIndex, step: int, plate: Plate) -> int:
    """Return how many cells a plate has lost."""
    if not step or plate.id in {other.id for other in plates_of(index, step - 1).plates}:
        return 0
    layers = set(plate.ids)
    before = [other for other in plates_of(index, step - 1).plates if layers < set(other.ids)]
    return len(before[0].cells) - len(plate.cells) if before else 0


def operator_news(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return what an operator did to the units of a plate, or to its layers: `8 = 4×2 units`, `was Categorical`.

    Empty if its layers differ in that, and for layers that are as before; but the outputs of circuits that are not
    combined yet name their circuit: `output of A`.
    """
    circuits = index.circuits_at(step)
    applied = index.step(step).operator
    is_made = applied is not None and any(layer in applied.sources for layer in plate.ids)
    if len(circuits) > 1 and not is_made:
        outputs = set(index.state(step).outputs)
        return f"output of {circuits[plate.circuit].formula}" if outputs.intersection(plate.ids) else ""
    found = {_news_of_layer(index, step, layer) for layer in plate.ids}
    return found.pop() if len(found) == 1 else ""


@cached
def _news_of_layer(index: TraceIndex, step: int, layer: int) -> str:
    applied = index.step(step).operator
    if applied is None or layer not in applied.sources:
        return ""
    before, after = index.before(step), index.state(step)
    made = index.record(int(after.node[layer]))
    sources = [index.record(int(before.node[source])) for source in applied.sources[layer]]
    units = [int(source.config["num_output_units"]) for source in sources]
    now = int(made.config["num_output_units"])
    titles = {source.title for source in sources}
    if layer in applied.sources[layer] and len(titles) == 1 and made.title not in titles:  # replaced
        return f"was {titles.pop()}"
    if len(units) == 1 and units != [now]:
        return f"{units[0]:,} → {now:,} units"
    if len(units) == 2 and units[0] * units[1] == now:
        return f"{now:,} = {units[0]:,}×{units[1]:,} units"
    return "new" if not sources else ""


@cached
def _blocked(index: TraceIndex, step: int) -> Mapping[int, Sequence[Refusal]]:
    """Return the attempts of a step that were blocked, by their root."""
    found: dict[int, list[Refusal]] = {}
    for miss in index.step(step).refusals:
        refusal = miss.refusal
        is_near = refusal.entry > 0 and refusal.kind is not RefusalKind.WRONG_TYPE
        if not miss.parameter_path and (is_near or refusal.kind in WHOLE):
            found.setdefault(refusal.root, []).append(refusal)
    return found


@cached
def blocking_layers(index: TraceIndex, step: int) -> set[int]:
    """Return the layers that blocked a match of a step."""
    return {refusal.node for refusals in _blocked(index, step).values() for refusal in refusals}


def blocked_text(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return how many matches with their root at a plate were blocked, for the pattern with the most; empty if none.

    `16 of 20 matched`, or `4 of 20 blocked` if none matched; with `at least` if not all were kept; `blocked` on
    a plate of one cell.
    """
    refusals = _blocked(index, step)
    counts = Counter(refusal.pattern for layer in plate.ids for refusal in refusals.get(layer, ()))
    if plate.node is not None or not counts:
        return ""
    pattern, blocked = counts.most_common(1)[0]
    layers = set(plate.ids)
    matched = sum(match.rule == pattern and match.root in layers for match in index.step(step).matches)
    least = "at least " if index.step(step).refusals_over.get(pattern) else ""
    if matched:
        return f"{matched:,} of {least}{matched + blocked:,} matched"
    if len(layers) == 1:
        return "blocked"
    return f"{least}{blocked:,} of {len(layers):,} blocked"
