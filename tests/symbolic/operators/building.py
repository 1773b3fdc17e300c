"""For tests of operators: values of a circuit and of what it was made of, in plain numpy."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.symbolic import Circuit, InputLayer
from tests.oracle import constant_leaf_values, evaluate

Array = NDArray[Any]


def values(circuit: Circuit, x: Array | None) -> Array:
    """The values (B, outputs, O) of a circuit of constant leaves, by the oracle."""
    return evaluate(circuit, constant_leaf_values(circuit), x)


def all_pairs(one: Array, other: Array) -> Array:
    """The products of all outputs and units: (B, m, K) and (B, n, L) -> (B, m*n, K*L)."""
    both = one[:, :, None, :, None] * other[:, None, :, None, :]
    return both.reshape(len(one), one.shape[1] * other.shape[1], -1)


def all_assignments(circuit: Circuit) -> Array:
    """All assignments (N, D) to the variables of a discrete circuit; unused columns are zero."""
    states = {
        layer.scope[0]: layer.num_values or 0
        for layer in circuit.layers
        if isinstance(layer, InputLayer) and layer.scope
    }
    columns = [range(states.get(v, 1)) for v in range(circuit.num_variables)]
    return np.array(list(product(*columns)), dtype=np.int64).reshape(-1, circuit.num_variables)


def assert_close(found: Array, wanted: Array) -> None:
    """Assert that values are equal, relative to the largest of each unit."""
    assert found.shape == wanted.shape
    scale = np.abs(wanted).max(axis=0, initial=1e-9)
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=0, atol=1e-7)


def evaluate_at(circuit: Circuit, row: list[float] | None) -> Array:
    """The only value of a circuit with one output of one unit."""
    found = values(circuit, None if row is None else np.array([row]))
    return np.real(found).reshape(())
