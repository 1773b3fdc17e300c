"""The machine and the versions that a measurement was made with, and whether the machine is too busy for one."""

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from explorer.bench.stopwatch import clock_name


def processor_name() -> str:
    """The model of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python, torch, CUDA, this package and further ones, as far as they are installed."""
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
    for package in ("circuit-explorer", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def busy_machine() -> str | None:
    """A warning if more programs run than there are processors, which makes times meaningless; None otherwise."""
    if not hasattr(os, "getloadavg"):
        return None
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cpus + 0.5:
        return None
    return f"the machine is busy (load {load:.1f} on {cpus} processors): repeat on a quiet one before you rely on this"


def free_bytes() -> int | None:
    """How much memory programs may still allocate; None where the system does not report it."""
    info = Path("/proc/meminfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


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


def write_json(path: Path, conditions: Conditions, statistics: object) -> None:
    """Write statistics with the conditions under which they were measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"conditions": conditions.to_json(), "statistics": statistics}, indent=2) + "\n")
