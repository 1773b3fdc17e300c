"""Reductions: of reductions, over axes of size 1, of stacked tensors, and of multiples.

This holds for real numbers: sums may be added in another order. Reductions are exchanged with what is below them only
if nothing else uses that, so that no work is done twice.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from explorer.tensor.facts import (
    axes_of,
    gradient_on_ties,
    have_dtype_of,
    is_floating,
    is_nonnegative,
    is_real,
    number_of,
    read_once,
    replace_with,
    reshape,
    shape_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical, special

SUM = (aten.sum.dim_IntList, aten.sum.default)
MEAN = (aten.mean.dim, aten.mean.default)
PROD = (aten.prod.dim_int, aten.prod.default)
EXTREMA = (aten.amax.default, aten.amin.default)
REDUCTIONS = (*SUM, *MEAN, *PROD, *EXTREMA)

FLOAT16 = "float16 ends at 65504: the sum may overflow before it is multiplied"


def reduced_axes(node: Apply) -> tuple[int, ...]:
    """Return the axes that a reduction reduces, counted from the front."""
    return axes_of(node.op.attributes.get("dim"), len(shape_of(node.inputs[0])))


def reduce(like: Apply, source: Variable, axes: Sequence[int], keepdim: bool = False) -> Variable:
    """Reduce some axes of a tensor as a reduction does, with the same dtype of the result; no axes are none."""
    if not axes:
        return source
    dtype = like.outputs[0].tensor_type.dtype
    if like.op.packet in (aten.amax, aten.amin):
        return call(like.op.target, source, list(axes), keepdim)
    if like.op.packet is aten.prod:
        return _product(source, axes, keepdim, dtype)
    target = aten.sum.dim_IntList if like.op.packet is aten.sum else aten.mean.dim
    return call(target, source, list(axes), keepdim, dtype=_other_dtype(source, dtype))


def _other_dtype(source: Variable, dtype: torch.dtype) -> torch.dtype | None:
    """Return the dtype that a sum must be told to compute in; None if it is that of its input."""
    return None if source.tensor_type.dtype is dtype and is_floating(source) else dtype


def _product(source: Variable, axes: Sequence[int], keepdim: bool, dtype: torch.dtype) -> Variable:
    """Multiply along consecutive axes, which are merged into one: a product has one axis."""
    shape, first, last = shape_of(source), axes[0], axes[-1]
    merged = reshape(source, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))
    made = call(aten.prod.dim_int, merged, first, dtype=_other_dtype(source, dtype))
    return reshape(made, [1 if i in axes else size for i, size in enumerate(shape)]) if keepdim else made


@canonical.rule(REDUCTIONS, above=REDUCTIONS)
def merge_reductions(node: Apply, above: Apply) -> Rewrite:
    """A sum of a sum is one sum over the axes of both; so is a mean, a product, a maximum and a minimum."""
    if node.op.packet is not above.op.packet:
        return False
    source = above.inputs[0]
    if not read_once(node.inputs[0]):
        return Declined("the inner one has other users", above)
    if not have_dtype_of(node.outputs[0], above.outputs[0]):
        return Declined("the two have different dtypes", above)
    if node.op.target in EXTREMA and (trained := gradient_on_ties(node)) is not None:
        return trained
    inner, rank = reduced_axes(above), len(shape_of(source))
    kept = list(range(rank)) if above.op.attributes.get("keepdim") else [i for i in range(rank) if i not in inner]
    axes = sorted({*inner, *(kept[axis] for axis in reduced_axes(node))})
    if node.op.packet is aten.prod and axes and axes != list(range(axes[0], axes[-1] + 1)):
        return Declined("a product is along one axis, and these cannot be merged into one", above)
    return replace_with(node, reshape(reduce(node, source, axes), shape_of(node.outputs[0])))


@canonical.rule(REDUCTIONS)
def reduction_of_one(node: Apply) -> Rewrite:
    """A reduction over axes of size 1 is a reshape, except that a sum of -0 is 0."""
    source = node.inputs[0]
    if not have_dtype_of(node.outputs[0], source) or any(shape_of(source)[axis] != 1 for axis in reduced_axes(node)):
        return False
    return without_copy(node, reshape(source, shape_of(node.outputs[0])), rounding=True)


@canonical.rule([aten.amax.default, aten.amin.default], above=[aten.neg.default])
def extremum_of_negative(node: Apply, above: Apply) -> Rewrite:
    """The maximum of -x is minus the minimum of x."""
    if not is_real(node.outputs[0]):
        return Declined("the least integer has no negative", above)
    if not read_once(node.inputs[0]):
        return Declined("the negative is used elsewhere too", above)
    target = aten.amin.default if node.op.target is aten.amax.default else aten.amax.default
    return replace_with(node, call(aten.neg.default, call(target, above.inputs[0], node.op["dim"], node.op["keepdim"])))


PAIRS = {
    aten.sum.dim_IntList: aten.add.Tensor,
    aten.amax.default: aten.maximum.default,
    aten.amin.default: aten.minimum.default,
}


@canonical.rule(tuple(PAIRS), above=[aten.stack.default])
def reduction_of_pair(node: Apply, above: Apply) -> Rewrite:
    """The sum of two stacked tensors is x + y, and their maximum is maximum(x, y)."""
    if len(above.inputs) != 2 or reduced_axes(node) != axes_of(above.op["dim"], len(shape_of(node.inputs[0]))):
        return False
    if not have_dtype_of(node.outputs[0], *above.inputs):
        return Declined("the sum has another dtype than its terms", above)
    made = call(PAIRS[node.op.target], *above.inputs)
    return replace_with(node, reshape(made, shape_of(node.outputs[0])))


@canonical.rule([aten.log.default], above=PROD)
def log_of_product(node: Apply, above: Apply) -> Rewrite:
    """log(prod(x)) is sum(log(x)) where x is not negative: the product may overflow or underflow."""
    source = above.inputs[0]
    if not have_dtype_of(node.outputs[0], source):
        return Declined("the product has another dtype than its factors", above)
    if not is_nonnegative(source):
        return Declined("a factor may be negative, and its log NaN", above)
    keep = bool(above.op.attributes.get("keepdim", False))
    axes = reduced_axes(above)
    if not axes:
        return False
    return replace_with(node, call(aten.sum.dim_IntList, call(aten.log.default, source), list(axes), keep))


# ---------------------------------------------------------------------- multiples


@special.rule(SUM, above=[aten.mul.Tensor, aten.div.Tensor])
def factor_out_of_sum(node: Apply, above: Apply) -> Rewrite:
    """The sum of multiples, sum(k * x) or sum(x / k), is the multiple of the sum: k is used once per result."""
    if not is_floating(node.outputs[0]) or not read_once(node.inputs[0]):
        return False
    axes, product = reduced_axes(node), node.inputs[0]
    if shape_of(node.outputs[0]) == shape_of(product) or product.tensor_type.size <= node.outputs[0].tensor_type.size:
        return False
    orders = (above.inputs, above.inputs[::-1]) if above.op.target is aten.mul.Tensor else (above.inputs,)
    for rest, factor in orders:
        if not _is_constant_along(factor, axes, len(shape_of(product))):
            continue
        if len(shape_of(rest)) != len(shape_of(product)) or number_of(rest) is not None:
            continue
        if node.outputs[0].tensor_type.dtype is torch.float16:
            return Declined(FLOAT16, above)
        if not have_dtype_of(node.outputs[0], product, rest):
            return Declined("the dtypes differ", above)
        total = call(aten.sum.dim_IntList, rest, list(axes), True)
        return _multiple(node, call(above.op.target, total, factor))
    return False


@special.rule(SUM, above=[aten.neg.default])
def negative_out_of_sum(node: Apply, above: Apply) -> Rewrite:
    """The sum of -x is minus the sum of x."""
    if not is_floating(node.outputs[0]) or not read_once(node.inputs[0]):
        return False
    if not have_dtype_of(node.outputs[0], above.inputs[0]):
        return Declined("the dtypes differ", above)
    if node.inputs[0].tensor_type.size <= node.outputs[0].tensor_type.size:
        return False
    keep = bool(node.op.attributes.get("keepdim", False))
    total: Any = call(aten.sum.dim_IntList, above.inputs[0], list(reduced_axes(node)), keep)
    return replace_with(node, call(aten.neg.default, total))


def _multiple(node: Apply, made: Variable) -> Rewrite:
    """Return the multiple of a sum, which kept its axes, in the shape of the result."""
    if made.tensor_type.size != node.outputs[0].tensor_type.size:
        return False
    return replace_with(node, reshape(made, shape_of(node.outputs[0])))


def _is_constant_along(variable: Variable, axes: Sequence[int], rank: int) -> bool:
    """Return whether a variable that is broadcast to a number of axes is constant along some of them."""
    missing = rank - len(shape_of(variable))
    return all(axis < missing or shape_of(variable)[axis - missing] == 1 for axis in axes)
