"""Squares of circuits with negative weights have likelihoods and marginals, but no samples term by term."""

import numpy as np
import pytest
import torch

from explorer.backend import double_copy, queries
from explorer.errors import ValueRangeError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    DataType,
    EmbeddingLayer,
    TensorParameter,
)
from explorer.symbolic.operators import conjugate, multiply
from tests.backend.queries.brute import Table, table_of
from tests.fuzzing import covering
from tests.levels.modes import MODES, SWITCHES, Mode, compile_circuit


def signed_circuit(seed: int = 0, *, is_complex: bool = False) -> Circuit:
    random = np.random.default_rng(seed)

    def parameter(*shape: int) -> TensorParameter:
        value = random.normal(size=shape)
        if not is_complex:
            return TensorParameter(shape, initializer=ConstantInitializer(value))
        value = value + 1j * random.normal(size=shape)
        return TensorParameter(shape, DataType.COMPLEX, initializer=ConstantInitializer(value))

    b = CircuitBuilder()
    leaves = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=3, weight=parameter(2, 3))) for v in range(3)
    ]
    pair = b.sum(b.kronecker(leaves[0], leaves[1]), num_units=2, weight=parameter(2, 4))
    return b.build(b.sum(b.hadamard(pair, leaves[2]), num_units=1, weight=parameter(1, 2)))


@pytest.mark.parametrize(
    ("semiring", "optimize", "fold"), covering(("sum-product", "lse-sum", "complex-lse-sum"), *SWITCHES)
)
def test_a_square_with_negative_weights_is_a_density_in_every_semiring(semiring: str, optimize: bool, fold: bool):
    base = signed_circuit()
    table = table_of(base)
    square = Table(table.assignments, table.values**2, table.scopes)
    circuit = compile_circuit(multiply(base, base), semiring, optimize=optimize, fold=fold)
    p = square.values[:, 0, 0] / square.values.sum()
    rows = torch.from_numpy(square.assignments)
    with torch.no_grad():
        np.testing.assert_allclose(queries.log_likelihood(circuit, rows)[:, 0, 0].exp(), p, rtol=1e-8, atol=1e-12)
        mask = torch.tensor([True, False, True])
        found = queries.marginal(circuit, rows, mask)[:, 0, 0].exp()
    wanted = [square.mass(row, mask.numpy(), 0)[0] / square.values.sum() for row in square.assignments]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)
    assert queries.partition_function(circuit).real.item() == pytest.approx(np.log(square.values.sum()), rel=1e-9)
    np.testing.assert_allclose(queries.moments(circuit)[0, 0], p @ square.assignments, rtol=1e-8)
    np.testing.assert_allclose(queries.entropy(circuit).item(), -(p * np.log(p)).sum(), rtol=1e-8)
    for query in (lambda: queries.sample(circuit, 1), lambda: queries.most_probable(circuit)):
        with pytest.raises(ValueRangeError, match="negative"):
            query()


@pytest.mark.parametrize(
    ("is_complex", "semiring", "mode"), covering((False, True), ("sum-product", "complex-lse-sum"), MODES)
)
def test_a_frozen_square_in_single_precision_keeps_the_digits_of_terms_that_cancel(
    is_complex: bool, semiring: str, mode: Mode
):
    for seed in range(4):
        base = signed_circuit(seed, is_complex=is_complex)
        circuit = compile_circuit(multiply(base, conjugate(base)), semiring, **mode).float()
        rows, exact = torch.from_numpy(table_of(base).assignments), double_copy(circuit)
        other = circuit.freeze().double().float()
        other.load_state_dict(circuit.freeze().state_dict())
        with torch.no_grad():
            wanted = queries.log_likelihood(exact, rows)
            for frozen in (circuit.freeze(), exact.freeze().float(), other):
                np.testing.assert_allclose(queries.log_likelihood(frozen, rows), wanted, rtol=1e-12, atol=1e-12)
                assert frozen(rows).dtype == circuit(rows).dtype


def test_a_frozen_square_of_real_logarithms_says_that_it_lost_its_signs():
    base = signed_circuit()
    frozen = compile_circuit(multiply(base, base)).freeze()
    rows = torch.from_numpy(table_of(base).assignments)
    with pytest.raises(ValueRangeError, match="freeze one that is compiled for complex-lse-sum"):
        queries.log_likelihood(frozen, rows)
    np.testing.assert_allclose(
        queries.log_likelihood(compile_circuit(multiply(base, base), "complex-lse-sum").freeze(), rows),
        queries.log_likelihood(compile_circuit(multiply(base, base)), rows).detach(),
        rtol=1e-12,
    )
