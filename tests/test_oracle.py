"""The reference loader and the oracle agree with the independently computed outputs, and with sums by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from explorer import symbolic
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    PolynomialLayer,
    SumLayer,
    TensorParameter,
    constant,
)
from tests.oracle import (
    assert_equals_oracle,
    brute_force_partition,
    constant_leaf_values,
    evaluate,
    evaluate_in,
    parameter_value,
)
from tests.reference import FOLDER, OPERATORS, circuit_of, load_reference, reference_paths
from tests.strategies import circuits, random_inputs


@pytest.mark.parametrize("path", reference_paths(), ids=lambda path: path.stem)
def test_the_oracle_computes_the_expected_output_of_each_reference_circuit(path):
    circuit, x, expected = load_reference(path)
    values = constant_leaf_values(circuit)
    found = evaluate_in(expected.semiring, circuit, values, x)
    assert found.shape == expected.output_shape
    if expected.semiring == "complex-lse-sum":
        np.testing.assert_allclose(np.real(found), np.real(expected.output), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            np.exp(1j * np.imag(found)), np.exp(1j * np.imag(expected.output)), rtol=0, atol=1e-9
        )
    else:
        np.testing.assert_allclose(found, expected.output, rtol=1e-9, atol=0)
    assert_equals_oracle(expected.output, expected.semiring, circuit, values, x)


def test_the_loader_knows_every_operator():
    named = """Softmax LogSoftmax Sigmoid ScaledSigmoid Clamp Softplus Exp Log Square Conjugate Kronecker OuterProduct
        OuterSum Hadamard Sum ReduceSum ReduceProduct ReduceLSE MixingWeight PolynomialDifferential"""
    assert set(named.split()) == set(OPERATORS)


def test_a_leaf_and_its_references_are_one_object_with_the_values_of_the_rule():
    leaf = {"op": "Leaf", "in": [], "shape": [2, 2], "leaf": 3, "dtype": "REAL", "learnable": True}
    ref = {"op": "Ref", "in": [], "shape": [2, 2], "leaf": 3}
    circuit = circuit_of(_two_sums(ref, leaf))
    weights = [layer.weight for layer in circuit.layers if isinstance(layer, SumLayer)]
    assert weights[0] is weights[1]
    wanted = [[np.sin(3.6), np.sin(3.6 + 0.37)], [np.sin(3.6 + 0.74), np.sin(3.6 + 1.11)]]
    np.testing.assert_allclose(parameter_value(weights[0], constant_leaf_values(circuit)), wanted)


def test_leaves_are_complex_where_they_say_so_or_the_semiring_is():
    leaf = {"op": "Leaf", "in": [], "shape": [2, 2], "leaf": 0, "dtype": "REAL", "learnable": True}
    plain = circuit_of(_two_sums(leaf, {**leaf, "leaf": 1, "dtype": "COMPLEX"}))
    assert [leaf.dtype.name for leaf in plain.leaf_names] == ["REAL", "REAL", "COMPLEX"]
    under_complex = circuit_of({**_two_sums(leaf, leaf), "semiring": "complex-lse-sum"})
    assert [leaf.dtype.name for leaf in under_complex.leaf_names] == ["REAL", "COMPLEX"]
    value = constant_leaf_values(under_complex)[list(under_complex.leaf_names)[1]]
    np.testing.assert_allclose(value[0, 1], np.sin(0.9 + 0.37) + 1j * np.cos(0.5 + 0.23))


def _two_sums(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    one = {"op": "Leaf", "in": [], "shape": [2], "leaf": 9, "dtype": "REAL", "learnable": False, "const": [1.0, 2.0]}
    units: dict[str, Any] = {"in_units": 2, "out_units": 2, "arity": 1}
    return {
        "semiring": "sum-product",
        "outputs": [2],
        "layers": [
            {"id": 0, "type": "ConstantValue", **units, "scope": [], "inputs": []}
            | {"config": {"log_space": False}, "params": {"value": [one]}},
            {"id": 1, "type": "Sum", **units, "inputs": [0], "config": {}, "params": {"weight": [first]}},
            {"id": 2, "type": "Sum", **units, "inputs": [1], "config": {}, "params": {"weight": [second]}},
        ],
    }


# config, operands, wanted
X = np.array([[1.0, 2.0], [3.0, 5.0]])
Y = np.array([[7.0, 11.0]])
CASES: dict[str, tuple[dict[str, Any], tuple[Any, ...], Any]] = {
    "Softmax": ({"axis": 0}, (np.log(X),), [[1 / 4, 2 / 7], [3 / 4, 5 / 7]]),
    "LogSoftmax": ({"axis": 1}, (np.log(X),), np.log([[1 / 3, 2 / 3], [3 / 8, 5 / 8]])),
    "Sigmoid": ({}, (np.log(X),), [[1 / 2, 2 / 3], [3 / 4, 5 / 6]]),
    "ScaledSigmoid": ({"vmin": -1, "vmax": 3}, (np.log(Y),), [[2.5, 8 / 3]]),
    "Clamp": ({"vmin": 2, "vmax": None}, (X,), [[2, 2], [3, 5]]),
    "Softplus": ({}, (np.log(Y),), np.log([[8, 12]])),
    "Exp": ({}, (X,), np.e**X),
    "Log": ({}, (np.e**X,), X),
    "Square": ({}, (X,), [[1, 4], [9, 25]]),
    "Conjugate": ({}, ([1 + 2j],), [1 - 2j]),
    "Sum": ({}, (X, X), [[2, 4], [6, 10]]),
    "Hadamard": ({}, (X, X), [[1, 4], [9, 25]]),
    "Kronecker": ({}, (X, Y), [[7, 11, 14, 22], [21, 33, 35, 55]]),
    "OuterProduct": ({"axis": 0}, (X, Y), [[7, 22], [21, 55]]),
    "OuterSum": ({"axis": 1}, (Y, [[1.0, 2.0]]), [[8, 9, 12, 13]]),
    "ReduceSum": ({"axis": 0}, (X,), [4, 7]),
    "ReduceProduct": ({"axis": 1}, (X,), [2, 15]),
    "ReduceLSE": ({"axis": 1}, (np.log(X),), np.log([3, 8])),
    "MixingWeight": ({}, ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), [[1, 0, 2, 0, 3, 0], [0, 4, 0, 5, 0, 6]]),
    "PolynomialDifferential": ({"order": 2}, ([[7.0, 8.0, 3.0, 5.0]],), [[6, 30]]),
}


@pytest.mark.parametrize("op", OPERATORS)
def test_each_parameter_operator_against_numbers_by_hand(op):
    config, operands, wanted = CASES[op]
    node = OPERATORS[op](tuple(constant(operand) for operand in operands), **config)
    leaf_values = {leaf: leaf.initializer.value for leaf in node.nodes() if isinstance(leaf, TensorParameter)}  # type: ignore[attr-defined]
    np.testing.assert_allclose(parameter_value(node, leaf_values), wanted)


def test_a_polynomial_differentiated_more_often_than_its_degree_is_zero():
    leaf = constant([[7.0, 8.0]])
    node = symbolic.PolynomialDifferentialParameter((leaf,), order=3)
    np.testing.assert_array_equal(parameter_value(node, {leaf: np.array([[7.0, 8.0]])}), [[0.0]])


def _value(circuit: Circuit, x: Any = None, **options: bool) -> Any:
    return evaluate(circuit, constant_leaf_values(circuit), None if x is None else np.array(x), **options)


def test_input_layers_against_numbers_by_hand():
    def one(layer: Any, x: Any) -> Any:
        b = CircuitBuilder()
        return _value(b.build(b.add(layer)), [[x]])[0, 0]

    u1: dict[str, Any] = {"scope": (0,), "num_output_units": 1}
    assert one(PolynomialLayer(**u1, degree=2, coeff=constant([[5.0, 3.0, 2.0]])), 10) == [235.0]
    assert one(EmbeddingLayer(**u1, num_states=3, weight=constant([[5.0, -3.0, 2.0]])), 1) == [-3.0]
    probs = constant([0.25])
    np.testing.assert_allclose(one(symbolic.BinomialLayer(**u1, total_count=2, probs=probs), 1), [2 * 0.25 * 0.75])
    logits = constant([np.log(1 / 3)])
    np.testing.assert_allclose(one(symbolic.BinomialLayer(**u1, total_count=2, logits=logits), 2), [1 / 16])
    raw = constant(np.log([[2.0, 6.0]]))
    np.testing.assert_allclose(one(symbolic.CategoricalLayer(**u1, num_categories=2, logits=raw), 1), [6.0])
    gaussian = GaussianLayer(**u1, mean=constant([1.0]), stddev=constant([2.0]), log_partition=constant([np.log(3.0)]))
    np.testing.assert_allclose(one(gaussian, 3.0), [3 * np.exp(-0.5) / (2 * np.sqrt(2 * np.pi))])
    evidence = EvidenceLayer(num_output_units=1, layer=gaussian, observation=constant([3.0]))
    np.testing.assert_allclose(one(evidence, 17.0), [3 * np.exp(-0.5) / (2 * np.sqrt(2 * np.pi))])


def test_first_input_is_slowest_in_kronecker_and_first_in_columns_of_sums():
    b = CircuitBuilder()
    first = b.add(ConstantValueLayer(num_output_units=2, value=constant([2.0, 3.0])))
    second = b.add(ConstantValueLayer(num_output_units=2, value=constant(np.log([5.0, 7.0])), log_space=True))
    kronecker = b.kronecker(first, second)
    total = b.sum(first, second, num_units=4, weight=constant(np.eye(4)))
    found = _value(b.build(kronecker, total))
    np.testing.assert_allclose(found, [[10, 14, 15, 21], [2, 3, 5, 7]])
    np.testing.assert_allclose(np.exp(_value(b.build(kronecker, total), log=True)), found)


def test_log_space_represents_values_that_underflow_in_linear_space():
    b = CircuitBuilder()
    tiny = b.add(ConstantValueLayer(num_output_units=1, value=constant([-2000.0]), log_space=True))
    total = b.sum(tiny, tiny, num_units=1, weight=constant([[0.5, 0.25]]))
    np.testing.assert_allclose(_value(b.build(total), log=True), [[-2000 + np.log(0.75)]])


def test_the_logarithm_of_a_negative_value_is_nan_unless_complex():
    b = CircuitBuilder()
    negative = b.add(ConstantValueLayer(num_output_units=1, value=constant([-2.0])))
    circuit = b.build(b.sum(negative, num_units=1, weight=constant([[-3.0]])), negative)
    assert np.isnan(_value(circuit, log=True)).all()
    np.testing.assert_allclose(np.exp(_value(circuit, complex_logs=True)), [[6.0], [-2.0]])


def test_the_sum_over_all_inputs_of_the_five_variable_circuit_is_known():
    circuit, _, _ = load_reference(FOLDER / "01_known_5var.json")
    np.testing.assert_allclose(brute_force_partition(circuit, constant_leaf_values(circuit), 2), [[318.0]])


def test_an_output_that_is_wrong_in_the_eighth_digit_is_detected():
    circuit, x, expected = load_reference(FOLDER / "01_known_5var.json")
    with pytest.raises(AssertionError):
        assert_equals_oracle(expected.output + 1e-8, "lse-sum", circuit, constant_leaf_values(circuit), x)


@given(circuits(positive=True), st.integers(0, 99))
def test_log_space_and_linear_space_agree_on_random_positive_circuits(circuit, seed):
    x, values = random_inputs(circuit, 3, seed), constant_leaf_values(circuit)
    linear = evaluate(circuit, values, x)
    assume(((linear > 0) & (linear < np.inf)).all())  # others do not fit into float64, only their logarithms do
    np.testing.assert_allclose(evaluate(circuit, values, x, log=True), np.log(linear), rtol=1e-9, atol=1e-9)
    assert_equals_oracle(linear, "sum-product", circuit, values, x)


@given(circuits(positive=False) | circuits(positive=False, complex_leaves=True), st.integers(0, 99))
def test_complex_logs_and_linear_space_agree_on_random_circuits_of_any_sign(circuit, seed):
    x, values = random_inputs(circuit, 3, seed), constant_leaf_values(circuit)
    linear = evaluate(circuit, values, x)
    assume(np.isfinite(linear).all())
    with np.errstate(divide="ignore"):
        assert_equals_oracle(np.log(linear + 0j), "complex-lse-sum", circuit, values, x)
    assert_equals_oracle(np.exp(evaluate(circuit, values, x, complex_logs=True)), "sum-product", circuit, values, x)


def test_the_loader_accepts_a_file_with_every_layer_type(tmp_path: Path):
    def leaf(i: int, shape: list[int], const: Any = None) -> dict[str, Any]:
        row: dict[str, Any] = {"op": "Leaf", "in": [], "shape": shape, "leaf": i, "dtype": "REAL", "learnable": True}
        return row if const is None else row | {"const": const}

    def row(i: int, kind: str, params: dict[str, Any], config: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"id": i, "type": kind, "in_units": 1, "out_units": 1, "arity": 1, "scope": [i], "inputs": []} | {
            "config": config, "params": {name: [node] for name, node in params.items()}, **more
        }  # fmt: skip

    observed = row(0, "Embedding", {"weight": leaf(6, [1, 2], [[3.0, 4.0]])}, {"num_states": 2})
    gaussian = {"mean": leaf(3, [1]), "stddev": leaf(4, [1], [1.0]), "log_partition": leaf(5, [1], [2.0])}
    rows = [
        row(0, "Binomial", {"logits": leaf(0, [1])}, {"total_count": 3}),
        row(1, "Categorical", {"logits": leaf(1, [1, 3])}, {"num_categories": 3}),
        row(2, "Polynomial", {"coeff": leaf(2, [1, 3])}, {"degree": 2}),
        row(3, "Gaussian", gaussian, {}),
        row(4, "Evidence", {"observation": leaf(7, [1], [1])}, {}, scope=[], observed=observed),
        row(5, "ConstantValue", {"value": leaf(8, [1], [5.0])}, {"log_space": False}, scope=[]),
        row(6, "Hadamard", {}, {}, arity=4, inputs=[0, 1, 2, 3]),
        row(7, "Kronecker", {}, {}, arity=3, inputs=[6, 4, 5]),
        row(8, "Sum", {"weight": leaf(9, [1, 2])}, {}, arity=2, inputs=[7, 4]),
    ]
    data = {"semiring": "sum-product", "layers": rows, "outputs": [8], "x": [[1, 2, 0.5, 1.5]]}
    data["expected"] = {"output": [[[0.0]]], "output_shape": [1, 1, 1], "modes": {}}
    path = tmp_path / "all.json"
    path.write_text(json.dumps(data))
    circuit, x, expected = load_reference(path)
    assert (len(circuit.layers), expected.name) == (9, "all")

    p = 1 / (1 + np.exp(-np.sin(0.9)))
    factors = [
        3 * p * (1 - p) ** 2,
        np.exp(np.sin(1.8 + 0.74)),
        np.sin(2.7) + 0.5 * np.sin(2.7 + 0.37) + 0.25 * np.sin(2.7 + 0.74),
        np.exp(2 - 0.5 * (1.5 - np.sin(3.6)) ** 2) / np.sqrt(2 * np.pi),
    ]
    wanted = np.sin(9.0) * np.prod(factors) * 4 * 5 + np.sin(9.37) * 4
    np.testing.assert_allclose(evaluate(circuit, constant_leaf_values(circuit), x), [[[wanted]]])
