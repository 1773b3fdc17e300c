"""Numbers of answers in words: logarithms with their unit, their exponentials, and of which output they are."""

from collections.abc import Sequence
from math import exp, inf

MAX_EXPONENT = 700
"""Exponentials of more are beyond the range of a float."""


def place_of(shape: Sequence[int], output: int, number: int) -> str:
    """Of which output and class a number is, of all of this shape; empty if there is one only."""
    return "" if tuple(shape) == (1, 1) else f", output {output}, class {number}"


def in_nats(value: float) -> str:
    """A logarithm with its unit."""
    return f"{decimal(value)} nats"


def scale_words(log_scale: float) -> str:
    """How the outputs of a circuit, which reads codes, differ from logarithms in the units of a table; empty if not."""
    if not log_scale:
        return ""
    side = "more" if log_scale > 0 else "less"
    return f"In the units of the table. The circuit reads codes, so its outputs are {in_nats(abs(log_scale))} {side}."


def decimal(value: float) -> str:
    """A number of six digits."""
    return f"{value:.6g}".replace("-", "−")


def exponential(size: float) -> str:
    """The number with this logarithm, as far as a float can hold it."""
    if size == -inf:
        return "0"
    value = exp(size) if size < MAX_EXPONENT else inf
    return f"{value:.4g}".replace("-", "−") if 0 < value < inf else "out of the range of a float"
