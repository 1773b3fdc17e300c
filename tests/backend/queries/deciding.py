"""Deterministic circuits: decisions on one variable after another, with different parameters at each."""

import numpy as np

from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    GaussianLayer,
    TensorParameter,
)


def leaf(values: object) -> TensorParameter:
    array = np.array(values, dtype=float)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


def decision_circuit(num_variables: int, seed: int, *, ends_real: bool = False) -> Circuit:
    """A tree that tests binary variables 0, 1 ... in turn; with `ends_real`, its leaves are normal variables."""
    random = np.random.default_rng(seed)
    b = CircuitBuilder()

    def tree(variable: int) -> int | None:
        if variable == num_variables:
            if not ends_real:
                return None
            mean, stddev = leaf([random.normal()]), leaf([random.uniform(0.5, 2.0)])
            return b.add(GaussianLayer(scope=(variable,), num_output_units=1, mean=mean, stddev=stddev))
        branches: list[int] = []
        for value in range(2):
            weight = leaf([[float(value == v) for v in range(2)]])
            indicator = b.add(EmbeddingLayer(scope=(variable,), num_output_units=1, num_states=2, weight=weight))
            below = tree(variable + 1)
            branches.append(indicator if below is None else b.hadamard(indicator, below))
        return b.sum(*branches, num_units=1, weight=leaf([random.uniform(0.2, 1.5, 2)]))

    root = tree(0)
    assert root is not None
    return b.build(root)
