"""The memory that a call allocates at most at a time: PyTorch's, and what it keeps for the next call.

On the CPU native kernels keep arrays of NumPy, on CUDA captured graphs keep the memory that they compute in.
`explorer.bench` counts operators, which a program of Inductor does not call; PyTorch's profiler sees its allocations.
"""

import gc
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch.autograd.profiler import profile

MEMORY = "[memory]"
"""The name of an allocation, or of the end of one, among the events of the profiler."""


def peak_bytes(run: Callable[[], object]) -> int:
    """The largest number of bytes of PyTorch alive at once that were allocated by a run; run once before."""
    profiler = profile(use_kineto=True, use_cpu=True, profile_memory=True)
    with without_messages(), profiler:
        run()
    found: Any = profiler.kineto_results
    events = [event for event in found.events() if event.name() == MEMORY]
    sizes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return max(accumulate(sizes, initial=0))


def kept_bytes(run: Callable[[], object]) -> int:
    """The bytes of NumPy that a run allocated and kept for the next one."""
    tracemalloc.start()
    try:
        run()
        domain = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
        kept = tracemalloc.take_snapshot().filter_traces([domain])
    finally:
        tracemalloc.stop()
    return sum(trace.size for trace in kept.traces)


def cuda_peak_bytes(run: Callable[[], object]) -> int:
    """The largest number of bytes on the CUDA device alive at once that a run allocated; run once before.

    A captured graph allocates nothing when it is replayed: see `cuda_kept_bytes`.
    """
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def cuda_kept_bytes(run: Callable[[], object]) -> int:
    """The bytes of the memory pools of CUDA graphs that a run captured: the device's memory, in whole segments."""
    before = _pool_bytes()
    run()
    torch.cuda.synchronize()
    return _pool_bytes() - before


def _pool_bytes() -> int:
    """The bytes of all segments of the allocator but those of its common pool (0, 0)."""
    segments = torch.cuda.memory_snapshot()
    return sum(one["total_size"] for one in segments if tuple(one["segment_pool_id"]) != (0, 0))


@contextmanager
def without_messages() -> Iterator[None]:
    """The profiler writes that it starts and stops, and about memory of before, past Python to standard error."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
