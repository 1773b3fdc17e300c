"""The steps of a trace, for the stepper and the tree of steps."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from explorer.trace import Step, StepCheck, outcome_text, parse_path
from explorer.views.costs import Measurements
from explorer.views.film import film
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes
from explorer.views.messages import rules_text, step_title
from explorer.views.states import folds_of
from explorer.views.story import story
from explorer_widgets.schema import StepView


class Counted(TypedDict, total=False):
    """The noun of a step's count, if not layers."""

    counted: str


def steps(
    index: TraceIndex,
    checks: Mapping[int, StepCheck] | None = None,
    times: Measurements | None = None,
    layer_times: LayerTimes | None = None,
    missing: Mapping[str, str] | None = None,
) -> list[StepView]:
    """Return all steps; `checks` maps steps to the results of `trace.check()`, the others are passed to `film()`."""
    frames = {frame["step"]: frame for frame in film(index, times, layer_times, missing)}
    scenes = story(index, times)
    found: list[StepView] = []
    layers = folds = 0
    level = index.trace.level
    counted: Counted = {} if index.noun == "layer" else {"counted": f"{index.noun}s".capitalize()}
    for before, step in zip((None, *index.trace.steps), index.trace.steps, strict=False):
        layers, folds = _counts(step, layers, folds)
        check = (checks or {}).get(step.index)
        found.append(
            {
                "index": step.index,
                "path": step.path,
                "title": step_title(index, step.index),
                "label": ": ".join(filter(None, (_names(step)[-1], rules_text(index, step)))),
                "groups": _names(step)[:-1],
                "summary": outcome_text(step, before),
                "changed": step.changed or step.index == 0,
                "ok": None if check is None or check.has_no_value else check.ok,
                "error": step.error or "",
                "layers": step.snapshot.stats[level.count_stat] if level.uncalled else layers,
                **counted,
                "folds": folds,
                "matches": len(step.matches),
                "near_misses": len(step.refusals) + sum(step.refusals_over.values()),
                "seconds": step.seconds,
            }
        )
        if check is not None:
            found[-1]["verdict"] = verdict_of(step, check)
        if step.index in frames:
            found[-1]["frame"] = frames[step.index]
        if step.index in scenes:
            found[-1]["scenes"] = scenes[step.index]
    return found


def verdict_of(step: Step, check: StepCheck) -> str:
    """Say in a few words what the check of a step found."""
    if check.has_no_value:
        return "" if check.unknown else "no value"
    if step.operator is not None:
        return "values as defined" if check.ok else "values not as defined"
    return "same values" if check.ok else "values differ"


def _names(step: Step) -> list[str]:
    """Return the names of a step's path in the tree: `Optimize`, `Round 1`, `fuse`."""
    *groups, label = step.at.labels
    return [*(name[:1].upper() + name[1:] for name in groups), label]


def _counts(step: Step, layers: int, folds: int) -> tuple[int, int]:
    """Return layers and folds after a step. Folding only stacks slices, so its graph is not needed."""
    if step.folds:
        return layers - sum(len(group.members) - 1 for group in step.folds), folds
    if step.index and not step.changed:
        return layers, folds
    nodes = step.snapshot.graph.nodes.values()
    return len(nodes), sum(map(folds_of, nodes))


def hide_results(shown: Sequence[StepView], after: int) -> list[StepView]:
    """Return the steps without what those after a step did, for a question about them."""
    hidden: list[StepView] = []
    for step in shown[after + 1 :]:
        known = step.copy()
        known.pop("frame", None)
        known.pop("scenes", None)
        known["title"] = f"Step {step['index']} of {len(shown) - 1}: {parse_path(step['path']).words}"
        known["summary"], known["error"] = "hidden until the question is answered", ""
        known["layers"], known["folds"] = shown[after]["layers"], shown[after]["folds"]
        known["matches"] = known["near_misses"] = 0
        known.pop("verdict", None)
        known["seconds"], known["changed"], known["ok"] = 0.0, True, None
        hidden.append(known)
    return [*shown[: after + 1], *hidden]
