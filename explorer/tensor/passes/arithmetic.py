"""Passes on arithmetic.

`OptimizeArithmeticNodes`: sums with 0, products with 0 and 1, constants to the right. `FoldLayerNormArithmetic`:
products and sums with constants after a layer norm become its weight and bias.
"""

from math import isfinite
from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    is_short,
    keeps_digits,
    known_tensor,
    owned_by,
    read_once,
    replace_with,
    rounds_exactly,
    splat,
    splat_number,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import PythonNumber, aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rewriting.patterns import is_commutative

arithmetic = passes.new("OptimizeArithmeticNodes")


@arithmetic.rule([aten.add.Tensor, aten.sub.Tensor])
def add_zero(node: Apply) -> Rewrite:
    """Adding 0 does nothing: x + 0, 0 + x and x - 0 are x, except for the sign of a zero."""
    left, right = node.inputs
    if splat_number(right) == 0 and left.type == node.outputs[0].type and _is_finite(node.op["alpha"]):
        return without_copy(node, left)
    if node.op.target is aten.add.Tensor and node.op["alpha"] == 1 and splat_number(left) == 0:
        return without_copy(node, right) if right.type == node.outputs[0].type else False
    return False


def _is_finite(number: Any) -> bool:
    return isinstance(number, int | float) and isfinite(number)


@arithmetic.rule([aten.mul.Tensor, aten.div.Tensor], exactness=Exactness.EXACT)
def multiply_by_one(node: Apply) -> Rewrite:
    """Multiplying a real number by 1 does nothing: x * 1, 1 * x and x / 1 are x.

    A complex product is a sum of products, which changes signs of zeros and infinities.
    """
    left, right = node.inputs
    if node.outputs[0].tensor_type.dtype.is_complex:
        return False
    if splat_number(right) == 1 and left.type == node.outputs[0].type:
        return without_copy(node, left)
    if node.op.target is aten.mul.Tensor and splat_number(left) == 1 and right.type == node.outputs[0].type:
        return without_copy(node, right)
    return False


@arithmetic.rule([aten.mul.Tensor, aten.div.Tensor])
def multiply_zero(node: Apply) -> Rewrite:
    """0 * x and 0 / x are 0, for finite x that are not 0 below the line."""
    left, right = node.inputs
    if splat_number(left) == 0 or (node.op.target is aten.mul.Tensor and splat_number(right) == 0):
        return [splat(node.outputs[0].tensor_type, 0, node.outputs[0])]
    return False


@arithmetic.rule([aten.pow.Tensor_Scalar])
def small_powers(node: Apply) -> Rewrite:
    """Small powers are elementary: x ** 1 is x, x ** 2 is x * x, x ** 0 is 1."""
    x, exponent = node.inputs[0], node.op["exponent"]
    if exponent == 1:
        return without_copy(node, x) if x.type == node.outputs[0].type else False
    if exponent == 2 and x.type == node.outputs[0].type:
        return replace_with(node, call(aten.mul.Tensor, x, x))
    return [splat(node.outputs[0].tensor_type, 1, node.outputs[0])] if exponent == 0 else False


@arithmetic.rule(
    [aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default], exactness=Exactness.EXACT
)
def constant_to_the_right(node: Apply) -> Rewrite:
    """Move a number to the right of a commutative operator, where other rules expect it."""
    left, right = node.inputs
    if not is_commutative(node.op) or _order_matters(node):
        return False
    if _is_number(left) and not _is_number(right):
        return replace_with(node, call(node.op.target, right, left))
    return False


def _order_matters(node: Apply) -> bool:
    """Return whether exchanging the inputs may change bits: in complex products, and in the maximum of 0 and -0.

    16-bit kernels round a Python number on the left to their dtype; on the right they use all its digits.
    """
    dtype = node.outputs[0].tensor_type.dtype
    if is_short(node.outputs[0]) and not rounds_exactly(dtype, splat_number(node.inputs[0])):
        return isinstance(node.inputs[0], Constant) and isinstance(node.inputs[0].data, PythonNumber)
    if node.op.target not in (aten.maximum.default, aten.minimum.default):
        return dtype.is_complex
    number, data = splat_number(node.inputs[0]), known_tensor(node.inputs[0])
    if number is None:
        return data is None or bool((data == 0).any())
    return number == 0


def _is_number(variable: Any) -> bool:
    return isinstance(variable, Constant) or splat_number(variable) is not None


layer_norm = passes.new("FoldLayerNormArithmetic")


@layer_norm.rule([aten.mul.Tensor, aten.add.Tensor])
def arithmetic_into_layer_norm(node: Apply) -> Rewrite:
    """layer_norm(x, w, b) * c is layer_norm(x, w c, b c); layer_norm(x, w, b) + c is layer_norm(x, w, b + c)."""
    for below, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        norm = owned_by(below, aten.layer_norm.default)
        if norm is None:
            continue
        if not read_once(below):
            return Declined("the layer norm has other users", norm)
        shape = tuple(norm.op["normalized_shape"])
        constant = known_tensor(other)
        if constant is None:
            return Declined("the other input is trained, or not a constant", node)
        extra = constant.ndim - len(shape)
        if below.type != node.outputs[0].type or any(size != 1 for size in constant.shape[: max(extra, 0)]):
            return Declined("the constant does not have the normalized shape", node)
        exact: dict[str, Any] = {"dtype": torch.float64, "device": below.device}
        number = constant.reshape(constant.shape[max(extra, 0) :]).to(**exact).expand(shape)
        kind = below.tensor_type.dtype
        old: dict[str, torch.Tensor] = {"weight": torch.ones(shape, **exact), "bias": torch.zeros(shape, **exact)}
        for name in old:
            variable = norm.input_of(name)
            data = known_tensor(variable)
            if variable is not None and data is None:
                return Declined(f"the {name} of the layer norm is trained", norm)
            old[name] = old[name] if data is None else data.to(torch.float64)
        scale, shift = _affine(node, other, number)
        new = {"weight": old["weight"] * scale, "bias": old["bias"] * scale + shift}
        if not (keeps_digits(kind, new["weight"], old["weight"], scale) and keeps_digits(kind, new["bias"])):
            return Declined(f"weight or bias would be too small or too large for {kind}", norm)
        given = norm.op.bind(norm.inputs)
        for name, data in new.items():
            label = given[name].name if isinstance(given[name], Constant) else ""
            given[name] = Constant(data.to(kind), label)
        return replace_with(node, call(norm.op.target, **given, location=norm.location))
    return False


def _affine(node: Apply, other: Variable, number: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scale and shift of a product or a sum: scale * layer_norm + shift."""
    one, zero = torch.ones_like(number), torch.zeros_like(number)
    if node.op.target is aten.mul.Tensor:
        return number, zero
    alpha = node.op["alpha"]
    return (one, alpha * number) if other is node.inputs[1] else (alpha * one, number)
