"""The parameter rules (LogSoftmax, ReduceSumOuterProduct) and the layer rules.

SumCollapse, Tucker and Candecomp fuse layers; DenseKronecker and TensorDotKronecker shatter them. The default preset
adds Mixing and CategoricalLogSoftmax. It applies SumCollapse and the two shattering rules only where they reduce the
cost, and SumCollapse only where the product of the weights stays in range.
"""

from dataclasses import replace
from typing import Protocol

from explorer.backend import (
    Semiring,
    TorchCategoricalLayer,
    TorchCPTLayer,
    TorchHadamardLayer,
    TorchKroneckerLayer,
    TorchLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
)
from explorer.backend.parameters import (
    TorchEinsumParameter,
    TorchFlattenParameter,
    TorchKroneckerParameter,
    TorchLogParameter,
    TorchLogSoftmaxParameter,
    TorchMatMulParameter,
    TorchMixingWeightParameter,
    TorchOuterProductParameter,
    TorchParameterOp,
    TorchReduceSumParameter,
    TorchSoftmaxParameter,
    apply_op,
    subgraph_parameter,
)
from explorer.rewrite import (
    GraphOptMatch,
    LayerOptPattern,
    LayerOptRegistry,
    ParameterOptPattern,
    ParameterOptRegistry,
    at_least,
)

DEFAULT_PARAMETER_OPT_RULES = ParameterOptRegistry()

KRONECKER_OUT = ParameterOptPattern("KroneckerOut", (TorchKroneckerParameter,), is_output=True)
"""Sub-pattern: a parameter that is a Kronecker product."""

SOFTMAX_OUT = ParameterOptPattern("SoftmaxOut", (TorchSoftmaxParameter,), is_output=True)
"""Sub-pattern: a parameter that is a softmax."""

MIXING_OUT = ParameterOptPattern("MixingWeightOut", (TorchMixingWeightParameter,), is_output=True)
"""Sub-pattern: a weight of diagonal blocks."""

LOG_SOFTMAX = ParameterOptPattern("LogSoftmax", (TorchLogParameter, TorchSoftmaxParameter))


@DEFAULT_PARAMETER_OPT_RULES.rule(LOG_SOFTMAX)
def log_softmax(compiler: object, match: GraphOptMatch) -> tuple[TorchParameterOp, ...]:
    """The logarithm of a softmax is a log-softmax, which cannot underflow."""
    softmax: TorchSoftmaxParameter = match.entries[1]
    return (TorchLogSoftmaxParameter(shape=softmax.shape, in_shapes=softmax.in_shapes, axis=softmax.axis),)


REDUCE_SUM_OUTER_PRODUCT = ParameterOptPattern(
    "ReduceSumOuterProduct", (TorchReduceSumParameter, TorchOuterProductParameter)
)


@DEFAULT_PARAMETER_OPT_RULES.rule(REDUCE_SUM_OUTER_PRODUCT)
def reduce_sum_outer_product(compiler: object, match: GraphOptMatch) -> tuple[TorchParameterOp, ...]:
    """A sum over an outer product is one contraction: the outer product is never built."""
    reduce: TorchReduceSumParameter = match.entries[0]
    outer: TorchOuterProductParameter = match.entries[1]
    left, right = outer.in_shapes
    rank = len(left)
    left_axes = tuple(range(rank))
    right_axes = tuple(rank if axis == outer.axis else axis for axis in range(rank))
    paired = tuple(a for axis in left_axes for a in ((axis, rank) if axis == outer.axis else (axis,)))
    if reduce.axis == outer.axis:
        result = tuple(axis for axis in left_axes if axis != outer.axis)
    else:
        result = tuple(axis for axis in paired if axis != reduce.axis)
    size = {**dict(enumerate(left)), rank: right[outer.axis]}
    einsum = TorchEinsumParameter(
        shape=tuple(size[axis] for axis in result),
        in_shapes=outer.in_shapes,
        axes=(left_axes, right_axes),
        result=result,
    )
    if reduce.axis == outer.axis:
        return (einsum,)
    start = result.index(outer.axis)
    flatten = TorchFlattenParameter(shape=reduce.shape, in_shapes=(einsum.shape,), start_axis=start, end_axis=start + 1)
    return (einsum, flatten)


class RuleCompiler(Protocol):
    """The part of the compiler that rules may read."""

    @property
    def semiring(self) -> Semiring:
        """The semiring of the circuit."""
        ...


DEFAULT_LAYER_FUSE_OPT_RULES = LayerOptRegistry()

DEFAULT_LAYER_SHATTER_OPT_RULES = LayerOptRegistry()

