"""Charts of measured times: bars of steps, modes, backends and batches, and the gain of each step.

Everything is computed from `Run`s, just measured or recorded; a difference within the noise never counts as a gain.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from explorer.errors import CircuitError
from explorer.timings import (
    BACKENDS,
    COMPARED,
    CPU,
    CUDA,
    LAYERS_AS_THEY_ARE,
    STEPS,
    SWEEP,
    Estimate,
    Run,
    Timing,
    state_step,
)
from explorer.trace import Trace
from explorer.views.bars import add_column, bar, bars_view
from explorer.views.costs import TIMES
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, lane_of_backend
from explorer.views.timing_words import (
    NAMES_OF_KINDS,
    NAMES_OF_TIMES,
    UNMEASURED,
    certified_text,
    crossover_text,
    device_text,
    roof_text,
    speed_up,
    timed_noun,
    what_text,
)
from explorer.views.words import bytes_text, time_text
from explorer_widgets.schema import BarsView, BarView, TableView

TWO_FORMS = (
    f"Parameters are evaluated once, as in circuit.freeze().fast(); with '{COMPARED}', each call looks whether they "
    "have changed, as in circuit.fast()."
)
INTERVALS = "Dots are medians, lines their 95 % confidence intervals."


# ---------------------------------------------------------------------- steps


def measurements(index: TraceIndex, run: Run) -> dict[int, Mapping[str, Timing]]:
    """Return the timings of every timed step, by device, or by backend and device.

    Equal states share them. Raises: CircuitError for a run of another trace.
    """
    check_fits(index, run)
    of_state: dict[int, dict[str, Timing]] = {}
    for timing in run.timings:
        lane = _lane_of_timing(run, timing)
        if timing.step is not None and lane in LANES:
            of_state.setdefault(state_step(index.trace, timing.step), {})[lane] = timing
    states = [(step.index, state_step(index.trace, step.index)) for step in index.trace.steps]
    return {step: of_state[state] for step, state in states if state in of_state}


def _lane_of_timing(run: Run, timing: Timing) -> str:
    """Return the lane of a time of a step; empty if it has none."""
    if run.subject == BACKENDS and timing.what != LAYERS_AS_THEY_ARE:
        return lane_of_backend(timing.what, timing.device)
    return timing.device if run.subject in (STEPS, BACKENDS) else ""


def check_fits(index: TraceIndex, run: Run) -> None:
    """Raise CircuitError if a run has steps of another trace, that is, of another circuit or other options."""
    steps = index.trace.steps
    for timing in run.timings:
        if timing.step is None:
            continue
        known = steps[timing.step] if timing.step in range(len(steps)) else None
        if known is None or (run.subject == STEPS and known.path != timing.what):
            raise CircuitError(
                f"the recorded run is of another compilation: its step {timing.step} ({timing.what}) is not in this "
                f"trace; open the trace that it was recorded with, of {run.circuit or 'the same circuit'}"
            )


def step_bars(index: TraceIndex, run: Run, *, says_missing: bool = True) -> BarsView:
    """Return the times of the timed steps, a series per device.

    Here and below, the note says which devices have no times, and why, unless `says_missing` is False.
    """
    known = measurements(index, run)
    steps = sorted({timing.step for timing in run.timings if timing.step is not None})
    devices = _requested_devices(run)
    bars = [
        _estimate_bar(index.step(step).at.words, known[step].get(device), device, run.missing.get(device, UNMEASURED))
        for step in steps
        for device in devices
    ]
    title, series = f"{NAMES_OF_KINDS[run.kind]} after each step", [NAMES_OF_TIMES[device] for device in devices]
    return bars_view(
        title, "ms", series, bars, _note(run, says_missing), *_step_table(index.trace, run, steps), log=True
    )


def _step_table(trace: Trace, run: Run, steps: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows: times, the total gain on each device, and memory on the first one with times."""
    devices = run.devices or (CPU,)
    there = [device for device in _requested_devices(run) if device not in run.missing]
    first = run.of_step(steps[0], devices[0]) if steps else None
    rows: list[list[str]] = []
    for step in steps:
        timing = run.of_step(step, devices[0])
        gained = [_gain(run.of_step(steps[0], device), run.of_step(step, device)) for device in devices]
        peak = UNMEASURED if timing is None or timing.peak_bytes is None else bytes_text(timing.peak_bytes)
        layers = "" if timing is None or timing.layers is None else f"{timing.layers:,}"
        known = [run.of_step(step, one) for one in there]
        label = next((what_text(timing) for timing in run.timings if timing.step == step), "")
        rows.append([label, layers, *(_estimate_text(one, UNMEASURED) for one in known), *gained, peak])
    what = "the first" if first is None else "unoptimized" if first.step == trace.start else what_text(first)
    names = [NAMES_OF_TIMES[one] for one in there]
    columns = ["step", f"{timed_noun(trace.level)}s", *names, *_gain_columns(what, devices), "peak"]
    table: TableView = {"columns": columns, "rows": rows}
    timed = [run.of_step(step, devices[0]) for step in steps]
    add_column(table, "rows", [certified_text(timing) for timing in timed])
    add_column(table, "share of the roof", [roof_text(timing) for timing in timed])
    return table["columns"], table["rows"]


