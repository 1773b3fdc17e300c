"""The clock of a trace: the times of all measured steps on one scale, by device; without times, the calls.

Its full width is the original circuit, and no step changes it. A recorded time is that of a named machine and day.
"""

from collections.abc import Mapping, Sequence
from math import floor, fsum, log10

from explorer.timings import CPU, CUDA, Estimate, Run, Timing
from explorer.views.costs import Measurements
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, RECORDED, LayerTimes, backend_of, device_of
from explorer.views.sentences import calls_of
from explorer.views.timing_words import NAMES_OF_KINDS, NAMES_OF_TIMES, certified_text, device_text, speed_up
from explorer.views.words import plural, time_text
from explorer_widgets.schema import ClockLaneView, ClockView, RaceView, StairView

Sources = Mapping[str, Run]
"""The run that the times of each lane are of."""
Known = Sequence[tuple[int, str, Timing]]
"""Timings that have a time, with their steps and lanes."""

RACE_MS = 4000
"""About how long a race lasts."""
ORIGINAL = "the original"


def full_width(index: TraceIndex, times: Measurements, layer_times: LayerTimes | None = None) -> float:
    """Return the milliseconds of the full width: the longest time after any step, as a rule that of the original.

    Without times of steps, it is the longest sum of layers that were measured at one step; 0 without any time.
    """
    frames = [step.index for step in index.trace.steps if step.matters]
    medians = [one.median for step in frames for one in times.get(step, {}).values() if one.median is not None]
    sums = [
        fsum(one.median for one in layers.values())
        for steps in (layer_times or {}).values()
        for layers in steps.values()
    ]
    return max(medians or sums, default=0.0)


def clock_view(
    index: TraceIndex,
    times: Measurements | None = None,
    sources: Sources | None = None,
    missing: Mapping[str, str] | None = None,
) -> ClockView:
    """Return the clock of a trace: a lane for each device with times, and a stair for each measured step."""
    times, sources = times or {}, sources or {}
    full = full_width(index, times)
    if not full:
        return _calls(index)
    frames = [step.index for step in index.trace.steps if step.matters]
    known = [(step, lane, one) for step in frames for lane, one in times.get(step, {}).items() if one.median]
    first = index.trace.start
    lanes: list[ClockLaneView] = []
    for device in (CPU, CUDA):
        for recorded in (False, True):
            own = [one for one in known if device_of(one[1]) == device and one[1].startswith(RECORDED) == recorded]
            if own:
                lane = f"{RECORDED if recorded else ''}{device}"
                run = sources.get(lane) or next((sources[name] for _, name, _ in own if name in sources), None)
                lanes.append(_lane(index, lane, run, own, full, first))
    clock: ClockView = {"scale": _scale(index, known, full, first), "lanes": lanes}
    if any(len(lane["stairs"]) > 1 for lane in lanes):
        clock["race"] = _race(full)
    ends = [[stair["share"] for stair in lane["stairs"] if "backend" not in stair][-1:] for lane in lanes]
    factor = _round_down(1 / min((share for end in ends for share in end if share), default=1.0))
    if factor > 1:
        wide = time_text(full / factor)
        clock["lens"] = {"factor": factor, "words": f"{factor:,} times as wide: the full width is {wide}"}
    if not any(not lane.startswith(RECORDED) for _, lane, _ in known):
        clock["unmeasured"] = "This CPU: not measured yet"
    reasons = {device: why for device, why in (missing or {}).items() if not any(_is_of(device, one) for one in lanes)}
    if reasons:
        clock["note"] = " ".join(f"No times on {LANES.get(lane, lane)}: {why}." for lane, why in reasons.items())
    return clock


def _is_of(device: str, lane: ClockLaneView) -> bool:
    return device_of(lane["lane"]) == device


def _lane(
    index: TraceIndex,
    lane: str,
    run: Run | None,
    known: Known,
    full: float,
    first: int,
) -> ClockLaneView:
    """Return a lane; the fastest backend of a step follows the time of its layers."""
    layers = {step: one for step, name, one in known if not backend_of(name)}
    original = layers.get(first)
    stairs: list[StairView] = []
    for step in dict.fromkeys(step for step, _, _ in known):
        if step in layers:
            stairs.append(_stair(index, step, layers[step], None if step == first else original, full))
        kernels = {backend_of(name): one for at, name, one in known if at == step and backend_of(name)}
        if kernels:
            fastest, *others = sorted(kernels, key=lambda name: kernels[name].median or 0.0)
            stair = _stair(index, step, kernels[fastest], original, full, fastest)
            stair["about"] += "".join(f"; {name}: {time_text(kernels[name].median or 0.0)}" for name in others)
            stairs.append({**stair, "backend": fastest})
    device = device_of(lane)
    return {
        "lane": lane,
        "name": NAMES_OF_TIMES[device],
        "machine": machine_text(run, device, recorded=lane.startswith(RECORDED)),
        "about": _about(run),
        "stairs": stairs,
    }


