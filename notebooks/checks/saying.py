"""What is said to an answer."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeGuard


@dataclass(frozen=True, slots=True)
class Said:
    """Whether an answer is right, and what is said to it: why it is, or what is wrong without giving the answer."""

    right: bool
    text: str


def say(said: Said) -> None:
    """Print it."""
    print(said.text)


def not_answered(what: str) -> Said:
    """What is said where nothing was filled in; `what` is to be given: `a list of layers`."""
    return Said(False, f"Not answered yet: {what}")


def something_else(wanted: str, answer: Any) -> Said:
    """What is said to an answer of another kind than is wanted: `a function of a graph`."""
    return Said(False, f"{wanted[0].upper()}{wanted[1:]} is wanted; found something of type {type(answer).__name__}.")


def is_whole(answer: Any) -> TypeGuard[int]:
    """Whether it is a whole number, of Python or NumPy; True and False are none."""
    return isinstance(answer, Integral) and not isinstance(answer, bool)
