"""Parameter expressions: shapes, axes, sharing, and errors at construction."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from inline_snapshot import snapshot

from explorer.errors import CircuitError, DataTypeError, ShapeError, ValueRangeError
from explorer.graph import config_of
from explorer.symbolic import (
    ClampParameter,
    ConjugateParameter,
    ConstantInitializer,
    DataType,
    DirichletInitializer,
    EntrywiseParameterOp,
    ExpParameter,
    HadamardParameter,
    IndexParameter,
    KroneckerParameter,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    NormalInitializer,
    OuterProductParameter,
    OuterSumParameter,
    ParameterOp,
    PolynomialDifferentialParameter,
    ReduceLSEParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumParameter,
    TensorParameter,
    UniformInitializer,
    constant,
)
from tests.oracle import constant_leaf_values, parameter_value
from tests.strategies import circuits

REDUCE = (ReduceSumParameter, ReduceProductParameter, ReduceLSEParameter)
OUTER = (OuterProductParameter, OuterSumParameter)
PAIRWISE = (SumParameter, HadamardParameter)
ENTRYWISE = (SigmoidParameter, SoftplusParameter, ExpParameter, LogParameter, SquareParameter, ConjugateParameter)


def leaf(*shape: int) -> TensorParameter:
    return TensorParameter(shape)


# ---- leaves and initializers


def test_a_leaf_is_real_learnable_and_normal_by_default():
    fresh = leaf(2, 3)
    assert (fresh.shape, fresh.dtype, fresh.learnable, fresh.name) == ((2, 3), DataType.REAL, True, None)
    assert fresh.initializer == NormalInitializer(0.0, 1.0)


def test_two_leaves_with_equal_fields_are_different_leaves():
    assert leaf(2) != leaf(2)


def test_a_leaf_without_axes_is_a_number():
    assert leaf().shape == ()


@pytest.mark.parametrize("size", [(0,), (2, -1)])
def test_a_size_below_one_is_refused(size):
    with pytest.raises(ShapeError, match="must be positive; found"):
        TensorParameter(size)


def test_an_integer_leaf_cannot_be_learned():
    with pytest.raises(DataTypeError, match="use learnable=False"):
        TensorParameter((2,), DataType.INTEGER)
    assert TensorParameter((2,), DataType.INTEGER, learnable=False).dtype is DataType.INTEGER


def test_a_constant_with_a_different_shape_than_the_leaf_is_refused():
    with pytest.raises(ShapeError, match=r"shape \(3,\), the leaf \(2,\)"):
        TensorParameter((2,), initializer=ConstantInitializer([1, 2, 3]))


def test_one_number_initializes_a_leaf_of_any_shape():
    assert TensorParameter((2, 3), initializer=ConstantInitializer(0.5)).shape == (2, 3)


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("nan")], complex(0, float("nan"))])
def test_only_numbers_are_constants(value):
    with pytest.raises(ValueRangeError, match="needs numbers; found NaN"):
        ConstantInitializer(value)
    assert ConstantInitializer(float("-inf")).value == float("-inf")


def test_complex_values_need_a_complex_leaf():
    with pytest.raises(DataTypeError, match=r"need dtype=DataType\.COMPLEX; found REAL"):
        TensorParameter((1,), initializer=ConstantInitializer([1j]))
    assert TensorParameter((1,), DataType.COMPLEX, initializer=ConstantInitializer([1j])).dtype is DataType.COMPLEX


@pytest.mark.parametrize(
    ("value", "dtype"),
    [([1, 2], DataType.INTEGER), ([1.0, 2.0], DataType.REAL), ([1j, 2], DataType.COMPLEX), (3.5, DataType.REAL)],
)
def test_constant_has_the_shape_and_type_of_the_values_and_is_not_learned(value, dtype):
    fixed = constant(value)
    assert (fixed.shape, fixed.dtype, fixed.learnable) == (np.shape(value), dtype, False)


def test_a_constant_initializer_keeps_its_own_copy_of_the_values():
    values = np.array([1.0, 2.0])
    initializer = ConstantInitializer(values)
    values[0] = 7
    assert initializer.value[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        initializer.value[0] = 7


def test_the_text_of_an_initializer_is_one_number_or_the_shape():
    assert [repr(ConstantInitializer(v)) for v in (2.5, [[1, 2]])] == snapshot(
        ["ConstantInitializer(2.5)", "ConstantInitializer(array(1, 2))"]
    )
    assert repr(UniformInitializer(-1.0)) == snapshot("UniformInitializer(low=-1.0, high=1.0)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformInitializer(1.0, 1.0), "low < high; found low=1.0, high=1.0"),
        (lambda: UniformInitializer(0.0, float("nan")), "low < high"),
        (lambda: NormalInitializer(0.0, 0.0), "stddev > 0; found 0.0"),
        (lambda: NormalInitializer(0.0, float("nan")), "stddev > 0"),
        (lambda: DirichletInitializer(-1.0), "alpha > 0; found -1.0"),
    ],
)
def test_an_initializer_that_cannot_draw_is_refused(make, message):
    with pytest.raises(ValueRangeError, match=message):
        make()


WRONG_TYPES: dict[str, Callable[[], object]] = {
    "size not a tuple": lambda: TensorParameter(5),  # type: ignore[arg-type]
    "size not whole": lambda: TensorParameter((2.7,)),  # type: ignore[arg-type]
    "dtype a string": lambda: TensorParameter((2,), "real"),  # type: ignore[arg-type]
    "initializer a string": lambda: TensorParameter((2,), initializer="normal"),  # type: ignore[arg-type]
    "real values in integer leaf": lambda: TensorParameter(
        (2,), DataType.INTEGER, False, ConstantInitializer([0.5, 1.5])
    ),
    "dirichlet axis": lambda: TensorParameter((2,), initializer=DirichletInitializer(axis=4)),
    "constant string": lambda: constant("abc"),
    "constant ragged": lambda: constant([[1], [1, 2]]),
    "operand not in a tuple": lambda: SoftmaxParameter(leaf(2)),  # type: ignore[arg-type]
    "operand an array": lambda: SoftmaxParameter((np.ones((1, 2)),)),  # type: ignore[arg-type]
    "axis not whole": lambda: SoftmaxParameter((leaf(2, 2),), axis=0.5),  # type: ignore[arg-type]
    "axis none": lambda: SoftmaxParameter((leaf(2, 2),), axis=None),  # type: ignore[arg-type]
    "clamp nan": lambda: ClampParameter((leaf(1),), vmin=float("nan"), vmax=0.0),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_arguments_of_a_wrong_type_are_refused_with_a_typed_error(what):
    with pytest.raises(CircuitError):
        WRONG_TYPES[what]()


# ---- shapes of operators


@pytest.mark.parametrize("op", ENTRYWISE)
def test_entrywise_operators_keep_the_shape(op):
    assert op((leaf(2, 3),)).shape == (2, 3)


@pytest.mark.parametrize("op", [SoftmaxParameter, LogSoftmaxParameter])
def test_a_softmax_keeps_the_shape_and_counts_its_axis_from_the_front(op):
    node = op((leaf(2, 3),))
    assert (node.shape, node.axis) == ((2, 3), 1)
    assert op((leaf(2, 3),), axis=-2).axis == 0


@pytest.mark.parametrize("op", REDUCE)
def test_a_reduction_removes_its_axis(op):
    assert op((leaf(2, 3, 4),)).shape == (2, 3)
    assert op((leaf(2, 3, 4),), axis=1).shape == (2, 4)
    assert op((leaf(2, 3, 4),), axis=-3).shape == (3, 4)
    assert op((leaf(2),)).shape == ()


@pytest.mark.parametrize("op", OUTER)
def test_an_outer_operator_multiplies_the_sizes_of_its_axis(op):
    assert op((leaf(2, 3), leaf(2, 4))).shape == (2, 12)
    assert op((leaf(2, 3), leaf(5, 3)), axis=0).shape == (10, 3)


def test_a_kronecker_product_multiplies_the_sizes_of_all_axes():
    assert KroneckerParameter((leaf(2, 3), leaf(4, 5))).shape == (8, 15)


def test_a_mixing_weight_has_one_diagonal_block_for_each_input():
    assert MixingWeightParameter((leaf(3, 4),)).shape == (3, 12)


def test_an_index_has_as_many_entries_as_indices_along_its_axis():
    assert IndexParameter((leaf(3, 4),), indices=(2, 0, 2, 1, 1), axis=0).shape == (5, 4)
    with pytest.raises(DataTypeError, match="indices must be a tuple of integers; found"):
        IndexParameter((leaf(3, 4),), indices=(0.5,))  # type: ignore[arg-type]


def test_a_derivative_loses_as_many_coefficients_as_its_order_but_keeps_one():
    assert [PolynomialDifferentialParameter((leaf(2, 3),), order=n).shape for n in (1, 2, 3, 9)] == [
        (2, 2),
        (2, 1),
        (2, 1),
        (2, 1),
    ]


@given(circuits(positive=False))
def test_the_shape_of_an_expression_is_that_of_its_value(circuit):
    values = constant_leaf_values(circuit)
    for _, parameter in circuit.parameters():
        assert parameter_value(parameter, values).shape == parameter.shape


# ---- refused operators


@pytest.mark.parametrize("op", PAIRWISE)
def test_operands_of_different_shapes_are_refused(op):
    with pytest.raises(ShapeError, match=rf"{op.__name__} needs operands of equal shape; found \(2, 3\) and \(3, 2\)"):
        op((leaf(2, 3), leaf(3, 2)))


@pytest.mark.parametrize("op", OUTER)
def test_outer_operands_that_differ_along_a_different_axis_are_refused(op):
    with pytest.raises(ShapeError, match=r"along axis 1 .* found \(2, 3\) and \(3, 3\)"):
        op((leaf(2, 3), leaf(3, 3)))
    with pytest.raises(ShapeError, match=r"found \(2, 3\) and \(3,\)"):
        op((leaf(2, 3), leaf(3)))


def test_kronecker_operands_of_different_ranks_are_refused():
    with pytest.raises(ShapeError, match=r"equal rank; found \(2, 3\) and \(3,\)"):
        KroneckerParameter((leaf(2, 3), leaf(3)))


@pytest.mark.parametrize("op", [MixingWeightParameter, PolynomialDifferentialParameter])
def test_operators_on_matrices_refuse_different_ranks(op):
    with pytest.raises(ShapeError, match=rf"{op.__name__} needs .* found \(2,\)"):
        op((leaf(2),))


@pytest.mark.parametrize("op", [SoftmaxParameter, LogSoftmaxParameter, *REDUCE])
@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_out_of_range_is_refused(op, axis):
    with pytest.raises(ValueRangeError, match=rf"{op.__name__}: axis {axis} is out of range for a shape with 2 axes"):
        op((leaf(2, 2),), axis=axis)


@pytest.mark.parametrize("op", OUTER)
def test_an_outer_axis_out_of_range_is_refused(op):
    with pytest.raises(ValueRangeError, match="axis 2 is out of range for a shape with 2 axes"):
        op((leaf(2, 2), leaf(2, 2)), axis=2)


@pytest.mark.parametrize(("op", "wanted"), [(SigmoidParameter, 1), (HadamardParameter, 2), (KroneckerParameter, 2)])
@pytest.mark.parametrize("given_", [0, 3])
def test_a_wrong_number_of_operands_is_refused(op, wanted, given_):
    with pytest.raises(ShapeError, match=rf"{op.__name__} needs {wanted} operand\(s\); found {given_}"):
        op((leaf(2),) * given_)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScaledSigmoidParameter((leaf(1),), vmin=1, vmax=1), "vmin < vmax; found 1 and 1"),
        (lambda: ClampParameter((leaf(1),)), "needs vmin, vmax or both"),
        (lambda: ClampParameter((leaf(1),), vmin=2, vmax=1), "vmin <= vmax; found 2 and 1"),
        (lambda: PolynomialDifferentialParameter((leaf(1, 2),), order=0), "order >= 1; found 0"),
        (lambda: IndexParameter((leaf(2, 3),), indices=(0, 3)), "indices from 0 to 2; found 3"),
        (lambda: IndexParameter((leaf(2, 3),), indices=(), axis=0), "indices from 0 to 1; found none"),
    ],
)
def test_config_outside_of_its_range_is_refused(make, message):
    with pytest.raises(ValueRangeError, match=message):
        make()


def test_an_abstract_operator_is_refused():
    class Twice(ParameterOp):
        """Lacks `_result_shape`."""

    with pytest.raises(TypeError, match="abstract"):
        Twice((leaf(1),))  # type: ignore[abstract]


# ---- expressions


def test_nodes_are_in_topological_order_each_once():
    w = leaf(2)
    left, right = ExpParameter((w,)), LogParameter((w,))
    top = SumParameter((HadamardParameter((left, right)), left))
    nodes = list(top.nodes())
    assert nodes == [w, left, right, top.inputs[0], top]


def test_a_deep_expression_is_walked_without_recursion():
    node: Any = leaf(2)
    for _ in range(5000):
        node = ExpParameter((node,))
    assert len(list(node.nodes())) == 5001


def test_the_text_of_an_expression_is_its_source():
    named = TensorParameter((2, 3), name="theta")
    node = SumParameter((SoftmaxParameter((named,)), ClampParameter((named,), vmin=0.1)))
    assert repr(node) == snapshot(
        "SumParameter(SoftmaxParameter(TensorParameter[theta](2, 3), axis=1), "
        "ClampParameter(TensorParameter[theta](2, 3), vmin=0.1))"
    )


def test_an_operator_with_two_users_is_shown_once():
    shared = ExpParameter((leaf(2),))
    node = SumParameter((HadamardParameter((shared, shared)), shared))
    assert repr(node) == snapshot("SumParameter(HadamardParameter(#1=ExpParameter(TensorParameter(2,)), #1), #1)")


def test_the_text_of_a_deep_expression_neither_recurses_nor_explodes():
    deep: Any = leaf(2)
    shared: Any = leaf(2)
    for _ in range(5000):
        deep = ExpParameter((deep,))
        shared = HadamardParameter((shared, shared))
    assert repr(deep).count("ExpParameter") == 5000
    assert repr(shared).count("HadamardParameter") == 5000


def test_numpy_numbers_become_python_numbers():
    node = ScaledSigmoidParameter((SoftmaxParameter((leaf(2, 3),), axis=np.int64(0)),), np.float32(0), np.int64(1))  # type: ignore[arg-type]
    assert [type(value) for value in (node.vmin, node.vmax)] == [float, float]
    assert type(TensorParameter((np.int64(2),)).shape[0]) is int  # type: ignore[arg-type]


@pytest.mark.parametrize("family", [EntrywiseParameterOp, ParameterOp])
def test_an_abstract_class_cannot_be_constructed(family):
    with pytest.raises((DataTypeError, TypeError), match="abstract"):
        family((leaf(2),))


def test_an_array_as_operand_is_refused_with_advice():
    with pytest.raises(
        DataTypeError, match=r"inputs must be .* use constant\(\.\.\.\)\); found array.* of type ndarray"
    ):
        SoftmaxParameter((np.ones((1, 2)),))  # type: ignore[arg-type]


def test_the_config_of_an_operator_is_its_fields_without_operands_and_shape():
    assert config_of(ScaledSigmoidParameter((leaf(2),), vmin=0, vmax=1)) == {"vmin": 0, "vmax": 1}
    assert config_of(SigmoidParameter((leaf(2),))) == {}


def test_a_node_cannot_be_changed():
    node = SigmoidParameter((leaf(2),))
    with pytest.raises(AttributeError):
        node.inputs = ()  # type: ignore[misc]
