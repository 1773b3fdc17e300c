"""Training by expectation-maximization: in batches, resumed, stopped early, with missing values."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from explorer.app.training.checkpoint import Checkpoint
from explorer.bench import why_no_cuda
from explorer.compiler import TorchCompiler
from explorer.errors import LearningError, ShapeError, UnknownNameError, ValueRangeError
from explorer.learning import ExpectationMaximization
from explorer.learning.data import DataSet
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.loop import best_epoch, train
from explorer.learning.methods import TrainingOptions
from explorer.templates import BinomialInput, CategoricalInput, GaussianInput, hidden_tree
from tests.learning.random_models import random_rows

INPUTS = [CategoricalInput(3), GaussianInput(), BinomialInput(4), CategoricalInput(3)]
ROWS = random_rows(INPUTS, 0, count=120)
DATA = DataSet("rows", ROWS[:100], ROWS[100:])
CIRCUIT = hidden_tree((-1, 0, 0, 2), INPUTS, num_latent_states=3)


def compiled(**mode):
    return TorchCompiler(**mode).compile(CIRCUIT)


def training_bits(result):
    return [epoch.training_bits for epoch in result.epochs]


def test_epochs_of_full_batches_never_lower_the_likelihood():
    result = train(compiled().double(), DATA, TrainingOptions(epochs=12, method="em"))
    assert all(after <= before + 1e-9 for before, after in pairwise(training_bits(result)))


def test_small_batches_reach_the_likelihood_of_full_ones():
    full = train(compiled(), DATA, TrainingOptions(epochs=15, method="em"))
    small = train(compiled(), DATA, TrainingOptions(epochs=15, method="em", batch_size=20))
    assert training_bits(small)[2] < training_bits(full)[2]
    assert training_bits(small)[-1] == pytest.approx(training_bits(full)[-1], abs=0.1)


@pytest.mark.parametrize("batch_size", [None, 30])
def test_training_resumes_in_another_mode_as_if_it_had_not_been_interrupted(batch_size, tmp_path):
    options = TrainingOptions(epochs=3, method="em", batch_size=batch_size, seed=2)
    whole = compiled()
    states = {}

    def keep(epochs, state):
        states[state.steps] = Checkpoint("hclt", {}, "rows", whole.leaf_state(), epochs, state, CIRCUIT.to_json())

    expected = train(whole, DATA, options, save_every=1, on_state=keep)
    position = 1 if batch_size is None else 6  # in the middle of the second epoch
    states[position].save(tmp_path / "em.pt")
    earlier = Checkpoint.load(tmp_path / "em.pt")
    assert earlier.training is not None
    again = compiled(optimize=False, fold=False)
    again.load_leaf_state(earlier.leaf_state)
    left = replace(options, epochs=3 - len(earlier.history))
    found = train(again, DATA, left, before=earlier.history, state=earlier.training)
    # The last digits of single precision differ between modes.
    assert training_bits(found) == pytest.approx(training_bits(expected), rel=1e-4)
    torch.testing.assert_close(again(DATA.held_out), whole(DATA.held_out), rtol=1e-3, atol=1e-3)


def test_a_state_of_another_method_or_circuit_is_refused():
    result = train(compiled(), DATA, TrainingOptions(epochs=1, method="em"))
    with pytest.raises(UnknownNameError, match="expected the moments of Adam exp_avg, exp_avg_sq; found"):
        train(compiled(), DATA, TrainingOptions(epochs=1), state=result.state)
    other = TorchCompiler().compile(hidden_tree((-1, 0, 0, 2), INPUTS, num_latent_states=2))
    with pytest.raises(ShapeError, match=r"leaf .* has shape .*; found .* of shape"):
        train(other, DATA, TrainingOptions(epochs=1, method="em"), state=result.state)


def test_patience_stops_and_keeps_the_best_values():
    few = DataSet("few", ROWS[:25], ROWS[100:])
    circuit = TorchCompiler().compile(hidden_tree((-1, 0, 0, 2), INPUTS, num_latent_states=12))
    result = train(circuit, few, TrainingOptions(epochs=200, method="em", patience=3))
    best = best_epoch(result.epochs)
    assert best.number == len(result.epochs) - 3 < 197
    reached = -mean_log_likelihood(circuit, few.held_out) / 4 / math.log(2)
    assert reached == pytest.approx(best.held_out_bits)
    assert result.state is not None
    saved = Checkpoint("hclt", {}, "few", result.values, result.epochs, result.state)
    assert all(torch.equal(saved.best_state[name], value) for name, value in circuit.leaf_state().items())
    assert any(not torch.equal(saved.leaf_state[name], value) for name, value in saved.best_state.items())


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_missing_values_are_summed_out(method):
    rows = ROWS.clone()
    rows[torch.rand(rows.shape, generator=torch.Generator().manual_seed(0)) < 0.2] = math.nan
    gone = DataSet("gone", rows[:100], rows[100:])
    circuit = compiled().double()
    result = train(circuit, gone, TrainingOptions(epochs=8, method=method))
    assert result.epochs[-1].held_out_bits < result.epochs[0].held_out_bits
    if method == "em":
        assert all(after <= before + 1e-9 for before, after in pairwise(training_bits(result)))
    # A row without the last column has the sum of the likelihoods of its values.
    row = torch.cat([ROWS[:1, :3], torch.tensor([[math.nan]])], dim=1)
    filled = torch.cat([ROWS[:1, :3].expand(3, 3), torch.arange(3.0).unsqueeze(1)], dim=1)
    expected = torch.logsumexp(circuit(filled).flatten(), 0).item()
    assert mean_log_likelihood(circuit, row) == pytest.approx(expected)


def test_fast_backends_are_refused_where_they_cannot_learn():
    with pytest.raises(LearningError, match="leave out --fast, or use --method gradient"):
        train(compiled(), DATA, TrainingOptions(epochs=1, method="em"), fast=True)
    gone = DataSet("gone", torch.full((10, 4), math.nan), ROWS[100:])
    with pytest.raises(LearningError, match="does not sum out missing values"):
        train(compiled(), gone, TrainingOptions(epochs=1), fast=True)


def test_options_of_the_methods_are_checked():
    with pytest.raises(UnknownNameError, match="no method named 'sgd'; known are: gradient, em"):
        TrainingOptions(method="sgd")
    with pytest.raises(ValueRangeError, match="at most 1; found 2"):
        TrainingOptions(method="em", learning_rate=2.0)
    with pytest.raises(ValueRangeError, match="patience must be at least 1; found 0"):
        TrainingOptions(patience=0)
    assert TrainingOptions().rows_per_step(1000) == 64
    assert TrainingOptions(method="em").rows_per_step(1000) == 1000


def test_expected_counts_do_not_depend_on_batches():
    em = ExpectationMaximization(compiled().double())
    whole, total = em.expect(ROWS)
    parts = [em.expect(part) for part in ROWS.split(50)]
    assert sum(log_likelihood for _, log_likelihood in parts) == pytest.approx(total)
    for kind, tensor, value in whole:
        torch.testing.assert_close(sum(part[kind][tensor] for part, _ in parts), value)


@pytest.mark.cuda
@pytest.mark.skipif(why_no_cuda() is not None, reason=why_no_cuda() or "")
def test_cuda_has_the_counts_of_the_cpu():
    circuit, other = compiled().double(), compiled().double().to("cuda")
    counts, total = ExpectationMaximization(circuit).expect(ROWS)
    found, found_total = ExpectationMaximization(other).expect(ROWS.to("cuda"))
    assert found_total == pytest.approx(total)
    for kind, tensor, value in counts:
        torch.testing.assert_close(found[kind][tensor].cpu(), value)
