"""The feedback on an answer."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeGuard


@dataclass(frozen=True, slots=True)
class Said:
    """Whether an answer is right, and why, or what is wrong with it without giving the answer away."""

    right: bool
    text: str


def say(said: Said) -> None:
    """Print it."""
    print(said.text)


def not_answered(what: str) -> Said:
    """Return the feedback before anything is filled in; `what` is expected: `a list of layers`."""
    return Said(False, f"Not answered yet: {what}")


def something_else(wanted: str, answer: Any) -> Said:
    """Return the feedback on an answer of the wrong type; `wanted` is expected: `a function of a graph`."""
    return Said(False, f"Expected {wanted}; got something of type {type(answer).__name__}.")


def is_whole(answer: Any) -> TypeGuard[int]:
    """Return whether `answer` is an integer of Python or NumPy; booleans are not."""
    return isinstance(answer, Integral) and not isinstance(answer, bool)
