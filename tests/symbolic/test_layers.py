"""Layers: what each accepts and refuses at construction."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from explorer.errors import CircuitError, DataTypeError, ScopeError, ShapeError, ValueRangeError
from explorer.graph import config_of, nested_of, node_text, parameters_of
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    HadamardLayer,
    InnerLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    PolynomialLayer,
    SumLayer,
    TensorParameter,
    constant,
)


def leaf(*shape: int) -> TensorParameter:
    return TensorParameter(shape)


def categorical(**changes: Any) -> CategoricalLayer:
    return CategoricalLayer(
        **{"scope": (0,), "num_output_units": 2, "num_categories": 3, "probs": leaf(2, 3), **changes}
    )


def gaussian(**changes: Any) -> GaussianLayer:
    return GaussianLayer(**{"scope": (0,), "num_output_units": 2, "mean": leaf(2), "stddev": leaf(2), **changes})


def embedding(**changes: Any) -> EmbeddingLayer:
    return EmbeddingLayer(**{"scope": (0,), "num_output_units": 2, "num_states": 3, "weight": leaf(2, 3), **changes})


def binomial(**changes: Any) -> BinomialLayer:
    return BinomialLayer(**{"scope": (0,), "num_output_units": 2, "total_count": 3, "probs": leaf(2), **changes})


def polynomial(**changes: Any) -> PolynomialLayer:
    return PolynomialLayer(**{"scope": (0,), "num_output_units": 2, "degree": 3, "coeff": leaf(2, 4), **changes})


def constant_value(**changes: Any) -> ConstantValueLayer:
    return ConstantValueLayer(**{"num_output_units": 2, "value": leaf(2), **changes})


def evidence(**changes: Any) -> EvidenceLayer:
    return EvidenceLayer(**{"num_output_units": 2, "layer": categorical(), "observation": constant([1]), **changes})


def a_sum(**changes: Any) -> SumLayer:
    return SumLayer(**{"num_input_units": 3, "num_output_units": 2, "weight": leaf(2, 3), **changes})


ALL = (categorical, gaussian, embedding, binomial, polynomial, constant_value, evidence, a_sum)


@pytest.mark.parametrize("make", ALL)
def test_each_layer_is_made_from_complete_arguments(make):
    assert make().num_output_units == 2


@pytest.mark.parametrize("make", ALL)
def test_a_layer_is_frozen_and_equal_to_itself_only(make):
    layer = make()
    assert layer != make()
    with pytest.raises(AttributeError):
        layer.num_output_units = 3


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("units", [0, -1])
def test_a_layer_without_units_is_refused(make, units):
    with pytest.raises(ValueRangeError, match=f"needs num_output_units >= 1; found {units}"):
        make(num_output_units=units)


@pytest.mark.parametrize("make", [categorical, gaussian, embedding, binomial, polynomial])
@pytest.mark.parametrize("scope", [(), (0, 1)])
def test_a_layer_of_one_variable_refuses_zero_and_two(make, scope):
    with pytest.raises(ScopeError, match=r"Layer reads one variable; found scope \("):
        make(scope=scope)


@pytest.mark.parametrize("make", [categorical, gaussian])
def test_a_negative_or_repeated_variable_is_refused(make):
    with pytest.raises(ScopeError, match="non-negative indices"):
        make(scope=(-1,))
    with pytest.raises(ScopeError, match="once"):
        make(scope=(1, 1))


@pytest.mark.parametrize("make", [constant_value, evidence])
def test_layers_that_read_no_variable_refuse_a_scope(make):
    with pytest.raises(ScopeError, match=r"has an empty scope; found \(0,\)"):
        make(scope=(0,))


@pytest.mark.parametrize(
    ("make", "name", "wanted"),
    [
        (categorical, "probs", (2, 3)),
        (embedding, "weight", (2, 3)),
        (binomial, "probs", (2,)),
        (gaussian, "mean", (2,)),
        (gaussian, "stddev", (2,)),
        (gaussian, "log_partition", (2,)),
        (polynomial, "coeff", (2, 4)),
        (constant_value, "value", (2,)),
        (evidence, "observation", (1,)),
        (a_sum, "weight", (2, 3)),
    ],
)
def test_a_parameter_of_a_wrong_shape_is_refused_with_both_shapes(make, name, wanted):
    text = str(wanted).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ShapeError, match=rf"Layer: {name} must have shape {text}; found \(5, 7\)"):
        make(**{name: leaf(5, 7)})


def test_logits_have_the_shape_of_probs():
    with pytest.raises(ShapeError, match=r"logits must have shape \(2, 3\)"):
        categorical(probs=None, logits=leaf(3, 2))
    with pytest.raises(ShapeError, match=r"logits must have shape \(2,\)"):
        binomial(probs=None, logits=leaf(2, 3))


@pytest.mark.parametrize(("make", "logits"), [(categorical, leaf(2, 3)), (binomial, leaf(2))])
def test_exactly_one_of_probs_and_logits_is_required(make, logits):
    with pytest.raises(ShapeError, match="exactly one of probs and logits; found none"):
        make(probs=None)
    with pytest.raises(ShapeError, match=r"exactly one of probs and logits; found \['probs', 'logits'\]"):
        make(logits=logits)
    assert list(parameters_of(make(probs=None, logits=logits))) == ["logits"]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(categorical, "num_categories", 0), (embedding, "num_states", 0), (binomial, "total_count", 0)],
)
def test_counts_below_one_are_refused(make, name, value):
    with pytest.raises(ValueRangeError, match=f"needs {name} >= 1; found {value}"):
        make(**{name: value})


def test_a_negative_degree_is_refused_and_degree_zero_is_a_constant():
    with pytest.raises(ValueRangeError, match="degree >= 0; found -1"):
        polynomial(degree=-1)
    assert polynomial(degree=0, coeff=leaf(2, 1)).degree == 0


# ---- evidence


def test_evidence_has_the_width_of_the_observed_layer():
    with pytest.raises(ShapeError, match="num_output_units=5, the observed layer has 2; they must be equal"):
        evidence(num_output_units=5)


@pytest.mark.parametrize("observed", [constant_value, evidence])
def test_evidence_of_a_layer_without_variables_is_refused(observed):
    with pytest.raises(ScopeError, match="observes a layer that reads a variable"):
        evidence(layer=observed())


def test_evidence_holds_the_observed_layer_inside():
    layer = categorical()
    assert nested_of(evidence(layer=layer)) == {"layer": layer}
    assert evidence(layer=layer).scope == ()


# ---- inner layers


def hadamard(**changes: Any) -> HadamardLayer:
    return HadamardLayer(**{"num_input_units": 2, "num_output_units": 2, **changes})


@pytest.mark.parametrize("name", ["num_input_units", "arity"])
@pytest.mark.parametrize("make", [a_sum, hadamard])
def test_an_inner_layer_reads_at_least_one_unit_of_one_layer(make, name):
    with pytest.raises(ValueRangeError, match=f"needs {name} >= 1; found 0"):
        make(**{name: 0})


def test_the_weight_of_a_sum_has_a_column_for_each_unit_of_each_input():
    assert a_sum(arity=3, weight=leaf(2, 9)).arity == 3
    with pytest.raises(ShapeError, match=r"weight must have shape \(2, 9\); found \(2, 3\)"):
        a_sum(arity=3)


def test_a_hadamard_layer_keeps_the_number_of_units():
    assert HadamardLayer(num_input_units=2, num_output_units=2).arity == 2
    with pytest.raises(ShapeError, match="of 2 inputs of 2 units has 2 output units; found 4"):
        HadamardLayer(num_input_units=2, num_output_units=4)


def test_a_kronecker_layer_has_all_combinations_of_units():
    assert KroneckerLayer(num_input_units=2, num_output_units=8, arity=3).num_output_units == 8
    with pytest.raises(ShapeError, match="of 3 inputs of 2 units has 8 output units; found 4"):
        KroneckerLayer(num_input_units=2, num_output_units=4, arity=3)


def test_config_of_a_layer_is_its_fields_without_parameters_scope_and_layers():
    assert config_of(categorical()) == {"num_output_units": 2, "num_categories": 3}
    assert config_of(evidence()) == {"num_output_units": 2}
    assert config_of(a_sum()) == {"num_output_units": 2, "num_input_units": 3, "arity": 1}


# ---- wrong types


WRONG_TYPES: dict[str, Callable[[], object]] = {
    "scope a number": lambda: categorical(scope=3),
    "units not an integer": lambda: categorical(num_output_units=2.0),
    "units a string": lambda: categorical(num_output_units="2"),
    "width not whole": lambda: HadamardLayer(num_input_units=2.5, num_output_units=2.5),  # type: ignore[arg-type]
    "weight an array": lambda: a_sum(weight=np.ones((2, 3))),
    "weight a list": lambda: a_sum(weight=[[1, 2, 3], [4, 5, 6]]),
    "evidence of a sum": lambda: evidence(layer=a_sum()),
    "abstract layer": lambda: Layer(num_output_units=1),
    "abstract input": lambda: InputLayer(num_output_units=1, scope=(0,)),
    "abstract inner": lambda: InnerLayer(num_output_units=1, num_input_units=1, arity=1),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_arguments_of_a_wrong_type_are_refused_with_a_typed_error(what):
    with pytest.raises((CircuitError, TypeError), match=r"must|needs|abstract|takes|is a list"):
        WRONG_TYPES[what]()


def test_an_array_as_weight_is_refused_with_advice():
    with pytest.raises(
        DataTypeError, match=r"SumLayer: weight must be a ParameterNode \(for fixed values use constant"
    ):
        a_sum(weight=np.ones((2, 3)))


def test_numpy_numbers_become_python_numbers():
    layer = categorical(num_output_units=np.int64(2), num_categories=np.uint8(3), scope=np.array([0]))
    assert [type(v) for v in (layer.num_output_units, layer.num_categories, *layer.scope)] == [int, int, int]
    assert constant_value(log_space=np.True_).log_space is True


def test_a_custom_layer_class_is_checked_against_its_annotations():
    @dataclass(frozen=True, eq=False, kw_only=True)
    class WideLayer(InnerLayer):
        arity: int = 1
        slope: float
        label: str | None = None

    assert WideLayer(num_output_units=1, num_input_units=1, slope=2).slope == 2
    with pytest.raises(DataTypeError, match="WideLayer: slope must be a number; found True of type bool"):
        WideLayer(num_output_units=1, num_input_units=1, slope=True)
    with pytest.raises(DataTypeError, match="WideLayer: label must be a string; found 3 of type int"):
        WideLayer(num_output_units=1, num_input_units=1, slope=2.5, label=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", ALL)
def test_a_layer_is_copied_and_pickled(make):
    layer = make()
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert node_text(again) == node_text(layer)


OUT_OF_RANGE: dict[str, Callable[[], object]] = {
    "probs below 0": lambda: categorical(probs=constant([[0.5, 0.7, -0.2], [0.1, 0.2, 0.7]])),
    "probs above 1": lambda: binomial(probs=constant([0.5, 1.5])),
    "stddev below 0": lambda: gaussian(stddev=constant([1.0, -1.0])),
    "observation too large": lambda: evidence(observation=constant([3])),
    "observation negative": lambda: evidence(observation=constant([-1])),
    "observation not whole": lambda: evidence(observation=constant([0.5])),
    "observation of a binomial": lambda: evidence(layer=binomial(), observation=constant([4])),
    "observation NaN": lambda: evidence(layer=gaussian(), observation=constant([float("nan")])),
    "stddev zero, by one number": lambda: gaussian(stddev=TensorParameter((2,), initializer=ConstantInitializer(0.0))),
    "probs NaN": lambda: categorical(probs=constant(np.full((2, 3), np.nan))),
}


@pytest.mark.parametrize("what", OUT_OF_RANGE)
def test_constants_outside_of_their_range_are_refused(what):
    with pytest.raises(ValueRangeError, match=r"must be|found NaN"):
        OUT_OF_RANGE[what]()


@pytest.mark.parametrize("value", [0, 2, 1.0])
def test_a_legal_observation_is_accepted(value):
    assert evidence(observation=constant([value])).layer.num_output_units == 2
    assert evidence(layer=gaussian(), observation=constant([value - 7.5])).layer.num_output_units == 2
