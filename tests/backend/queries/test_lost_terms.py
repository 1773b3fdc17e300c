"""Queries where a weight of zero is beside the largest input: all terms that count are in the answers."""

import math

import numpy as np
import pytest
import torch

from explorer.backend import queries
from explorer.symbolic import CircuitBuilder, constant
from tests.fuzzing import covering
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit
from tests.lost_terms import (
    CASES,
    STATES,
    forward_algorithm,
    gaussian,
    log_normal,
    relapse,
    state_probabilities,
    tiny_softmax,
    two_seen_states,
)

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
GAP = 40.0
SEMIRINGS = ("lse-sum", "complex-lse-sum")


@pytest.mark.parametrize("name", CASES)
def test_likelihoods_are_those_of_the_definition(name: str):
    circuit, x, wanted = CASES[name]()
    for semiring in SEMIRINGS:
        found = queries.log_likelihood(compile_circuit(circuit, semiring), torch.from_numpy(x))
        np.testing.assert_allclose(found.flatten().detach(), wanted, rtol=1e-12)


@pytest.mark.parametrize(("steps", "step"), covering((3, 16, 40), (65, -1), strength=1))
def test_queries_of_a_relapse_equal_the_forward_algorithm(steps: int, step: int):
    circuit, x, wanted = relapse(steps)
    step = step % x.shape[1]
    module, rows, hidden = compile_circuit(circuit), torch.from_numpy(x), torch.arange(x.shape[1]) == step
    others = np.where(hidden, math.nan, x)
    marginals = np.array([forward_algorithm(row) for row in others])
    found = queries.marginal(module, rows, ~hidden).flatten().detach()
    np.testing.assert_allclose(found, marginals, rtol=1e-12)
    found = queries.conditional(module, rows, hidden, ~hidden).flatten().detach()
    np.testing.assert_allclose(found, wanted - marginals, rtol=1e-9)
    states = np.array([state_probabilities(row, step) for row in x])
    found = queries.moments(module, 1, rows, ~hidden)[:, 0, 0, step]
    np.testing.assert_allclose(found, states @ STATES, rtol=1e-9, atol=1e-9)
    drawn = queries.sample(module, 200, rows, ~hidden, generator=torch.Generator().manual_seed(0))[..., step]
    for row, shares in zip(drawn.T.numpy(), states, strict=True):
        counts = np.bincount(np.clip(row / 10 + 0.5, 0, 2).astype(int), minlength=3)  # means are 10 apart, +-5 apart
        np.testing.assert_allclose(counts / 200, shares, atol=0.2)  # 5.6 standard deviations of a share of 1/2


@EACH_MODE
def test_a_hidden_state_is_found_by_every_query(mode: Mode):
    module = compile_circuit(two_seen_states(GAP), **mode)
    x, seen = torch.tensor([[0.0, 0.0, 0.0], [0.0, 2 * GAP, 0.0]]), torch.tensor([True, True, False])
    state = torch.tensor([1, 0])  # that explains the row best: the other one is e^-1600 less likely
    for given, value in (([1, 1], 0.0), ([0, 0], -(GAP**2))):
        rows = torch.cat([x[:, :2], torch.tensor(given)[:, None]], 1)
        found = queries.conditional(module, rows[:1], ~seen, seen)
        np.testing.assert_allclose(found.item(), value, rtol=1e-12, atol=1e-9)
    assert (queries.sample(module, 50, x, seen)[..., 2] == state).all()
    np.testing.assert_allclose(queries.moments(module, 1, x, seen)[:, 0, 0, 2], state, atol=1e-12)
    best = queries.most_probable(module, x, seen)
    assert torch.equal(best.assignment[:, 2].long(), state)
    wanted = [
        float(log_normal(row[0], (0, GAP)[k]) + log_normal(row[1], (2 * GAP, GAP)[k]) - math.log(2))
        for row, k in zip(x.tolist(), state.tolist(), strict=True)
    ]
    np.testing.assert_allclose(best.log_probability, wanted, rtol=1e-12)
    assert best.is_exact.all()
    said = queries.most_probable(module, x, seen, is_deterministic=True)
    assert torch.equal(said.assignment, best.assignment)


@EACH_MODE
@pytest.mark.parametrize("gap", [60.0, 300.0])
def test_queries_find_a_state_by_weights_whose_product_underflows(gap: float, mode: Mode):
    """The state of x0 = 0 leads by e^-gap and e^-gap to the state of x1 = 0, and its mean of x2 is 7."""
    b, far = CircuitBuilder(), 60.0
    states = b.hadamard(gaussian(b, 0, [far, far, 0.0]), gaussian(b, 2, [-7.0, 0.0, 7.0]))
    sums = b.sum(b.sum(states, num_units=3, weight=tiny_softmax(gap)[0]), num_units=3, weight=tiny_softmax(gap)[0])
    top = b.hadamard(sums, gaussian(b, 1, [0.0, 3 * far, 3 * far]))
    module = compile_circuit(b.build(b.sum(top, num_units=1, weight=constant([[1 / 3] * 3]))), **mode)
    x, observed = torch.zeros(1, 3), torch.tensor([True, True, False])
    for circuit in (module, module.freeze(), module.float(), module.freeze()):
        np.testing.assert_allclose(queries.moments(circuit, 1, x, observed)[0, 0, 0, 2], 7.0, rtol=1e-6)
        drawn = queries.sample(circuit, 200, x, observed, generator=torch.Generator().manual_seed(0))[..., 2]
        assert 6.5 < drawn.mean() < 7.5  # 7 standard deviations of the mean
        assert queries.most_probable(circuit, x, observed).assignment[0, 2] == 7
