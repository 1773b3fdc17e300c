"""The limits of a device: minimum time of an operator, bytes copied and operations executed per second."""

from collections.abc import Callable

import torch

from explorer.bench.stopwatch import one_lap, stopwatch
from explorer.timings import CUDA, Limits

OPERATORS = 200
"""Number of tiny operators that are timed together."""
REPEATS = 3
CPU_SIZES = (2**23, 768)
CUDA_SIZES = (2**26, 4096)
"""Numbers to copy (32 and 256 MiB, larger than caches), and rows of the square matrices to multiply."""


def measure_limits(device: str, num_threads: int) -> Limits:
    """Measure the limits, the best of three runs each, in about 0.1 seconds; the threads must be set already."""
    numbers, rows = CUDA_SIZES if device == CUDA else CPU_SIZES
    tiny = torch.zeros(1, device=device)
    source = torch.zeros(numbers, device=device)
    target = torch.empty_like(source)
    matrix = torch.ones(rows, rows, device=device)
    product = torch.empty_like(matrix)

    def operators() -> None:
        for _ in range(OPERATORS):
            torch.add(tiny, tiny)

    with torch.no_grad():
        operator = _best(operators, device, num_threads) / OPERATORS
        copy = _best(lambda: target.copy_(source), device, num_threads)
        multiply = _best(lambda: torch.mm(matrix, matrix, out=product), device, num_threads)
    moved = 2 * numbers * source.element_size()
    return Limits(operator * 1000, moved / copy, 2 * rows**3 / multiply)


def _best(run: Callable[[], object], device: str, num_threads: int) -> float:
    """The minimum seconds of some runs, without the first one."""
    watch = stopwatch(device, num_threads)
    return min([watch(one_lap(run), 1)[0] for _ in range(REPEATS + 1)][1:])
