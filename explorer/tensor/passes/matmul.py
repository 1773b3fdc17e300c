"""Merge matrix products with a common factor; fold sums after them and transposes before them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Literal

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    RESHAPES,
    constant_like,
    inverse,
    known_tensor,
    only_user,
    owned_by,
    permutation_of,
    read_once,
    replace_with,
    reshape,
    shape_of,
)
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.concat import concat
from explorer.tensor.rewriting import Profile, Rewriter

PLAIN = (aten.mm.default, aten.matmul.default, aten.bmm.default)
PRODUCTS = (*PLAIN, aten.linear.default, aten.addmm.default)
Side = Literal["lhs", "rhs"]
SIDES: dict[Side, str] = {"lhs": "left", "rhs": "right"}


@dataclass(frozen=True, slots=True)
class _Merge:
    """A product that can be merged: its parts that all products share, and the factors to concatenate."""

    shared: tuple[Any, ...]
    factors: tuple[tuple[str, Variable, int], ...]
    """Argument, variable and axis of each concatenated factor."""
    axis: int
    """The axis along which the result is split."""


def _merge_of(node: Apply, side: Side) -> _Merge | None:
    """Plan the merge of a product with others that share the factor on one side; None if it cannot be merged."""
    target = node.op.target
    if any(not isinstance(v.type, TensorType) for v in node.inputs):
        return None
    result = len(shape_of(node.outputs[0]))
    if target in PLAIN:
        names = [argument.name for argument in target._schema.arguments]
        left, right = node.inputs
        if min(len(shape_of(left)), len(shape_of(right))) < 2:
            return None
        if side == "lhs":
            return _Merge((node.op, left), ((names[1], right, len(shape_of(right)) - 1),), result - 1)
        if len(shape_of(left)) < len(shape_of(right)):
            return None
        return _Merge((node.op, right), ((names[0], left, len(shape_of(left)) - 2),), result - 2)
    if target is aten.linear.default:
        x, weight, bias = node.inputs[0], node.inputs[1], node.input_of("bias")
        if len(shape_of(x)) < 2 or len(shape_of(weight)) != 2:
            return None
        if side == "lhs":
            parts = (("weight", weight, 0), *((("bias", bias, 0),) if bias is not None else ()))
            return _Merge((node.op, x), parts, result - 1)
        return _Merge((node.op, weight, bias), (("input", x, 0),), 0)
    if target is aten.addmm.default:
        bias, left, right = node.inputs
        if shape_of(bias) != shape_of(right)[1:] or node.op["beta"] != 1 or node.op["alpha"] != 1:
            return None
        if side == "lhs":
            return _Merge((node.op, left), (("self", bias, 0), ("mat2", right, 1)), 1)
        return _Merge((node.op, bias, right), (("mat1", left, 0),), 0)
    return None


class MergeMatMul(Rewriter):
    """Merges products that share their left (or right) factor: concatenates the other factors and splits the result.

    Products that depend on each other are never merged.
    """

    def __init__(self, side: Side) -> None:
        self.side: Side = side
        self.name = f"merge products with the same {SIDES[side]} factor"

    def apply(self, graph: FunctionGraph) -> Profile:
        profile = Profile()
        groups: dict[Any, list[Apply]] = {}
        for node in graph.toposort():
            if node.op.target not in PRODUCTS:
                continue
            found = _merge_of(node, self.side)
            if found is None:
                self.decline(graph, node, "its shapes or settings do not allow merging it")
                continue
            profile.rule(self.label).tried += 1
            kinds = [(v.tensor_type.dtype, shape_of(v)[:axis], shape_of(v)[axis + 1 :]) for _, v, axis in found.factors]
            groups.setdefault((found.shared, tuple(kinds)), []).append(node)
        for nodes in groups.values():
            present = [node for node in nodes if node in graph.nodes]
            members = _independent(graph, present)
            self._report_left_out(graph, present, members)
            if len(members) > 1:
                profile.rule(self.label).matched += 1
                profile.rule(self.label).applied += self._merge(graph, members)
        return profile

    def _report_left_out(self, graph: FunctionGraph, nodes: Sequence[Apply], members: Sequence[Apply]) -> None:
        """Record why products with a common factor are not merged."""
        if len(nodes) == 1:
            self.decline(graph, nodes[0], "no other product shares a factor with it and fits")
        merged = set(members)
        for node in nodes:
            if node not in merged:
                self.decline(graph, node, "it depends on another product with the same factor")

    def _merge(self, graph: FunctionGraph, members: Sequence[Apply]) -> int:
        ways = [way for node in members if (way := _merge_of(node, self.side)) is not None]
        first = members[0]
        given = first.op.bind(first.inputs)
        for i, (name, _, axis) in enumerate(ways[0].factors):
            given[name] = _concat_or_evaluate([way.factors[i][1] for way in ways], axis)
        product = call(first.op.target, **given, location=first.location)
        axis = ways[0].axis
        sizes = [shape_of(node.outputs[0])[axis] for node in members]
        pieces = call(aten.split_with_sizes.default, product, sizes, axis)
        pairs = list(zip([node.outputs[0] for node in members], pieces, strict=True))
        return int(self.replace_all(graph, pairs, members))


def _independent(graph: FunctionGraph, nodes: Sequence[Apply]) -> list[Apply]:
    """Select nodes that do not depend on each other, in topological order.

    The users of each selected node are marked, up to the last of the nodes, and none is marked twice.
    """
    kept: list[Apply] = []
    needing: set[Apply] = set()
    ordered = graph.order.sort(nodes)
    last = graph.order.label(ordered[-1]) if ordered else 0.0
    for node in ordered:
        if node in needing:
            continue
        kept.append(node)
        waiting = [node]
        while waiting:
            users = [user for user in graph.users(waiting.pop()) if user not in needing]
            near = [user for user in users if graph.order.label(user) <= last]
            needing.update(near)
            waiting.extend(near)
    return kept


def _concat_or_evaluate(variables: Sequence[Variable], axis: int) -> Variable:
    known = [known_tensor(v) for v in variables]
    data = [part for part in known if part is not None]
    if len(data) == len(variables):
        return Constant(torch.cat(data, axis))
    return concat(variables, axis)


for _side in SIDES:
    passes.new(f"MergeMatMulOn{_side.upper()}", whole=partial(MergeMatMul, _side), exactness=Exactness.REAL)


into_linear = passes.new("FoldMatMulAddIntoFullyConnected")


@into_linear.rule([aten.add.Tensor])
def add_into_linear(node: Apply) -> Rewrite:
    """The sum x W + b, with one b per column, is linear(x, W^T, b), or addmm where W is trained."""
    if node.op["alpha"] != 1:
        return False
    for product, bias in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        below = owned_by(product, aten.mm.default, aten.matmul.default)
        if below is None or len(shape_of(below.inputs[1])) != 2 or len(shape_of(below.inputs[0])) < 2:
            continue
        if not read_once(product):
            return Declined("the product has other users", below)
        x, weight = below.inputs
        columns = shape_of(weight)[1]
        if prod(shape_of(bias)) != columns or shape_of(bias)[-1:] != (columns,) or bias.type == product.type:
            return Declined("the other summand does not have one number per column", node)
        if bias.tensor_type.dtype is not product.tensor_type.dtype:
            return Declined("the other summand has another type than the product", node)
        row = bias if len(shape_of(bias)) == 1 else _as_row(bias)
        data = known_tensor(weight)
        if data is not None:
            turned = constant_like(weight, data.t())
            return replace_with(node, call(aten.linear.default, x, turned, row, location=below.location))
        if len(shape_of(x)) == 2:
            return replace_with(node, call(aten.addmm.default, row, x, weight, location=below.location))
    return False


def _as_row(bias: Variable) -> Variable:
    data = known_tensor(bias)
    return reshape(bias, [-1]) if data is None else constant_like(bias, data.reshape(-1))


transpose_into = passes.new("MergeTransposeIntoMatMulOrFC")


@transpose_into.rule([aten.mm.default, aten.matmul.default, aten.linear.default, aten.addmm.default])
def transpose_into_weight(node: Apply) -> Rewrite:
    """reshape(T(x)) W is reshape(x) W', where the rows of W' are permuted to the order of the numbers in x."""
    location = 1 if node.op.target is aten.addmm.default else 0
    flat, weight = node.inputs[location], node.inputs[location + 1]
    flattening = owned_by(flat, *RESHAPES)
    order = permutation_of(flattening.inputs[0]) if flattening is not None else None
    turned = flattening.inputs[0].owner if flattening is not None else None
    if flattening is None or turned is None or order is None:
        return False
    data, shape = known_tensor(weight), shape_of(turned.outputs[0])
    if data is None or data.ndim != 2:
        return Declined("the other factor is not a constant matrix", node)
    if shape_of(flat) != (shape[0], prod(shape[1:])) or order[0] != 0:
        return Declined("the transpose moves the batch, or the reshape keeps more than the first axis", flattening)
    if only_user(flat) is not node or only_user(turned.outputs[0]) is not flattening:
        return Declined("the transposed tensor has other users", flattening)
    back = [axis - 1 for axis in inverse(order)[1:]]
    if node.op.target is aten.linear.default:
        rows = data.reshape(-1, *shape[1:]).permute(0, *(axis + 1 for axis in back)).reshape(data.shape)
    else:
        rows = data.reshape(*shape[1:], -1).permute(*back, len(back)).reshape(data.shape)
    inputs = list(node.inputs)
    inputs[location], inputs[location + 1] = reshape(turned.inputs[0], shape_of(flat)), constant_like(weight, rows)
    return replace_with(node, apply_op(node.op, inputs).outputs[0])
