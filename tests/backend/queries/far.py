"""Mixtures with exact answers: sums of products of leaves in decimal arithmetic of many digits, without circuits."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache

CONTEXT = Context(prec=420, Emax=10**15, Emin=-(10**15))
"""The square of 1e150 has 301 digits; 100 more are left for what is beside it."""
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


@dataclass(frozen=True)
class Normal:
    """A normal density."""

    mean: float
    stddev: float


@dataclass(frozen=True)
class Table:
    """The positive values of a variable with few states."""

    values: tuple[float, ...]


Leaf = Normal | Table


@dataclass(frozen=True)
class Path:
    """A coefficient times a product of leaves, some of the same variable (in squares)."""

    coefficient: Decimal
    leaves: Mapping[int, tuple[Leaf, ...]]


@dataclass(frozen=True)
class Mixture:
    """A sum of paths."""

    paths: tuple[Path, ...]

    def square(self) -> "Mixture":
        """The square of the sum."""
        pairs = itertools.product(self.paths, self.paths)
        return Mixture(
            tuple(
                Path(p.coefficient * q.coefficient, {v: p.leaves[v] + q.leaves[v] for v in p.leaves}) for p, q in pairs
            )
        )

    def log_mass(self, row: Mapping[int, float]) -> Decimal:
        """The logarithm of the sum at the observed variables, the others summed out."""
        terms = self._terms(row)
        largest = max(log for _, log in terms)
        return largest + _total(terms, largest).ln()

    def log_ratio(self, joint: Mapping[int, float], given: Mapping[int, float]) -> float:
        """The logarithm of p(joint | given)."""
        with localcontext(CONTEXT):
            return float(self.log_mass(joint) - self.log_mass(given))

    def mean(self, v: int, given: Mapping[int, float]) -> float:
        """The mean of an unobserved variable of normal leaves or states, given others; one leaf in each path."""
        with localcontext(CONTEXT):
            terms = self._terms(given)
            largest = max(log for _, log in terms)
            found = Decimal(0)
            for (sign, log), path in zip(terms, self.paths, strict=True):
                (leaf,) = path.leaves[v]
                if isinstance(leaf, Normal):
                    mean = Decimal(leaf.mean)
                else:
                    weights = [Decimal(value) for value in leaf.values]
                    mean = sum((w * i for i, w in enumerate(weights)), Decimal(0)) / sum(weights)
                found += _scaled(sign, log - largest) * mean
            return float(found / _total(terms, largest))

    def shares(self, given: Mapping[int, float]) -> list[float]:
        """The probability of each path given the observed variables."""
        with localcontext(CONTEXT):
            terms = self._terms(given)
            largest = max(log for _, log in terms)
            total = _total(terms, largest)
            return [float(_scaled(sign, log - largest) / total) for sign, log in terms]

    def _terms(self, row: Mapping[int, float]) -> list[tuple[int, Decimal]]:
        with localcontext(CONTEXT):
            found: list[tuple[int, Decimal]] = []
            for path in self.paths:
                log = abs(path.coefficient).ln()
                for v, leaves in path.leaves.items():
                    log += _log_value(leaves, row.get(v))
                found.append((1 if path.coefficient > 0 else -1, log))
            return found


def _scaled(sign: int, log: Decimal) -> Decimal:
    return sign * log.exp() if log > -1000 else Decimal(0)


def _total(terms: Sequence[tuple[int, Decimal]], largest: Decimal) -> Decimal:
    return sum((_scaled(sign, log - largest) for sign, log in terms), Decimal(0))


@cache
def _log_value(leaves: tuple[Leaf, ...], x: float | None) -> Decimal:
    """The logarithm of a product of leaves of one variable at x, or of its sum or integral."""
    if isinstance(leaves[0], Table):
        tables = [one.values for one in leaves if isinstance(one, Table)]
        products = [math.prod(map(Decimal, values), start=Decimal(1)) for values in zip(*tables, strict=True)]
        return (sum(products, Decimal(0)) if x is None else products[int(x)]).ln()
    normals = [one for one in leaves if isinstance(one, Normal)]
    if x is not None:
        return sum((_log_normal(Decimal(x) - Decimal(n.mean), Decimal(n.stddev) ** 2) for n in normals), Decimal(0))
    if len(normals) == 1:
        return Decimal(0)
    first, second = normals
    distance = Decimal(first.mean) - Decimal(second.mean)
    return _log_normal(distance, Decimal(first.stddev) ** 2 + Decimal(second.stddev) ** 2)


@cache
def _log_normal(distance: Decimal, variance: Decimal) -> Decimal:
    return -(distance**2) / (2 * variance) - (2 * PI * variance).ln() / 2
