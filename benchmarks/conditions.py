"""The conditions of a benchmark, printed below its tables and written into its files."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

from explorer.bench.machine import processor_name, versions
from explorer.bench.stopwatch import clock_name


@dataclass(frozen=True)
class Conditions:
    """The conditions of a benchmark: torch's threads, repeats of each job, malloc's setting, the peer's package."""

    num_threads: int
    repeats: int
    malloc: str
    peer: str = ""

    def __str__(self) -> str:
        found = versions(self.peer) if self.peer else versions()
        peer = f"{self.peer} {found[self.peer]}" if self.peer in found else "no peer"
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        return (
            f"torch {found['torch']}, {peer}; {threads}, {clock_name(self.num_threads)}; medians of {self.repeats} "
            f"interleaved runs, ± half the distance between the quartiles; {self.malloc}"
        )

    def caption(self) -> str:
        """The machine, versions, number of threads and the date, in a line."""
        found = versions(self.peer) if self.peer else versions()
        peer = f", {self.peer} {found[self.peer]}" if self.peer in found else ""
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        machine = f"{processor_name()} ({torch.backends.cpu.get_cpu_capability()})"
        return f"{machine}, {threads}, torch {found['torch']}{peer}, {date.today().isoformat()}"

    def to_json(self) -> dict[str, Any]:
        """The conditions, versions and machine as data of JSON types."""
        return {
            "num_threads": self.num_threads,
            "clock": clock_name(self.num_threads),
            "repeats": self.repeats,
            "malloc": self.malloc,
            "versions": versions(self.peer) if self.peer else versions(),
            "machine": {
                "system": platform.platform(),
                "processor": processor_name(),
                "cpus": os.cpu_count(),
                "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
            },
        }


def write_json(path: Path, conditions: Conditions | Sequence[Conditions], statistics: object) -> None:
    """Write statistics with the conditions under which they were measured: a list if there are several."""
    found = conditions.to_json() if isinstance(conditions, Conditions) else [one.to_json() for one in conditions]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"conditions": found, "statistics": statistics}, indent=2) + "\n")
