"""Passes that clean up, evaluate and open.

`DCE`, `EliminateIndices`, `EliminateNoop`, `OptimizeConversions`, `OptimizeRegression`; Theano's databases and rules
`Canonicalize`, `Stabilize`, `Specialize`, `CSE`, `ConstantFold`, `FoldExpSumDivIntoSoftmax`; `DecomposeLayers`.

A `FunctionGraph` contains only what its outputs need: applications and constants are removed with their last user,
inputs stay, and mutated buffers are outputs. This leaves unused results of operators that have several. Where dropping
one changes gradients and signs of zeros, it is a separate pass, for inference. A database is queried at every run, so
its pass includes rules that are registered later.
"""

from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from explorer.rewrite import Exactness, Query
from explorer.tensor.facts import gradient_on_ties, replace_unless_aliased, replace_with, without_copy
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.library import regression_op
from explorer.tensor.ir.ops import Op, apply_op, call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rewriting import EquilibriumDB, Rewriter, merge_rewriter
from explorer.tensor.rules import canonicalize, specialize, stabilize
from explorer.tensor.rules.casts import drop_same_cast, merge_casts
from explorer.tensor.rules.constants import evaluate_constant
from explorer.tensor.rules.exp_log import exp_over_sum
from explorer.tensor.rules.views import (
    drop_alias,
    drop_copy,
    drop_copy_before_sums,
    drop_dropout,
    drop_single_tile,
    drop_whole_slice,
)
from explorer.tensor.torch_io.importing import from_module
from explorer.tensor.torch_io.whole_layers import NAMESPACE, forward_layer

dce = passes.new("DCE")
indices = passes.new("EliminateIndices")


