"""Cost and gain of steps: the cost strip, a statistic over the steps, and its change by each step.

Statistics come from the trace, per example. The caller passes measured times.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from explorer.errors import look_up
from explorer.timings import Timing
from explorer.trace import Step, StepCheck
from explorer.views.bars import bar, bars_view
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, in_order
from explorer.views.timing_words import certified_text
from explorer.views.words import bytes_text, time_text
from explorer_widgets.schema import BarsView, SectionView

Measurements = Mapping[int, Mapping[str, Timing]]
"""The measured times of the states after steps, by lane."""


def _number(value: float) -> str:
    return f"{value:,.0f}"


STATS: Mapping[str, tuple[str, str, Callable[[float], str]]] = {
    "layers": ("calls", "calls", _number),
    "operators": ("operators", "operators", _number),
    "constants": ("constants", "constants", _number),
    "folds": ("layers", "layers", _number),
    "parameters": ("parameters", "numbers", _number),
    "flops": ("operations", "FLOP", _number),
    "transcendentals": ("exponentials and logarithms", "operations", _number),
    "parameter_flops": ("operations on parameters", "FLOP", _number),
    "activation_bytes": ("activations", "bytes", bytes_text),
    "copied_bytes": ("copied by reads", "bytes", bytes_text),
    "calls": ("calls", "calls", _number),
    "tables": ("tables", "tables", _number),
    "read_bytes": ("parameters and tables that are read", "bytes", bytes_text),
    "values_read_bytes": ("values read", "bytes", bytes_text),
    "slots": ("slots", "slots", _number),
    "instructions": ("calls", "calls", _number),
    "copies": ("copies", "calls", _number),
    "buffers": ("buffers", "buffers", _number),
    "allocated_bytes": ("bytes of all buffers", "bytes", bytes_text),
    "peak_bytes": ("peak memory", "bytes", bytes_text),
}
"""Statistics of a trace: name -> title, unit, format of a value."""

IN_THE_STRIP = (
    *("layers", "operators", "constants", "calls", "tables", "instructions", "copies", "buffers"),
    *(
        "parameters",
        "flops",
        "read_bytes",
        "values_read_bytes",
        "activation_bytes",
        "copied_bytes",
        "slots",
        "peak_bytes",
    ),
)
"""The statistics in the cost strip; the rest are only shown over the steps."""

TIMES = ("cpu", "cuda")


def cost_strip(
    index: TraceIndex,
    step: int,
    times: Measurements | None = None,
    check: StepCheck | None = None,
    missing: Mapping[str, str] | None = None,
    *,
    changes: bool = True,
) -> SectionView:
    """Return the statistics after a step with their changes, times by lane, and the difference of the outputs.

    `missing` maps devices to the reason why they have no time. Without `changes`, the statistics alone.
    """
    stats = index.trace.stats(step)
    before = index.trace.stats(max(step - 1, 0)) if changes else stats
    rows: list[list[str]] = []
    for name in IN_THE_STRIP:
        title, _, text = STATS[name]
        if name in stats:
            change = stats[name] - before.get(name, stats[name])
            sign = "+" if change > 0 else "−"
            rows.append([title, text(stats[name]) + (f" ({sign}{text(abs(change))})" if change else "")])
    here = (times or {}).get(step, {})
    for lane in (*TIMES, *(lane for lane in in_order(here) if lane not in TIMES)):
        certified = certified_text(here.get(lane))
        text = _time_text(here.get(lane), (missing or {}).get(lane, "not measured"))
        rows.append([LANES[lane], f"{text}, {certified}" if certified else text])
    if check is None:
        rows.append(["difference of the outputs", "not checked"])
    elif check.unknown:
        rows.append(["values", f"not compared: {check.unknown}"])
    elif index.step(step).operator is not None:
        verdict, step_name = "ok" if check.ok else "DIFFERS", index.step(step).pass_name
        rows.append(["difference", f"{check.difference} from the definition of {step_name} ({verdict})"])
    elif check.has_no_value:
        rows.append(["difference", f"no value: {check.undefined:,} outputs are NaN before and after the step"])
    else:
        verdict = "ok" if check.ok else "DIFFERS"
        words = f"{check.from_original:.3g} from the original, {check.difference} from the step before ({verdict})"
        rows.append(["difference", words])
    return {"heading": "Cost", "rows": rows, "lines": []}


def stat_bars(index: TraceIndex, stat: str, *, fold_levels: bool = False) -> BarsView:
    """Chart a statistic after each changing step; folding is one bar unless `fold_levels`. Raises: UnknownNameError."""
    title, unit, text = _stat(stat)
    chosen = _select_steps(index, fold_levels)
    values = [(_label(step, fold_levels), index.trace.stats(step)[stat]) for step in chosen]
    bars = [bar(label, value, title) for label, value in values]
    note = f"{text(values[0][1])} at first, {text(values[-1][1])} at the end."
    rows = [[label, text(value)] for label, value in values]
    return bars_view(f"{title.capitalize()} after each step", unit, [title], bars, note, ["step", title], rows)


def stat_change_bars(index: TraceIndex, stat: str, *, fold_levels: bool = False) -> BarsView:
    """Return the change of a statistic by each changing step (negative: less). Raises: UnknownNameError."""
    title, unit, text = _stat(stat)
    chosen = _select_steps(index, fold_levels)
    values = [index.trace.stats(step)[stat] for step in chosen]
    labels = [_label(step, fold_levels) for step in chosen]
    changes = [0, *(after - before for before, after in pairwise(values))]
    rows = [
        [label, text(value - change), text(value), ("+" if change > 0 else "−" if change else "") + text(abs(change))]
        for label, value, change in zip(labels, values, changes, strict=True)
    ]
    bars = [bar(label, change, title) for label, change in zip(labels[1:], changes[1:], strict=True)]
    note = f"{text(values[0])} at first, {text(values[-1])} at the end."
    columns = ["step", "before", "after", "change"]
    return bars_view(f"Change by each step: {title}", unit, [title], bars, note, columns, rows)


def _stat(name: str) -> tuple[str, str, Callable[[float], str]]:
    return look_up("statistic", name, STATS)


def _select_steps(index: TraceIndex, fold_levels: bool) -> Sequence[Step]:
    """Return the first step and those that changed something; of folding only the last level unless `fold_levels`."""
    found = [step for step in index.trace.steps if step.index == 0 or step.changed]
    if fold_levels or not found[-1].folds:
        return found
    return [*(step for step in found if not step.folds), found[-1]]


def _label(step: Step, fold_levels: bool) -> str:
    return "fold" if step.folds and not fold_levels else step.at.words


def _time_text(timing: Timing | None, why: str) -> str:
    if timing is None or timing.estimate is None:
        return (timing.missing if timing is not None else "") or why
    found = timing.estimate
    return time_text(found.median) + (f" ± {time_text((found.high - found.low) / 2)}" if found.is_known else "")
