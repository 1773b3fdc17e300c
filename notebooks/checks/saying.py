"""What is said to an answer."""

from dataclasses import dataclass


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
