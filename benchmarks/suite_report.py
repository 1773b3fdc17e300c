"""The benchmark suite as printed tables and as data of JSON types."""

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from rich.table import Table

from benchmarks.suite import SuiteRow, describe_noise, spread
from benchmarks.suite_entrants import CLAMP, CUDA_ONLY, OPPONENTS, PEER, PEER_MODES
from benchmarks.wanted import LARGE, Outcome, outcomes
from explorer.bench.machine import versions
from explorer.timings import CPU, CUDA

MIB = 2**20

BEST, THE_STRONGEST = f"best of {PEER}", "strongest"
"""What our entrants are compared with, in addition to the peer as it is."""


def suite_table(row: SuiteRow) -> Table:
    """One row per entrant of a case: time, temporaries, and how many times as fast as the opponents."""
    what = "training step" if row.training else "forward"
    table = Table(title=f"{row.case}, {what}, {_where(row)}: times as fast as the opponents")
    table.add_column("entrant", overflow="fold")
    for name in ("ms", "temporaries MiB", PEER, BEST, THE_STRONGEST):
        table.add_column(name, justify="right", overflow="fold")
    if row.refused:
        table.caption = f"refused: {row.refused}"
    elif noise := describe_noise(row.samples):
        table.caption = noise
    digits = 3 if row.device == CUDA else 2
    for name in row.samples:
        table.add_row(
            name,
            f"{1000 * row.seconds(name):.{digits}f} ±{spread(row.samples[name]):.0%}",
            f"{row.temporary_bytes[name] / MIB:.2f}" if name in row.temporary_bytes else "",
            *([_times(row, name, one) for one in opponents_of(row).values()] if name in row.ours else ()),
        )
    return table


def opponents_of(row: SuiteRow) -> Mapping[str, Sequence[str]]:
    """The opponents that our entrants are compared with: the peer, all modes of it, all opponents.

    On CUDA those that could not take part do not count, and the notes say why.
    """
    left_out = CUDA_ONLY if row.device == CPU else row.absent.keys() - row.samples.keys() - {PEER}
    found = {PEER: (PEER,), BEST: PEER_MODES, THE_STRONGEST: OPPONENTS}
    return {what: [name for name in names if name not in left_out] for what, names in found.items()}


def wanted_table(rows: Sequence[SuiteRow]) -> Table:
    """One row per wanted figure and number of threads."""
    table = Table(title=f"Wanted for {LARGE[0]} to {LARGE[-1]}: times as fast, or times less memory")
    table.add_column("against", overflow="fold")
    for name in ("threads", "cases", "geometric mean", "wanted", "worst case", "wanted", "met"):
        table.add_column(name, justify="right", overflow="fold")
    for one in outcomes(rows):
        table.add_row(
            str(one.wanted),
            str(one.num_threads),
            f"{one.num_cases} of {len(LARGE)}",
            f"{one.mean:.2f}",
            _figure(one.wanted.mean),
            f"{one.worst:.2f} ({one.worst_case})",
            _figure(one.wanted.worst),
            "yes" if one.is_met else "no",
        )
    return table


def suite_markdown(rows: Sequence[SuiteRow]) -> str:
    """How many times as fast `fast()` is, as a table for a README: a column per case, a row per opponent.

    On CUDA there are such rows for each of our entrants, with its name.
    """
    cases = list(dict.fromkeys(row.case for row in rows))
    lines = [f"| times as fast as | {' | '.join(cases)} | geometric mean |", "|---" * (len(cases) + 2) + "|"]
    for where, training in dict.fromkeys((_where(row), row.training) for row in rows):
        chosen = [row for row in rows if (_where(row), row.training) == (where, training) and row.ours]
        what = f"{'training step' if training else 'forward'}, {where}"
        on_cuda = any(row.device == CUDA for row in chosen)
        for ours in dict.fromkeys(name for row in chosen for name in row.ours) if on_cuda else ("",):
            for title, name in ((PEER, PEER), (BEST, f"the best of {PEER}"), (THE_STRONGEST, "the strongest")):
                figures = {row.case: row.speedup(ours or row.ours[0], opponents_of(row)[title]) for row in chosen}
                known = [figure for figure in figures.values() if figure is not None]
                if known:
                    cells = ["" if (found := figures.get(case)) is None else f"{found:.1f}" for case in cases]
                    line = f"{ours} against {name}: {what}" if ours else f"{name}: {what}"
                    lines.append(f"| {line} | {' | '.join(cells)} | {geometric_mean(known):.1f} |")
    return "\n".join(lines)


