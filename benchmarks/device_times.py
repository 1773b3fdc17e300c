"""How long a CUDA device computes in a call: what remains of its time is Python and launches."""

from collections.abc import Callable
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.autograd.profiler import profile

from benchmarks.allocations import without_messages
from explorer.timings import CUDA

RUNS = 5


def device_seconds(run: Callable[[], object]) -> float | None:
    """Return the mean time of all kernels and copies of a run, from PyTorch's profiler; None if it sees none.

    Run it once before. Two kernels that run at the same time count twice.
    """
    profiler = profile(use_kineto=True, use_cpu=False, use_device=CUDA)
    with without_messages(), profiler:
        for _ in range(RUNS):
            run()
        torch.cuda.synchronize()
    found: Any = profiler.kineto_results
    total_ns = sum(event.duration_ns() for event in found.events() if event.device_type() == DeviceType.CUDA)
    return total_ns / RUNS / 1e9 or None
