"""Canonical products and sums: at most one division, no repeated factor or term, one number.

`x / y / z` is `x / (y * z)`, `(a / b) * (b / c)` is `a / c`, `2 * x / 2` is `x`, `x * x` is `x ** 2`. This holds for
real numbers: rounding may differ, and for 0, inf and NaN (x / x at 0, 0 * inf) values may differ too. float16
has a small range and is left alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import torch

from explorer.errors import OperatorError
from explorer.tensor.facts import full_like, holds, is_floating, number_of, read_once, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical

MAX_SHARED = 32
"""Maximum number of operators with other users that are flattened into a product or sum."""

MAX_POWER = 8
"""Maximum exponent; higher powers are written as products of powers, and are not flattened."""


@dataclass(slots=True, order=True)
class Cost:
    """Compared in this order: operators, divisions and subtractions among these, leaves, numbers."""

    operators: int = 0
    inverses: int = 0
    leaves: int = 0
    numbers: int = 0


@dataclass(slots=True)
class Terms:
    """A product as powers of factors and a fraction, or a sum as multiples of terms and a number.

    `cost` counts the operators that a rewrite removes, `shared` the operators that stay.
    """

    counts: dict[Variable, Any] = field(default_factory=dict[Variable, Any])
    above: Any = 1
    below: Any = 1
    number: Any = 0
    cost: Cost = field(default_factory=Cost)
    shared: int = 0

    def add(self, variable: Variable, count: Any) -> None:
        """Add a factor or term that is not flattened."""
        self.counts[variable] = self.counts.get(variable, 0) + count
        self.cost.leaves += 1


@dataclass(slots=True)
class Builder:
    """Builds operators and counts their cost."""

    node: Apply
    cost: Cost = field(default_factory=Cost)

    def holds(self, number: Any) -> bool:
        """Return whether the dtype of the node has a number as a normal one; some kernels convert to it first."""
        return holds(self.node.outputs[0].tensor_type.dtype, number)

    def make(self, target: Any, *inputs: Any) -> Variable:
        """Apply an overload to variables and numbers."""
        self.cost.operators += 1
        self.cost.inverses += target in INVERSES
        self.cost.numbers += sum(not isinstance(value, Variable) for value in inputs) if target in BINARY else 0
        return call(target, *inputs)

    def finish(self, value: Any) -> Variable:
        """Return the result in the shape of the node; a lone number becomes a constant."""
        old = self.node.outputs[0]
        if not isinstance(value, Variable):
            self.cost.numbers += 1
            return full_like(old, value)
        if shape_of(value) != shape_of(old):
            return self.make(aten.expand.default, value, list(shape_of(old)))
        return value


Parts = Sequence[tuple[Variable, Any]]
"""Inputs of an operator with their exponents or factors."""


@dataclass(frozen=True, slots=True)
class Family:
    """Operators that are flattened together, starting at the topmost of the `roots`.

    Operators in `through` may occur between two roots. `split` returns the parts of an operator, given the exponent or
    factor of its result, and nothing for another operator; `take` adds a number.
    """

    roots: tuple[Any, ...]
    through: tuple[Any, ...]
    split: Callable[[Apply, Any, Terms], Parts]
    take: Callable[[Terms, Any, Any], None]
    build: Callable[[Terms, Builder], Any]


INVERSES = (aten.div.Tensor, aten.reciprocal.default, aten.sub.Tensor, aten.neg.default)
BINARY = (aten.mul.Tensor, aten.div.Tensor, aten.add.Tensor, aten.sub.Tensor)


@canonical.rule([aten.mul.Tensor, aten.div.Tensor, aten.reciprocal.default])
def canonical_product(node: Apply) -> Rewrite:
    """A product has at most one division, each factor once, and one leading number."""
    return _canonical(node, PRODUCTS)


@canonical.rule([aten.add.Tensor, aten.sub.Tensor, aten.neg.default])
def canonical_sum(node: Apply) -> Rewrite:
    """A sum has each term once, with a factor, and one trailing number."""
    return _canonical(node, SUMS)


def _canonical(node: Apply, family: Family) -> Rewrite:
    if not is_floating(node.outputs[0]) or not _is_uniform(node) or _is_inside(node, family):
        return False
    if node.outputs[0].tensor_type.dtype is torch.float16:
        return Declined("float16 ends at 65504: intermediate results may overflow in another order")
    for through_shared in (True, False):
        terms, builder = Terms(), Builder(node)
        try:
            _flatten(node, family, through_shared, terms)
            value = family.build(terms, builder)
        except (OverflowError, ZeroDivisionError):
            value = None
        if value is None:
            return Declined("its combined numbers are too large or too small, or it divides by zero")
        try:
            made = builder.finish(value)
        except OperatorError as error:
            return Declined(f"it cannot be rewritten: {error}")
        if builder.cost < terms.cost:
            return replace_with(node, made)
        if not terms.shared:
            return False
    return False


def _flatten(root: Apply, family: Family, through_shared: bool, terms: Terms) -> None:
    """Add all parts of the product or sum with this root, from left to right."""
    waiting: list[tuple[Variable, Any, bool]] = [(root.outputs[0], 1, True)]
    while waiting:
        variable, weight, counted = waiting.pop()
        number = number_of(variable)
        if number is not None:
            terms.cost.numbers += counted
            family.take(terms, number, weight)
            continue
        owner = variable.owner
        dead = counted and (owner is root or read_once(variable))
        seen = owner is not None and _is_uniform(owner) and (dead or (through_shared and terms.shared < MAX_SHARED))
        parts = family.split(owner, weight, terms) if owner is not None and seen else ()
        if not parts or owner is None:
            terms.add(variable, weight)
            continue
        terms.shared += not dead
        terms.cost.operators += dead
        terms.cost.numbers += dead * (len(owner.inputs) - len(parts))  # the factor of a multiple is not a part
        terms.cost.inverses += dead and owner.op.target in INVERSES
        waiting.extend((part, inner, dead) for part, inner in reversed(parts))


def _is_uniform(node: Apply) -> bool:
    """Return whether all inputs of an operator are numbers or have the dtype of its result."""
    kind = node.outputs[0].tensor_type.dtype
    return all(v.tensor_type.dtype == kind or number_of(v) is not None for v in node.inputs)


def _is_inside(node: Apply, family: Family) -> bool:
    """Return whether only an operator of the family uses an application: the top of a chain handles all its parts."""
    variable = node.outputs[0]
    while read_once(variable) and variable.clients:
        reader = next(iter(variable.clients))[0]
        if reader is None or reader.op.target not in (*family.roots, *family.through):
            return False
        if not _is_uniform(reader) or all(part is not variable for part, _ in family.split(reader, 1, Terms())):
            return False
        if reader.op.target in family.roots:
            return True
        variable = reader.outputs[0]
    return False


# ---------------------------------------------------------------------- products


def _factors(owner: Apply, power: int, terms: Terms) -> Parts:
    """Return the inputs of a product, quotient or power with their exponents; none for another operator."""
    target = owner.op.target
    if target is aten.mul.Tensor:
        return [(owner.inputs[0], power), (owner.inputs[1], power)]
    if target is aten.div.Tensor:
        return [(owner.inputs[0], power), (owner.inputs[1], -power)]
    if target is aten.reciprocal.default:
        return [(owner.inputs[0], -power)]
    if target is aten.neg.default:
        terms.above = -terms.above if power % 2 else terms.above
        return [(owner.inputs[0], power)]
    if target is aten.pow.Tensor_Scalar:
        exponent = owner.op["exponent"]
        if not isinstance(exponent, complex) and isfinite(exponent) and exponent == int(exponent):
            inner = power * int(exponent)
            return [(owner.inputs[0], inner)] if 0 < abs(inner) <= MAX_POWER else []
    return []


def _take_factor(terms: Terms, number: Any, power: int) -> None:
    if power > 0:
        terms.above *= number**power
    else:
        terms.below *= number**-power


def _build_product(terms: Terms, builder: Builder) -> Any:
    """Build the product; None if its number overflows or underflows."""
    above, below = terms.above, terms.below
    if not below or not builder.holds(above) or not builder.holds(below):
        return None
    if not above:
        return 0
    if above != 1 and below != 1:
        above, below = above / below, 1
        if not above or not builder.holds(above):
            return None
    upper = [(v, power) for v, power in terms.counts.items() if power > 0]
    lower = [(v, -power) for v, power in terms.counts.items() if power < 0]
    negative = above == -1 and bool(upper)
    top = _multiply(1 if negative else above, upper, builder)
    bottom = _multiply(below, lower, builder)
    if isinstance(bottom, Variable) and not isinstance(top, Variable) and top == 1:
        value: Any = builder.make(aten.reciprocal.default, bottom)
    elif isinstance(bottom, Variable) or (bottom != 1 and isinstance(top, Variable)):
        value = builder.make(aten.div.Tensor, top, bottom)
    else:
        value = top if isinstance(top, Variable) else top / bottom
    return builder.make(aten.neg.default, value) if negative else value


def _multiply(number: Any, powers: list[tuple[Variable, int]], builder: Builder) -> Any:
    """Build a number times powers."""
    product: Any = number
    for variable, power in powers:
        highest, rest = divmod(power, MAX_POWER)
        for part in (*[MAX_POWER] * highest, *[rest] * bool(rest)):
            builder.cost.leaves += 1
            factor = variable if part == 1 else builder.make(aten.pow.Tensor_Scalar, variable, part)
            one = not isinstance(product, Variable) and product == 1
            product = factor if one else builder.make(aten.mul.Tensor, product, factor)
    return product


PRODUCTS = Family(
    (aten.mul.Tensor, aten.div.Tensor, aten.reciprocal.default),
    (aten.neg.default,),
    _factors,
    _take_factor,
    _build_product,
)


# ---------------------------------------------------------------------- sums


def _summands(owner: Apply, factor: Any, terms: Terms) -> Parts:
    """Return the inputs of a sum, difference or multiple with their factors; none for another operator."""
    target, inputs = owner.op.target, owner.inputs
    if target in (aten.add.Tensor, aten.sub.Tensor):
        alpha = owner.op["alpha"]
        return [(inputs[0], factor), (inputs[1], factor * (alpha if target is aten.add.Tensor else -alpha))]
    if target is aten.neg.default:
        return [(inputs[0], -factor)]
    if target is aten.mul.Tensor:
        for number, other in (inputs, inputs[::-1]):
            value = number_of(number)
            if value is not None and shape_of(other) == shape_of(owner.outputs[0]):
                return [(other, factor * value)]
    return []


def _take_term(terms: Terms, number: Any, factor: Any) -> None:
    terms.number += factor * number


def _build_sum(terms: Terms, builder: Builder) -> Any:
    """Build the sum; None if its number overflows or underflows."""
    if not all(map(builder.holds, (terms.number, *terms.counts.values()))):
        return None
    kept = [(v, factor) for v, factor in terms.counts.items() if factor]
    ordered = [*(t for t in kept if not _is_negative(t[1])), *(t for t in kept if _is_negative(t[1]))]
    total: Any = None
    number = terms.number
    for variable, factor in ordered:
        builder.cost.leaves += 1
        size = -factor if _is_negative(factor) else factor
        term = variable if size == 1 else builder.make(aten.mul.Tensor, size, variable)
        if total is not None:
            total = builder.make(aten.sub.Tensor if _is_negative(factor) else aten.add.Tensor, total, term)
        elif not _is_negative(factor):
            total = term
        elif number:
            total, number = builder.make(aten.sub.Tensor, number, term), 0
        elif size == 1:
            total = builder.make(aten.neg.default, term)
        else:
            total = builder.make(aten.mul.Tensor, factor, variable)
            builder.cost.operators -= 1  # replaces the multiple that was built
            builder.cost.numbers -= 1
    if total is None:
        return number
    return builder.make(aten.add.Tensor, total, number) if number else total


SUMS = Family(
    (aten.add.Tensor, aten.sub.Tensor, aten.neg.default),
    (aten.mul.Tensor,),
    _summands,
    _take_term,
    _build_sum,
)


def _is_negative(number: Any) -> bool:
    return not isinstance(number, complex) and number < 0
