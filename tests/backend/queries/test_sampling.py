"""Samples follow the distribution of the circuit, joint and given evidence, in every mode and for every layer."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.stats import kstest, norm

from explorer.backend import TorchSumLayer, queries
from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic import Circuit, CircuitBuilder, GaussianLayer
from explorer.templates import gallery
from tests.backend.queries.brute import chi_square_p, table_of
from tests.backend.queries.test_likelihood import DISCRETE, SEEDS, SEMIRINGS, leaf
from tests.fuzzing import examples
from tests.levels.modes import MODE_IDS, MODES, PRESETS, Mode, compile_circuit

MIN_P = 1e-5
"""Smallest accepted p-value: hundreds of right chi-square tests stay above; a wrong distribution is far below."""


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(DISCRETE, SEEDS)
@examples(60)
def test_samples_follow_the_exact_joint_and_conditional_distribution(circuit: Circuit, seed: int):
    table, random = table_of(circuit), np.random.default_rng(seed)
    root = int(random.integers(len(table.scopes))), int(random.integers(table.values.shape[2]))
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **MODES[seed // 3 % 4], preset=PRESETS[seed // 12 % 2])
    rows, values = table.distinct(root[0])
    weights = values[:, root[1]]
    form = compiled.freeze() if seed % 2 else compiled
    joint = queries.sample(form, 400, generator=seeded(seed), root=root)
    assert joint.dtype == torch.int64
    assert chi_square_p(joint.numpy(), rows, weights / weights.sum()) > MIN_P
    x, mask = rows[random.integers(0, len(rows), 2)], random.random((2, rows.shape[1])) < 0.5
    found = queries.sample(form, 400, torch.from_numpy(x), torch.from_numpy(mask), generator=seeded(seed), root=root)
    for row, observed, samples in zip(x, mask, found.numpy().transpose(1, 0, 2), strict=True):
        share = np.where((rows[:, observed] == row[observed]).all(1), weights, 0.0)
        assert chi_square_p(samples, rows, share / share.sum()) > MIN_P


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_normal_mixture_is_sampled_jointly_and_given_evidence(mode: Mode):
    b = CircuitBuilder()
    leaves = [
        b.add(GaussianLayer(scope=(v,), num_output_units=2, mean=leaf(0.5, -4.0), stddev=leaf(1.0, 0.5)))
        for v in range(2)
    ]
    circuit = compile_circuit(b.build(b.sum(b.hadamard(*leaves), num_units=1, weight=leaf([0.6, 1.4]))), **mode)
    joint = queries.sample(circuit, 2000, generator=seeded(0)).numpy()

    def cdf(x: np.ndarray) -> np.ndarray:
        return 0.3 * norm.cdf(x, 0.5, 1.0) + 0.7 * norm.cdf(x, -4.0, 0.5)

    assert min(kstest(joint[:, v], cdf).pvalue for v in range(2)) > MIN_P
    x, first = torch.tensor([[-4.0, torch.nan]]), torch.tensor([True, False])
    given_first = queries.sample(circuit, 2000, x, first, generator=seeded(0))[:, 0].numpy()
    share = 0.3 * norm.pdf(-4.0, 0.5, 1.0), 0.7 * norm.pdf(-4.0, -4.0, 0.5)
    far = share[0] / sum(share)
    wanted = kstest(given_first[:, 1], lambda v: far * norm.cdf(v, 0.5) + (1 - far) * norm.cdf(v, -4.0, 0.5))
    assert wanted.pvalue > MIN_P
    assert (given_first[:, 0] == -4.0).all()


def test_one_state_of_a_generator_draws_the_same_samples():
    circuit = compile_circuit(gallery.load_named("levels"))
    one, other = (queries.sample(circuit, 50, generator=seeded(7)) for _ in range(2))
    assert torch.equal(one, other)
    assert not torch.equal(one, queries.sample(circuit, 50, generator=seeded(8)))
    fifty: Any = np.int64(50)
    assert torch.equal(one, queries.sample(circuit, fifty, generator=seeded(7)))


def test_many_rows_are_sampled_in_chunks_of_bounded_memory(monkeypatch: pytest.MonkeyPatch):
    from explorer.backend.queries import downward, upward

    circuit = compile_circuit(gallery.load_named("conflict"))
    x = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]])
    mask = torch.tensor([True, False, True, False])
    monkeypatch.setattr(upward, "MAX_BYTES", 2**14)
    monkeypatch.setattr(downward, "MAX_COMPARED_TERMS", 8)
    found = queries.sample(circuit, 600, x, mask, generator=seeded(0))
    states = torch.cartesian_prod(*[torch.arange(2)] * 4)
    logs = queries.conditional(circuit, states, ~mask, mask)[:, 0, 0].detach()
    for row, samples in zip(x, found.transpose(0, 1), strict=True):
        agrees = (states[:, mask] == row[mask]).all(1)
        share = torch.where(agrees, logs.exp(), 0.0)
        assert chi_square_p(samples.numpy(), states.numpy(), share.numpy()) > MIN_P


def test_the_number_of_passes_does_not_depend_on_the_number_of_samples(monkeypatch: pytest.MonkeyPatch):
    circuit = compile_circuit(gallery.load_named("levels"))
    calls: list[int] = []
    plain = TorchSumLayer.log_terms

    def counted(*arguments: Any) -> torch.Tensor:
        calls.append(1)
        return plain(*arguments)

    monkeypatch.setattr(TorchSumLayer, "log_terms", counted)
    counts: list[int] = []
    for number in (1000, 10000):
        calls.clear()
        queries.sample(circuit, number, generator=seeded(0))
        counts.append(len(calls))
    assert counts[0] == counts[1] == sum(isinstance(layer, TorchSumLayer) for layer in circuit.layers)


def test_sampling_is_refused_where_it_is_not_defined():
    b = CircuitBuilder()
    normal = b.add(GaussianLayer(scope=(0,), num_output_units=2, mean=leaf(0.0, 1.0), stddev=leaf(1.0, 1.0)))
    difference = compile_circuit(b.build(b.sum(normal, num_units=1, weight=leaf([2.0, -1.0]))), "sum-product")
    with pytest.raises(ValueRangeError, match="not non-negative"):
        queries.sample(difference, 3)
    plain = compile_circuit(gallery.load_named("conflict"))
    with pytest.raises(ShapeError, match="needs the rows"):
        queries.sample(plain, 3, observed=torch.ones(4, dtype=torch.bool))
    with pytest.raises(ValueRangeError, match="num_samples"):
        queries.sample(plain, -1)
    with pytest.raises(ValueRangeError, match="counted from 0, and at most"):
        queries.sample(plain, 1, root=(0, 7))
    assert queries.sample(plain, 0).shape == (0, 4)
