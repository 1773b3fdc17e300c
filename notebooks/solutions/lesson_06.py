"""Solutions of lesson 6, CPU and CUDA."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb, exp, log
from typing import Any


def solution_1() -> Callable[[Sequence[float]], tuple[float, float] | None]:
    """Leave out one more time on each side while 95 % remain."""

    def interval(times: Sequence[float]) -> tuple[float, float] | None:
        ordered, n = sorted(times), len(times)
        fits = [k for k in range(1, (n + 1) // 2 + 1) if 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n >= 0.95]
        return (ordered[max(fits) - 1], ordered[n - max(fits)]) if fits else None

    return interval


def solution_2() -> Callable[[Any, Any], str]:
    """With too few repeats or overlapping intervals, there is no conclusion."""

    def verdict(before: Any, after: Any) -> str:
        known = before.count >= 6 and after.count >= 6
        if not known or (before.low <= after.high and after.low <= before.high):
            return "cannot tell"
        return "faster" if after.median < before.median else "slower"

    return verdict


def solution_3() -> Callable[[Sequence[int], Sequence[float], Sequence[float]], float | None]:
    """Find where the gap of the logarithms is 0, between two sizes where its sign changes."""

    def crossing(sizes: Sequence[int], one: Sequence[float], other: Sequence[float]) -> float | None:
        found = None
        gaps = [(log(size), log(a / b)) for size, a, b in zip(sizes, one, other, strict=True)]
        for (x0, g0), (x1, g1) in pairwise(gaps):
            if g0 * g1 < 0:
                found = exp(x0 + (x1 - x0) * g0 / (g0 - g1))
        return found

    return crossing
