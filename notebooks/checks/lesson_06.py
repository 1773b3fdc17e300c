"""Lesson 6, CPU and CUDA: the interval of a median, the comparison of two, the crossing of two curves."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from checks.feedback import Feedback, not_answered, show, something_else
from explorer.bench import Run, Setup, Timing, crossover, estimate
from explorer.views import speed_up

COUNTS = (1, 5, 6, 7, 8, 9, 11, 12, 17, 20, 25, 30, 60)
NEAR = 1e-9
"""Tolerance: an interval consists of given times, and a crossing is computed from a few, so only rounding differs."""
FUNCTION = "the function itself, without calling it,"
VERDICTS = {"faster": "faster", "slower": "slower", "noise": "cannot tell"}


# ---------------------------------------------------------------------- the interval of a median


def exercise_1(answer: Any) -> None:
    """A function of times that returns the interval of their median."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compare it with the engine's estimate, for several numbers of repeats."""
    what = "an interval (low, high) that the function returns"
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    for count in COUNTS:
        times = _times(count)
        found = _called(answer, list(times))
        if isinstance(found, Feedback):
            return found
        if found is None and count == COUNTS[-1]:
            return not_answered(what)
    for count in COUNTS:
        times = _times(count)
        problem = _wrong_interval(_called(answer, list(times)), times)
        if problem is not None:
            return Feedback(False, f"With {count} {'time' if count == 1 else 'times'}: {problem}")
    return Feedback(
        True,
        "Right: with six times it is the whole range, and with many it is narrow, because half of all times are below "
        "the median, whatever their distribution.",
    )


def _times(count: int) -> tuple[float, ...]:
    """Return unordered times with a long tail."""
    dice = random.Random(count)
    return tuple(dice.lognormvariate(0, 1) for _ in range(count))


def _wrong_interval(found: Any, times: Sequence[float]) -> str | None:
    """Return what is wrong with an interval, if anything."""
    wanted, ordered = estimate(times), sorted(times)
    low, high = wanted.low / 1000, wanted.high / 1000  # the engine's unit is milliseconds
    if not wanted.is_known:
        if found is None:
            return None
        return f"even their whole range contains the median with only {wanted.confidence:.1%}; return None."
    if found is None:
        return "there is an interval with 95 %, but the function returned None."
    if not _is_pair(found):
        return f"expected two numbers (low, high); got {found!r}."
    if abs(found[0] - low) <= NEAR and abs(found[1] - high) <= NEAR:
        return None
    if found[0] > found[1]:
        return "the lower end is above the upper one."
    places = [_place(ordered, end) for end in found]
    if None in places:
        return "both ends must be among the times; these are not."
    if places[0] != len(times) - 1 - (places[1] or 0):
        return (
            f"as many times must be left out below as above; here {places[0]} are left out below and "
            f"{len(times) - 1 - (places[1] or 0)} above. Are the times sorted?"
        )
    if found[0] < low:
        return f"it contains the median with 95 %, but so does a narrower one ({places[0]} times are left out below)."
    return f"too narrow: with {places[0]} times left out on each side it contains the median with less than 95 %."


def _place(ordered: Sequence[float], value: float) -> int | None:
    return next((at for at, known in enumerate(ordered) if abs(known - value) <= NEAR), None)


# ---------------------------------------------------------------------- the comparison of two estimates


def exercise_2(answer: Any) -> None:
    """A function that compares two estimates."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compare it with the engine's verdict, for several pairs of estimates."""
    what = '"faster", "slower" or "cannot tell", returned by the function'
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    results = [(name, before, after, _called(answer, before, after)) for name, before, after in _pairs()]
    failed = next((found for *_, found in results if isinstance(found, Feedback)), None)
    if failed is not None:
        return failed
    if all(found is None for *_, found in results):
        return not_answered(what)
    for name, before, after, found in results:
        if not isinstance(found, str) or found not in VERDICTS.values():
            return Feedback(False, f"Expected one of {', '.join(map(repr, VERDICTS.values()))}; got {found!r}.")
        if found != VERDICTS[speed_up(before, after).tone]:
            return Feedback(False, f"{found!r} is wrong if {name}: {_of(before)} before, {_of(after)} after.")
    return Feedback(
        True,
        "Right: a difference is significant only if two known intervals do not overlap, because otherwise both "
        "medians may be equal.",
    )


