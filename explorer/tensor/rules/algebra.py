"""Products and sums in one form: at most one division, no factor or term twice, one number.

Source: Theano, canonicalize (AlgebraicCanonizer in its successor): `x / y / z` is `x / (y * z)`, `(a / b) * (b / c)`
is `a / c`, `2 * x / 2` is `x`, `x * x` is `x ** 2`. All of it holds for real numbers: rounding may differ, and where
0, inf or NaN comes in (x / x at 0, 0 * inf) the value may.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from explorer.errors import OperatorError
from explorer.tensor.rewriting import Declined, node_rewriter
from explorer.tensor.rules.families import register_canonicalize
from explorer.tensor.rules.reading import aten, full_like, instead, is_floating, number_of, read_once, shape_of
from explorer.tensor.variables import Apply, Variable, call

MOST_TERMS = 32
"""What has more factors or terms than this is looked at no further down."""

HIGHEST_POWER = 8


@dataclass(slots=True)
class Terms:
    """A product as powers of factors and a fraction, or a sum as multiples of terms and a number.

    `old_cost` counts what would go; see `cost`.
    """

    counts: dict[Variable, Any] = field(default_factory=dict[Variable, Any])
    above: Any = 1
    below: Any = 1
    number: Any = 0
    operators: int = 0
    inverses: int = 0
    leaves: int = 0
    numbers: int = 0

    def add(self, variable: Variable, count: Any) -> None:
        """Take in a factor or term that is not looked into."""
        self.counts[variable] = self.counts.get(variable, 0) + count
        self.leaves += 1

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """What a rewrite must make less: operators, of these divisions or subtractions, leaves, numbers."""
        return (self.operators, self.inverses, self.leaves, self.numbers)


@dataclass(slots=True)
class Builder:
    """Makes operators and counts them as `Terms.cost` does."""

    node: Apply
    operators: int = 0
    inverses: int = 0
    leaves: int = 0
    numbers: int = 0

    def make(self, target: Any, *inputs: Any) -> Variable:
        """Apply an overload to variables and numbers."""
        self.operators += 1
        self.inverses += target in INVERSES
        self.numbers += sum(not isinstance(value, Variable) for value in inputs) if target in BINARY else 0
        return call(target, *inputs, place=self.node.place)

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """As `Terms.cost`."""
        return (self.operators, self.inverses, self.leaves, self.numbers)

    def finished(self, value: Any) -> Variable:
        """The result in the shape of the node; a number alone becomes a constant."""
        old = self.node.outputs[0]
        if not isinstance(value, Variable):
            self.numbers += 1
            return full_like(old, value)
        if shape_of(value) != shape_of(old):
            return self.make(aten.expand.default, value, list(shape_of(old)))
        return value


INVERSES = (aten.div.Tensor, aten.reciprocal.default, aten.sub.Tensor, aten.neg.default)
BINARY = (aten.mul.Tensor, aten.div.Tensor, aten.add.Tensor, aten.sub.Tensor)


@register_canonicalize
@node_rewriter([aten.mul.Tensor, aten.div.Tensor, aten.reciprocal.default])
def canonical_product(node: Apply) -> Any:
    """A product has at most one division, each factor once, and one number in front."""
    return _rewritten(node, _flat_product, _built_product)


@register_canonicalize
@node_rewriter([aten.add.Tensor, aten.sub.Tensor, aten.neg.default])
def canonical_sum(node: Apply) -> Any:
    """A sum has each term once, with a number before it, and one number at the end."""
    return _rewritten(node, _flat_sum, _built_sum)


def _rewritten(node: Apply, flatten: Any, build: Any) -> Any:
    if not is_floating(node.outputs[0]):
        return False
    for through_shared in (True, False):
        terms = Terms()
        if not flatten(node.outputs[0], 1, terms, node, through_shared, True):
            return False
        builder = Builder(node)
        try:
            value = build(terms, builder)
        except (OverflowError, ZeroDivisionError):
            value = None
        if value is None:
            return Declined("its numbers together are too large or too small, or it divides by zero")
        try:
            made = builder.finished(value)
        except OperatorError as error:
            return Declined(f"it cannot be written so: {error}")
        if builder.cost < terms.cost:
            return instead(node, made)
    return False


# ---------------------------------------------------------------------- products


def _flat_product(
    variable: Variable, power: int, terms: Terms, root: Apply, through_shared: bool, counted: bool
) -> bool:
    """Take a factor with all its own factors in; False if it is of another dtype, so that nothing can be said."""
    owner = variable.owner
    number = number_of(variable)
    if number is not None and (not shape_of(variable) or owner is None):
        terms.numbers += counted
        return _take_number(terms, number, power)
    if variable.tensor_type.dtype != root.outputs[0].tensor_type.dtype:
        return False
    inner = _inside(variable, root, through_shared, terms)
    if inner is None or owner is None:
        terms.add(variable, power)
        return True
    parts = _factors(owner, power)
    if parts is None:
        terms.add(variable, power)
        return True
    counted = counted and inner
    terms.operators += counted
    terms.inverses += counted and owner.op.target in INVERSES
    if owner.op.target is aten.neg.default:
        terms.above = -terms.above if power % 2 else terms.above
    return all(_flat_product(part, p, terms, root, through_shared, counted) for part, p in parts)


def _factors(owner: Apply, power: int) -> list[tuple[Variable, int]] | None:
    """The inputs of a product, quotient or power with their powers; None for another operator."""
    target = owner.op.target
    if target is aten.mul.Tensor:
        return [(owner.inputs[0], power), (owner.inputs[1], power)]
    if target is aten.div.Tensor:
        return [(owner.inputs[0], power), (owner.inputs[1], -power)]
    if target is aten.reciprocal.default:
        return [(owner.inputs[0], -power)]
    if target is aten.neg.default:
        return [(owner.inputs[0], power)]
    if target is aten.pow.Tensor_Scalar:
        exponent = owner.op["exponent"]
        if exponent == int(exponent) and 0 < abs(exponent) <= HIGHEST_POWER:
            return [(owner.inputs[0], power * int(exponent))]
    return None


def _take_number(terms: Terms, number: Any, power: int) -> bool:
    if abs(power) > HIGHEST_POWER:
        return False
    if power > 0:
        terms.above *= number**power
    else:
        terms.below *= number**-power
    return True


def _built_product(terms: Terms, builder: Builder) -> Any:
    """The product written out; None if its number is not finite, or vanished."""
    above, below = terms.above, terms.below
    if not below or not _is_finite(above) or not _is_finite(below):
        return None
    if not above:
        return 0
    if above != 1 and below != 1:
        above, below = above / below, 1
        if not above or not _is_finite(above):
            return None
    if any(abs(power) > HIGHEST_POWER for power in terms.counts.values()):
        return None
    upper = [(v, power) for v, power in terms.counts.items() if power > 0]
    lower = [(v, -power) for v, power in terms.counts.items() if power < 0]
    negative = above == -1 and bool(upper)
    top = _multiplied(1 if negative else above, upper, builder)
    bottom = _multiplied(below, lower, builder)
    if isinstance(bottom, Variable) and not isinstance(top, Variable) and top == 1:
        value: Any = builder.make(aten.reciprocal.default, bottom)
    elif isinstance(bottom, Variable) or (bottom != 1 and isinstance(top, Variable)):
        value = builder.make(aten.div.Tensor, top, bottom)
    else:
        value = top if isinstance(top, Variable) else top / bottom
    return builder.make(aten.neg.default, value) if negative else value


def _multiplied(number: Any, powers: list[tuple[Variable, int]], builder: Builder) -> Any:
    """A number times powers, the number first."""
    product: Any = number
    for variable, power in powers:
        builder.leaves += 1
        factor = variable if power == 1 else builder.make(aten.pow.Tensor_Scalar, variable, power)
        one = not isinstance(product, Variable) and product == 1
        product = factor if one else builder.make(aten.mul.Tensor, product, factor)
    return product


# ---------------------------------------------------------------------- sums


def _flat_sum(variable: Variable, factor: Any, terms: Terms, root: Apply, through_shared: bool, counted: bool) -> bool:
    """Take a term with all its own terms in; False if it is of another dtype, so that nothing can be said."""
    owner = variable.owner
    number = number_of(variable)
    if number is not None:
        terms.numbers += counted
        terms.number += factor * number
        return True
    if variable.tensor_type.dtype != root.outputs[0].tensor_type.dtype:
        return False
    inner = _inside(variable, root, through_shared, terms)
    parts = list(_summands(owner, factor)) if inner is not None and owner is not None else []
    if not parts or owner is None:
        terms.add(variable, factor)
        return True
    counted = counted and bool(inner)
    terms.operators += counted
    terms.inverses += counted and owner.op.target in INVERSES
    terms.numbers += counted and owner.op.target is aten.mul.Tensor
    return all(_flat_sum(part, f, terms, root, through_shared, counted) for part, f in parts)


def _summands(owner: Apply, factor: Any) -> Iterator[tuple[Variable, Any]]:
    """The inputs of a sum, difference or multiple with their factors; nothing for another operator."""
    target, inputs = owner.op.target, owner.inputs
    if target in (aten.add.Tensor, aten.sub.Tensor):
        alpha = owner.op["alpha"]
        yield inputs[0], factor
        yield inputs[1], factor * (alpha if target is aten.add.Tensor else -alpha)
    elif target is aten.neg.default:
        yield inputs[0], -factor
    elif target is aten.mul.Tensor:
        for number, other in ((inputs[0], inputs[1]), (inputs[1], inputs[0])):
            value = number_of(number)
            if value is not None and shape_of(other) == shape_of(owner.outputs[0]):
                yield other, factor * value
                return


def _built_sum(terms: Terms, builder: Builder) -> Any:
    """The sum written out; None if its number is not finite."""
    if not _is_finite(terms.number) or not all(map(_is_finite, terms.counts.values())):
        return None
    kept = [(v, factor) for v, factor in terms.counts.items() if factor]
    ordered = [*(t for t in kept if not _is_below(t[1])), *(t for t in kept if _is_below(t[1]))]
    total: Any = None
    number = terms.number
    for variable, factor in ordered:
        builder.leaves += 1
        size = -factor if _is_below(factor) else factor
        term = variable if size == 1 else builder.make(aten.mul.Tensor, variable, size)
        if total is not None:
            total = builder.make(aten.sub.Tensor if _is_below(factor) else aten.add.Tensor, total, term)
        elif not _is_below(factor):
            total = term
        elif number:
            total, number = builder.make(aten.sub.Tensor, number, term), 0
        elif size == 1:
            total = builder.make(aten.neg.default, term)
        else:
            total = builder.make(aten.mul.Tensor, variable, factor)
            builder.operators -= 1  # instead of the multiple that was made
            builder.numbers -= 1
    if total is None:
        return number
    return builder.make(aten.add.Tensor, total, number) if number else total


# ---------------------------------------------------------------------- helpers


def _inside(variable: Variable, root: Apply, through_shared: bool, terms: Terms) -> bool | None:
    """Whether the owner of a variable goes if the root does; None if it is not to be looked into."""
    owner = variable.owner
    if owner is None or terms.leaves > MOST_TERMS:
        return None
    if owner is root:
        return True
    once = read_once(variable)
    return once if once or through_shared else None


def _is_finite(number: Any) -> bool:
    if isinstance(number, complex):
        return isfinite(number.real) and isfinite(number.imag)
    return isfinite(number)


def _is_below(number: Any) -> bool:
    return not isinstance(number, complex) and number < 0