def _stair(
    index: TraceIndex, step: int, timing: Timing, original: Timing | None, full: float, backend: str = ""
) -> StairView:
    median, found = timing.median or 0.0, timing.estimate
    interval = f" ({time_text(found.low)} to {time_text(found.high)})" if found is not None and found.is_known else ""
    what = index.step(step).at.words + (f", kernels of {backend}" if backend else "")
    stair: StairView = {
        "step": step,
        "share": round(median / full, 6),
        "text": time_text(median),
        "about": f"{what}: {time_text(median)}{interval}",
    }
    if original is not None and original.estimate is not None and found is not None:
        stair["gain"] = gain_text(original.estimate, found)
        stair["about"] += f", {speed_up(original.estimate, found, ORIGINAL).text}"
    certified = certified_text(timing)
    if certified:
        stair["certified"] = certified
        stair["about"] += f"; {certified}"
    return stair


def gain_text(before: Estimate, after: Estimate) -> str:
    """Return how much faster or slower something became, in few words; intervals that overlap show no difference."""
    found = speed_up(before, after)
    if found.tone == "noise":
        return "no clear difference"
    ratio = found.ratio if found.tone == "faster" else 1 / found.ratio
    return f"{ratio:.2g}x {found.tone}" if ratio < 100 else f"{ratio:,.0f}x {found.tone}"


def machine_text(run: Run | None, device: str, *, recorded: bool) -> str:
    """Return whose times these are: `NVIDIA H200, recorded 2026-11-27`, or `Intel Xeon, measured 2026-11-29`."""
    how = "recorded" if recorded else "measured"
    if run is None:
        return "another machine" if recorded else "this machine"
    name = run.setup.devices.get(device, NAMES_OF_TIMES[device])
    for sign in ("(R)", "(TM)"):
        name = name.replace(sign, "")
    return f"{' '.join(name.split())}, {how} {run.setup.date.partition('T')[0]}"


def _about(run: Run | None) -> str:
    if run is None:
        return ""
    rows = sorted({timing.batch_size for timing in run.timings})
    batch = f", batch {rows[0]:,}" if len(rows) == 1 else ""
    versions = ", ".join(f"{name} {version}" for name, version in run.setup.versions.items())
    return f"{NAMES_OF_KINDS[run.kind]}{batch}, {plural(run.setup.num_threads, 'thread')} on the CPU; {versions}"


def _scale(index: TraceIndex, known: Known, full: float, first: int) -> str:
    """Say what the full width is; a step may be slower than the original, or the original was not measured."""
    step, lane = next((step, lane) for step, lane, one in known if one.median == full)
    devices = {device_of(name) for _, name, _ in known}
    where = f" on {device_text(device_of(lane))}" if len(devices) > 1 else ""
    noun = "circuit" if index.trace.level.has_circuit else "program"
    whose = f"{ORIGINAL} {noun}" if step == first else f"the longest time, after {index.step(step).at.words}"
    return f"Full width: {time_text(full)}, {whose}{where}"


def _race(full: float) -> RaceView:
    slower = RACE_MS / full
    factor = _round_down(slower if slower >= 1 else 1 / slower)
    seconds = full * factor / 1000 if slower >= 1 else full / factor / 1000
    words = f"{factor:,} times {'slower' if slower >= 1 else 'faster'} than in reality"
    return {"seconds": round(seconds, 4), "words": words if factor > 1 else "in real time"}


def _round_down(number: float) -> int:
    """Return the largest of 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100 ... up to a number."""
    if number < 10:
        return max(one for one in (1, 2, 3, 4, 5, 6, 8) if one <= max(1.0, number))
    unit = 10 ** floor(log10(number) - 1)
    return max(one for one in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80) if one * unit <= number) * unit


def _calls(index: TraceIndex) -> ClockView:
    """Return the clock of a trace without times: the calls after each step."""
    frames = [(step.index, calls_of(index, step.index)) for step in index.trace.steps if step.matters]
    most = max((calls for _, calls in frames), default=0) or 1
    stairs: list[StairView] = [
        {
            "step": step,
            "share": round(calls / most, 6),
            "text": plural(calls, "call"),
            "about": f"{index.step(step).at.words}: {plural(calls, 'call')}",
        }
        for step, calls in frames
    ]
    lane: ClockLaneView = {"lane": "", "name": "Calls", "machine": "", "about": "", "stairs": stairs}
    return {"scale": f"Full width: {plural(most, 'call')}", "lanes": [lane]}
