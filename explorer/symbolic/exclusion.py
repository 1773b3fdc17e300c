"""Exclusion: shows that two units of a circuit are never nonzero at the same assignment."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations, product
from typing import NamedTuple

MAX_COMPARED_UNIT_PAIRS = 2_000_000
"""Maximum pairs of units that are compared in one circuit; beyond it, exclusion cannot be shown."""

Pair = tuple[int, int]


class UnitKind(Enum):
    """The operation that computes a unit from the units that it reads."""

    INPUT = "input"
    SUM = "sum"
    PRODUCT = "product"


class Unit(NamedTuple):
    """One unit of a circuit: the units that it reads, and where it may be nonzero.

    `scope` has bit v set if the unit depends on variable v. `values` of an input has bit x set if the unit may be
    nonzero at x. The binary digits of all variables form one number; the unit is zero unless those in `ones` are 1 and
    those in `zeros` are 0. A `full` unit may be nonzero everywhere; an `empty` one is zero everywhere.
    """

    kind: UnitKind
    below: tuple[int, ...] = ()
    scope: int = 0
    values: int = 0
    ones: int = 0
    zeros: int = 0
    full: bool = False
    empty: bool = False


@dataclass(frozen=True)
class Units:
    """The units of a circuit, numbered in topological order; a value of a variable has this number of binary digits."""

    num_digits: int
    known: list[Unit] = field(default_factory=list[Unit])

    def add_input(self, variable: int, values: Sequence[int]) -> None:
        """Add a unit that reads one variable and may be nonzero at these values."""
        mask, all_ones, any_ones = 0, -1, 0
        for value in values:
            mask |= 1 << value
            all_ones &= value
            any_ones |= value
        if not mask:
            self.add_constant(scope=1 << variable, empty=True)
            return
        shift = variable * self.num_digits
        digits = (1 << self.num_digits) - 1
        unit = Unit(UnitKind.INPUT, (), 1 << variable, mask, all_ones << shift, (digits & ~any_ones) << shift)
        self.known.append(unit)

    def add_constant(self, *, scope: int = 0, empty: bool) -> None:
        """Add an input that is zero everywhere, or one that may be nonzero everywhere."""
        self.known.append(Unit(UnitKind.INPUT, scope=scope, full=not empty, empty=empty))

    def add_sum(self, scope: int, terms: Sequence[int]) -> Unit:
        """Add the sum of these units."""
        terms = [key for key in terms if not self.known[key].empty]
        ones, zeros, full = -1, -1, False
        for key in terms:
            unit = self.known[key]
            ones, zeros, full = ones & unit.ones, zeros & unit.zeros, full or unit.full
        empty = not terms
        self.known.append(
            Unit(UnitKind.SUM, tuple(terms), scope, 0, 0 if empty else ones, 0 if empty else zeros, full, empty)
        )
        return self.known[-1]

    def add_product(self, scope: int, factors: Sequence[int]) -> Unit:
        """Add the product of these units."""
        ones, zeros, full, empty = 0, 0, True, False
        for key in factors:
            unit = self.known[key]
            ones, zeros, full, empty = ones | unit.ones, zeros | unit.zeros, full and unit.full, empty or unit.empty
        empty = empty or bool(ones & zeros)
        below = tuple(sorted(factors, key=lambda key: self.known[key].scope.bit_count()))
        self.known.append(Unit(UnitKind.PRODUCT, below, scope, 0, ones, zeros, full, empty))
        return self.known[-1]


class Exclusion:
    """Shows that units exclude each other: at each assignment, at most one of two is nonzero.

    Two units exclude each other if a digit must be 1 for the one and 0 for the other, and two inputs if no value is
    allowed by both. A sum excludes a unit if all of its terms do; two products exclude each other if two of their
    factors do, or a factor of one and the whole other. This is sound for all circuits, and complete for decision nodes
    and for circuits that follow one vtree.
    The answers are kept for the next question.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._known: dict[Pair, bool] = {}
        self._num_compared = 0

    def overlap(self, keys: Sequence[int], name: Callable[[int], str] = str) -> str:
        """Return the reason that two of these units may overlap, with their names; empty if all exclude each other."""
        if self._decide_on_a_variable(keys):
            return ""
        for one, other in combinations(keys, 2):
            try:
                if self._excludes(one, other):
                    continue
                reason = "are not known to exclude each other"
            except _SearchLimitError:
                reason = f"are not shown to exclude each other by comparing {MAX_COMPARED_UNIT_PAIRS:,} pairs of units"
            return f"{name(one)} and {name(other)} {reason}"
        return ""

    def _decide_on_a_variable(self, keys: Sequence[int]) -> bool:
        """Whether all of these units are inputs of one variable, or multiply one, and no two allow the same value."""
        seen: dict[int, tuple[int, int]] = {}  # by variable: how many units read it, and the values that they allow
        for key in keys:
            factors = map(self._units.__getitem__, _factors(self._units[key], key))
            for scope, values in {factor.scope: factor.values for factor in factors if factor.values}.items():
                count, allowed = seen.get(scope, (0, 0))
                if not values & allowed:
                    seen[scope] = count + 1, allowed | values
        return any(count == len(keys) for count, _ in seen.values())

    def _excludes(self, left: int, right: int) -> bool:
        """Whether it can be shown that the units exclude each other."""
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
        self._num_compared += 1
        if self._num_compared > MAX_COMPARED_UNIT_PAIRS:
            raise _SearchLimitError
        pair = (left, right) if left < right else (right, left)
        a, b = self._units[pair[0]], self._units[pair[1]]
        if a.empty or b.empty or a.ones & b.zeros or a.zeros & b.ones:
            return True
        if left == right or a.full or b.full or not a.scope & b.scope:
            return False
        if a.kind is UnitKind.INPUT and b.kind is UnitKind.INPUT:
            return not a.values & b.values
        known = self._known.get(pair)
        if known is not None:
            return known
        if UnitKind.SUM in (a.kind, b.kind):
            path.append((pair, True, ((x, y) for x in _terms(a, pair[0]) for y in _terms(b, pair[1]))))
        else:
            path.append((pair, False, self._of_products(pair)))
        return None

    def _of_products(self, pair: Pair) -> Iterator[Pair]:
        """The questions that decide whether two products, or a product and an input, exclude each other: one suffices.

        These are their factors, and a factor and the whole other product, if it shares variables with several factors
        of that: the factor then belongs to a vtree node above the nodes of the other product.
        """
        keys = [_factors(self._units[key], key) for key in pair]
        yield from product(keys[0], keys[1])
        for own, others, other in ((keys[0], keys[1], pair[1]), (keys[1], keys[0], pair[0])):
            for key in own if len(others) > 1 else ():
                scope = self._units[key].scope
                if key not in pair and sum(1 for factor in others if self._units[factor].scope & scope) > 1:
                    yield key, other


class _SearchLimitError(Exception):
    """Exclusion was not shown within `MAX_COMPARED_UNIT_PAIRS` pairs."""


def _terms(unit: Unit, key: int) -> tuple[int, ...]:
    return unit.below if unit.kind is UnitKind.SUM else (key,)


def _factors(unit: Unit, key: int) -> tuple[int, ...]:
    return unit.below if unit.kind is UnitKind.PRODUCT else (key,)
