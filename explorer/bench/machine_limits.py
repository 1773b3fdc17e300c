"""The limits of this machine that no program can exceed: operations, and bytes read from memory, per second."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from explorer.bench.stopwatch import clock_for
from explorer.runtime.native.library import load_library

ROUNDS = 400_000
"""Of 32 or 24 vector operations: some milliseconds."""
READ_BYTES = 2**28
"""Larger than caches; each thread reads its share."""
REPEATS = 15


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """What a number of threads reach together: multiplications and additions of floats, and bytes read, per second."""

    num_threads: int
    flops_per_second: float
    bytes_per_second: float


def measure_machine_limits(num_threads: int) -> MachineLimits:
    """Measure both, the best of some runs, in less than a second. Raises: LoweringError without a C++ compiler."""
    library = load_library()
    lanes = library.lanes()
    memory = np.ones(READ_BYTES // 4, dtype=np.float32)
    share = memory.size // num_threads // (8 * lanes) * (8 * lanes)

    def compute(thread: int) -> int:
        result = np.ones(lanes, dtype=np.float32)  # what is added: with 0, numbers would become denormal
        return ROUNDS * library.multiply_and_add(ROUNDS, result.ctypes.data)

    def read(thread: int) -> int:
        result = np.zeros(lanes, dtype=np.float32)
        library.read_floats(memory.ctypes.data + 4 * thread * share, share, result.ctypes.data)
        return 4 * share

    return MachineLimits(num_threads, _best(compute, num_threads), _best(read, num_threads))


def _best(run: Callable[[int], int], num_threads: int) -> float:
    """The largest number per second that the threads reach together."""
    clock, best = clock_for(num_threads), 0.0
    with ThreadPoolExecutor(num_threads) as pool:
        run_all = map if num_threads == 1 else pool.map  # the clock of one thread is that of the caller
        for _ in range(REPEATS):
            started = clock()
            done = sum(run_all(run, range(num_threads)))
            best = max(best, done / (clock() - started))
    return best
