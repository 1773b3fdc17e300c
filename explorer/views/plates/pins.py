"""Pins: why layers of a picture are not fewer, as drawn notes outside the plates; each is a button.

Reasons come from the folding and the matcher; the trace has them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import shorten

from explorer.trace import MAX_NEAR_MISSES, MatchLost, MatchRefused, Refusal, RefusalKind
from explorer.views.index import TraceIndex, cached
from explorer.views.lines import Place
from explorer.views.marks import mark
from explorer.views.plates.cells import plates_of
from explorer.views.plates.contests import contest_note, decisive
from explorer.views.plates.links import missed_links
from explorer.views.plates.pin_places import Note, placed_notes
from explorer.views.plates.pin_scene import Scene
from explorer.views.plates.plate_words import WHOLE
from explorer.views.words import plural
from explorer_widgets.schema import MarkView, PictureView, PinView

MAX_PINS = 4
"""Maximum number of pins of a picture; one more says how many reasons are not drawn."""
MAX_NAMED = 6
"""Maximum number of these reasons that are named."""
MAX_CAUSE = 60
"""Maximum length of the cause for which a rule declined a match, in characters."""
MAX_STROKES = 20
"""Maximum number of lines of a pin, or of two plates that wait for each other, that are drawn thick."""
WAITING = "With levels by fewest groups, layers may wait for one another."
"""What folds more layers of equal keys together."""
THICK = 2.8
"""Width of a line that keeps layers apart."""


def pin_views(index: TraceIndex, step: int, view: PictureView, places: Sequence[Place]) -> list[PinView]:
    """Return the pins of the picture after a step, where they cover neither plates nor words."""
    if not index.trace.level.has_circuit or step < index.trace.start:
        return []
    scene = Scene(view, places)
    contests = (contest_note(index, step, conflicts, scene) for conflicts in _contests(index, step))
    notes = [note for note in contests if note is not None]
    notes += [*_waiting(index, step, scene), *_blocked(index, step, scene), *_levels(index, step, scene)]
    shown, others = notes[:MAX_PINS], notes[MAX_PINS:]
    return placed_notes([*shown, *([_more(others)] if others else [])], scene)


def _more(notes: Sequence[Note]) -> Note:
    """Return a note that names those for which a picture has no room."""
    said = "; ".join(note.text for note in notes[:MAX_NAMED])
    rest = f"; and {len(notes) - MAX_NAMED:,} more" if len(notes) > MAX_NAMED else ""
    plates = list(dict.fromkeys(plate for note in notes for plate in note.plates))
    return Note("more", f"and {plural(len(notes), 'more reason', 'more reasons')}", f"Also: {said}{rest}.", plates)


def _contests(index: TraceIndex, step: int) -> list[list[MatchLost]]:
    """Return the conflicts of a step, those of the same two rules that the same comparison decided together."""
    entry = index.step(step)
    found: dict[tuple[str, str, str], list[MatchLost]] = {}
    for lost in entry.lost:
        if not lost.parameter_path:
            rules = entry.matches[lost.winner].rule, entry.matches[lost.loser].rule
            found.setdefault((*rules, decisive(lost)), []).append(lost)
    return list(found.values())


def _thick(paths: Sequence[str]) -> list[MarkView]:
    """Return lines that keep layers apart."""
    return [mark("path", d=d, fill="none", stroke="nearMiss", stroke_width=THICK) for d in paths]


def _waiting(index: TraceIndex, step: int, scene: Scene) -> Iterator[Note]:
    """Yield a note for each run of equal plates of which each reads the one before; none before folding begins."""
    if not any(entry.folds for entry in index.trace.steps[: step + 1]):
        return
    plate_of = {cell.layer: plate for plate in plates_of(index, step).plates for cell in plate.cells}
    members = {group.node: group.members for group in index.groups}
    for chain in sorted(index.fold_chains, key=lambda chain: -len(chain.nodes)):
        found = [plate_of.get(members[node][0]) for node in chain.nodes]
        plates = [plate for plate in found if plate is not None and plate.num_calls == 1]
        edges = [edge for one, other in pairwise(plates) if (edge := scene.edges.get((one.id, other.id))) is not None]
        if len(plates) < len(found) or len(edges) < len(plates) - 1:
            continue
        reads = [(pair, edge) for edge in edges for pair in scene.pairs(edge)[:MAX_STROKES]]
        count, title = len(plates), plates[0].record.title
        each = "each reads the one before" if count > 2 else "the second reads the first"
        waits = "each waits for the one before" if count > 2 else "one waits for the other"
        yield Note(
            kind="waits",
            text=f"{count:,} equal layers: {waits}",
            reason=f"{count:,} {title} layers have equal keys and are not folded: {each}.",
            plates=[plate.id for plate in plates],
            strokes=_thick([*map(scene.path, reads)] or [*map(scene.line, edges)]),
            ends=[layer for pair, _ in reads for layer in pair],
            cells=[plate.cells[0].layer for plate in plates],
            verdict=f"They cannot run at the same time, so {plural(count, 'call')} stay {count:,}.",
        )


def _levels(index: TraceIndex, step: int, scene: Scene) -> Iterator[Note]:
    """Yield a note on each dotted line between plates of equal keys on two levels that does not say so itself."""
    for link, view in zip(missed_links(index, step), scene.view.get("links", ()), strict=True):
        if "at" not in view and link.is_late:
            first, second = sorted((link.first.level, link.second.level))
            yield Note(
                kind="levels",
                text=f"same key, levels {first} and {second}",
                reason=link.reason,
                plates=(link.first.id, link.second.id),
                verdict=f"Levels are folded one by one, and these are ready at {first} and {second}. {WAITING}",
                line=view["points"],
            )


@cached
def _last_tries(index: TraceIndex, step: int) -> Mapping[str, int]:
    """Return the last step up to this one in which each pattern was tried."""
    found: dict[str, int] = {}
    for entry in index.trace.steps[: step + 1]:
        tried = [miss.refusal.pattern for miss in entry.refusals] + [match.rule for match in entry.matches]
        found.update(dict.fromkeys(tried, entry.index))
    return found


@cached
def _last_misses(index: TraceIndex, step: int) -> list[MatchRefused]:
    """Return the near misses of layers up to a step, of each pattern those of the last step that tried it."""
    tries = _last_tries(index, step)
    return [
        miss
        for at in sorted({*tries.values()}, reverse=True)
        for miss in index.step(at).refusals
        if tries[miss.refusal.pattern] == at and not miss.parameter_path
    ]


def _blocked(index: TraceIndex, step: int, scene: Scene) -> Iterator[Note]:
    """Yield a note for each plate and reason by which layers refused a rule that had matched layers before."""
    groups: dict[tuple[object, ...], list[MatchRefused]] = {}
    for miss in _last_misses(index, step):
        refusal = miss.refusal
        is_near = refusal.entry > 0 and refusal.kind is not RefusalKind.WRONG_TYPE
        if (is_near or refusal.kind in WHOLE) and {refusal.node, refusal.root} <= scene.cells.keys():
            plate = scene.cells[refusal.node].plate
            cause = _in_short(refusal) if refusal.kind in WHOLE else refusal.what
            groups.setdefault((plate, refusal.pattern, refusal.kind, cause), []).append(miss)
    for same in sorted(groups.values(), key=lambda misses: -len(misses)):
        refusals = [miss.refusal for miss in same]
        cut = _cut_reasons(index, _last_tries(index, step)[refusals[0].pattern])
        yield _blocked_note(refusals, scene, "at least " if cut.intersection(map(_reason, refusals)) else "")


def _reason(refusal: Refusal) -> tuple[str, int, RefusalKind, str]:
    return refusal.pattern, refusal.entry, refusal.kind, refusal.what


@cached
def _cut_reasons(index: TraceIndex, step: int) -> frozenset[tuple[str, int, RefusalKind, str]]:
    """Return the reasons of which the trace may have kept only the first near misses of a step."""
    entry = index.step(step)
    counts = Counter(_reason(miss.refusal) for miss in entry.refusals if miss.refusal.pattern in entry.refusals_over)
    return frozenset(reason for reason, count in counts.items() if count >= MAX_NEAR_MISSES)


def _blocked_note(refusals: Sequence[Refusal], scene: Scene, least: str) -> Note:
    """Return the note of refusals for one reason; `least` is "at least " if the trace did not keep all of them."""
    first = refusals[0]
    layers = list(dict.fromkeys(refusal.node for refusal in refusals))
    plate = scene.cells[first.node].plate
    many = len(layers) > 1 or bool(least)
    who = f"{least}{len(layers):,} {scene.titles[plate]}" if many else f"{scene.titles[plate]} {first.node}"
    reads = [read for layer in layers for read in scene.reads_at(layer, first.kind)]
    reason = first.describe("#")
    cut = f" {MAX_STROKES} of {len(reads):,} lines are drawn thick." if len(reads) > MAX_STROKES else ""
    where = "here. For example, " if len(refusals) > 1 else "here: "
    return Note(
        kind="blocked",
        text=f"{who[:1].upper()}{who[1:]}{phrase(refusals, many=many)}",
        reason=f"{first.pattern} was refused {least}{plural(len(refusals), 'time')} {where}{reason}.{cut}",
        plates=[plate],
        strokes=_thick([*map(scene.path, reads[:MAX_STROKES])]),
        ends=[layer for pair, _ in reads[:MAX_STROKES] for layer in pair],
        cells=list(dict.fromkeys((first.node, first.root))),
        verdict=_verdict(first),
        rule=first.pattern,
    )


def _verdict(refusal: Refusal) -> str:
    """Return what the attempt at a layer shows, in a sentence."""
    if refusal.kind is RefusalKind.SEVERAL_USERS:
        rest = "the other one still needs it" if refusal.found == 2 else "the others still need it"
        return f"{refusal.pattern} would merge #{refusal.node} into one layer that reads it, but {rest}."
    reason = refusal.describe("#")
    return f"{reason[:1].upper()}{reason[1:]}."


def _miss_of(index: TraceIndex, step: int, pin: PinView) -> MatchRefused | None:
    """Return the near miss that a pin shows, or None."""
    for miss in _last_misses(index, step):
        refusal = miss.refusal
        if refusal.pattern == pin.get("rule") and pin["cells"] == list(dict.fromkeys((refusal.node, refusal.root))):
            return miss
    return None


def add_answers(index: TraceIndex, view: PictureView, only: str | None = None) -> None:
    """Add to pins what their rules would match if the check had passed; `only`: to that with this id."""
    for pin in view.get("pins", ()):
        miss = _miss_of(index, view["step"], pin) if only in (None, pin["id"]) else None
        if miss is not None and index.trace.has_what_if(miss):
            answer = index.trace.what_if(miss, _last_tries(index, view["step"])[miss.refusal.pattern])
            pin["what_if"] = {"text": answer.reason, "matches": [[*nodes] for nodes in answer.matches[:MAX_STROKES]]}


def offer_answers(index: TraceIndex, view: PictureView) -> None:
    """Let a reader ask what the rules of pins would match, where there is an answer."""
    for pin in view.get("pins", ()):
        miss = _miss_of(index, view["step"], pin)
        if miss is not None and index.trace.has_what_if(miss):
            pin["what_if"] = {"text": "", "matches": []}


def phrase(refusals: Sequence[Refusal], *, many: bool) -> str:
    """Return why layers refused a pattern, in a few words after their names: ` feeds 2 layers: no Candecomp`."""
    first = refusals[0]
    s = "" if many else "s"
    found = _span([refusal.found for refusal in refusals])
    match first.kind:
        case RefusalKind.SEVERAL_USERS:
            why = f"feed{s} {found} layers"
        case RefusalKind.SEVERAL_INPUTS:
            why = f"read{s} {found} layers"
        case RefusalKind.INTERIOR_OUTPUT:
            why = "are outputs" if many else "is an output"
        case RefusalKind.CONFIG_DIFFERS:
            wanted = _span([refusal.wanted for refusal in refusals])
            why = f"{'have' if many else 'has'} {first.what} {found}, not {wanted}"
        case RefusalKind.DECLINED | RefusalKind.REVERTED:
            was = "declined" if first.kind is RefusalKind.DECLINED else "was reverted"
            return f": {first.pattern} {'is' if first.is_switched_off else f'{was},'} {_in_short(first)}"
        case _:
            why = f"({first.summary.replace('that layer', 'it')})"
    return f" {why}: no {first.pattern}"


def _span(values: Sequence[object]) -> str:
    """Return the different values in words: `2 to 5` for numbers, `real or complex` for others."""
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) == len(values) and min(numbers) + 1 < max(numbers):
        return f"{min(numbers):,} to {max(numbers):,}"
    return " or ".join(dict.fromkeys(map(str, sorted(numbers) if len(numbers) == len(values) else values)))


def _in_short(refusal: Refusal) -> str:
    """Return the cause for which a rule declined a match, without its numbers."""
    return shorten(refusal.cause.partition(":")[0], MAX_CAUSE, placeholder="…")
