"""Comparisons, choices and signs that are decided by their form: both sides are equal, or one has no effect."""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    full_like,
    gradient_on_ties,
    have_dtype_of,
    is_real,
    owned_by,
    read_once,
    replace_with,
    shape_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT

NEVER_OF_ITSELF = (aten.lt.Tensor, aten.gt.Tensor)
"""Comparisons that are false for equal numbers, and for NaN."""

ALWAYS_OF_ITSELF = (aten.eq.Tensor, aten.le.Tensor, aten.ge.Tensor)


@canonical.rule([*ALWAYS_OF_ITSELF, *NEVER_OF_ITSELF, aten.ne.Tensor], exactness=EXACT)
def compare_with_itself(node: Apply) -> Rewrite:
    """An integer equals itself; a float does not if it is NaN, but no number is less than itself."""
    left, right = node.inputs
    if left is not right:
        return False
    kind = left.tensor_type.dtype
    if node.op.target not in NEVER_OF_ITSELF and (kind.is_floating_point or kind.is_complex):
        return Declined("it tests for NaN")
    return replace_with(node, full_like(node.outputs[0], node.op.target in ALWAYS_OF_ITSELF))


SAME = (
    *(aten.maximum.default, aten.minimum.default, aten.fmax.default, aten.fmin.default),
    *(aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.logical_and.default, aten.logical_or.default),
)


@canonical.rule(SAME, exactness=EXACT)
def choose_from_equals(node: Apply) -> Rewrite:
    """The maximum of x and x is x, and so are `x and x` and `x or x`."""
    left, right = node.inputs
    return without_copy(node, left) if left is right and have_dtype_of(node.outputs[0], left) else False


@canonical.rule([aten.bitwise_xor.Tensor, aten.logical_xor.default], exactness=EXACT)
def exclude_itself(node: Apply) -> Rewrite:
    """`x xor x` is zero, or false."""
    left, right = node.inputs
    return replace_with(node, full_like(node.outputs[0], 0)) if left is right else False


@canonical.rule([aten.where.self], exactness=EXACT)
def choose_same(node: Apply) -> Rewrite:
    """A where with equal sides is that side."""
    left, right = node.input_of("self"), node.input_of("other")
    if left is None or left is not right or left.type != node.outputs[0].type:
        return False
    return without_copy(node, left)


# ---------------------------------------------------------------------- absolute values


@canonical.rule([aten.abs.default], above=[aten.neg.default], exactness=EXACT)
def abs_of_negative(node: Apply, above: Apply) -> Rewrite:
    """The absolute value of -x is that of x."""
    if above.inputs[0].tensor_type.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        return Declined("the negative of an unsigned integer is another positive one", above)
    return replace_with(node, call(aten.abs.default, above.inputs[0]))


@canonical.rule([aten.mul.Tensor, aten.div.Tensor], exactness=EXACT)
def product_of_abs(node: Apply) -> Rewrite:
    """A product of absolute values is the absolute value of the product, and so is a quotient."""
    left, right = (owned_by(v, aten.abs.default) for v in node.inputs)
    if left is None or right is None or left is right or not is_real(node.outputs[0]):
        return False
    if not have_dtype_of(node.outputs[0], *left.inputs, *right.inputs):
        return Declined("the dtypes differ")
    if not all(read_once(v) for v in node.inputs):
        return Declined("one of the absolute values has other users")
    if shape_of(node.inputs[0]) != shape_of(node.inputs[1]):
        return Declined("one of them is broadcast, so its absolute value has fewer numbers")
    return replace_with(node, call(aten.abs.default, call(node.op.target, left.inputs[0], right.inputs[0])))


@canonical.rule([aten.sqrt.default, aten.pow.Tensor_Scalar], above=[aten.pow.Tensor_Scalar, aten.mul.Tensor])
def root_of_square(node: Apply, above: Apply) -> Rewrite:
    """sqrt(x ** 2) is abs(x): the square may overflow or underflow."""
    if node.op.target is aten.pow.Tensor_Scalar and node.op["exponent"] != 0.5:
        return False
    source = _squared(above)
    if source is None or not is_real(source):
        return False
    return gradient_on_ties(node) or replace_with(node, call(aten.abs.default, source))


def _squared(node: Apply) -> Variable | None:
    """Return what a square is the square of."""
    if node.op.target is aten.mul.Tensor:
        return node.inputs[0] if node.inputs[0] is node.inputs[1] else None
    return node.inputs[0] if node.op["exponent"] == 2 else None
