"""Expectation-maximization of circuits with weights of zero, on rows that only another state explains."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.learning import ExpectationMaximization
from tests.fuzzing import covering
from tests.lost_terms import left_to_right, small_weights, two_states
from tests.oracle import evaluate

STEPS = 6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("gap", [16.0, 40.0])
def test_no_step_lowers_the_likelihood_of_hidden_states(gap: float, dtype: torch.dtype):
    circuit, rows, _ = two_states(gap)
    assert_no_step_lowers(circuit, np.concatenate([rows, rows + 0.5, [[0, gap], [0.0, 0.5]]]), dtype)


@pytest.mark.parametrize(("steps", "dtype"), covering((3, 10, 40), (torch.float32, torch.float64), strength=1))
def test_no_step_lowers_the_likelihood_of_a_relapse(steps: int, dtype: torch.dtype):
    sequence = np.array([0.0] * 3 + [10.0] * 50 + [0.0] * steps + [20.0] * 3)
    noise = np.random.default_rng(0).normal(size=(4, len(sequence)))
    rows = np.concatenate([sequence + noise, np.sort(sequence) + noise])
    assert_no_step_lowers(left_to_right(len(sequence), learned=True), rows, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("gap", [60.0, 300.0])
def test_no_step_lowers_the_likelihood_of_weights_whose_product_underflows(gap: float, dtype: torch.dtype):
    circuit, rows, _ = small_weights(gap)
    assert_no_step_lowers(circuit, np.concatenate([rows, rows + 0.3]), dtype)


def assert_no_step_lowers(circuit, rows, dtype):
    """Compare with the likelihood that numpy finds for the learned parameters, before each step and after the last."""
    compiled = TorchCompiler().compile(circuit).to(dtype)
    em, x = ExpectationMaximization(compiled), torch.from_numpy(rows).to(dtype)
    said, own = [], []
    for step in range(STEPS + 1):
        counts, total = em.expect(x)
        said.append(total)
        values = {leaf: value.detach().double().numpy() for leaf, value in compiled.leaf_values().items()}
        own.append(evaluate(circuit, values, x.double().numpy(), log=True).sum())
        if step < STEPS:
            em.maximize(counts)
    precision = 1e-5 if dtype == torch.float32 else 1e-10
    np.testing.assert_allclose(said, own, rtol=precision)
    assert all(after >= before - precision * abs(before) for before, after in pairwise(own)), own
    assert own[-1] > own[0] + 1