def suite_notes(rows: Sequence[SuiteRow]) -> list[str]:
    """What a reader of the tables has to know: the peer's release, what is absent, how samples were chosen."""
    found = versions(PEER)
    notes: list[str] = []
    if PEER in found:
        notes.append(f"{PEER} {found[PEER]} {_clamping(rows)}.")
    absent: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for one in row.absent.items():
            absent.setdefault(one, []).append(row.case)
    for (name, reason), cases in sorted(absent.items()):
        notes.append(f"{name} ({', '.join(dict.fromkeys(cases))}): {reason}.")
    notes.append(
        "All run interleaved with equal values. A time is the median of the faster half of the samples, and for an "
        "opponent the smaller one of interleaved and alone. At inference, parameters of ours and of the hand-written "
        f"circuit are evaluated once; {PEER} evaluates them in each call, and `parameters compared` looks whether they "
        "have changed."
    )
    return notes


def suite_to_json(rows: Sequence[SuiteRow]) -> dict[str, Any]:
    """Return all samples, how many times as fast our entrants are, and the wanted figures with what was measured."""
    return {"rows": [_row_to_json(row) for row in rows], "wanted": [_outcome_to_json(one) for one in outcomes(rows)]}


def _row_to_json(row: SuiteRow) -> dict[str, Any]:
    return {
        "case": row.case,
        "device": row.device,
        "num_threads": row.num_threads,
        "training": row.training,
        "ours": list(row.ours),
        "milliseconds": {name: 1000 * row.seconds(name) for name in row.samples},
        "device_milliseconds": {name: 1000 * seconds for name, seconds in row.device_seconds.items()},
        "seconds": {name: list(samples) for name, samples in row.samples.items()},
        "seconds_alone": {name: list(samples) for name, samples in row.alone.items()},
        "temporary_bytes": dict(row.temporary_bytes),
        "relative_difference": row.difference,
        "absent": dict(row.absent),
        "peer_clamps": row.peer_clamps,
        "refused": row.refused,
        "noise": describe_noise(row.samples),
        "times_as_fast": {
            name: {what: row.speedup(name, opponents) for what, opponents in opponents_of(row).items()}
            for name in row.ours
        },
    }


def _outcome_to_json(one: Outcome) -> dict[str, Any]:
    return {
        "what": str(one.wanted),
        "num_threads": one.num_threads,
        "geometric_mean": one.mean,
        "wanted_mean": one.wanted.mean,
        "worst": one.worst,
        "worst_case": one.worst_case,
        "wanted_worst": one.wanted.worst,
        "num_cases": one.num_cases,
        "is_met": one.is_met,
    }


def _clamping(rows: Sequence[SuiteRow]) -> str:
    """What the rows show about logarithms that the peer clamps."""
    wrong, right = (list(dict.fromkeys(row.case for row in rows if row.peer_clamps is one)) for one in (True, False))
    if wrong:
        return (
            f"clamps logarithms: its outputs are wrong for {', '.join(wrong)}, and were compared where log-likelihoods "
            "are near zero"
        )
    if right:
        return (
            f"does not clamp logarithms: its outputs agree with double precision below {CLAMP:g} ({', '.join(right)})"
        )
    return f"may clamp logarithms or not: no log-likelihood here is below {CLAMP:g}, where some releases do"


def _times(row: SuiteRow, name: str, opponents: Sequence[str]) -> str:
    found = row.speedup(name, opponents)
    return "" if found is None else f"{found:.2f}"


def _where(row: SuiteRow) -> str:
    """CUDA, or the number of threads on the CPU."""
    if row.device == CUDA:
        return "CUDA"
    return "1 thread" if row.num_threads == 1 else f"{row.num_threads} threads"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
