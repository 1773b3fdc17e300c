"""Fuse operators so that memory is read and written once (products with sums, sums of slices), or overwrite an input.

Rounding may differ, because a fused operator rounds once. The destroy handler decides whether an input may be
overwritten; refused rewrites are reverted with the reason.
"""

from cmath import isfinite
from functools import cache

import torch
from torch._ops import OpOverload

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    have_dtype_of,
    holds,
    is_floating,
    is_real,
    number_of,
    owned_by,
    read_once,
    replace_with,
    shape_of,
)
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting import LocalRewriter
from explorer.tensor.rewriting.patterns import is_commutative
from explorer.tensor.rules.families import overwriting, special

EXACT = Exactness.EXACT
MIN_SLICES = 3


@special.rule([aten.pow.Tensor_Scalar])
def pow_to_mul(node: Apply) -> Rewrite:
    """Squares, x ** 2, are x * x; x ** 0.5 and x ** -0.5 are a root and one over it; x ** -1 is one over x."""
    if not is_floating(node.inputs[0]):
        return False
    source, exponent = node.inputs[0], node.op["exponent"]
    if exponent == 2:
        return replace_with(node, call(aten.mul.Tensor, source, source))
    target = {0.5: aten.sqrt.default, -0.5: aten.rsqrt.default, -1: aten.reciprocal.default}.get(exponent)
    return replace_with(node, call(target, source)) if target is not None else False


special.pattern(
    "one_over_sqrt",
    (aten.reciprocal.default, (aten.sqrt.default, "x")),
    (aten.rsqrt.default, "x"),
    "1 / sqrt(x) is rsqrt(x): one operator instead of two.",
)
special.pattern(
    "div_by_sqrt",
    (aten.div.Tensor, "x", (aten.sqrt.default, "y")),
    (aten.mul.Tensor, "x", (aten.rsqrt.default, "y")),
    "x / sqrt(y) is x * rsqrt(y): a product is faster than a division.",
)
special.pattern(
    "mul_by_sigmoid",
    (aten.mul.Tensor, {"pattern": "x", "constraint": is_real}, (aten.sigmoid.default, "x")),
    (aten.silu.default, "x"),
    "x * sigmoid(x) is silu(x): one operator instead of two.",
)


@special.rule([aten.mul.Tensor, aten.div.Tensor])
def mul_of_exps(node: Apply) -> Rewrite:
    """exp(x) * exp(y) is exp(x + y), and exp(x) / exp(y) is exp(x - y): one exp instead of two."""
    powers = [_inner(source, node, aten.exp.default) for source in node.inputs]
    left, right = powers
    if left is None or right is None or left is right:
        return False
    shape = shape_of(node.outputs[0])
    if any(shape_of(source) != shape for source in node.inputs):
        return Declined("one factor is broadcast, and the sum would not be")
    if not have_dtype_of(node.outputs[0], *left.inputs, *right.inputs):
        return Declined("the dtypes differ")
    target = aten.add.Tensor if node.op.target is aten.mul.Tensor else aten.sub.Tensor
    total = call(target, left.inputs[0], right.inputs[0])
    return replace_with(node, call(aten.exp.default, total))


@special.rule([aten.add.Tensor, aten.sub.Tensor])
def mul_into_alpha(node: Apply) -> Rewrite:
    """Fuse x + y * a with a number a into add(x, y, alpha=a)."""
    if node.op["alpha"] != 1 or not is_floating(node.outputs[0]):
        return False
    orders = (node.inputs, node.inputs[::-1]) if node.op.name == "add" else (node.inputs,)
    for start, product in orders:
        found = _inner(product, node, aten.mul.Tensor)
        if found is None:
            continue
        for number, other in (found.inputs, found.inputs[::-1]):
            value = number_of(number)
            if value is not None and shape_of(other) == shape_of(product) and number_of(start) is None:
                if not have_dtype_of(node.outputs[0], product, other):
                    return Declined("the dtypes differ", found)
                if not isfinite(value) or not holds(node.outputs[0].tensor_type.dtype, value):
                    return Declined(f"a sum cannot have the factor {value}", found)
                return replace_with(node, call(node.op.target, start, other, alpha=value))
    return False


@special.rule([aten.add.Tensor])
def add_of_product(node: Apply) -> Rewrite:
    """Fuse x + y * z into addcmul(x, y, z), and x + y / z into addcdiv(x, y, z)."""
    if node.op["alpha"] != 1 or not is_floating(node.outputs[0]):
        return False
    for product, start in (node.inputs[::-1], node.inputs):
        found = _inner(product, node, aten.mul.Tensor, aten.div.Tensor)
        if found is None or any(number_of(v) is not None for v in (start, *found.inputs)):
            continue
        if not have_dtype_of(node.outputs[0], start, *found.inputs):
            return Declined("the dtypes differ", found)
        target = aten.addcmul.default if found.op.name == "mul" else aten.addcdiv.default
        return replace_with(node, call(target, start, *found.inputs))
    return False


