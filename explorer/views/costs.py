"""Cost and gain of steps: the cost strip, a statistic over the steps, and the waterfall.

Statistics come from the trace, per example. The caller passes measured times: step -> milliseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypedDict

from explorer.errors import unknown_name
from explorer.trace import Step, StepCheck
from explorer.views.index import TraceIndex
from explorer.views.words import bytes_text, time_text
from widgets.schema import VERSION, BarsView, BarView, SectionView


class Measured(TypedDict, total=False):
    """Measured times of the state after a step in milliseconds, with half the interval; missing keys: not measured.

    `low` and `high` are the ends of asymmetric whiskers; `missing` says why this step has no time.
    """

    cpu: float
    cpu_spread: float
    cpu_low: float
    cpu_high: float
    cpu_missing: str
    cuda: float
    cuda_spread: float
    cuda_low: float
    cuda_high: float
    cuda_missing: str


Measurements = Mapping[int, Measured]


def _number(value: float) -> str:
    return f"{value:,.0f}"


STATS: Mapping[str, tuple[str, str, Callable[[float], str]]] = {
    "layers": ("layers", "layers", _number),
    "operators": ("operators", "operators", _number),
    "constants": ("constants", "constants", _number),
    "folds": ("layers before folding", "layers", _number),
    "parameters": ("parameters", "numbers", _number),
    "flops": ("operations", "FLOP", _number),
    "transcendentals": ("exponentials and logarithms", "operations", _number),
    "parameter_flops": ("operations on parameters", "FLOP", _number),
    "activation_bytes": ("activations", "bytes", bytes_text),
    "copied_bytes": ("copied by reads", "bytes", bytes_text),
}
"""Statistics of a trace: name -> title, unit, format of a value."""

IN_THE_STRIP = ("layers", "operators", "constants", "parameters", "flops", "activation_bytes", "copied_bytes")
"""The statistics in the cost strip; the rest are only shown over the steps."""

TIMES = ("cpu", "cuda")
NAMES_OF_TIMES = {"cpu": "CPU", "cuda": "CUDA"}


def cost_strip(
    index: TraceIndex,
    step: int,
    times: Measurements | None = None,
    check: StepCheck | None = None,
    missing: Mapping[str, str] | None = None,
) -> SectionView:
    """Return the statistics after a step with their changes, times, and the difference of the outputs.

    `missing` maps devices to the reason why they have no time.
    """
    stats, before = index.trace.stats(step), index.trace.stats(max(step - 1, 0))
    rows: list[list[str]] = []
    for name in IN_THE_STRIP:
        title, _, text = STATS[name]
        if name in stats:
            change = stats[name] - before.get(name, stats[name])
            sign = "+" if change > 0 else "−"
            rows.append([title, text(stats[name]) + (f" ({sign}{text(abs(change))})" if change else "")])
    here: Measured = (times or {}).get(step, {})
    for device in TIMES:
        rows.append([NAMES_OF_TIMES[device], _time_text(here, device, (missing or {}).get(device, "not measured"))])
    difference = "not checked" if check is None else f"{check.difference} ({'ok' if check.ok else 'DIFFERS'})"
    rows.append(["max |difference|", difference])
    return {"heading": "Cost", "rows": rows, "lines": []}


def stat_bars(index: TraceIndex, stat: str, *, fold_levels: bool = False) -> BarsView:
    """Chart a statistic after each changing step; folding is one bar unless `fold_levels`. Raises: UnknownNameError."""
    title, unit, text = _stat(stat)
    chosen = _chosen(index, fold_levels)
    values = [(_label(step, fold_levels), index.trace.stats(step)[stat]) for step in chosen]
    bars = [_bar(label, value) for label, value in values]
    return {
        "version": VERSION,
        "title": f"{title.capitalize()} after each step",
        "unit": unit,
        "log": False,
        "series": [title],
        "bars": [{**bar, "series": title} for bar in bars],
        "note": f"{text(values[0][1])} at first, {text(values[-1][1])} at the end.",
        "table": {"columns": ["step", title], "rows": [[label, text(value)] for label, value in values]},
    }


def waterfall(index: TraceIndex, stat: str, *, fold_levels: bool = False) -> BarsView:
    """Return the change of a statistic by each changing step (negative: less). Raises: UnknownNameError."""
    title, unit, text = _stat(stat)
    chosen = _chosen(index, fold_levels)
    values = [index.trace.stats(step)[stat] for step in chosen]
    labels = [_label(step, fold_levels) for step in chosen]
    changes = [0, *(after - before for before, after in pairwise(values))]
    rows = [
        [label, text(value - change), text(value), ("+" if change > 0 else "−" if change else "") + text(abs(change))]
        for label, value, change in zip(labels, values, changes, strict=True)
    ]
    return {
        "version": VERSION,
        "title": f"Change by each step: {title}",
        "unit": unit,
        "log": False,
        "series": [title],
        "bars": [
            {**_bar(label, change), "series": title} for label, change in zip(labels[1:], changes[1:], strict=True)
        ],
        "note": f"{text(values[0])} at first, {text(values[-1])} at the end.",
        "table": {"columns": ["step", "before", "after", "change"], "rows": rows},
    }


def time_bars(
    index: TraceIndex,
    times: Measurements,
    missing: Mapping[str, str] | None = None,
    title: str = "Forward time after each step",
    note: str = "Bars are medians, whiskers the spread.",
    devices: Sequence[str] = TIMES,
) -> BarsView:
    """Return the measured times, a series per device, with whiskers."""
    bars: list[BarView] = []
    rows: list[list[str]] = []
    for step in sorted(times):
        label = index.step(step).at.words
        row = [label]
        for device in devices:
            why = (missing or {}).get(device, "not measured")
            bars.append(_time_bar(label, times[step], device, why))
            row.append(_time_text(times[step], device, why))
        rows.append(row)
    series = [NAMES_OF_TIMES[device] for device in devices]
    return {
        "version": VERSION,
        "title": title,
        "unit": "ms",
        "log": True,
        "series": series,
        "bars": bars,
        "note": note,
        "table": {"columns": ["step", *series], "rows": rows},
    }


def _stat(name: str) -> tuple[str, str, Callable[[float], str]]:
    if name not in STATS:
        raise unknown_name("statistic", name, list(STATS))
    return STATS[name]


def _chosen(index: TraceIndex, fold_levels: bool) -> Sequence[Step]:
    """Return the first step and those that changed something; of folding only the last level unless `fold_levels`."""
    found = [step for step in index.trace.steps if step.index == 0 or step.changed]
    if fold_levels or not found[-1].folds:
        return found
    return [*(step for step in found if not step.folds), found[-1]]


def _label(step: Step, fold_levels: bool) -> str:
    return "fold" if step.folds and not fold_levels else step.at.words


def _bar(label: str, value: float) -> BarView:
    return {"label": label, "value": float(value), "low": None, "high": None, "series": "", "missing": ""}


def _time_bar(label: str, measured: Measured, device: str, why: str) -> BarView:
    value, spread = _time(measured, device)
    low, high = _ends(measured, device)
    if value is not None and spread is not None and (low is None or high is None):
        low, high = max(value - spread, 0.0), value + spread
    return {
        "label": label,
        "value": value,
        "low": low,
        "high": high,
        "series": NAMES_OF_TIMES[device],
        "missing": (_missing(measured, device) or why) if value is None else "",
    }


def _time_text(measured: Measured, device: str, why: str) -> str:
    value, spread = _time(measured, device)
    if value is None:
        return _missing(measured, device) or why
    return time_text(value) + ("" if spread is None else f" ± {time_text(spread)}")


def _time(measured: Measured, device: str) -> tuple[float | None, float | None]:
    if device == "cpu":
        return measured.get("cpu"), measured.get("cpu_spread")
    return measured.get("cuda"), measured.get("cuda_spread")


def _ends(measured: Measured, device: str) -> tuple[float | None, float | None]:
    if device == "cpu":
        return measured.get("cpu_low"), measured.get("cpu_high")
    return measured.get("cuda_low"), measured.get("cuda_high")


def _missing(measured: Measured, device: str) -> str:
    return measured.get("cpu_missing", "") if device == "cpu" else measured.get("cuda_missing", "")
