"""Products of circuits equal the products of their values, whatever is multiplied."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.symbolic import Circuit
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import gallery, image_data
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit, output
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
