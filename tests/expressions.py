"""Random parameter expressions by the kind of their values, for the strategies of circuits."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from explorer.symbolic import (
    ClampParameter,
    ConjugateParameter,
    ExpParameter,
    HadamardParameter,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    ParameterNode,
    PolynomialDifferentialParameter,
    ReduceLSEParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ScaledSigmoidParameter,
    Shape,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumParameter,
)

if TYPE_CHECKING:
    from tests.strategies import Maker

Kind = Literal["any", "positive", "unit", "complex"]
"""The values of a parameter: any real; positive; between 0 and 1, both excluded; complex."""

Expression = Callable[["Maker", Shape, int], ParameterNode | None]
"""(maker, shape, depth) -> an expression of the shape; None if the operator cannot have it."""


def _entrywise(op: type, kind: Kind) -> Expression:
    return lambda m, shape, depth: op((m.parameter(shape, kind, depth),))


def _with_bounds(op: type, **config: float) -> Expression:
    return lambda m, shape, depth: op((m.bounded_parameter(shape, depth),), **config)


def _clamp(kind: Kind, low: float | None, high: float | None) -> Expression:
    return lambda m, shape, depth: ClampParameter((m.parameter(shape, kind, depth),), vmin=low, vmax=high)


def _along_axis(op: type, kind: Kind) -> Expression:
    return lambda m, shape, depth: op((m.parameter(shape, kind, depth),), axis=m.axis(shape))


def _pairwise(op: type, kind: Kind) -> Expression:
    return lambda m, shape, depth: op((m.parameter(shape, kind, depth), m.parameter(shape, kind, depth)))


def _outer(op: type, kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode:
        axis = m.axis(shape)
        n = m.choose(divisors(shape[axis]))
        left, right = list(shape), list(shape)
        left[axis], right[axis] = n, shape[axis] // n
        return op((m.parameter(tuple(left), kind, depth), m.parameter(tuple(right), kind, depth)), axis=axis)

    return make


def _reduce(op: type, kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode:
        axis = m.choose(list(range(-len(shape) - 1, len(shape) + 1)))
        larger = list(shape)
        larger.insert(axis % (len(shape) + 1), m.choose([2, 1, 3]))
        return op((m.parameter(tuple(larger), kind, depth),), axis=axis)

    return make


def _reduce_sum_of_outer_product(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        reduced = m.choose([len(shape), 0])
        larger = (*shape[:reduced], m.choose([2, 1, 4]), *shape[reduced:])
        product = _outer(OuterProductParameter, kind)(m, larger, depth)
        return None if product is None else ReduceSumParameter((product,), axis=reduced)

    return make


def _mixing_weight(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        if len(shape) != 2 or shape[1] % shape[0]:
            return None
        return MixingWeightParameter((m.parameter((shape[0], shape[1] // shape[0]), kind, depth),))

    return make


def _differential(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        if len(shape) != 2:
            return None
        order = m.choose([1, 2])
        return PolynomialDifferentialParameter((m.parameter((shape[0], shape[1] + order), kind, depth),), order=order)

    return make


def _field_operations(kind: Kind) -> list[Expression]:
    """The operators whose results have the kind of their inputs: sums and products in all forms."""
    return [
        lambda m, shape, depth: m.kronecker(shape, kind, depth),
        _pairwise(HadamardParameter, kind),
        _pairwise(SumParameter, kind),
        _outer(OuterProductParameter, kind),
        _outer(OuterSumParameter, kind),
        _reduce(ReduceSumParameter, kind),
        _reduce(ReduceProductParameter, kind),
        _reduce_sum_of_outer_product(kind),
        _differential(kind),
        _entrywise(SquareParameter, kind),
        _entrywise(ConjugateParameter, kind),
    ]


EXPRESSIONS: Mapping[Kind, list[Expression]] = {
    "unit": [
        _with_bounds(SigmoidParameter),
        _with_bounds(ScaledSigmoidParameter, vmin=0.05, vmax=0.95),
        _clamp("any", 0.05, 0.95),
        _pairwise(HadamardParameter, "unit"),
        _entrywise(SquareParameter, "unit"),
    ],
    "positive": [
        _along_axis(SoftmaxParameter, "any"),
        _with_bounds(ExpParameter),
        _with_bounds(SoftplusParameter),
        _with_bounds(SigmoidParameter),
        _with_bounds(ScaledSigmoidParameter, vmin=0.1, vmax=2.0),
        _clamp("any", 0.1, None),
        lambda m, shape, depth: ExpParameter((LogParameter((m.parameter(shape, "positive", depth),)),)),
        lambda m, shape, depth: m.parameter(shape, "unit", depth),
        *_field_operations("positive"),
    ],
    "any": [
        _entrywise(LogParameter, "positive"),
        _along_axis(LogSoftmaxParameter, "any"),
        lambda m, shape, depth: LogParameter((_along_axis(SoftmaxParameter, "any")(m, shape, depth),)),  # type: ignore[arg-type]
        _reduce(ReduceLSEParameter, "any"),
        _clamp("any", None, 1.0),
        _with_bounds(ScaledSigmoidParameter, vmin=-2.0, vmax=2.0),
        _mixing_weight("any"),
        lambda m, shape, depth: m.parameter(shape, "positive", depth),
        *_field_operations("any"),
    ],
    "complex": [
        _mixing_weight("complex"),
        lambda m, shape, depth: ExpParameter((m.leaf(shape, "complex"),)),
        *_field_operations("complex"),
    ],
}


def divisors(n: int) -> list[int]:
    return [m for m in range(1, n + 1) if n % m == 0]
