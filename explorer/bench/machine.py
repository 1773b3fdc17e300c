"""The machine of a measurement: its devices, versions and load, and the settings of its malloc."""

import ctypes
import os
import platform
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from explorer.timings import CPU, CUDA, Setup


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
    """Return the memory that programs may still allocate; None if the system does not report it."""
    info = Path("/proc/meminfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def why_no_cuda() -> str | None:
    """Return the reason that CUDA cannot be used here; None if it can."""
    if not torch.backends.cuda.is_built():
        return f"this PyTorch ({torch.__version__}) was built without CUDA; install one that was built with it"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
    if available:
        return None
    messages = [str(warning.message) for warning in caught]
    return f"no CUDA device can be used: {_first_sentence(messages[-1] if messages else _what_init_says())}"


def device_name(device: str) -> str:
    """The model of the processor, or the name of the graphics card."""
    return torch.cuda.get_device_name() if device == CUDA else processor_name()


def is_this_machine(setup: Setup) -> bool:
    """Whether a run was measured on this machine, or on one with the same system and devices."""
    if setup.system != platform.platform():
        return False
    known = [device for device in setup.devices if device == CPU or why_no_cuda() is None]
    return all(setup.devices[device] == device_name(device) for device in known) and len(known) == len(setup.devices)


def _what_init_says() -> str:
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error)
    return f"{torch.cuda.device_count()} devices were found"


def _first_sentence(text: str) -> str:
    return text.strip().splitlines()[0].split(". ")[0].rstrip(".")


M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8
"""Names of options in glibc's malloc.h."""
KEEP_BYTES = 2**31 - 1


def keep_freed_memory() -> str:
    """Make malloc keep freed memory from now on in this process, and return a description of the setting.

    Otherwise times include page faults: a freed block above a moving threshold is returned to the system, and the next
    one of that size is mapped and zeroed page by page, which makes a training step up to twice as slow. Threads other
    than the main one have heaps that are returned regardless of the options, so all threads share one heap.
    """
    if not sys.platform.startswith("linux"):
        return "default malloc"
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return "default malloc"
    settings = ((M_ARENA_MAX, 1), (M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, KEEP_BYTES), (M_TOP_PAD, 64 * 2**20))
    done = all(mallopt(option, value) == 1 for option, value in settings)
    return "malloc keeps freed memory, for all sides" if done else "default malloc"
