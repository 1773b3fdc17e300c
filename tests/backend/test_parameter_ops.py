"""Every operator of parameter graphs, in several folds at once, against its definition in numpy."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import explorer.backend.parameters
from explorer.backend.parameters import (
    TorchEinsumParameter,
    TorchFlattenParameter,
    TorchMatMulParameter,
    TorchParameterOp,
    TorchReduceLSEParameter,
)
from explorer.compiler import TorchCompiler
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
    KroneckerParameter,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    ParameterOp,
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
    TensorParameter,
    TriangleParameter,
)
from tests.oracle import parameter_value

FOLDS = 3


def leaf(*shape: int) -> TensorParameter:
    return TensorParameter(shape)


M, V, C = leaf(2, 3), leaf(4), leaf(2, 3, 4)
OPS: list[ParameterOp] = [
    *(op((x,), axis=axis) for op in (SoftmaxParameter, LogSoftmaxParameter) for x, axis in ((M, 0), (M, -1), (V, 0))),
    *(
        op((x,), axis=axis)
        for op in (ReduceSumParameter, ReduceProductParameter, ReduceLSEParameter)
        for x, axis in ((M, 0), (M, 1), (V, 0), (C, 1), (C, -1))
    ),
    SigmoidParameter((M,)),
    ScaledSigmoidParameter((M,), vmin=-1.0, vmax=3.0),
    ClampParameter((M,), vmin=0.3),
    ClampParameter((M,), vmax=0.7),
    ClampParameter((M,), vmin=0.3, vmax=0.7),
    SoftplusParameter((M,)),
    ExpParameter((C,)),
    LogParameter((M,)),
    SquareParameter((M,)),
    ConjugateParameter((M,)),
    SumParameter((M, leaf(2, 3))),
    HadamardParameter((M, leaf(2, 3))),
    KroneckerParameter((V, leaf(3))),
    KroneckerParameter((M, leaf(4, 2))),
    KroneckerParameter((C, leaf(2, 1, 3))),
    *(
        op((x, y), axis=axis)
        for op in (OuterProductParameter, OuterSumParameter)
        for x, y, axis in (
            (V, leaf(3), 0),
            (M, leaf(4, 3), 0),
            (M, leaf(2, 4), 1),
            (C, leaf(2, 5, 4), 1),
            (C, leaf(2, 3, 5), -1),
        )
    ),
    *(
        IndexParameter((C,), indices=indices, axis=axis)
        for indices, axis in (((1, 0, 1), 0), ((0, 1, 2), 1), ((3,), -1))
    ),
    MixingWeightParameter((M,)),
    MixingWeightParameter((leaf(3, 1),)),
    *(PolynomialDifferentialParameter((M,), order=order) for order in (1, 2, 3, 4)),
    *(PolynomialProductParameter((leaf(2, d), leaf(3, e))) for d, e in ((1, 1), (3, 1), (1, 4), (2, 3))),
    GaussianProductMeanParameter((V, leaf(4), leaf(3), leaf(3))),
    GaussianProductStddevParameter((V, leaf(3))),
    GaussianProductLogPartitionParameter((V, leaf(4), leaf(3), leaf(3))),
    BinomialTableParameter((V,), total_count=3, is_logits=True),
    BinomialTableParameter((V,), total_count=1, is_logits=True),
    KroneckerIdentityParameter((M,), size=3),
    KroneckerIdentityParameter((M,), size=1),
    TriangleParameter((leaf(9, 2),), size=3, axis=0),
    TriangleParameter((leaf(2, 16),), size=4, add=True, axis=1),
    TriangleParameter((leaf(2, 36),), size=3, block=2, add=True),
    TriangleParameter((leaf(16, 2),), size=2, block=2, axis=0),
    ReorderParameter((leaf(2, 12),), sizes=(2, 3, 2), order=(2, 0, 1)),
    ReorderParameter((leaf(6, 2, 2),), sizes=(3, 2), order=(1, 0), axis=0),
]


def operands_of(op: ParameterOp, kind: str) -> list[NDArray[Any]]:
    """A value (F, *shape) for each operand."""
    random = np.random.default_rng(7)
    shapes = [(FOLDS, *operand.shape) for operand in op.operands]
    real = [random.uniform(0.1, 1.5, shape) for shape in shapes]
    return real if kind == "real" else [x + 1j * random.uniform(-1, 1, x.shape) for x in real]


def forward(op: TorchParameterOp, *operands: NDArray[Any]) -> NDArray[Any]:
    return op.forward(*(torch.from_numpy(operand) for operand in operands)).resolve_conj().numpy()


def assert_equals_definition(op: ParameterOp, kind: str) -> None:
    operands = operands_of(op, kind)
    compiled = TorchCompiler().compile_parameter(op).output
    assert isinstance(compiled, TorchParameterOp)
    assert compiled.shape == op.shape
    found = forward(compiled, *operands)
    for fold in range(FOLDS):
        values = {
            node: x[fold] for node, x in zip(op.operands, operands, strict=True) if isinstance(node, TensorParameter)
        }
        np.testing.assert_allclose(found[fold], parameter_value(op, values), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("op", OPS, ids=repr)
def test_an_operator_equals_its_definition_in_every_fold(op: ParameterOp):
    assert_equals_definition(op, "real")


COMPLEX = (
    ConjugateParameter,
    ExpParameter,
    HadamardParameter,
    IndexParameter,
    KroneckerParameter,
    KroneckerIdentityParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    PolynomialDifferentialParameter,
    PolynomialProductParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    SquareParameter,
    SumParameter,
    TriangleParameter,
)


@pytest.mark.parametrize("op", [op for op in OPS if isinstance(op, COMPLEX)], ids=repr)
def test_an_operator_accepts_complex_numbers(op: ParameterOp):
    assert_equals_definition(op, "complex")


def test_every_operator_is_tested():
    declared = {getattr(kind, "compiles", None) for kind in vars(explorer.backend.parameters).values()}
    assert {type(op) for op in OPS} == declared - {None}


def test_a_log_sum_exp_of_large_numbers_does_not_overflow():
    op = TorchReduceLSEParameter(shape=(), in_shapes=((2,),), axis=0)
    np.testing.assert_allclose(forward(op, np.array([[1e4, 1e4]])), 1e4 + np.log(2))


@pytest.mark.parametrize(("left", "right"), [("real", "real"), ("real", "complex"), ("complex", "real")])
def test_a_matrix_product_is_computed_per_fold(left: str, right: str):
    random = np.random.default_rng(1)
    a, b = random.normal(size=(FOLDS, 2, 3)), random.normal(size=(FOLDS, 3, 4))
    a, b = (x if kind == "real" else x * (1 + 2j) for x, kind in ((a, left), (b, right)))
    op = TorchMatMulParameter(shape=(2, 4), in_shapes=((2, 3), (3, 4)))
    np.testing.assert_allclose(forward(op, a, b), a @ b, rtol=1e-12)


@pytest.mark.parametrize(("start", "end", "shape"), [(0, 1, (6, 4)), (1, 2, (2, 12)), (0, 2, (24,))])
def test_flatten_merges_axes(start: int, end: int, shape: Shape):
    x = np.random.default_rng(1).normal(size=(FOLDS, 2, 3, 4))
    op = TorchFlattenParameter(shape=shape, in_shapes=((2, 3, 4),), start_axis=start, end_axis=end)
    np.testing.assert_array_equal(forward(op, x), x.reshape(FOLDS, *shape))


@pytest.mark.parametrize("kinds", ["real", "mixed"])
def test_an_einsum_names_the_axes_of_its_operands_by_numbers(kinds: str):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(FOLDS, 2, 3)), random.normal(size=(FOLDS, 2, 4))
    y = y * 1j if kinds == "mixed" else y
    op = TorchEinsumParameter(shape=(4, 3), in_shapes=((2, 3), (2, 4)), axes=((0, 1), (0, 2)), result=(2, 1))
    np.testing.assert_allclose(forward(op, x, y), np.einsum("fab,fac->fcb", x, y), rtol=1e-12)
