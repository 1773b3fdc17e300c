"""Reasons why a pass leaves a call as it is, for the observer of the pass."""

from collections.abc import Callable

Leave = Callable[[int, str], None]
"""Receives the number of a call that a pass has looked at and left as it is, and the reason."""


def nobody(number: int, reason: str) -> None:
    """Nobody observes."""
