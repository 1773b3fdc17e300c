"""Products of circuits equal the products of their values, whatever is multiplied."""

import numpy as np
import pytest

from explorer.symbolic import Circuit
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import gallery, image_data
from tests.levels.modes import MODES, compile_circuit, output
from tests.strategies import random_inputs
from tests.symbolic.operators.building import all_assignments, all_pairs


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