def time_change_bars(index: TraceIndex, run: Run, device: str = CPU) -> BarsView:
    """Return the change in milliseconds by each timed step on a device (negative: less).

    Whiskers are the widest that the two intervals allow; a change within the noise is marked so.
    """
    check_fits(index, run)
    timed = [(timing, timing.estimate) for timing in run.on(device) if timing.estimate and timing.step is not None]
    bars: list[BarView] = []
    rows: list[list[str]] = []
    for (_, before), (timing, after) in pairwise(timed):
        gained = speed_up(before, after)
        label = what_text(timing)
        change: BarView = {**bar(label, after.median - before.median, "time"), "tone": gained.tone}
        if before.is_known and after.is_known:
            change["low"], change["high"] = after.low - before.high, after.high - before.low
        bars.append(change)
        rows.append([label, time_text(before.median), time_text(after.median), gained.text])
    title = f"Gain of each step on {device_text(device)}: {NAMES_OF_KINDS[run.kind].lower()}"
    note = _whole_gain([estimate for _, estimate in timed], run.missing.get(device, UNMEASURED))
    return bars_view(title, "ms", ["time"], bars, note, ["step", "before", "after", "gain"], rows)


def gain_bars(index: TraceIndex, run: Run) -> BarsView:
    """Return `time_change_bars` of all devices with times, a series per device if there are several."""
    views = [time_change_bars(index, run, device) for device in run.devices or (CPU,)]
    if len(views) == 1:
        return views[0]
    names = [NAMES_OF_TIMES[device] for device in run.devices]
    labels = list(dict.fromkeys(bar["label"] for view in views for bar in view["bars"]))
    bars: list[BarView] = [
        {**bar, "series": name}
        for label in labels
        for name, view in zip(names, views, strict=True)
        for bar in view["bars"]
        if bar["label"] == label
    ]
    of_label = [{row[0]: row[1:] for row in view["table"]["rows"]} for view in views]
    rows = [[label, *(cell for known in of_label for cell in known.get(label, ["", "", ""]))] for label in labels]
    columns = ["step", *(f"{name}: {column}" for name in names for column in ("before", "after", "gain"))]
    note = " ".join(f"{name}: {view['note']}" for name, view in zip(names, views, strict=True))
    return bars_view(f"Gain of each step: {NAMES_OF_KINDS[run.kind].lower()}", "ms", names, bars, note, columns, rows)


def _whole_gain(estimates: Sequence[Estimate], why: str) -> str:
    if not estimates:
        return f"No times: {why}."
    first, last = estimates[0], estimates[-1]
    text = f"{time_text(first.median)} at first, {time_text(last.median)} at the end"
    return f"{text}." if len(estimates) < 2 else f"{text}: {speed_up(first, last, 'at first').text}."


# ---------------------------------------------------------------------- modes and batches


def mode_bars(run: Run, *, says_missing: bool = True) -> BarsView:
    """Return the times of the four compilation modes, a series per device."""
    whats = list(dict.fromkeys(timing.what for timing in run.timings))
    return _bars(run, f"{NAMES_OF_KINDS[run.kind]} in the four modes", "mode", whats, _note(run, says_missing))


def backend_bars(run: Run, *, says_missing: bool = True) -> BarsView:
    """Return the times of the backends of a circuit, a series per device."""
    whats = list(dict.fromkeys(timing.what for timing in run.timings))
    declined = [f"{timing.what} ran the layers: {timing.declined}." for timing in run.timings if timing.declined]
    forms = [TWO_FORMS] if any(COMPARED in what for what in whats) else []
    note = " ".join([_note(run, says_missing), *forms, *declined])
    found = _bars(run, f"{NAMES_OF_KINDS[run.kind]} by backend", "backend", whats, note)
    device = next(iter(run.devices), CPU)
    by_what = {timing.what: timing for timing in run.on(device)}
    add_column(found["table"], "rows", [_certified(run, what) for what in whats])
    add_column(found["table"], "share of the roof", [roof_text(by_what.get(what)) for what in whats])
    return found


