"""Random parameter expressions by the kind of their values, for the strategies of circuits."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from explorer.symbolic import (
    BinomialTableParameter,
    ClampParameter,
    ConjugateParameter,
    ExpParameter,
    GaussianProductLogPartitionParameter,
    GaussianProductMeanParameter,
    GaussianProductStddevParameter,
    HadamardParameter,
    IndexParameter,
    KroneckerIdentityParameter,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    ParameterNode,
    PolynomialDifferentialParameter,
    PolynomialProductParameter,
    ReduceLSEParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    ScaledSigmoidParameter,
    Shape,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumParameter,
    TriangleParameter,
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


def _index(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode:
        axis = m.axis(shape) % len(shape)
        size = m.choose([2, 1, 4])
        indices = tuple(m.choose(list(range(size))) for _ in range(shape[axis]))
        larger = (*shape[:axis], size, *shape[axis + 1 :])
        return IndexParameter((m.parameter(larger, kind, depth),), indices=indices, axis=axis)

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


def _reorder(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode:
        axis = m.axis(shape)
        n = m.choose(divisors(shape[axis]))
        sizes = (n, shape[axis] // n, 1)
        order = m.choose([(1, 0, 2), (0, 1, 2), (2, 1, 0)])
        return ReorderParameter((m.parameter(shape, kind, depth),), sizes=sizes, order=order, axis=axis)

    return make


def _polynomial_product(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        if len(shape) != 2:
            return None
        units, degree = m.choose(divisors(shape[0])), m.choose(list(range(shape[1])))
        left, right = (units, degree + 1), (shape[0] // units, shape[1] - degree)
        return PolynomialProductParameter((m.parameter(left, kind, depth), m.parameter(right, kind, depth)))

    return make


def _kronecker_identity(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        sizes = [n for n in divisors(shape[0]) if shape[-1] % n == 0]
        if len(shape) != 2:
            return None
        size = m.choose(sizes)
        return KroneckerIdentityParameter((m.parameter((shape[0] // size, shape[1] // size), kind, depth),), size=size)

    return make


def _gaussian_product(op: type, *signs: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        if len(shape) != 1:
            return None
        units = m.choose(divisors(shape[0]))
        sizes = [(units,)] * (len(signs) // 2) + [(shape[0] // units,)] * (len(signs) // 2)
        return op(tuple(m.parameter(size, kind, depth) for size, kind in zip(sizes, signs, strict=True)))

    return make


def _triangle(kind: Kind) -> Expression:
    def make(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
        axis = m.axis(shape) % len(shape)
        size = {1: 1, 3: 2, 6: 3}.get(shape[axis])
        if size is None:
            return None
        operand = m.parameter((*shape[:axis], size**2, *shape[axis + 1 :]), kind, depth)
        return TriangleParameter((operand,), size=size, add=m.chance(2), axis=axis)

    return make


def _binomial_table(m: "Maker", shape: Shape, depth: int) -> ParameterNode | None:
    if len(shape) != 2 or shape[1] < 2:
        return None
    is_logits = m.chance(2)
    given = m.parameter(shape[:1], "any" if is_logits else "unit", depth)
    return BinomialTableParameter((given,), total_count=shape[1] - 1, is_logits=is_logits)


def _field_operations(kind: Kind) -> list[Expression]:
    """The operators with results of the kind of their inputs: sums and products in all forms."""
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
        _index(kind),
        _reorder(kind),
        _triangle(kind),
        _polynomial_product(kind),
        _entrywise(SquareParameter, kind),
        _entrywise(ConjugateParameter, kind),
    ]


EXPRESSIONS: Mapping[Kind, list[Expression]] = {
    "unit": [
        _with_bounds(SigmoidParameter),
        _with_bounds(ScaledSigmoidParameter, vmin=0.05, vmax=0.95),
        _clamp("any", 0.05, 0.95),
        _gaussian_product(GaussianProductStddevParameter, "unit", "unit"),
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
        _kronecker_identity("any"),
        _binomial_table,
        _gaussian_product(GaussianProductMeanParameter, "any", "unit", "any", "unit"),
        _gaussian_product(GaussianProductLogPartitionParameter, "any", "unit", "any", "unit"),
        lambda m, shape, depth: m.parameter(shape, "positive", depth),
        *_field_operations("any"),
    ],
    "complex": [
        _mixing_weight("complex"),
        _kronecker_identity("complex"),
        lambda m, shape, depth: ExpParameter((m.leaf(shape, "complex"),)),
        *_field_operations("complex"),
    ],
}


def divisors(n: int) -> list[int]:
    return [m for m in range(1, n + 1) if n % m == 0]
