"""Measured times as printed tables and as data of JSON types; a ratio below 1 means that ours is faster."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.compile_times import PEER, PLAIN, RECORDED, CompileTimes, Seconds, deviations_from_proportional
from benchmarks.forward_times import MEASURED, TRAINING, ForwardTimes
from benchmarks.peer import INSTALL
from explorer.bench import estimate

MISSING_PEER = f"The peer libcirkit is not installed, so there is nothing to compare with; run: {INSTALL}"


def forward_table(times: Sequence[ForwardTimes]) -> Table:
    """One row per case and job."""
    table = Table(title="Forward pass and training step, folded circuit, milliseconds")
    for name in ("case", "batch", "layers", "timed"):
        table.add_column(name, overflow="fold")
    for name in ("ours", "peer interleaved", "peer alone", "ours / peer", "ours / peer, torch.compile"):
        table.add_column(name, justify="right", overflow="fold")
    for entry in times:
        for position, what in enumerate(what for what in MEASURED if what in entry.ours):
            first = position == 0
            table.add_row(
                entry.case if first else "",
                str(entry.batch_size) if first else "",
                _layers(entry.num_layers, entry.peer_layers) if first else "",
                what,
                _milliseconds(entry.ours.get(what)),
                _milliseconds(entry.peers.get(what)),
                _milliseconds(entry.peers_alone.get(what)),
                _ratio(entry.ratio(what)),
                _ratio(entry.ratio_to_compiled(what)),
                end_section=what == TRAINING,
            )
    return table


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


def forward_to_json(times: Sequence[ForwardTimes]) -> list[dict[str, Any]]:
    """Return all times and ratios as data of JSON types."""
    return [
        {
            "case": entry.case,
            "batch_size": entry.batch_size,
            "layers": entry.num_layers,
            "peer_layers": entry.peer_layers,
            "relative_difference_of_outputs": entry.difference,
            "ours": _samples(entry.ours),
            "peer": _samples(entry.peers),
            "peer_alone": _samples(entry.peers_alone),
            "ratio": {what: entry.ratio(what) for what in entry.ours},
            "ratio_to_compiled": {what: entry.ratio_to_compiled(what) for what in entry.ours},
        }
        for entry in times
    ]


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


def _milliseconds(samples: Seconds | None) -> str:
    return "" if samples is None else f"{median(samples) * 1000:.2f} ±{estimate(samples).spread:.0%}"


def _seconds(samples: Seconds | None) -> str:
    return "" if samples is None else f"{median(samples):.3f} ±{estimate(samples).spread:.0%}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
