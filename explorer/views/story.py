"""The story of a compilation: a scene for each operator, then at most six, of one sentence each; and two questions."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from explorer.timings import Timing
from explorer.trace import Step
from explorer.views.clock import Sources, gain_text, machine_text
from explorer.views.costs import Measurements
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, cached
from explorer.views.lanes import LANES, RECORDED, device_of
from explorer.views.scopes import node_scopes
from explorer.views.sentences import calls_of, sentence_of, titles_of
from explorer.views.timing_words import device_text
from explorer.views.words import list_text, plural, time_text
from explorer_widgets.schema import GuessView, Mode, SceneName, SceneView

MAX_PLATES = 40
"""Maximum number of plates that are asked about: more cannot be read on a slide."""

SlidesName = Literal["", "steps"] | SceneName
"""Content of slides: nothing, the steps, or a scene of the story."""
GuessName = Literal["guess-fuse", "guess-fold"]
SLIDES: tuple[SlidesName, ...] = ("", "steps", *get_args(SceneName))
MAX_RULES = 2
"""More rules than these are counted, not named."""


def story(
    index: TraceIndex, times: Measurements | None = None, sources: Sources | None = None
) -> dict[int, list[SceneView]]:
    """Return the scenes by step: a scene for each operator, then circuit, match, fuse, levels, fold, clock.

    Before match and fold there is a question. A scene about which the trace has nothing to tell is left out: operators
    if the circuit was built, `circuit` if its layers could not be compiled, `match` and `fuse` if none were fused,
    `levels` and `fold` if none were folded, `clock` if nothing changed, a question that all plates answer. `times`
    are the measured times after steps, and `sources` the runs that they are of, by lane.
    """
    if not index.trace.level.has_circuit:
        return {}
    shown = [step for step in index.trace.steps if step.matters and step.error is None]
    start = index.trace.start
    found: dict[int, list[SceneView]] = {step.index: [_operator(index, step)] for step in index.trace.steps[:start]}
    if index.trace.steps[start].error is None:
        found[max(start - 1, 0)] = [*found.get(start - 1, ()), _circuit(index)]
    fusing = _best(index, [step for step in shown if step.rewrites])
    if fusing is not None:
        found.setdefault(fusing.index - 1, []).extend(_guess(index, fusing, "guess-fuse", _match(index, fusing)))
        found.setdefault(fusing.index, []).extend([_match(index, fusing), _fuse(index, fusing)])
    folding = _best(index, [step for step in shown if step.folds])
    if folding is not None:
        first = next(step.index for step in index.trace.steps if step.folds)
        found.setdefault(first - 1, []).append(_levels(index, first - 1))
        found.setdefault(folding.index - 1, []).extend(_guess(index, folding, "guess-fold", _fold(index, folding)))
        found.setdefault(folding.index, []).append(_fold(index, folding))
    if fusing is not None or folding is not None:
        last = shown[-1].index
        found.setdefault(last, []).append(_clock(index, last, times or {}, sources or {}))
    return {step: found[step] for step in sorted(found) if found[step]}


def slide_at(index: TraceIndex, name: SlidesName, step: int) -> tuple[SlidesName, int, Mode]:
    """Return the slide that a link opens, with its step and mode: a scene, or the last frame up to a step.

    Of several scenes with one name, it is that at the step, or else the first. The first scene takes the place of one
    that the trace does not have.
    """
    scenes: list[tuple[SlidesName, int, Mode]] = [
        (scene["name"], at, scene["mode"]) for at, found in story(index).items() for scene in found
    ]
    if name != "steps" and scenes:
        named = [scene for scene in scenes if scene[0] == name]
        return next((scene for scene in named if scene[1] == step), (named or scenes)[0])
    frames = [shown.index for shown in index.trace.steps[: step + 1] if shown.matters]
    return "steps", frames[-1], "diff"


def _best(index: TraceIndex, steps: list[Step]) -> Step | None:
    """Return the step that saved the most calls; None if none saved any."""
    saved = [calls_of(index, step.index - 1) - calls_of(index, step.index) for step in steps]
    return steps[saved.index(max(saved))] if saved and max(saved) > 0 else None


def _operator(index: TraceIndex, step: Step) -> SceneView:
    """Return the scene of an operator on circuits, or of those that the first one is applied to."""
    title = f"{step.pass_name[:1].upper()}{step.pass_name[1:]}"
    return {"name": "operator", "title": title, "mode": "diff", "sentence": sentence_of(index, step.index)}


def _circuit(index: TraceIndex) -> SceneView:
    start = index.trace.start
    layers, scopes = plural(calls_of(index, start), "layer"), node_scopes(index, index.state(start)).values()
    variables = plural(max(bits.bit_count() for bits in scopes), "variable")
    return {
        "name": "circuit",
        "title": "The circuit",
        "mode": "after",
        "sentence": f"{layers} over {variables}; PyTorch calls one after the other.",
    }


def _match(index: TraceIndex, step: Step) -> SceneView:
    counts: dict[str, int] = {}
    looks_for: dict[str, str] = {}
    rewrites = [rewrite for rewrite in step.rewrites if not rewrite.parameter_path]
    for rewrite in [rewrite for rewrite in rewrites if len(rewrite.removed) > 1] or rewrites:
        counts[rewrite.rule] = counts.get(rewrite.rule, 0) + 1
        looks_for.setdefault(rewrite.rule, titles_of(index, step, rewrite)[0])
    rules = sorted(counts, key=lambda rule: -counts[rule])
    parts = [f"{rule} looks for {looks_for[rule]} and finds it {_times(counts[rule])}" for rule in rules[:MAX_RULES]]
    lost = f"; {plural(len(step.lost), 'match', 'matches')} lost a conflict" if step.lost else ""
    return {
        "name": "match",
        "title": "Match",
        "mode": "before",
        "sentence": f"{list_text(parts, MAX_RULES)}{lost}.",
    }


def _guess(index: TraceIndex, step: Step, name: GuessName, answer: SceneView) -> list[SceneView]:
    """Return the question which plates a step merges, if there is one; `answer` is the scene that tells."""
    guess = guess_plates(index, step.index)
    if guess is None:
        return []
    told = answer["sentence"]
    return [{"name": name, "title": "Guess", "mode": "after", "sentence": told, "guess": guess}]


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count:,} times"


def _fuse(index: TraceIndex, step: Step) -> SceneView:
    return {
        "name": "fuse",
        "title": "Fuse",
        "mode": "diff",
        "sentence": f"Each match becomes one layer: {_bought(index, step.index - 1, step.index)}.",
    }


def _levels(index: TraceIndex, step: int) -> SceneView:
    state = index.state(step)
    layers, levels = calls_of(index, step), len(np.unique(state.level[state.present]))
    sentence = f"{plural(layers, 'layer')} on {plural(levels, 'level')}: no layer reads another of its own level"
    return {
        "name": "levels",
        "title": "Levels",
        "mode": "diff",
        "sentence": f"{sentence}, so equal ones can run in one call.",
    }


def _fold(index: TraceIndex, step: Step) -> SceneView:
    groups = [len(group.members) for group in step.folds if len(group.members) > 1]
    became = "one tensor" if len(groups) == 1 else f"{len(groups)} tensors"
    layers = f"{sum(groups):,} equal layers of level {step.folds[0].level}"
    return {
        "name": "fold",
        "title": "Fold",
        "mode": "diff",
        "sentence": f"{layers} become the slices of {became}: {_bought(index, step.index - 1, step.index)}.",
    }


def _clock(index: TraceIndex, last: int, times: Measurements, sources: Sources) -> SceneView:
    """Return the scene of the calls and the times: those of this machine, or else of the one that has recorded some."""
    first, now = calls_of(index, index.trace.start), calls_of(index, last)
    bought = f"{plural(first, 'call')} became {now:,}" if now != first else f"Still {plural(now, 'call')}"
    before, after = times.get(index.trace.start, {}), times.get(last, {})
    gains = {lane: text for lane in LANES if (text := _gain(before.get(lane), after.get(lane)))}
    own = {lane: text for lane, text in gains.items() if not lane.startswith(RECORDED)}
    texts: list[str] = []
    for lane, text in (own or gains).items():
        device = device_of(lane)
        where = device_text(device) if lane in own else machine_text(sources.get(lane), device, recorded=True)
        texts.append(f"On {where}: {text}.")
    sentence = " ".join([f"{bought}.", *texts])
    return {"name": "clock", "title": "The clock", "mode": "diff", "sentence": sentence}


def _gain(before: Timing | None, after: Timing | None) -> str:
    """Return what became of a time: `2.3 ms became 0.4 ms, 5.8x faster`; empty if one of them is not known."""
    old, new = None if before is None else before.estimate, None if after is None else after.estimate
    if old is None or new is None:
        return ""
    return f"{time_text(old.median)} became {time_text(new.median)}, {gain_text(old, new)}"


def _bought(index: TraceIndex, before: int, after: int) -> str:
    return f"{plural(calls_of(index, before), 'call')} → {calls_of(index, after):,}"


@cached
def guess_plates(index: TraceIndex, step: int) -> GuessView | None:
    """Return the question which plates of the state before a step its rewrites or folds merge.

    None if they are too many, or all of them: then there is nothing to guess.
    """
    entry = index.step(step)
    merged = _merged(entry)
    shown = [box for box in boxes_of(index, step - 1, "plates").boxes if box.after]
    wanted = [box for box in shown if not merged.isdisjoint(box.ids)]
    others = [box for box in shown if merged.isdisjoint(box.ids)]
    if not wanted or not others or len(shown) > MAX_PLATES:
        return None
    return {
        "question": _question(entry),
        "wanted": [box.id for box in wanted],
        "apart": {box.id: _reason(index, entry, box.ids) for box in others},
    }


def _merged(entry: Step) -> set[int]:
    """Return the layers that a step folds with others, or rewrites together with others."""
    if entry.folds:
        return {node for group in entry.folds if len(group.members) > 1 for node in group.members}
    rewrites = [rewrite for rewrite in entry.rewrites if not rewrite.parameter_path]
    several = [rewrite for rewrite in rewrites if len(rewrite.removed) > 1] or rewrites
    return {node for rewrite in several for node in rewrite.removed}


def _question(entry: Step) -> str:
    if entry.folds:
        return f"Level {entry.folds[0].level} is folded next; the inputs are level 0. Which plates become fewer calls?"
    return "Layers are fused next. Which plates take part?"


def _reason(index: TraceIndex, entry: Step, layers: Sequence[int]) -> str:
    """Return why the layers of a plate are not merged."""
    if entry.folds:
        level = int(index.state(entry.index - 1).level[layers[0]])
        is_near = level == entry.folds[0].level
        return f"it is the only one of its kind on level {level}" if is_near else f"it is on level {level}"
    own = set(layers)
    lost = [entry.matches[conflict.loser] for conflict in entry.lost if not conflict.parameter_path]
    loser = next((match for match in lost if not own.isdisjoint(match.nodes)), None)
    if loser is not None:
        return f"{loser.rule} matches there, but loses a conflict"
    alone = [
        rewrite for rewrite in entry.rewrites if not rewrite.parameter_path and not own.isdisjoint(rewrite.removed)
    ]
    if alone:
        return f"{alone[0].rule} replaces it alone; nothing is fused"
    near = [miss.refusal for miss in entry.refusals if not miss.parameter_path]
    near = [refusal for refusal in near if refusal.root in own or refusal.node in own]
    if not near:
        return "no pattern comes close there"
    closest = max(near, key=lambda refusal: refusal.progress)
    return f"{closest.pattern} comes closest, but {closest.describe('#')}"
