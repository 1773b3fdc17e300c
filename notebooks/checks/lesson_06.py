"""Lesson 6, CPU and CUDA: the interval of a median, what may be said of two, where two curves cross."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from checks.saying import Said, not_answered, say, something_else
from explorer.bench import Run, Setup, Timing, crossover, estimate
from explorer.views import speed_up

COUNTS = (1, 5, 6, 7, 8, 9, 11, 12, 17, 20, 25, 30, 60)
NEAR = 1e-9
"""Times are only picked, and a crossing is computed from a few of them: rounding makes no more."""
FUNCTION = "the function itself, without calling it,"
VERDICTS = {"faster": "faster", "slower": "slower", "noise": "cannot tell"}


# ---------------------------------------------------------------------- the interval of a median


def exercise_1(answer: Any) -> None:
    """A function of times that gives the ends of the interval of their median."""
    say(judge_1(answer))


def judge_1(answer: Any) -> Said:
    """Compare it with the engine's estimate, for several numbers of times."""
    what = "an interval (low, high) that the function returns"
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    for count in COUNTS:
        times = _times(count)
        found = _called(answer, list(times))
        if isinstance(found, Said):
            return found
        if found is None and count == COUNTS[-1]:
            return not_answered(what)
    for count in COUNTS:
        times = _times(count)
        problem = _wrong_interval(_called(answer, list(times)), times)
        if problem is not None:
            return Said(False, f"Of {count} times: {problem}")
    return Said(
        True,
        "Right: with six times it is the whole range, and with many it is narrow, because the share of times below the "
        "median is known for every distribution.",
    )


def _times(count: int) -> tuple[float, ...]:
    """Times in no order, with a long tail."""
    dice = random.Random(count)
    return tuple(dice.lognormvariate(0, 1) for _ in range(count))


def _wrong_interval(found: Any, times: Sequence[float]) -> str | None:
    """What is wrong with an interval, if anything is."""
    wanted, ordered = estimate(times), sorted(times)
    low, high = wanted.low / 1000, wanted.high / 1000  # the engine's are milliseconds
    if not wanted.is_known:
        if found is None:
            return None
        return f"even all of them, from first to last, have the median with {wanted.confidence:.1%} only."
    if found is None:
        return "there is an interval with 95 %, and the function gave None."
    if not _is_pair(found):
        return f"two numbers (low, high) are wanted; found {found!r}."
    if abs(found[0] - low) <= NEAR and abs(found[1] - high) <= NEAR:
        return None
    if found[0] > found[1]:
        return "the lower end is above the upper one."
    places = [_place(ordered, end) for end in found]
    if None in places:
        return "the ends are two of the times themselves; these are not."
    if places[0] != len(times) - 1 - (places[1] or 0):
        return (
            f"the ends are equally far from both ends of the ordered times; these have {places[0]} times below them "
            f"and {len(times) - 1 - (places[1] or 0)} above. Are the times in order?"
        )
    if found[0] < low:
        return f"it has the median with 95 %, but a narrower one has so too ({places[0]} times are left out below)."
    return f"too narrow: with {places[0]} times left out on each side it has the median with less than 95 %."


def _place(ordered: Sequence[float], value: float) -> int | None:
    return next((at for at, known in enumerate(ordered) if abs(known - value) <= NEAR), None)


# ---------------------------------------------------------------------- what may be said of two estimates


def exercise_2(answer: Any) -> None:
    """A function of two estimates that says what may be said of them."""
    say(judge_2(answer))


def judge_2(answer: Any) -> Said:
    """Compare it with what the engine says, for several pairs of estimates."""
    what = '"faster", "slower" or "cannot tell", which the function returns'
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    told = [(name, before, after, _called(answer, before, after)) for name, before, after in _pairs()]
    failed = next((found for *_, found in told if isinstance(found, Said)), None)
    if failed is not None:
        return failed
    if all(found is None for *_, found in told):
        return not_answered(what)
    for name, before, after, found in told:
        if not isinstance(found, str) or found not in VERDICTS.values():
            return Said(False, f"One of {', '.join(map(repr, VERDICTS.values()))} is wanted; found {found!r}.")
        if found != VERDICTS[speed_up(before, after).tone]:
            return Said(False, f"Not {found!r} where {name}: {_of(before)} before, {_of(after)} after.")
    return Said(
        True,
        "Right: a difference is told only where two known intervals have no point in common, because else both medians "
        "may be in the same place.",
    )


