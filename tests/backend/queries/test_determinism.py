"""Determinism of compiled circuits: shown from the zeros of the present parameters, never where terms overlap."""

import numpy as np
import pytest

from explorer.backend import queries
from explorer.backend.queries import information
from explorer.errors import StructureError, ValueRangeError
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, constant, with_values
from tests.backend.queries.brute import table_of
from tests.fuzzing import seeded
from tests.levels.modes import MODES, PRESETS, Mode, compile_circuit
from tests.oracle import constant_leaf_values
from tests.symbolic.test_determinism import equal_or_different


def sparse_circuit(random: np.random.Generator) -> Circuit:
    """Sums of products over three variables, with mostly zeros as parameters."""
    b = CircuitBuilder()

    def sparse(*shape: int) -> np.ndarray:
        return random.uniform(0.5, 2.0, shape) * (random.random(shape) < 0.5)

    def literals(variable: int) -> int:
        weight = constant(sparse(2, 3))
        return b.add(EmbeddingLayer(scope=(variable,), num_output_units=2, num_states=3, weight=weight))

    below = literals(0)
    for variable in (1, 2):
        products = [b.hadamard(below, literals(variable)) for _ in range(int(random.integers(1, 3)))]
        below = b.sum(*products, num_units=2, weight=constant(sparse(2, 2 * len(products))))
    return b.build(b.sum(below, num_units=1, weight=constant(sparse(1, 2))))


def mode_of(seed: int) -> Mode:
    return {**MODES[seed % 4], "preset": PRESETS[seed // 4 % 2]}


@seeded(60)
def test_entropy_by_structure_is_that_of_the_distribution_or_refused(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    symbolic = sparse_circuit(np.random.default_rng(seed))
    p = table_of(symbolic).values[:, 0, 0]
    try:
        entropy = queries.entropy(compile_circuit(symbolic, **mode_of(seed))).item()
    except StructureError:
        assert not symbolic.is_deterministic
        return
    except ValueRangeError:
        assert p.sum() == 0
        return
    assert p.sum() > 0, "there is no distribution"
    p = p[p > 0] / p.sum()
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(), rtol=1e-9, atol=1e-12)


def another_setting(circuit: Circuit, random: np.random.Generator) -> Circuit:
    """The circuit with other values: half of the time some zeros are no longer zero, or some other values are."""
    change = random.integers(4)

    def changed(value: np.ndarray) -> np.ndarray:
        value = value * random.uniform(0.5, 2.0, value.shape)
        if change == 0:
            return np.where(random.random(value.shape) < 0.1, 1.0, value)
        return value * (random.random(value.shape) < 0.95) if change == 1 else value

    values = constant_leaf_values(circuit)
    return with_values(circuit, {name: changed(values[leaf]) for leaf, name in circuit.leaf_names.items()})


@seeded(100)
def test_divergence_by_structure_is_that_of_the_distributions_or_refused(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    random = np.random.default_rng(seed)
    one = sparse_circuit(random)
    other = another_setting(one, random)
    p, q = (table_of(circuit).values[:, 0, 0] for circuit in (one, other))
    compiled = (compile_circuit(circuit, **mode_of(seed)) for circuit in (one, other))
    try:
        found = queries.divergence(*compiled).item()
    except StructureError:
        assert not (one.is_deterministic and other.is_deterministic)
        return
    except ValueRangeError:
        assert p.sum() == 0 or q.sum() == 0 or ((p > 0) & (q == 0)).any()
        return
    assert p.sum() > 0, "there is no distribution"
    assert q.sum() > 0, "there is no distribution"
    used = p > 0
    p, q = p / p.sum(), q / q.sum()
    np.testing.assert_allclose(found, (p[used] * np.log(p[used] / q[used])).sum(), rtol=1e-9, atol=1e-9)


def test_terms_that_differ_in_formulas_exclude_each_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    b, nodes = equal_or_different()
    circuit = compile_circuit(b.build(nodes["either"]))
    np.testing.assert_allclose(queries.entropy(circuit).item(), np.log(6), rtol=1e-12)
