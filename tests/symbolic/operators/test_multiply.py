"""Products of circuits equal the products of their values, whatever is multiplied."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from explorer.symbolic import (
    ACTIVATIONS,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    HadamardLayer,
    MixingWeightParameter,
    Parameterization,
    ParameterNode,
    SumLayer,
    TensorParameter,
    UniformInitializer,
    constant,
)
from explorer.symbolic.operators import conjugate, integrate, multiply
from explorer.templates import fully_factorized, gallery, image_data, tensor_train
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit, layer_types, output
from tests.oracle import SEMIRINGS, assert_equals_oracle, constant_leaf_values
from tests.strategies import random_inputs
from tests.symbolic.operators.building import all_assignments, all_pairs, assert_close, values
from tests.symbolic.operators.structured import compatible_circuits


def template(layer: str, shape: tuple[int, int, int] = (1, 2, 2)) -> Circuit:
    return image_data(
        shape,
        "quad-tree-2",
        input_layer="categorical",
        num_categories=2,
        num_input_units=2,
        sum_product_layer=layer,
        num_sum_units=2,
    )


@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize("count", [2, 3])
def test_powers_of_a_template_and_their_partition_functions(layer: str, count: int):
    circuit = template(layer)
    power = multiply(*[circuit] * count)
    x = all_assignments(circuit)
    for mode in MODES:
        wanted = np.exp(count * output(compile_circuit(circuit, **mode), x))
        np.testing.assert_allclose(np.exp(output(compile_circuit(power, **mode), x)), wanted, rtol=1e-9)
        partition = np.exp(output(compile_circuit(integrate(power), **mode), None))
        np.testing.assert_allclose(partition.item(), wanted.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", ["blackboard", "hmm", "near-misses", "levels", "sum-chain"])
def test_squares_of_the_gallery(name: str):
    circuit = gallery.load_named(name)
    x = random_inputs(circuit, seed=1)
    one = np.exp(output(compile_circuit(circuit), x))
    np.testing.assert_allclose(np.exp(output(compile_circuit(multiply(circuit, circuit)), x)), all_pairs(one, one))


def inputs_of(*circuits: Circuit, seed: int) -> np.ndarray:
    """Legal inputs for all circuits, with a column for every variable of any."""
    given = [random_inputs(circuit, batch=3, seed=seed) for circuit in circuits]
    width = max(circuit.num_variables for circuit in circuits)
    x = np.zeros((3, width))
    for circuit, columns in zip(circuits, given, strict=True):
        if columns is not None:
            x[:, list(circuit.scope)] = columns[:, list(circuit.scope)]
    return x


@examples(60)
@given(compatible_circuits(2, positive=False, complex_leaves=True), st.integers(0, 2**16))
def test_a_product_of_two_circuits_has_the_products_of_their_values(circuits: tuple[Circuit, ...], seed: int):
    one, other = circuits
    x = inputs_of(one, other, seed=seed)
    product = multiply(one, other)
    assert_close(values(product, x), all_pairs(values(one, x), values(other, x)))
    assert product.is_smooth
    assert product.is_decomposable


@examples(40)
@given(compatible_circuits(3, positive=False, complete=True), st.integers(0, 2**16))
def test_a_product_of_three_circuits_has_the_products_of_their_values(circuits: tuple[Circuit, ...], seed: int):
    x = inputs_of(*circuits, seed=seed)
    one, two, three = (values(circuit, x) for circuit in circuits)
    assert_close(values(multiply(*circuits), x), all_pairs(all_pairs(one, two), three))


@examples(30)
@given(compatible_circuits(1, positive=False), st.integers(0, 2**16))
def test_a_square_has_the_products_of_all_pairs_of_units(circuits: tuple[Circuit, ...], seed: int):
    (circuit,) = circuits
    x = inputs_of(circuit, seed=seed)
    found = values(circuit, x)
    assert_close(values(multiply(circuit, circuit), x), all_pairs(found, found))


@examples(20)
@given(compatible_circuits(2), st.integers(0, 2**16), st.sampled_from(MODES), st.sampled_from(["default", "handbook"]))
def test_products_are_compiled_in_every_mode_preset_and_semiring(
    circuits: tuple[Circuit, ...], seed: int, mode: Mode, preset: str
):
    product = multiply(*circuits)
    x, leaves = inputs_of(*circuits, seed=seed), constant_leaf_values(product)
    for semiring in SEMIRINGS:
        found = output(compile_circuit(product, semiring, preset=preset, **mode), x)
        assert_equals_oracle(found, semiring, product, leaves, x)


def dense_mixture() -> Circuit:
    """A sum over three products of the same variables, with a dense weight."""
    b = CircuitBuilder()
    weights = Parameterization("none", UniformInitializer(-1.0, 1.0))

    def product() -> int:
        inputs = [
            b.add(EmbeddingLayer(scope=(v,), num_output_units=3, num_states=2, weight=weights((3, 2)))) for v in (0, 1)
        ]
        return b.hadamard(*inputs)

    return b.build(b.sum(*(product() for _ in range(3)), num_units=2, weights=weights))


def test_a_square_has_one_of_each_two_equal_units_where_that_pays():
    square = multiply(template("cp-t"), template("cp-t"))  # different circuits: nothing is equal
    assert max(layer.num_output_units for layer in square.layers) == 4
    circuit = template("cp-t")
    square = multiply(circuit, circuit)
    assert {layer.num_output_units for layer in square.layers} == {1, 3}
    wide = fully_factorized(3, num_categories=2)
    assert [layer.num_output_units for layer in multiply(wide, wide).layers] == [
        layer.num_output_units for layer in wide.layers
    ]


def signed(*, is_complex: bool) -> Circuit:
    """A sum of two products of two variables, with values of both signs or complex ones."""
    random = np.random.default_rng(0)

    def table(*shape: int) -> ParameterNode:
        imaginary = 1j * random.uniform(-1.0, 1.0, shape) if is_complex else 0.0
        return constant(random.uniform(-1.0, 1.0, shape) + imaginary)

    b = CircuitBuilder()

    def inner() -> int:
        leaves = [EmbeddingLayer(scope=(v,), num_output_units=3, num_states=2, weight=table(3, 2)) for v in (0, 1)]
        sums = [b.sum(b.add(leaf), num_units=3, weight=table(3, 3)) for leaf in leaves]
        return b.sum(b.hadamard(*sums), num_units=2, weight=table(2, 3))

    return b.build(b.sum(inner(), inner(), num_units=1, weight=table(1, 4)))


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_real_circuit_times_its_conjugate_is_its_square(is_complex: bool):
    circuit = signed(is_complex=is_complex)
    conjugated, x = conjugate(circuit), all_assignments(circuit)
    product, square = multiply(circuit, conjugated), multiply(circuit, circuit)
    plain = values(circuit, x)
    assert_close(values(product, x), plain * plain.conj())
    units = [[layer.num_output_units for layer in one.layers] for one in (product, square)]
    assert (units[0] == units[1]) is not is_complex
    assert 6 in units[1], "3 units have 6 different products of two"
    assert (6 in units[0]) is not is_complex
    assert product.derivation is not None
    assert product.derivation.operands == (circuit, conjugated)
    if not is_complex:
        for mode in MODES:
            found = output(compile_circuit(product, "sum-product", **mode), x)
            np.testing.assert_allclose(found, plain**2, atol=1e-12)  # double precision, values below 10
    powers = multiply(circuit, conjugated, circuit)
    assert_close(values(powers, x), plain * plain.conj() * plain)


def test_circuits_with_other_values_or_inputs_of_the_same_layers_are_not_squared():
    leaf = EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant([[0.1, 0.9], [0.4, -0.6]]))
    other = EmbeddingLayer(scope=(1,), num_output_units=2, num_states=2, weight=constant([[0.3, 0.2], [-0.4, 0.8]]))
    layers = leaf, other, HadamardLayer(num_input_units=2, num_output_units=2)
    circuits: list[Circuit] = []
    for outputs in ((0,), (1,), (2,)):
        b = CircuitBuilder()
        one, two = b.add(layers[0]), b.add(layers[1])
        ids = one, two, b.add(layers[2], (one, two))
        circuits.append(b.build(*(ids[at] for at in outputs)))
    x = all_assignments(circuits[2])
    for one in circuits:
        for two in circuits:
            assert_close(values(multiply(one, two), x), all_pairs(values(one, x), values(two, x)))


def test_a_layer_of_many_units_is_squared_with_all_of_them_so_that_it_is_shattered():
    circuit = image_data(
        (1, 2, 2),
        "quad-tree-2",
        input_layer="categorical",
        num_input_units=32,
        sum_product_layer="cp-t",
        num_sum_units=32,
    )
    square = multiply(circuit, circuit)
    assert max(layer.num_output_units for layer in square.layers) == 32**2
    assert "TensorDot" in layer_types(compile_circuit(square))


def test_the_square_of_a_sum_reads_the_product_of_each_two_inputs_once():
    circuit = dense_mixture()
    square = multiply(circuit, circuit)
    (top,) = (layer for layer in square.layers if isinstance(layer, SumLayer))
    assert top.arity == 6
    x = all_assignments(circuit)
    for mode in MODES:
        compiled, plain = (compile_circuit(c, "sum-product", **mode) for c in (square, circuit))
        one = output(plain, x)
        np.testing.assert_allclose(output(compiled, x), all_pairs(one, one), atol=1e-12)


def test_an_output_and_what_else_reads_a_layer_get_all_units():
    b = CircuitBuilder()
    layer = EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant([[0.1, 0.9], [0.4, -0.6]]))
    leaf = b.add(layer)
    circuit = b.build(b.sum(leaf, num_units=2, weight=constant([[1.0, 2.0], [0.5, -1.0]])), leaf)
    x, square = all_assignments(circuit), multiply(circuit, circuit)
    assert_close(values(square, x), all_pairs(values(circuit, x), values(circuit, x)))
    assert {layer.num_output_units for layer in square.layers} == {4}


@pytest.mark.parametrize("shape", [(2, 3, 2, 2), (3, 2, 3)])
def test_the_square_of_a_tensor_train_sums_to_its_squared_norm(shape: tuple[int, ...]):
    """Its sums have several inputs of several units, and its values both signs."""
    circuit = tensor_train(shape, 2)
    x = np.array(list(np.ndindex(*shape)))
    square = multiply(circuit, circuit)
    for mode in MODES:
        plain = output(compile_circuit(circuit, "sum-product", **mode), x)
        assert (plain < 0).any()
        np.testing.assert_allclose(output(compile_circuit(square, "sum-product", **mode), x), plain**2, atol=1e-12)
        norm = output(compile_circuit(integrate(square), "sum-product", **mode), None)
        np.testing.assert_allclose(norm.item(), (plain**2).sum())
        in_logs = output(compile_circuit(integrate(square), "complex-lse-sum", **mode), None)
        np.testing.assert_allclose(np.exp(in_logs).item(), (plain**2).sum())


@pytest.mark.parametrize("activation", ["softmax", "positive-clamp", "sigmoid"])
def test_products_of_small_probabilities_do_not_underflow_in_log_space(activation: str):
    """In single precision 1e-18^3 is zero; its logarithm is known all the same."""
    leaf = TensorParameter((1, 2), initializer=ConstantInitializer([[-41.0, 0.0]]))
    probs = ACTIVATIONS[activation](leaf)
    b = CircuitBuilder()
    circuit = b.build(b.add(CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=probs)))
    cube = multiply(circuit, circuit, circuit)
    torch.set_default_dtype(torch.float32)
    one = output(compile_circuit(circuit), np.array([[0]]))
    np.testing.assert_allclose(output(compile_circuit(cube), np.array([[0]])), 3 * one, rtol=1e-5)


def test_a_sum_over_a_kronecker_product_in_another_order_times_one_unit():
    """The factors of both are in different orders, so the units of the product are, too, though one side has one."""
    random = np.random.default_rng(0)

    def kronecker(units: int, variables: tuple[int, int]) -> tuple[CircuitBuilder, int]:
        b = CircuitBuilder()
        leaves = [
            EmbeddingLayer(scope=(v,), num_output_units=units, num_states=2, weight=constant(random.random((units, 2))))
            for v in variables
        ]
        return b, b.kronecker(*(b.add(layer) for layer in leaves))

    one, top = kronecker(1, (0, 1))
    left = one.build(top)
    other, top = kronecker(2, (1, 0))
    right = other.build(other.sum(top, num_units=3, weight=constant(random.random((3, 4)))))
    x = all_assignments(left)
    for pair in ((left, right), (right, left)):
        assert_close(values(multiply(*pair), x), all_pairs(*(values(circuit, x) for circuit in pair)))


def test_the_square_of_a_sum_that_scales_its_only_input_unit_by_unit():
    b = CircuitBuilder()
    leaf = b.add(
        EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant([[0.1, 0.9], [0.4, -0.6]]))
    )
    scaled = b.sum(leaf, num_units=2, weight=MixingWeightParameter((constant([[0.5], [-2.0]]),)))
    circuit = b.build(b.sum(scaled, num_units=2, weight=constant([[1.0, 2.0], [0.5, -1.0]])))
    x = all_assignments(circuit)
    found = values(circuit, x)
    assert_close(values(multiply(circuit, circuit), x), all_pairs(found, found))


@pytest.mark.parametrize("mixes", [(True, True), (True, False)])
def test_a_mixing_weight_of_one_unit_is_any_row_of_its_sum(mixes: tuple[bool, bool]):
    """The weight (1, 4) of a sum over two inputs of two units is not one number for each input."""

    def circuit(seed: int, *, mixing: bool) -> Circuit:
        random = np.random.default_rng(seed)
        b = CircuitBuilder()
        tables = [constant(random.uniform(0.1, 1.0, (2, 3))) for _ in range(2)]
        below = [b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=3, weight=t)) for t in tables]
        row = constant(random.uniform(0.1, 1.0, (1, 4)))
        return b.build(b.sum(*below, num_units=1, weight=MixingWeightParameter((row,)) if mixing else row))

    one, other = circuit(1, mixing=mixes[0]), circuit(2, mixing=mixes[1])
    x = all_assignments(one)
    assert_close(values(multiply(one, other), x), all_pairs(values(one, x), values(other, x)))
    assert_close(values(multiply(one, one), x), values(one, x) ** 2)
    for mode in MODES:
        found = output(compile_circuit(multiply(one, one), "sum-product", **mode), x)
        assert_close(found, values(one, x) ** 2)
