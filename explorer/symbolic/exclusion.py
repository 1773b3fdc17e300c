"""Exclusion: shows that two units of a circuit are never nonzero at the same assignment."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

MAX_PAIRS = 2_000_000
"""Maximum pairs of units that are compared in one circuit; beyond it, exclusion cannot be shown."""


class UnitKind(Enum):
    """How a unit is computed from the units that it reads."""

    INPUT = "input"
    SUM = "sum"
    PRODUCT = "product"


Pair = tuple[int, int]


class Unit(NamedTuple):
    """One unit of a circuit: the units that it reads, and where it may be nonzero.

    `scope` has bit v set if the unit depends on variable v. `values` of an input over one variable has bit x set if the
    unit may be nonzero at x. A `full` unit may be nonzero everywhere; an `empty` one is zero everywhere.
    """

    kind: UnitKind
    below: tuple[int, ...] = ()
    scope: int = 0
    values: int = 0
    full: bool = False
    empty: bool = False


class SearchLimitError(Exception):
    """Exclusion was not shown within `MAX_PAIRS` pairs."""


class Exclusion:
    """Shows that units exclude each other: at each assignment, at most one of two is nonzero.

    Two inputs exclude each other if no value of their variable is allowed by both; a sum excludes a unit if all of its
    terms do; two products exclude each other if two of their factors do. This is sound for all circuits, and complete
    for decision nodes and for circuits that follow one vtree. The answers are kept for the next question.
    """

    def __init__(self, unit: Callable[[int], Unit]) -> None:
        self._unit = unit
        self._known: dict[Pair, bool] = {}
        self._num_compared = 0

    def excludes(self, left: int, right: int) -> bool:
        """Whether it can be shown that the units exclude each other. Raises: SearchLimitError."""
        path: list[tuple[Pair, bool, Iterator[Pair]]] = []
        answer = self._ask(left, right, path)
        while path:
            pair, needs_all, questions = path[-1]
            if answer is None or answer is needs_all:
                question = next(questions, None)
                if question is not None:
                    answer = self._ask(*question, path)
                    continue
                answer = needs_all
            self._known[pair] = answer
            path.pop()
        assert answer is not None
        return answer

    def _ask(self, left: int, right: int, path: list[tuple[Pair, bool, Iterator[Pair]]]) -> bool | None:
        """The answer if it is known or obvious; otherwise None, and the questions that lead to it are on the path."""
        pair = (left, right) if left < right else (right, left)
        self._num_compared += 1
        if self._num_compared > MAX_PAIRS:
            raise SearchLimitError
        known = self._known.get(pair)
        if known is not None:
            return known
        a, b = self._unit(pair[0]), self._unit(pair[1])
        if a.empty or b.empty:
            return True
        if left == right or a.full or b.full or not a.scope & b.scope:
            return False
        if a.kind is UnitKind.INPUT and b.kind is UnitKind.INPUT:
            return not a.values & b.values
        if UnitKind.SUM in (a.kind, b.kind):
            path.append((pair, True, ((x, y) for x in _terms(a, pair[0]) for y in _terms(b, pair[1]))))
        else:
            path.append((pair, False, ((x, y) for x in _factors(a, pair[0]) for y in _factors(b, pair[1]))))
        return None


def _terms(unit: Unit, key: int) -> tuple[int, ...]:
    return unit.below if unit.kind is UnitKind.SUM else (key,)


def _factors(unit: Unit, key: int) -> tuple[int, ...]:
    return unit.below if unit.kind is UnitKind.PRODUCT else (key,)
