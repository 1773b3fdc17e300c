"""Measured times as tables for people and as data of JSON types; a ratio below 1 says that ours is faster."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from explorer.bench.compile_times import PEER, PLAIN, RECORDED, CompileTimes, deviations_from_proportional
from explorer.bench.forward_times import FORWARD, FRESH, TRAINING, ForwardTimes
from explorer.bench.machine import busy_machine, own_version, processor_name
from explorer.bench.peer import INSTALL, peer_is_installed, peer_version
from explorer.bench.timing import Samples

MISSING_PEER = f"The peer libcirkit is not installed, so there is nothing to compare with; install it: {INSTALL}"


@dataclass(frozen=True)
class Conditions:
    """Under which conditions was measured."""

    num_threads: int
    repeats: int
    malloc: str

    def __str__(self) -> str:
        clock = "CPU time of the process" if self.num_threads == 1 else "wall time"
        peer = f"libcirkit {peer_version()}" if peer_is_installed() else "no peer"
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        return (
            f"torch {torch.__version__}, {peer}; {threads}, {clock}; medians of {self.repeats} runs that take turns, "
            f"± half the distance between the quartiles; {self.malloc}"
        )

    @property
    def disturbance(self) -> str | None:
        """A warning if more programs run than there are processors: then times say little; None if all is well."""
        return busy_machine()

    def to_json(self) -> dict[str, Any]:
        """As data of JSON types, with versions and machine."""
        return {
            "num_threads": self.num_threads,
            "clock": "process CPU time" if self.num_threads == 1 else "wall time",
            "repeats": self.repeats,
            "malloc": self.malloc,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "circuit-explorer": own_version(),
                "libcirkit": peer_version(),
            },
            "machine": {
                "system": platform.platform(),
                "processor": processor_name(),
                "cpus": os.cpu_count(),
                "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
            },
        }


def forward_table(times: Sequence[ForwardTimes]) -> Table:
    """One row for each case and thing timed."""
    table = Table(title="Forward pass and training step, folded circuit, milliseconds")
    for name in ("case", "batch", "layers", "timed"):
        table.add_column(name, overflow="fold")
    for name in ("ours", "peer in turns", "peer alone", "ours / peer"):
        table.add_column(name, justify="right", overflow="fold")
    for entry in times:
        for position, what in enumerate((FORWARD, FRESH, TRAINING)):
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
                end_section=what == TRAINING,
            )
    return table


def compile_table(times: Sequence[CompileTimes]) -> Table:
    """One row for each case: ours, recorded, the peer's, and how they compare."""
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
    """Our time for 1,000 layers at each size, and how far it is from the same everywhere."""
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
    """All samples and ratios as data of JSON types."""
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
        }
        for entry in times
    ]


def compile_to_json(times: Sequence[CompileTimes], growth: Sequence[CompileTimes]) -> dict[str, Any]:
    """All samples and ratios as data of JSON types."""
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


def write_json(path: Path, conditions: Conditions, figures: object) -> None:
    """Write figures with the conditions under which they were measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"conditions": conditions.to_json(), "figures": figures}, indent=2) + "\n")


def _samples(samples: "dict[str, Samples] | Any") -> dict[str, Any]:
    return {
        what: {"median_s": taken.median, "relative_spread": taken.spread, "seconds": list(taken.seconds)}
        for what, taken in samples.items()
    }


def _layers(ours: int, theirs: int | None) -> str:
    return str(ours) if theirs is None else f"{ours} (peer {theirs})"


def _milliseconds(samples: Samples | None) -> str:
    return "" if samples is None else f"{samples.median * 1000:.2f} ±{samples.spread:.0%}"


def _seconds(samples: Samples | None) -> str:
    return "" if samples is None else f"{samples.median:.3f} ±{samples.spread:.0%}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
