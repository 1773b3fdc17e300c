"""Measured times in words: subjects, devices, speed-ups, certificates, shares of the roof, conditions, memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from explorer.timings import CPU, CUDA, SWEEP, TRAINING, Estimate, Run, Timing, both_devices, crossover
from explorer.trace import COMPILED, WATCHED, Level, parse_path
from explorer.views.bars import add_column
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import SectionView, TableView

Tone = Literal["faster", "slower", "noise"]

NAMES_OF_TIMES = {"cpu": "CPU", "cuda": "CUDA"}
NAMES_OF_KINDS = {"forward": "Forward pass", TRAINING: "Training step"}
UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A speed-up: the ratio of medians (over 1 is faster), as text, and its tone."""

    ratio: float
    text: str
    tone: Tone


def what_text(timing: Timing) -> str:
    """Describe what was timed; timing files name a step by its path."""
    return parse_path(timing.what).words


def device_text(device: str) -> str:
    """Return the name of a device within a sentence."""
    return "the CPU" if device == CPU else NAMES_OF_TIMES[device]


def share_text(part: float, whole: float) -> str:
    """Return the part in percent of the whole."""
    return f"{part / whole:.0%}" if whole else ""


def roof_text(timing: Timing | None) -> str:
    """Return the share of the least time that is possible on the machine: `34 %`; empty if it is not known."""
    if timing is None or timing.roof_ms is None or not timing.median:
        return ""
    return roof_share_text(timing.roof_ms, timing.median)


def roof_share_text(roof_ms: float, milliseconds: float) -> str:
    """Return a share of the roof in percent."""
    return f"{roof_ms / milliseconds:.0%}" if milliseconds else UNMEASURED


def crossover_text(run: Run) -> str:
    """Describe from which batch size on the other device is faster, or why that is unknown."""
    if run.subject != SWEEP or not run.on(CUDA):
        return f"No crossover of CPU and CUDA: {run.missing.get(CUDA, 'CUDA was not measured')}."
    both = both_devices(run)
    if not both:
        return "No crossover of CPU and CUDA: no batch has a time on both."
    size, cpu, cuda = both[-1]
    faster = NAMES_OF_TIMES[CUDA] if cuda < cpu else NAMES_OF_TIMES[CPU]
    found = crossover(run)
    if found is None:
        return f"No crossover: from {plural(both[0][0], 'row')} to {size:,}, {faster} is always faster."
    return f"Crossover: from a batch of about {found:,.0f} on, {faster} is faster."


def no_cuda_text(why: str | None, recorded: int, app: str = "") -> str:
    """Explain why CUDA is not available, with the number of recorded runs that the Time tool of an app can open."""
    if why is None:
        return ""
    if recorded:
        where = f" in the Time tool of {app}" if app else ""
        return f"No CUDA: {why}. {plural(recorded, 'recorded run')} can be opened{where}."
    return f"No CUDA: {why}. There is no recorded run to open either: a checkout has them in notebooks/recorded."


def timed_noun(level: Level) -> str:
    """Return the noun for a timed node: a call where layers are folded; its slices are the layers."""
    return "call" if level.name == COMPILED else level.noun


def conditions(run: Run) -> SectionView:
    """Return the conditions of a run: devices, versions, date, threads, precision, warnings."""
    setup = run.setup
    precise = [timing for timing in run.timings if timing.estimate is not None and timing.node is None]
    reached = sum(timing.reached for timing in precise)
    rows = [[NAMES_OF_TIMES.get(device, device), name] for device, name in setup.devices.items()]
    rows += [[NAMES_OF_TIMES.get(device, device), f"no times: {why}"] for device, why in run.missing.items()]
    rows += [
        ["circuit", run.circuit or "not named"],
        ["what", f"{NAMES_OF_KINDS[run.kind].lower()}, {_batches(run)}"],
        ["threads", f"{plural(setup.num_threads, 'thread')} on the CPU, {setup.clock}"],
        *([["clock of CUDA", "events on the device"]] if CUDA in run.devices else []),
        ["precision", f"{reached} of {plural(len(precise), 'median')} known within {setup.precision:.0%}"],
        ["date", setup.date],
        ["versions", ", ".join(f"{name} {version}" for name, version in setup.versions.items())],
        ["system", setup.system],
        ["memory", setup.malloc],
    ]
    lines = [f"Warning: {setup.warning}."] if setup.warning else []
    if run.cancelled:
        lines.append("The measurement was cancelled; these are the results until then.")
    vague = [timing for timing in precise if not timing.reached]
    if vague and not run.cancelled:
        over = f"The time limit of {setup.max_seconds:.3g} s was reached; raise it for a narrower interval."
        lines.append(f"{_vague(vague)} {over}")
    return {"heading": "Conditions", "rows": rows, "lines": lines}


