"""The roof of a measurement: the time that no program undercuts, by its work and the limits of this machine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from explorer.backend import EvaluatedCircuit
from explorer.bench.stopwatch import clock_for
from explorer.errors import LoweringError
from explorer.runtime.native.library import load_library
from explorer.runtime.plan import Plan, lower_to_plan, run_passes
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot
from explorer.runtime.work import measure_work, total_work
from explorer.timings import CPU, Timing
from explorer.trace import Trace

ROUNDS = 400_000
"""Repetitions of 32 or 24 vector operations: some milliseconds."""
READ_BYTES = 2**28
"""Larger than caches; each thread reads its share."""
REPEATS = 15


@dataclass(frozen=True, slots=True)
class HardwareLimits:
    """The best of a number of threads in C: multiplications and additions of floats, and bytes read, per second."""

    num_threads: int
    flops_per_second: float
    bytes_per_second: float


def measure_hardware_limits(num_threads: int) -> HardwareLimits:
    """Measure both in C, the best of some runs, in less than a second. Raises: LoweringError without a C++ compiler."""
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

    return HardwareLimits(num_threads, _best(compute, num_threads), _best(read, num_threads))


def _best(run: Callable[[int], int], num_threads: int) -> float:
    """The largest number per second that the threads reach together."""
    clock, best = clock_for(num_threads), 0.0
    with ThreadPoolExecutor(num_threads) as pool:
        run_all = map if num_threads == 1 else pool.map  # the clock of one thread is the caller's
        for _ in range(REPEATS):
            started = clock()
            done = sum(run_all(run, range(num_threads)))
            best = max(best, done / (clock() - started))
    return best


def with_roof(timings: Sequence[Timing], roof_ms: float | None) -> tuple[Timing, ...]:
    """Timings on the CPU with a roof; those on other devices have none."""
    return tuple(replace(one, roof_ms=roof_ms) if one.device == CPU else one for one in timings)


def roof_of_circuit(circuit: EvaluatedCircuit, rows: int, num_threads: int) -> float | None:
    """The least time of a circuit in milliseconds; None if it has no kernel calls, or the limits cannot be measured."""
    try:
        return _roof_ms(run_passes(lower_to_plan(circuit)), circuit, rows, num_threads)
    except LoweringError:
        return None


def with_roofs_of_steps(timings: Sequence[Timing], trace: Trace, num_threads: int) -> tuple[Timing, ...]:
    """Add to the timings of steps the roof of their kernel calls; steps of other levels have none."""
    found: list[Timing] = []
    for one in timings:
        snapshot = None if one.step is None else trace.steps[one.step].snapshot
        roof = None
        if isinstance(snapshot, KernelsSnapshot) and one.device == CPU:
            roof = _roof_ms(snapshot.plan, snapshot.compiled, one.batch_size, num_threads)
        found.append(replace(one, roof_ms=roof))
    return tuple(found)


def _roof_ms(plan: Plan, circuit: EvaluatedCircuit, rows: int, num_threads: int) -> float | None:
    limits = hardware_limits(num_threads)
    if limits is None:
        return None
    work = total_work(tuple(measure_work(plan, circuit, rows).values()))
    return 1000 * work.seconds(limits.flops_per_second, limits.bytes_per_second)


@cache
def hardware_limits(num_threads: int) -> HardwareLimits | None:
    """The limits of this machine, measured once; None without a C++ compiler."""
    try:
        return measure_hardware_limits(num_threads)
    except LoweringError:
        return None