def _pairs() -> tuple[tuple[str, Any, Any], ...]:
    """Return pairs of estimates, with intervals in every position to each other."""
    one = replace(estimate([1.0] * 12), median=10.0, low=9.0, high=11.0)
    few = replace(estimate([1.0] * 4), median=2.0, low=1.9, high=2.1)
    above = replace(one, median=20.0, low=18.0, high=22.0)
    across = replace(one, median=12.0, low=10.5, high=13.0)
    touching = replace(one, median=8.0, low=7.0, high=9.0)
    inside = replace(one, median=9.9, low=9.8, high=10.2)
    return (
        ("the interval after is below the one before", above, one),
        ("the interval after is above the one before", one, above),
        ("the intervals overlap", one, across),
        ("the intervals overlap", across, one),
        ("the intervals touch", one, touching),
        ("one interval is inside the other", one, inside),
        ("one was measured only four times", one, few),
        ("one was measured only four times", few, one),
    )


def _of(found: Any) -> str:
    return f"{found.median:g} ms ({found.low:g} to {found.high:g}, {found.count} repeats)"


# ---------------------------------------------------------------------- where two curves cross


def exercise_3(answer: Any) -> None:
    """A function that returns the batch size at which two curves cross."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Compare it with the engine's crossover, for curves from formulas."""
    what = "a batch size that the function returns"
    if not callable(answer):
        return not_answered(what) if answer is None else something_else(FUNCTION, answer)
    cases = _curves()
    results = [_called(answer, tuple(sizes), list(one), list(other)) for _, sizes, one, other in cases]
    failed = next((found for found in results if isinstance(found, Feedback)), None)
    if failed is not None:
        return failed
    if all(found is None for found in results):
        return not_answered(what)
    for (name, sizes, one, other), found in zip(cases, results, strict=True):
        wanted = crossover(_run(sizes, one, other))
        problem = _wrong_crossing(found, wanted)
        if problem is not None:
            return Feedback(False, f"{name}: {problem}")
    return Feedback(
        True,
        "Right: the gap log(one / other) is a straight line from one sign to the other, and where it is 0 the times "
        "are equal.",
    )


def _wrong_crossing(found: Any, wanted: float | None) -> str | None:
    if found is not None and not _is_number(found):
        return f"expected a number or None; got {found!r}."
    if wanted is None:
        return None if found is None else f"one curve is always below the other, but the function returned {found:g}."
    if found is None:
        return "the curves cross, but the function returned None."
    if abs(found - wanted) <= 1e-6 * wanted:
        return None
    where = "smaller" if wanted < found else "larger"
    return f"the function returned {found:g}, but the batch size where the lines meet is {where}."


def _curves() -> tuple[tuple[str, tuple[int, ...], list[float], list[float]], ...]:
    """Return curves from formulas, not measured: powers, which are straight in logarithms, and a + b B."""
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
    """Return the curves as a run on two devices, as the engine's crossover expects."""
    timings = tuple(
        Timing(f"batch {size}", device, size, estimate([time / 1000] * 6))
        for device, times in (("cpu", one), ("cuda", other))
        for size, time in zip(sizes, times, strict=True)
    )
    return Run("sweep", "forward", "", {}, timings, Setup("", 1, "", "", 0.1, 1.0, 0, {}, {}, ""))


# ---------------------------------------------------------------------- all of them


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function, or feedback if it fails."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - a student's function may raise anything
        return Feedback(False, f"The function failed: {type(error).__name__}: {error}")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_number, value))
