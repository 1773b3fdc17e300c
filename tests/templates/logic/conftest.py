"""Circuits of these tests are compiled in double precision."""

from tests.levels.modes import float64

__all__ = ["float64"]
