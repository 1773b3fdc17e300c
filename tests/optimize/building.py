"""Small circuits around one pattern, and the check that a rewrite keeps their values."""

from typing import Any

import numpy as np

from explorer.backend import TorchCircuit
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    KroneckerParameter,
    Parameterization,
    ParameterNode,
    SoftmaxParameter,
    TensorParameter,
    UniformInitializer,
)
from tests.levels.modes import Watcher, compile_and_watch, compile_circuit, layer_types, output
from tests.oracle import assert_equals_oracle
from tests.strategies import random_inputs

POSITIVE = Parameterization("none", UniformInitializer(0.1, 1.5))


def positive(*shape: int) -> ParameterNode:
    """A leaf of positive numbers."""
    return POSITIVE(shape)


def normalized_weight(rows: int, columns: int) -> ParameterNode:
    """A weight with rows that sum to one."""
    return SoftmaxParameter((TensorParameter((rows, columns)),))


def kronecker_of(*shapes: tuple[int, ...]) -> ParameterNode:
    """The Kronecker product of positive leaves, associated to the left."""
    product = positive(*shapes[0])
    for shape in shapes[1:]:
        product = KroneckerParameter((product, positive(*shape)))
    return product


def inputs(b: CircuitBuilder, count: int, units: int) -> list[int]:
    """Input layers of positive units, one for each variable of three states."""
    return [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=units, num_states=3, weight=positive(units, 3)))
        for v in range(count)
    ]


def leaf_values(circuit: Circuit, module: TorchCircuit) -> dict[TensorParameter, Any]:
    """The values that the compiled circuit has, for the oracle."""
    state = module.leaf_state()
    return {leaf: state[name].numpy() for leaf, name in circuit.leaf_names.items()}


def assert_same_values(circuit: Circuit, module: TorchCircuit) -> None:
    """Check that the compiled circuit has the oracle's values."""
    x = random_inputs(circuit, batch=4)
    assert_equals_oracle(output(module, x), module.semiring.name, circuit, leaf_values(circuit, module), x)


def optimize(circuit: Circuit, semiring: str = "lse-sum", **options: Any) -> tuple[TorchCircuit, Watcher]:
    """The optimized, not folded circuit, checked against the oracle and against the circuit without optimization."""
    module, watcher = compile_and_watch(circuit, semiring, fold=False, **options)
    assert_same_values(circuit, module)
    plain = compile_circuit(circuit, semiring, optimize=False, fold=False)
    plain.load_leaf_state(module.leaf_state())
    x = random_inputs(circuit, batch=4)
    np.testing.assert_allclose(output(module, x), output(plain, x), rtol=1e-9, atol=1e-12)
    for semirings in {"sum-product", "complex-lse-sum"} - {semiring}:
        assert_same_values(circuit, compile_circuit(circuit, semirings, fold=True, **options))
    return module, watcher


def types_above_inputs(module: TorchCircuit) -> list[str]:
    return [name for name in layer_types(module) if name not in ("Embedding", "Categorical")]
