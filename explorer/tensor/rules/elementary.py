"""Replace rare operators by elementary ones; remove no-ops and repeated operators."""

from math import copysign

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import full_like, have_dtype_of, is_short, number_of, owned_by, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT

RENAMED = {
    aten.multiply.Tensor: aten.mul.Tensor,
    aten.divide.Tensor: aten.div.Tensor,
    aten.true_divide.Tensor: aten.div.Tensor,
    aten.subtract.Tensor: aten.sub.Tensor,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.div.Scalar: aten.div.Tensor,
    aten.add.Scalar: aten.add.Tensor,
    aten.sub.Scalar: aten.sub.Tensor,
    aten.multiply.Scalar: aten.mul.Tensor,
    aten.divide.Scalar: aten.div.Tensor,
    aten.true_divide.Scalar: aten.div.Tensor,
    aten.negative.default: aten.neg.default,
    aten.absolute.default: aten.abs.default,
    aten.__and__.Tensor: aten.bitwise_and.Tensor,
    aten.__or__.Tensor: aten.bitwise_or.Tensor,
    aten.clip.default: aten.clamp.default,
    aten.max.other: aten.maximum.default,
    aten.min.other: aten.minimum.default,
}
"""Overloads that are aliases of another one, or accept a number where the other accepts a tensor."""


@canonical.rule(tuple(RENAMED), exactness=EXACT)
def to_one_name(node: Apply) -> Rewrite:
    """Replace aliases by the first name, and numbers by constants."""
    values = node.op.bind(node.inputs)
    return replace_with(node, call(RENAMED[node.op.target], **values))


@canonical.rule([aten.rsub.Scalar, aten.rsub.Tensor], exactness=EXACT)
def rsub_to_sub(node: Apply) -> Rewrite:
    """rsub(x, y) is sub(y, x)."""
    values = node.op.bind(node.inputs)
    alpha = values["alpha"]
    made = call(aten.sub.Tensor, values["other"], values["self"], alpha=alpha)
    return replace_with(node, made)


@canonical.rule([aten.square.default], exactness=EXACT)
def square_to_pow(node: Apply) -> Rewrite:
    """square(x) is x ** 2, as PyTorch computes it."""
    return replace_with(node, call(aten.pow.Tensor_Scalar, node.inputs[0], 2))


ROUNDED_FIRST = "the product would be rounded to 16 bits before the sum; now both are computed in 32"


@canonical.rule([aten.add.Tensor, aten.sub.Tensor])
def alpha_to_mul(node: Apply) -> Rewrite:
    """add(x, y, alpha=a) is x + a * y."""
    alpha = node.op["alpha"]
    if alpha == 1:
        return False
    if not have_dtype_of(node.outputs[0], node.inputs[1]):
        return Declined("the multiple would be computed in another dtype than the sum")
    if is_short(node.outputs[0]):
        return Declined(ROUNDED_FIRST)
    scaled = call(aten.mul.Tensor, node.inputs[1], alpha)
    return replace_with(node, call(node.op.target, node.inputs[0], scaled))


@canonical.rule([aten.addcmul.default, aten.addcdiv.default])
def addcmul_to_add(node: Apply) -> Rewrite:
    """addcmul(x, y, z) is x + y * z, and addcdiv the same with a quotient."""
    target = aten.mul.Tensor if node.op.target is aten.addcmul.default else aten.div.Tensor
    start, first, second = node.inputs
    if not have_dtype_of(node.outputs[0], first, second):
        return Declined("the product would be computed in another dtype than the sum")
    if is_short(node.outputs[0]):
        return Declined(ROUNDED_FIRST)
    product = call(target, first, second)
    if node.op["value"] != 1:
        product = call(aten.mul.Tensor, product, node.op["value"])
    return replace_with(node, call(aten.add.Tensor, start, product))


@canonical.rule([aten.matmul.default], exactness=EXACT)
def matmul_to_mm(node: Apply) -> Rewrite:
    """A product of two matrices is mm, a batch of them bmm."""
    left, right = (shape_of(v) for v in node.inputs)
    if len(left) == len(right) == 2:
        return replace_with(node, call(aten.mm.default, *node.inputs))
    if len(left) == len(right) == 3 and left[0] == right[0]:
        return replace_with(node, call(aten.bmm.default, *node.inputs))
    return False


@canonical.rule(overloads("relu abs floor ceil round sign"), exactness=EXACT)
def drop_second_time(node: Apply) -> Rewrite:
    """relu, abs, floor, ceil, round and sign are idempotent."""
    below = owned_by(node.inputs[0], node.op.target)
    return replace_with(node, node.inputs[0]) if below is not None else False


@canonical.rule([aten.neg.default, aten.logical_not.default, aten.bitwise_not.default], exactness=EXACT)
def drop_two_negations(node: Apply) -> Rewrite:
    """A double negation is a no-op."""
    below = owned_by(node.inputs[0], node.op.target)
    return replace_with(node, below.inputs[0]) if below is not None else False


@canonical.rule([aten.pow.Tensor_Scalar], exactness=EXACT)
def drop_first_power(node: Apply) -> Rewrite:
    """Trivial powers: x ** 1 is x, and x ** 0 is 1 for every x."""
    exponent = node.op["exponent"]
    if exponent == 0:
        return replace_with(node, full_like(node.outputs[0], 1))
    return replace_with(node, node.inputs[0]) if exponent == 1 else False


@canonical.rule(
    [aten.bitwise_and.Tensor, aten.logical_and.default, aten.bitwise_or.Tensor, aten.logical_or.default],
    exactness=EXACT,
)
def drop_known_truth(node: Apply) -> Rewrite:
    """`and` with true and `or` with false are the other input; `and` with false is false, `or` with true is true."""
    for known, other in (node.inputs, node.inputs[::-1]):
        value = number_of(known)
        if not isinstance(value, bool) or other.tensor_type.dtype is not torch.bool:
            continue  # among integers, true is 1
        if value is not node.op.name.endswith("_or"):
            return replace_with(node, other)
        return replace_with(node, full_like(node.outputs[0], value))
    return False


def is_positive_zero(variable: Variable) -> bool:
    """Return whether a zero is not -0."""
    return copysign(1, complex(number_of(variable)).real) > 0


POSITIVE_ZERO = {"pattern": 0, "constraint": is_positive_zero}

canonical.pattern("add_0", (aten.add.Tensor, "x", 0), "x", "x + 0 is x (but -0 + 0 is 0).")
canonical.pattern("sub_0", (aten.sub.Tensor, "x", POSITIVE_ZERO), "x", "x - 0 is x.", exactness=EXACT)
canonical.pattern("mul_1", (aten.mul.Tensor, "x", 1), "x", "x * 1 is x.", exactness=EXACT)
canonical.pattern("div_1", (aten.div.Tensor, "x", 1), "x", "x / 1 is x.", exactness=EXACT)
