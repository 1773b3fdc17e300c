"""What is written at a plate."""

from collections.abc import Iterator, Mapping

from explorer.trace import Rewritten
from explorer.views.boxes import results_text
from explorer.views.changes import CHANGED, node_changes
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.cells import UNKNOWN, Plate, Plates, plates_of
from explorer.views.plates.operators import operator_news
from explorer.views.sentences import titles_of
from explorer.views.words import bytes_text, plural
from explorer_widgets.plate_look import PLATES

BOLD, PLAIN = 0.557, 0.53
"""Estimated width of a character, in parts of the size of the font."""
NORMAL = 400
"""The weight of a font that is not bold."""
EPSILON = 1e-9
"""A room may be a whole number of characters, but for rounding."""
MAX_LINES = PLATES["read"]["each"]
"""Beyond it, lines connect plates, not their cells, except those of the cell at the pointer."""
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


def reads_text(index: TraceIndex, plate: Plate) -> str:
    """Return how a folded layer reads its inputs: `view, no copy`, `gather, copies 64 KiB`."""
    read = index.reads.get(plate.node) if plate.node is not None else None
    if read is None:
        return ""
    return f"{read.kind}, copies {bytes_text(read.copied_bytes)}" if read.copied_bytes else f"{read.kind}, no copy"


def note_of_plates(index: TraceIndex, plates: Plates) -> str:
    """Return how much is shown, as in `149 layers in 5 plates: 23 calls`, and what is not."""
    cells = sum(len(plate.cells) for plate in plates.plates)
    calls = sum(plate.num_calls for plate in plates.plates)
    run = "" if index.trace.level.uncalled else f": {plural(calls, 'call')}"
    shown = f"{index.count_text(calls, cells - calls)} in {plural(len(plates.plates), 'plate')}{run}."
    return " ".join([shown, *_limits(plates)])


def _limits(plates: Plates) -> Iterator[str]:
    """Say which lines are not drawn, and why."""
    reads = sum(map(len, plates.reads.values()))
    if reads > MAX_SENT_READS:
        yield f"{reads:,} reads are too many to draw or to light up: a line is all reads between two plates."
    elif reads > MAX_LINES:
        yield f"{reads:,} reads: a line is all reads between two plates; point at a cell to see its own."
    if any(plate.first_layer == UNKNOWN for plate in plates.plates):
        yield "Which slice reads which is not known, because they were folded before the trace."


def shape_text(plate: Plate) -> str:
    """Return the shapes of the parameters, `64×16×17`, with their names if there are several; of results, if known."""
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
