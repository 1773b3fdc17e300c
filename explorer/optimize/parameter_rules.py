"""The parameter rules: LogSoftmax and ReduceSumOuterProduct."""

from explorer.backend.parameters import (
    TorchEinsumParameter,
    TorchFlattenParameter,
    TorchKroneckerParameter,
    TorchLogParameter,
    TorchLogSoftmaxParameter,
    TorchMixingWeightParameter,
    TorchOuterProductParameter,
    TorchParameterOp,
    TorchReduceSumParameter,
    TorchSoftmaxParameter,
)
from explorer.rewrite import GraphOptMatch, ParameterOptPattern, ParameterOptRegistry

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