@special.rule([aten.add.Tensor])
def add_to_matmul(node: Apply) -> Rewrite:
    """Fuse x + a @ b into addmm(x, a, b), or baddbmm for batches."""
    if node.op["alpha"] != 1 or not is_floating(node.outputs[0]):
        return False
    for product, start in (node.inputs, node.inputs[::-1]):
        found = _inner(product, node, aten.mm.default, aten.bmm.default)
        if found is None:
            continue
        if shape_of(product) != shape_of(node.outputs[0]):
            return Declined("the summand is larger than the product", found)
        if start.tensor_type.dtype != product.tensor_type.dtype:
            return Declined("the dtypes differ", found)
        target = aten.addmm.default if found.op.name == "mm" else aten.baddbmm.default
        return replace_with(node, call(target, start, *found.inputs))
    return False


@special.rule([aten.add.Tensor])
def add_to_linear(node: Apply) -> Rewrite:
    """linear(x, w) + b is linear(x, w, b)."""
    if node.op["alpha"] != 1:
        return False
    for product, bias in (node.inputs, node.inputs[::-1]):
        found = _inner(product, node, aten.linear.default)
        if found is None or found.input_of("bias") is not None:
            continue
        if shape_of(bias) != shape_of(found.inputs[1])[:1]:
            return Declined("the summand does not have one number per output", found)
        if not have_dtype_of(node.outputs[0], bias, *found.inputs):
            return Declined("the dtypes differ", found)
        return replace_with(node, call(aten.linear.default, *found.inputs, bias))
    return False


@special.rule([aten.add.Tensor])
def sum_of_slices(node: Apply) -> Rewrite:
    """The sum of all slices of a tensor along an axis is its sum over that axis."""
    if any(client is not None and client.op.target is aten.add.Tensor for client, _ in node.outputs[0].clients):
        return False  # the top of the chain handles all its terms
    if not is_floating(node.outputs[0]):
        return False
    terms = _terms_of(node)
    if len(terms) < MIN_SLICES:
        return False
    slices = [owned_by(term, aten.select.int) for term in terms]
    first = slices[0]
    if first is None:
        return False
    source = first.inputs[0]
    rank = len(shape_of(source))
    dim = first.op["dim"] % rank
    rows: list[int] = []
    for part in slices:
        if part is None or part.inputs[0] is not source or part.op["dim"] % rank != dim:
            return Declined("a term is not a slice of the same tensor along the same axis", part)
        rows.append(part.op["index"] % shape_of(source)[dim])
    if sorted(rows) != list(range(shape_of(source)[dim])):
        return Declined(f"the slices are {sorted(rows)} of {shape_of(source)[dim]}")
    return replace_with(node, call(aten.sum.dim_IntList, source, [dim]))


def _terms_of(root: Apply) -> list[Variable]:
    """Return the terms of a chain of additions, from left to right; empty if one of them has an alpha."""
    terms: list[Variable] = []
    waiting = [root.outputs[0]]
    while waiting:
        variable = waiting.pop()
        inner = root if variable is root.outputs[0] else _inner(variable, root, aten.add.Tensor)
        if inner is None:
            terms.append(variable)
        elif inner.op["alpha"] != 1:
            return []
        else:
            waiting.extend(reversed(inner.inputs))
    return terms


def _inner(variable: Variable, root: Apply, *targets: object) -> Apply | None:
    """Return the owner of a variable if it is one of these operators and only the root uses it."""
    owner = owned_by(variable, *targets)
    return owner if owner is not None and owner is not root and read_once(variable) else None


class WriteOverInput(LocalRewriter):
    """An elementwise operator overwrites its first input, or with `second` the second input of a sum or product."""

    exactness = Exactness.EXACT
    reentrant = False

    def __init__(self, second: bool = False) -> None:
        self.second = second
        self.name = "write_over_second_input" if second else "write_over_input"

    def requirements(self) -> list[DestroyHandler]:
        return [DestroyHandler()]

    def transform(self, node: Apply) -> Rewrite:
        target = inplace_overload(node.op.target)
        if target is None or not node.inputs or len(node.outputs) != 1:
            return False
        if self.second and not (len(node.inputs) == 2 and is_commutative(node.op)):
            return False
        inputs = node.inputs[::-1] if self.second else node.inputs
        goal = inputs[0]
        if goal.owner is None:
            what = "a constant" if isinstance(goal, Constant) else "an input"
            return Declined(f"{goal.name or 'its input'} is {what} of the graph")
        if goal.type != node.outputs[0].type:
            return Declined(f"a {node.outputs[0].type} cannot overwrite a {goal.type}", goal.owner)
        return apply_op(Op(target, node.op.arguments), inputs).outputs


@cache
def inplace_overload(target: OpOverload) -> OpOverload | None:
    """Return the in-place overload of an elementwise operator, which overwrites its first argument; or None."""
    schema = target._schema
    if torch.Tag.pointwise not in target.tags or schema.is_mutable or schema.name.endswith("_"):
        return None
    namespace, _, name = schema.name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), f"{name}_", None)
    if packet is None or target._overloadname not in packet.overloads():
        return None
    found: OpOverload = getattr(packet, target._overloadname)
    arguments = found._schema.arguments
    same = [(a.name, str(a.type)) for a in arguments] == [(a.name, str(a.type)) for a in schema.arguments]
    writes = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    first = arguments[0].name if arguments else ""
    return found if same and writes == [first] and str(arguments[0].type) == "Tensor" else None


overwriting.add(WriteOverInput())
overwriting.add(WriteOverInput(second=True))
