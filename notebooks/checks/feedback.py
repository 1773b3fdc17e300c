"""The feedback on an answer."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeGuard


@dataclass(frozen=True, slots=True)
class Feedback:
    """Whether an answer is right, and why, or what is wrong with it without giving the answer away."""

    right: bool
    text: str


def show(feedback: Feedback) -> None:
    """Print it."""
    print(feedback.text)


def not_answered(what: str) -> Feedback:
    """Return the feedback before anything is filled in; `what` is expected: `a list of layers`."""
    return Feedback(False, f"Not answered yet: {what}")


def something_else(wanted: str, answer: Any) -> Feedback:
    """Return the feedback on an answer of the wrong type; `wanted` is expected: `a function of a graph`."""
    return Feedback(False, f"Expected {wanted}; got something of type {type(answer).__name__}.")


def is_integer(answer: Any) -> TypeGuard[int]:
    """Return whether `answer` is an integer of Python or NumPy; booleans are not."""
    return isinstance(answer, Integral) and not isinstance(answer, bool)