def _pairs() -> tuple[tuple[str, Any, Any], ...]:
    """Estimates with made-up medians and intervals, in the ways in which two can lie to each other."""
    one = replace(estimate([1.0] * 12), median=10.0, low=9.0, high=11.0)
    few = replace(estimate([1.0] * 4), median=2.0, low=1.9, high=2.1)
    above = replace(one, median=20.0, low=18.0, high=22.0)
    across = replace(one, median=12.0, low=10.5, high=13.0)
    touching = replace(one, median=8.0, low=7.0, high=9.0)
    inside = replace(one, median=9.9, low=9.8, high=10.2)
    return (
        ("the interval after lies below the one before", above, one),
        ("the interval after lies above the one before", one, above),
        ("the intervals overlap", one, across),
        ("the intervals overlap", across, one),
        ("the intervals have one point in common", one, touching),
        ("one interval lies inside of the other", one, inside),
        ("one was measured four times only", one, few),
        ("one was measured four times only", few, one),
    )


def _of(found: Any) -> str:
    return f"{found.median:g} ms ({found.low:g} to {found.high:g}, {found.count} repeats)"


# ---------------------------------------------------------------------- where two curves cross


def exercise_3(answer: Any) -> None:
    """A function that gives the batch size at which two curves cross."""
    say(judge_3(answer))


def judge_3(answer: Any) -> Said:
    """Compare it with the engine's crossover, for curves made by formulas."""
    what = "a batch size that the function returns"
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    cases = _curves()
    told = [_called(answer, tuple(sizes), list(one), list(other)) for _, sizes, one, other in cases]
    failed = next((found for found in told if isinstance(found, Said)), None)
    if failed is not None:
        return failed
    if all(found is None for found in told):
        return not_answered(what)
    for (name, sizes, one, other), found in zip(cases, told, strict=True):
        wanted = crossover(_run(sizes, one, other))
        problem = _wrong_crossing(found, wanted)
        if problem is not None:
            return Said(False, f"{name}: {problem}")
    return Said(
        True,
        "Right: the gap log(one / other) goes along a straight line from one sign to the other, and where it is 0 the "
        "times are equal.",
    )


def _wrong_crossing(found: Any, wanted: float | None) -> str | None:
    if found is not None and not _is_number(found):
        return f"a number or None is wanted; found {found!r}."
    if wanted is None:
        return None if found is None else f"one curve is below the other throughout, and the function gave {found:g}."
    if found is None:
        return "the curves cross, and the function gave None."
    if abs(found - wanted) <= 1e-6 * wanted:
        return None
    where = "smaller" if wanted < found else "larger"
    return f"the function gave {found:g}, and where the lines meet the batch is {where}."


def _curves() -> tuple[tuple[str, tuple[int, ...], list[float], list[float]], ...]:
    """Curves made by formulas, not measured: powers, which are straight in logarithms, and a + b B."""
    sizes = (1, 4, 16, 64, 256, 1024)
    power = [float(size) for size in sizes]
    flat = [30.0] * len(sizes)
    line = [2 + 0.1 * size for size in sizes]
    late = [20 + 0.01 * size for size in sizes]
    twice = [50.0, 2.0, 50.0, 50.0, 50.0, 50.0]
    return (
        ("A curve t = B and a flat one", sizes, power, flat),
        ("The same, the other way round", sizes, flat, power),
        ("Two curves t = a + b B", sizes, line, late),
        ("Two curves where one is above the other", sizes, line, [2 * time for time in line]),
        ("Two curves that cross more than once", sizes, twice, flat),
    )


def _run(sizes: Sequence[int], one: Sequence[float], other: Sequence[float]) -> Run:
    """The curves as a run on two devices, as the engine's crossover takes them."""
    timings = tuple(
        Timing(f"batch {size}", device, size, estimate([time / 1000] * 6))
        for device, times in (("cpu", one), ("cuda", other))
        for size, time in zip(sizes, times, strict=True)
    )
    return Run("sweep", "forward", "", {}, timings, Setup("", 1, "", "", 0.1, 1.0, 0, {}, {}, ""))


# ---------------------------------------------------------------------- all of them


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, or what to say if it fails."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever the reader's function raises is told
        return Said(False, f"The function failed: {type(error).__name__}: {error}")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all floating-point ones
        return False


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_number, value))
