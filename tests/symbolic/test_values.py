"""A circuit with given values: compiled in any mode it has them, and nothing is drawn."""

import numpy as np
import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.errors import ShapeError, UnknownNameError
from explorer.symbolic import circuit_from_json, with_values
from explorer.symbolic.operators import multiply
from explorer.templates import load_named
from tests.levels.modes import MODES, compile_circuit


def learned(circuit, seed):
    return TorchCompiler(seed=seed).compile(circuit).leaf_state()


@pytest.mark.parametrize("name", ["conflict", "kronecker"])
def test_a_circuit_begins_with_the_values_that_it_is_given(name):
    circuit = load_named(name)
    values = learned(circuit, 7)
    made = with_values(circuit, {leaf: value.numpy() for leaf, value in values.items()})
    assert list(made.leaf_names.values()) == list(circuit.leaf_names.values())
    for mode in MODES:
        state = compile_circuit(made, seed=3, **mode).leaf_state()
        assert all(torch.equal(state[leaf], value) for leaf, value in values.items())
    assert learned(circuit_from_json(made.to_json()), 0).keys() == values.keys()


def test_a_product_keeps_the_names_of_its_leaves():
    circuit = load_named("conflict")
    square = multiply(circuit, circuit)
    values = {leaf: value.numpy() for leaf, value in learned(square, 7).items()}
    state = learned(with_values(square, values), 0)
    assert all(np.array_equal(state[leaf].numpy(), value) for leaf, value in values.items())


def test_values_of_another_circuit_are_refused():
    circuit = load_named("conflict")
    values = {leaf: value.numpy() for leaf, value in learned(circuit, 0).items()}
    first = next(iter(values))
    with pytest.raises(UnknownNameError, match="missing or unknown"):
        with_values(circuit, {**values, "other": 1.0})
    with pytest.raises(ShapeError):
        with_values(circuit, {**values, first: np.zeros(99)})
