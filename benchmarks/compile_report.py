"""Compile times as printed tables and as data of JSON types; a ratio below 1 means that ours is faster."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.compile_times import PEER, PLAIN, RECORDED, CompileTimes, Seconds, deviations_from_proportional
from benchmarks.peer import INSTALL
from explorer.bench import estimate

MISSING_PEER = f"The peer libcirkit is not installed, so there is nothing to compare with; run: {INSTALL}"


def compile_table(times: Sequence[CompileTimes]) -> Table:
    """One row per case: ours, recorded, the peer's, and their ratios."""
    table = Table(title="Compile time with optimization and folding, seconds")
    table.add_column("case", overflow="fold")
    for name in ("layers", "folded", "ours", "recorded", "peer", "ours / peer", "recording adds"):
        table.add_column(name, justify="right", overflow="fold")
    for entry in times:
        overhead = entry.recording_overhead
        table.add_row(
            entry.case,
            f"{entry.symbolic_layers:,}",
            _layers(entry.num_layers, entry.peer_layers),
            _seconds(entry.samples.get(PLAIN)),
            _seconds(entry.samples.get(RECORDED)),
            _seconds(entry.beside_peer.get(PEER)),
            _ratio(entry.ratio),
            "" if overhead is None else f"{overhead:+.1%}",
        )
    return table


def growth_table(times: Sequence[CompileTimes]) -> Table:
    """Our time per 1,000 layers at each size, and its deviation from proportional growth."""
    table = Table(title="Compile time as the circuit grows: quad-graph cp images, ours")
    for name in ("layers", "seconds", "seconds / 1,000 layers", "from proportional"):
        table.add_column(name, justify="right", overflow="fold")
    for entry, deviation in zip(times, deviations_from_proportional(times), strict=True):
        table.add_row(
            f"{entry.symbolic_layers:,}",
            _seconds(entry.samples[PLAIN]),
            f"{entry.seconds_per_1000_layers:.4f}",
            f"{deviation:+.0%}",
        )
    return table


def compile_to_json(times: Sequence[CompileTimes], growth: Sequence[CompileTimes]) -> dict[str, Any]:
    """Return all times and ratios as data of JSON types."""
    deviations = deviations_from_proportional(growth)
    return {
        "cases": [
            {
                "case": entry.case,
                "symbolic_layers": entry.symbolic_layers,
                "layers": entry.num_layers,
                "peer_layers": entry.peer_layers,
                **_samples(entry.samples),
                "beside_peer": _samples(entry.beside_peer),
                "ratio": entry.ratio,
                "recording_overhead": entry.recording_overhead,
            }
            for entry in times
        ],
        "growth": [
            {
                "case": entry.case,
                "symbolic_layers": entry.symbolic_layers,
                **_samples(entry.samples),
                "seconds_per_1000_layers": entry.seconds_per_1000_layers,
                "deviation_from_proportional": deviation,
            }
            for entry, deviation in zip(growth, deviations, strict=True)
        ],
    }


def _samples(samples: Mapping[str, Seconds]) -> dict[str, Any]:
    return {
        what: {"median_s": median(taken), "relative_spread": estimate(taken).spread, "seconds": list(taken)}
        for what, taken in samples.items()
    }


def _layers(ours: int, theirs: int | None) -> str:
    return str(ours) if theirs is None else f"{ours} (peer {theirs})"


def _seconds(samples: Seconds | None) -> str:
    return "" if samples is None else f"{median(samples):.3f} ±{estimate(samples).spread:.0%}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