def _certified(run: Run, what: str) -> str:
    """Return how many rows a backend certified; where devices differ, for each of them."""
    texts = {t.device: text for t in run.timings if t.what == what and (text := certified_text(t))}
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return "; ".join(f"{NAMES_OF_TIMES[device]}: {text}" for device, text in texts.items())


def sweep_bars(run: Run, *, says_missing: bool = True) -> BarsView:
    """Return the times by batch size, a series per device; the note says where CPU and CUDA cross."""
    sizes = sorted({(timing.batch_size, timing.what) for timing in run.timings})
    title = f"{NAMES_OF_KINDS[run.kind]} by batch size"
    note = _note(run, says_missing)
    note = note if run.missing else f"{crossover_text(run)} {note}"
    return _bars(run, title, "batch", [what for _, what in sizes], note)


# ---------------------------------------------------------------------- helpers


def _bars(run: Run, title: str, column: str, whats: Sequence[str], note: str) -> BarsView:
    """Return bars by what was timed, a series per device; the table compares each with the first."""
    by_place = {(timing.what, timing.device): timing for timing in run.timings}
    bars: list[BarView] = []
    rows: list[list[str]] = []
    there = [device for device in _requested_devices(run) if device not in run.missing]
    devices = run.devices or (CPU,)
    compared = _gain_columns(whats[0], devices) if whats else []
    if run.subject == SWEEP:
        compared = ["CUDA against CPU"] if len(there) > 1 else []
    for what in whats:
        row = [what]
        for device in _requested_devices(run):
            timing = by_place.get((what, device))
            why = run.missing.get(device, UNMEASURED)
            bars.append(_estimate_bar(what, timing, device, why))
            if device in there:
                row.append(_estimate_text(timing, why))
        if run.subject != SWEEP:
            row += [_gain(by_place.get((whats[0], device)), by_place.get((what, device))) for device in devices]
        elif compared:
            row.append(_gain(by_place.get((what, CPU)), by_place.get((what, CUDA))))
        rows.append(row)
    series = [NAMES_OF_TIMES[device] for device in _requested_devices(run)]
    columns = [column, *(NAMES_OF_TIMES[device] for device in there), *compared]
    return bars_view(title, "ms", series, bars, note.strip(), columns, rows, log=True)


def _gain_columns(what: str, devices: Sequence[str]) -> list[str]:
    """Name the columns that compare times with `what`, one per device."""
    return [f"against {what}{'' if len(devices) == 1 else f', on {device_text(device)}'}" for device in devices]


def _gain(before: Timing | None, after: Timing | None) -> str:
    """Return how much faster `after` is than `before`; empty if one of them has no time, or they are the same."""
    if before is None or after is None or before is after or before.estimate is None or after.estimate is None:
        return ""
    return speed_up(before.estimate, after.estimate).text


def _estimate_bar(label: str, timing: Timing | None, device: str, why: str) -> BarView:
    found = None if timing is None else timing.estimate
    result = bar(label, None if found is None else found.median, NAMES_OF_TIMES[device])
    if found is not None:
        return {**result, "low": found.low, "high": found.high} if found.is_known else result
    return {**result, "missing": timing.missing if timing is not None and timing.missing else why}


def _estimate_text(timing: Timing | None, why: str) -> str:
    if timing is None or timing.estimate is None:
        return timing.missing if timing is not None and timing.missing else why
    found = timing.estimate
    if not found.is_known:
        often = "once" if found.count == 1 else f"{found.count} times"
        return f"{time_text(found.median)} (measured {often})"
    return f"{time_text(found.median)} ({time_text(found.low)} to {time_text(found.high)})"


def _note(run: Run, says_missing: bool) -> str:
    vague = any(not timing.reached for timing in run.timings if timing.estimate is not None and timing.node is None)
    without = [f"No times on {device_text(device)}: {why}." for device, why in run.missing.items() if says_missing]
    return " ".join([INTERVALS, *(["Some are wider than requested."] if vague else []), *without])


def _requested_devices(run: Run) -> list[str]:
    """The requested devices: those with times, and those with a reason for having none."""
    return [device for device in TIMES if device in run.missing or run.on(device)]
