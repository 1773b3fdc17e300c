"""The axis of a chart of bars in an image: its ends and ticks are those of `widgets/js/bars/axis.js`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from explorer_widgets.schema import BarsView

STEPS = (1, 2, 5)
"""A logarithmic axis has ticks at these multiples of the powers of ten."""
MANY, TOO_MANY = 8, 16
"""With more ticks than this only the powers of ten are left; with more than the second, only some of them."""
NEAR = 0.85
"""The axis begins this far below the smallest value, or more."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The ends of an axis and its ticks."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Return where a value is, from 0 to 1."""
        if self.log:
            return math.log(max(self.low, value) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / ((self.high - self.low) or 1.0)


def axis_of(bars: BarsView) -> Axis:
    """Return the axis of all values and intervals: from zero, or logarithmic."""
    values = [v for bar in bars["bars"] for v in (bar["value"], bar["low"], bar["high"]) if v is not None]
    positive = [value for value in values if value > 0]
    if bars["log"]:
        return _logarithmic(positive) if positive else _linear([])
    return _linear(values)


def _logarithmic(values: Sequence[float]) -> Axis:
    def mark(index: int) -> float:
        return STEPS[index % 3] * 10.0 ** (index // 3)

    first = 3 * math.floor(math.log10(min(values))) - 1
    while mark(first + 1) <= min(values) * NEAR:
        first += 1
    last = first + 1
    while mark(last) < max(values):
        last += 1
    count = last - first + 1
    every = 3 * math.ceil(count / 24) if count > TOO_MANY else 3 if count > MANY else 1
    ticks = tuple(mark(index) for index in range(first, last + 1) if index % every == 0)
    return Axis(mark(first), mark(last), True, ticks)


def _linear(values: Sequence[float]) -> Axis:
    least, most = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    rough = ((most - least) or 1.0) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next((size for size in (unit, 2 * unit, 5 * unit, 10 * unit) if size >= rough), unit)
    low, high = step * math.floor(least / step), step * math.ceil((most or 1.0) / step)
    return Axis(low, high, False, tuple(low + i * step for i in range(round((high - low) / step) + 1)))


def tick_text(value: float) -> str:
    """Return a number with three digits, without trailing zeros."""
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    digits = min(6, max(0, 2 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
