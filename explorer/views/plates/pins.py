"""Pins: why layers of a picture are not fewer, as drawn notes outside the plates; each is a button.

Reasons come from the folding and the matcher; the trace has them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from explorer.trace import MatchLost, MatchRefused, RefusalKind
from explorer.views.index import TraceIndex, cached
from explorer.views.lines import Place
from explorer.views.marks import mark
from explorer.views.plates.cells import plates_of
from explorer.views.plates.contests import contest_pin
from explorer.views.plates.links import missed_links
from explorer.views.plates.pin_places import Note, Scene, placed_notes
from explorer.views.plates.plate_words import WHOLE
from explorer.views.words import plural
from explorer_widgets.schema import MarkView, PictureView, PinView

MAX_PINS = 4
"""Maximum number of pins of a picture."""
MAX_STROKES = 20
"""Maximum number of lines of a pin that are drawn thick."""
THICK = 2.8
"""Width of a line that keeps layers apart."""


def pin_views(index: TraceIndex, step: int, at: int, view: PictureView, places: Sequence[Place]) -> list[PinView]:
    """Return the pins of a picture of the state `at`, where they cover neither plates nor words."""
    if not index.trace.level.has_circuit or at < index.trace.start:
        return []
    scene = Scene(view, places)
    contests = (
        [contest_pin(index, step, conflicts, scene) for conflicts in _contests(index, step)] if at == step else []
    )
    notes = [*(note for note in contests if note is not None), *_waiting(index, at, scene), *_blocked(index, at, scene)]
    return placed_notes([*notes, *_levels(index, at, scene)][:MAX_PINS], scene)


def _contests(index: TraceIndex, step: int) -> list[list[MatchLost]]:
    """Return the conflicts of a step, those of the same two rules with the same outcome together."""
    entry = index.step(step)
    found: dict[tuple[str, str, str], list[MatchLost]] = {}
    for lost in entry.lost:
        if not lost.parameter_path:
            rules = entry.matches[lost.winner].rule, entry.matches[lost.loser].rule
            found.setdefault((*rules, lost.reason), []).append(lost)
    return list(found.values())


def _thick(paths: Sequence[str]) -> list[MarkView]:
    """Return lines that keep layers apart."""
    return [mark("path", d=d, fill="none", stroke="nearMiss", stroke_width=THICK) for d in paths]


def _waiting(index: TraceIndex, at: int, scene: Scene) -> Iterator[Note]:
    """Yield a note for each run of equal plates of which each reads the one before; none before folding begins."""
    if not any(entry.folds for entry in index.trace.steps[: at + 1]):
        return
    plate_of = {cell.layer: plate for plate in plates_of(index, at).plates for cell in plate.cells}
    members = {group.node: group.members for group in index.groups}
    for chain in sorted(index.fold_chains, key=lambda chain: -len(chain.nodes)):
        found = [plate_of.get(members[node][0]) for node in chain.nodes]
        plates = [plate for plate in found if plate is not None and plate.num_calls == 1]
        edges = [edge for one, other in pairwise(plates) if (edge := scene.edges.get((one.id, other.id))) is not None]
        if len(plates) < len(found) or len(edges) < len(plates) - 1:
            continue
        reads = [read for edge in edges for read in scene.reads(edge)[:1]]
        is_single = all(len(plate.cells) == 1 for plate in plates)
        paths = [path for _, path in reads] if is_single else map(scene.line, edges)
        count, title = len(plates), plates[0].record.title
        waits = "each waits for the one before" if count > 2 else "one waits for the other"
        yield Note(
            kind="waits",
            text=f"{count} equal layers: {waits}",
            reason=f"{count} {title} layers have equal keys and are not folded: each reads the one before.",
            plates=[plate.id for plate in plates],
            strokes=_thick([*paths]),
            ends=[layer for pair, _ in reads for layer in pair],
            cells=[plate.cells[0].layer for plate in plates],
            verdict=f"They cannot run at the same time, so {plural(count, 'call')} stay {count}.",
        )


def _levels(index: TraceIndex, at: int, scene: Scene) -> Iterator[Note]:
    """Yield a note for each dotted line between plates of equal keys on two levels that does not say so itself."""
    worded = {(link["source"], link["target"]) for link in scene.view.get("links", ()) if "at" in link}
    for link in missed_links(index, at):
        ends = link.first.id, link.second.id
        if ends not in worded and link.first.level != link.second.level and "keys are equal" in link.reason:
            first, second = sorted((link.first.level, link.second.level))
            yield Note("levels", f"same key, levels {first} and {second}", link.reason, ends, verdict=link.reason)


@cached
def _last_misses(index: TraceIndex, step: int) -> list[MatchRefused]:
    """Return the near misses of layers up to a step, of each pattern those of the last step that tried it."""
    seen: set[str] = set()
    found: list[MatchRefused] = []
    for entry in reversed(index.trace.steps[: step + 1]):
        own = [miss for miss in entry.refusals if miss.refusal.pattern not in seen]
        found += [miss for miss in own if not miss.parameter_path]
        seen.update(miss.refusal.pattern for miss in own)
        seen.update(match.rule for match in entry.matches)
    return found


def _blocked(index: TraceIndex, at: int, scene: Scene) -> Iterator[Note]:
    """Yield a note for each plate and reason by which layers refused a rule that had matched layers before."""
    groups: dict[tuple[object, ...], list[MatchRefused]] = {}
    for miss in _last_misses(index, at):
        refusal = miss.refusal
        is_near = refusal.entry > 0 and refusal.kind is not RefusalKind.WRONG_TYPE
        if (is_near or refusal.kind in WHOLE) and {refusal.node, refusal.root} <= scene.cells.keys():
            plate = scene.cells[refusal.node].plate
            groups.setdefault((plate, refusal.pattern, refusal.kind, refusal.what), []).append(miss)
    for same in sorted(groups.values(), key=lambda misses: -len(misses)):
        yield _blocked_note(same, scene)


def _blocked_note(misses: Sequence[MatchRefused], scene: Scene) -> Note:
    first = misses[0].refusal
    layers = list(dict.fromkeys(miss.refusal.node for miss in misses))
    plate = scene.cells[first.node].plate
    who = f"{scene.titles[plate]} {first.node}" if len(layers) == 1 else f"{len(layers):,} {scene.titles[plate]}"
    reads = [read for layer in layers[:MAX_STROKES] for read in scene.reads_at(layer, first.kind)][:MAX_STROKES]
    return Note(
        kind="blocked",
        text=f"{who} {phrase(misses[0], many=len(layers) > 1)}: no {first.pattern}",
        reason=f"{first.pattern} was refused {plural(len(misses), 'time')} here: {first.describe('#')}.",
        plates=[plate],
        strokes=_thick([path for _, path in reads]),
        ends=[layer for pair, _ in reads for layer in pair],
        cells=[first.node, first.root],
        verdict=f"{first.describe('#')[:1].upper()}{first.describe('#')[1:]}.",
        rule=first.pattern,
    )


def miss_of(index: TraceIndex, step: int, pin: PinView) -> MatchRefused | None:
    """Return the near miss that a pin shows, or None."""
    for miss in _last_misses(index, step):
        refusal = miss.refusal
        if refusal.pattern == pin.get("rule") and [refusal.node, refusal.root] == pin["cells"]:
            return miss
    return None


def add_answers(index: TraceIndex, view: PictureView, only: str | None = None) -> None:
    """Add to pins what their rules would match if the check had passed; `only`: to that with this id."""
    for pin in view.get("pins", ()):
        miss = miss_of(index, view["step"], pin)
        if miss is None or only not in (None, pin["id"]) or not index.trace.has_what_if(miss):
            continue
        tried = next(one for one in reversed(index.trace.steps[: view["step"] + 1]) if miss in one.refusals)
        answer = index.trace.what_if(miss, tried.index)
        pin["what_if"] = {"text": answer.reason, "matches": [[*nodes] for nodes in answer.matches[:MAX_STROKES]]}


def offer_answers(index: TraceIndex, view: PictureView) -> None:
    """Let a reader ask what the rules of pins would match, where there is an answer."""
    for pin in view.get("pins", ()):
        miss = miss_of(index, view["step"], pin)
        if miss is not None and index.trace.has_what_if(miss):
            pin["what_if"] = {"text": "", "matches": []}


def phrase(miss: MatchRefused, *, many: bool) -> str:
    """Return why a layer refused, in a few words after its name: `feeds 2 layers`."""
    refusal = miss.refusal
    s = "" if many else "s"
    match refusal.kind:
        case RefusalKind.SEVERAL_USERS:
            return f"feed{s} {refusal.found} layers"
        case RefusalKind.SEVERAL_INPUTS:
            return f"read{s} {refusal.found} layers"
        case RefusalKind.INTERIOR_OUTPUT:
            return "are outputs" if many else "is an output"
        case RefusalKind.CONFIG_DIFFERS:
            return f"{'have' if many else 'has'} {refusal.what} {refusal.found}, not {refusal.wanted}"
        case RefusalKind.DECLINED | RefusalKind.REVERTED:
            return f"refused ({refusal.cause})"
        case _:
            return f"({refusal.summary})"
