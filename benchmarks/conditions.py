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

from explorer.bench.machine import device_name, processor_name, versions
from explorer.bench.stopwatch import clock_name
from explorer.files import replace_file
from explorer.timings import CPU, CUDA


@dataclass(frozen=True)
class Conditions:
    """The conditions of a benchmark: torch's threads, repeats of each job, malloc's setting, the peer, the device."""

    num_threads: int
    repeats: int
    malloc: str
    peer: str = ""
    device: str = CPU

    def __str__(self) -> str:
        found = self._versions()
        peer = f"{self.peer} {found[self.peer]}" if self.peer in found else "no peer"
        clock = clock_name(self.num_threads, self.device)
        return (
            f"torch {found['torch']}, {peer}; {self._threads()}, {clock}; medians of {self.repeats} "
            f"interleaved runs, ± half the distance between the quartiles; {self.malloc}"
        )

    def caption(self) -> str:
        """The machine, versions, number of threads and the date, in a line."""
        found = self._versions()
        names = ("torch", "cuda", "triton", self.peer) if self.device == CUDA else ("torch", self.peer)
        packages = ", ".join(f"{name} {found[name]}" for name in names if name in found)
        machine = f"{processor_name()} ({torch.backends.cpu.get_cpu_capability()})"
        machine = f"{device_name(CUDA)}, {machine}" if self.device == CUDA else machine
        return f"{machine}, {self._threads()}, {packages}, {date.today().isoformat()}"

    def to_json(self) -> dict[str, Any]:
        """The conditions, versions and machine as data of JSON types."""
        return {
            "device": self.device,
            "num_threads": self.num_threads,
            "clock": clock_name(self.num_threads, self.device),
            "repeats": self.repeats,
            "malloc": self.malloc,
            "versions": self._versions(),
            "date": date.today().isoformat(),
            "machine": {
                "device": device_name(self.device),
                "system": platform.platform(),
                "processor": processor_name(),
                "cpus": os.cpu_count(),
                "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
            },
        }

    def _versions(self) -> dict[str, str]:
        return versions(*([self.peer] if self.peer else []), *(["triton"] if self.device == CUDA else []))

    def _threads(self) -> str:
        return "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"


def write_json(path: Path, conditions: Conditions | Sequence[Conditions], statistics: object) -> None:
    """Write statistics with the conditions under which they were measured: a list if there are several."""
    found = conditions.to_json() if isinstance(conditions, Conditions) else [one.to_json() for one in conditions]
    text = json.dumps({"conditions": found, "statistics": statistics}, indent=2) + "\n"
    replace_file(path, text.encode())
