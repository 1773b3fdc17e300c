"""Determinism of compiled circuits: shown from the zeros of the present parameters, never where terms overlap."""

import numpy as np
import pytest

from explorer.backend import queries
from explorer.backend.queries import information
from explorer.errors import StructureError, ValueRangeError
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, constant
from tests.backend.queries.brute import table_of
from tests.fuzzing import seeded
from tests.levels.modes import MODES, compile_circuit
from tests.symbolic.test_determinism import equal_or_different


def sparse_circuit(random: np.random.Generator) -> Circuit:
    """Sums of products over three variables, most of whose parameters are zero."""
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


@seeded(60)
def test_entropy_by_structure_is_that_of_the_distribution_or_refused(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    symbolic = sparse_circuit(np.random.default_rng(seed))
    p = table_of(symbolic).values[:, 0, 0]
    try:
        entropy = queries.entropy(compile_circuit(symbolic, **MODES[seed % 4])).item()
    except StructureError:
        assert not symbolic.is_deterministic
        return
    except ValueRangeError:
        assert p.sum() == 0
        return
    p = p[p > 0] / p.sum()
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(), rtol=1e-9, atol=1e-12)


def test_terms_that_differ_in_formulas_exclude_each_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    b, nodes = equal_or_different()
    circuit = compile_circuit(b.build(nodes["either"]))
    np.testing.assert_allclose(queries.entropy(circuit).item(), np.log(6), rtol=1e-12)
