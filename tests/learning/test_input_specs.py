"""Trees of exponential densities and histograms are learned, and those of Laplace densities by gradient."""

import numpy as np
import pytest
import torch

from explorer.learning import DataSet, TrainingOptions, train
from explorer.learning.data import split
from explorer.templates import ExponentialInput, HistogramInput, InputSpec, LaplaceInput, fully_factorized, hidden_tree
from tests.levels.modes import compile_circuit

ROWS = np.random.default_rng(0).exponential(1.0, (100, 3)).clip(max=7.9)


@pytest.mark.parametrize(
    ("spec", "method"),
    [
        (ExponentialInput(), "em"),
        (HistogramInput((0.0, 0.5, 2.0, 8.0)), "em"),
        (LaplaceInput(), "gradient"),
    ],
)
def test_a_tree_of_such_leaves_is_learned(spec: InputSpec, method: str):
    circuit = compile_circuit(hidden_tree([-1, 0, 1], [spec] * 3, num_latent_states=2))
    data = DataSet("rows", *split(torch.from_numpy(ROWS)))
    epochs = train(circuit, data, TrainingOptions(method=method, epochs=5, pseudo_count=1.0)).epochs
    assert epochs[-1].training_bits < epochs[0].training_bits
    assert not spec.is_discrete


def test_independent_columns_have_such_leaves():
    circuit = compile_circuit(fully_factorized(2, [ExponentialInput(), LaplaceInput()]))
    assert circuit.integral().item() == pytest.approx(0.0, abs=1e-5)