def memory_table(run: Run) -> TableView:
    """Return memory in addition to parameters and input: of all activations, and at the peak.

    With it, of backends: how many rows they certified, and their shares of the roof. What did not run has no row.
    """
    rows: list[list[str]] = []
    certified: list[str] = []
    shares: list[str] = []
    for timing in run.timings:
        if timing.estimate is None and timing.peak_bytes is None:
            continue
        if timing.node is None and (timing.planned_bytes is not None or timing.roof_ms is not None):
            peak = UNMEASURED if timing.peak_bytes is None else bytes_text(timing.peak_bytes)
            what = what_text(timing)
            rows.append(
                [
                    what,
                    NAMES_OF_TIMES[timing.device],
                    UNMEASURED if timing.planned_bytes is None else bytes_text(timing.planned_bytes),
                    peak,
                ]
            )
            certified.append(certified_text(timing))
            shares.append(roof_text(timing))
    table: TableView = {"columns": ["what", "device", "all activations", "peak"], "rows": rows}
    add_column(table, "rows", certified)
    add_column(table, "share of the roof", shares)
    return table


def _vague(timings: Sequence[Timing]) -> str:
    worst = max(timings, key=lambda timing: timing.estimate.half_width if timing.estimate else 0.0)
    if worst.estimate is None:
        return ""
    few = [timing for timing in timings if timing.estimate is not None and not timing.estimate.is_known]
    if few:
        return f"{len(few)} of them were measured fewer than 6 times, which is too few for an interval."
    where = device_text(worst.device)
    return f"{what_text(worst).capitalize()} on {where} is known within {worst.estimate.half_width:.0%}."


def _batches(run: Run) -> str:
    sizes = sorted({timing.batch_size for timing in run.timings})
    if not sizes:
        return "nothing timed"
    if run.options.get("level") == WATCHED:
        return "with the arguments of the recording"  # the first size of the first of them may be anything
    return f"batch {sizes[0]:,}" if len(sizes) == 1 else f"batches of {sizes[0]:,} to {sizes[-1]:,}"


def speed_up(before: Estimate, after: Estimate, than: str = "") -> SpeedUp:
    """Return how much faster `after` is; if the confidence intervals overlap, it is within the noise.

    The interval of the ratio is the widest that the two intervals allow.
    """
    ratio = before.median / after.median
    if not (before.is_known and after.is_known):
        return SpeedUp(ratio, f"{_times(ratio)}: measured too few times to tell", "noise")
    if before.overlaps(after):
        return SpeedUp(ratio, f"{_times(ratio)}: within the noise", "noise")
    ends = sorted((before.low / after.high, before.high / after.low))
    tone: Tone = "faster" if ratio > 1 else "slower"
    if tone == "slower":
        ends = sorted(1 / end for end in ends)
    shown = ratio if tone == "faster" else 1 / ratio
    compared = f" than {than}" if than else ""
    return SpeedUp(ratio, f"{_times(shown)} {tone}{compared} ({ends[0]:.3g} to {ends[1]:.3g})", tone)


def _times(ratio: float) -> str:
    return f"{ratio:.3g}x" if ratio < 1000 else f"{ratio:,.0f}x"


def certified_text(timing: Timing | None) -> str:
    """Return how many rows a backend certified: `✓ 256 rows certified`; empty if it certifies none.

    It evaluated all others in double precision, as it does with all rows if there are few. A backend that ran the
    layers of the circuit certified nothing.
    """
    if timing is not None and timing.declined:
        return "ran the layers"
    if timing is None or timing.rows_recomputed is None:
        return ""
    rows = plural(timing.batch_size, "row")
    if not timing.rows_recomputed:
        return f"✓ {rows} certified"
    if timing.rows_recomputed == timing.batch_size:
        return f"{rows} in double precision"
    return f"{timing.batch_size - timing.rows_recomputed:,} of {rows} certified, {timing.rows_recomputed:,} again"