SUM_COLLAPSE = LayerOptPattern("SumCollapse", (TorchSumLayer, TorchSumLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(SUM_COLLAPSE)
def collapse_sums(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """Two sums in a row are one: W2 (W1 x) = (W2 W1) x."""
    top: TorchSumLayer = match.entries[0]
    bottom: TorchSumLayer = match.entries[1]
    shape = (top.weight.shape[0], bottom.weight.shape[1])
    weight = apply_op(TorchMatMulParameter, top.weight, bottom.weight, shape=shape)
    return (replace(bottom, num_output_units=top.num_output_units, weight=weight),)


TUCKER = LayerOptPattern("Tucker", (TorchSumLayer, TorchKroneckerLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(TUCKER)
def fuse_tucker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum over a Kronecker product is one contraction: the vector of all products is never built."""
    return (_fuse(TorchTuckerLayer, *match.entries),)


CANDECOMP = LayerOptPattern("Candecomp", (TorchSumLayer, TorchHadamardLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(CANDECOMP)
def fuse_candecomp(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum over a Hadamard product is one layer: a product, then a matrix."""
    return (_fuse(TorchCPTLayer, *match.entries),)


def _fuse(
    kind: type[TorchTuckerLayer] | type[TorchCPTLayer],
    top: TorchSumLayer,
    product: TorchKroneckerLayer | TorchHadamardLayer,
) -> TorchLayer:
    """The layer that computes a sum over a product."""
    return kind(
        num_input_units=product.num_input_units,
        num_output_units=top.num_output_units,
        arity=product.arity,
        weight=top.weight,
    )


DENSE_KRONECKER = LayerOptPattern(
    "DenseKronecker", (TorchSumLayer,), config_patterns=({"arity": 1},), sub_patterns=({"weight": KRONECKER_OUT},)
)


@DEFAULT_LAYER_SHATTER_OPT_RULES.rule(DENSE_KRONECKER)
def shatter_dense_kronecker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum with a Kronecker product as weight is two small ones: (A kron B) x without the large matrix."""
    return _two_tensor_dots(match.entries[0], match)


TENSOR_DOT_KRONECKER = LayerOptPattern(
    "TensorDotKronecker", (TorchTensorDotLayer,), sub_patterns=({"weight": KRONECKER_OUT},)
)


@DEFAULT_LAYER_SHATTER_OPT_RULES.rule(TENSOR_DOT_KRONECKER)
def shatter_tensor_dot_kronecker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A tensor dot with a Kronecker product as weight is two smaller tensor dots."""
    return _two_tensor_dots(match.entries[0], match)


def _two_tensor_dots(layer: TorchSumLayer | TorchTensorDotLayer, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    root = match.sub_entries[0]["weight"][0].root
    first, second = (subgraph_parameter(layer.weight, operand) for operand in layer.weight.graph.inputs[root])
    middle = layer.num_input_units // first.shape[1] * first.shape[0]
    return (
        TorchTensorDotLayer(num_input_units=layer.num_input_units, num_output_units=middle, weight=first),
        TorchTensorDotLayer(num_input_units=middle, num_output_units=layer.num_output_units, weight=second),
    )


MIXING = LayerOptPattern(
    "Mixing",
    (TorchSumLayer,),
    config_patterns=({"arity": at_least(2), "keeps_width": True},),
    sub_patterns=({"weight": MIXING_OUT},),
)


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(MIXING)
def mix_without_zeros(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum that mixes its inputs unit by unit needs one weight per input and unit, not a matrix of diagonal blocks."""
    layer: TorchSumLayer = match.entries[0]
    root = match.sub_entries[0]["weight"][0].root
    weight = subgraph_parameter(layer.weight, layer.weight.graph.inputs[root][0])
    return (
        TorchMixingLayer(
            num_input_units=layer.num_input_units,
            num_output_units=layer.num_output_units,
            arity=layer.arity,
            weight=weight,
        ),
    )


def needs_log_space(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
    """Guard: the rule helps only if activations are logarithms."""
    if not compiler.semiring.is_logarithmic:
        return "activations are not logarithms under sum-product, so nothing is gained"
    return None


CATEGORICAL_LOG_SOFTMAX = LayerOptPattern(
    "CategoricalLogSoftmax", (TorchCategoricalLayer,), sub_patterns=({"probs": SOFTMAX_OUT},)
)


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(CATEGORICAL_LOG_SOFTMAX, guard=needs_log_space)
def use_log_softmax(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A categorical over a softmax of x has the logits log-softmax of x: no exponential to undo."""
    layer: TorchCategoricalLayer = match.entries[0]
    softmax: TorchSoftmaxParameter = match.sub_entries[0]["probs"][0].entries[0]
    probs = layer.probs
    assert probs is not None
    inner = subgraph_parameter(probs, probs.graph.inputs[probs.graph.outputs[0]][0])
    logits = apply_op(TorchLogSoftmaxParameter, inner, shape=softmax.shape, axis=softmax.axis)
    return (replace(layer, probs=None, logits=logits),)
