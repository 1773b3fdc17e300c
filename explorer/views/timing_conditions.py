"""Under which conditions a run was measured, and how much memory it needed."""

from collections.abc import Sequence

from explorer.timings import CUDA, Run, Timing
from explorer.views.bars import add_column
from explorer.views.certificates import certified_text
from explorer.views.costs import NAMES_OF_TIMES
from explorer.views.timing_words import NAMES_OF_KINDS, UNMEASURED, device_text, roof_text, what_text
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import SectionView, TableView


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
    return f"batch {sizes[0]:,}" if len(sizes) == 1 else f"batches of {sizes[0]:,} to {sizes[-1]:,}"
