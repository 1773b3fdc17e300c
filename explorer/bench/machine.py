"""The machine and the versions that a measurement was made with, and whether the machine is too busy for one."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch


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