@dce.rule([aten.max_pool2d_with_indices.default], exactness=Exactness.EXACT)
def max_pool_without_indices(node: Apply) -> Rewrite:
    """Max pooling does not compute unused indices."""
    if node.outputs[1].clients:
        return False
    op = node.op
    given = [op[name] for name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")]
    return [call(aten.max_pool2d.default, node.inputs[0], *given), None]


@indices.rule([aten.max.dim, aten.min.dim])
def extremum_without_index(node: Apply) -> Rewrite:
    """The extremum along an axis without its unused index; of 0 and -0 it may return the other one.

    Among equal numbers, max passes the gradient to one of them, amax a part to each.
    """
    if node.outputs[1].clients or not node.inputs[0].tensor_type.shape:
        return False
    if (trained := gradient_on_ties(node)) is not None:
        return trained
    target = aten.amax.default if node.op.target is aten.max.dim else aten.amin.default
    return [call(target, node.inputs[0], [node.op["dim"]], node.op["keepdim"]), None]


noop = passes.new("EliminateNoop")

noop.add(drop_copy, drop_copy_before_sums, drop_alias, drop_same_cast, drop_single_tile, drop_whole_slice, drop_dropout)


@noop.rule([aten.constant_pad_nd.default, aten.pad.default], exactness=Exactness.EXACT)
def remove_empty_pad(node: Apply) -> Rewrite:
    """Empty padding is a no-op."""
    return without_copy(node, node.inputs[0]) if not any(node.op["pad"]) else False


NEAREST = overloads(
    "upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec",
    "_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec",
)
SMOOTH = overloads("upsample_linear1d.vec upsample_bilinear2d.vec upsample_trilinear3d.vec upsample_bicubic2d.vec")


@noop.rule(NEAREST, exactness=Exactness.EXACT)
def resize_to_same_size(node: Apply) -> Rewrite:
    """Resizing to the same size, by the nearest number, is a no-op."""
    return without_copy(node, node.inputs[0]) if _keeps_size(node) else False


@noop.rule((*NEAREST, *SMOOTH))
def interpolate_to_same_size(node: Apply) -> Rewrite:
    """Interpolation to the same size gives all weight to one number, for finite numbers."""
    return without_copy(node, node.inputs[0], rounding=True) if _keeps_size(node) else False


def _keeps_size(node: Apply) -> bool:
    scales = node.op["scale_factors"]
    same = node.inputs[0].tensor_type.shape == node.outputs[0].tensor_type.shape
    return same and (scales is None or all(scale == 1 for scale in scales))


@noop.rule([aten.max_pool2d.default], exactness=Exactness.EXACT)
def greatest_of_one(node: Apply) -> Rewrite:
    """Max pooling with a window of 1 and a stride of 1 is a no-op."""
    return _pool_of_one(node)


@noop.rule([aten.avg_pool2d.default])
def average_of_one(node: Apply) -> Rewrite:
    """Average pooling with a window of 1 and a stride of 1 is a no-op, except that -0 becomes 0."""
    return _pool_of_one(node)


def _pool_of_one(node: Apply) -> Rewrite:
    op = node.op
    ones = set(op["kernel_size"]) == {1} and set(op["stride"] or (1,)) == {1}
    plain = not any(op["padding"]) and op.attributes.get("divisor_override") is None
    if not ones or not plain or set(op.attributes.get("dilation", (1,))) != {1}:
        return False
    return without_copy(node, node.inputs[0])


conversions = passes.new("OptimizeConversions")
conversions.add(merge_casts, drop_same_cast)


regression = passes.new("OptimizeRegression")


@regression.rule([regression_op], exactness=Exactness.EXACT)
def regression_is_its_input(node: Apply) -> Rewrite:
    """regression(x, expected) is x; the expected values only affect the gradient."""
    return replace_unless_aliased(node, node.inputs[0])


FAST = Query(include=["fast_run"], exclude=["inplace"])


def _query(database: EquilibriumDB) -> Rewriter:
    return database.query(FAST)


for database, name in ((canonicalize, "Canonicalize"), (stabilize, "Stabilize"), (specialize, "Specialize")):
    passes.new(name, whole=partial(_query, database), exactness=Exactness.REAL)

passes.new("CSE", whole=lambda: merge_rewriter)
passes.new("ConstantFold").add(evaluate_constant)
passes.new("FoldExpSumDivIntoSoftmax").add(exp_over_sum)


decompose = passes.new("DecomposeLayers")


@decompose.rule(None, exactness=Exactness.EXACT)
def open_layer(node: Apply) -> Rewrite:
    """The layer of a circuit is the operators that its `forward` calls."""
    if node.op.target.namespace != NAMESPACE:
        return False
    types = tuple((v.tensor_type.dtype, v.tensor_type.shape, v.device, v.requires_grad) for v in node.inputs)
    return replace_with(node, _inline(_operators(node.op, types), node))


class _Layer(nn.Module):
    """The layer that an operator is."""

    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op

    def forward(self, *tensors: Tensor) -> Tensor:
        return forward_layer(**self.op.bind(tensors))


@lru_cache(maxsize=256)
def _operators(op: Op, types: tuple[tuple[Any, ...], ...]) -> FunctionGraph:
    """Return the graph of a layer for inputs of these types: equal layers are exported once."""
    examples = [torch.zeros(shape, dtype=dtype, device=device) for dtype, shape, device, _ in types]
    training = any(learns for *_, learns in types)
    for example, (*_, learns) in zip(examples, types, strict=True):
        example.requires_grad_(learns and (example.is_floating_point() or example.is_complex()))
    with torch.set_grad_enabled(training):
        return from_module(_Layer(op), examples, training=training)


def _inline(layer: FunctionGraph, node: Apply) -> Variable:
    """Apply the operators of a layer to the inputs of an application."""
    values: dict[Variable, Variable] = dict(zip(layer.inputs, node.inputs, strict=True))
    for step in layer.toposort():
        inputs = [_plain_constant(v) if isinstance(v, Constant) else values[v] for v in step.inputs]
        made = apply_op(step.op, inputs, node.location, [v.type for v in step.outputs])
        values.update(zip(step.outputs, made.outputs, strict=True))
    return values[layer.outputs[0]]


def _plain_constant(constant: Constant) -> Constant:
    return Constant(constant.data, "", layout=constant.tensor_type.layout)
