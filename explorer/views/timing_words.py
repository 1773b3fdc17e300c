"""Measured times in words: what was timed, where, how close to the roof, and where CPU and CUDA cross."""

from explorer.timings import CPU, CUDA, SWEEP, TRAINING, Run, Timing, both_devices, crossover
from explorer.trace import parse_path
from explorer.trace.ladder import COMPILED, Level
from explorer.views.costs import NAMES_OF_TIMES
from explorer.views.words import plural

NAMES_OF_KINDS = {"forward": "Forward pass", TRAINING: "Training step"}
UNMEASURED = "not measured"


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
    """What a node that is timed is called: a call where layers are folded, whose slices are the layers."""
    return "call" if level is COMPILED else level.noun
