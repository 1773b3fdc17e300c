"""Expectation-maximization of joint normal densities against the formulas of the textbook, also with missing values."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from explorer.backend import TorchCircuit
from explorer.errors import LearningError, ValueRangeError
from explorer.learning import ExpectationMaximization, MaximizationOptions
from explorer.learning.covariances import linear_form, shrink
from explorer.symbolic import (
    CircuitBuilder,
    MultivariateGaussianLayer,
    Parameterization,
    ScaledSigmoidParameter,
    SoftplusParameter,
    TensorParameter,
    constant,
)
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
EXACT = MaximizationOptions(stddev_floor=1e-9)


def mixture(num_units: int = 2, size: int = 3, **changes: object) -> TorchCircuit:
    b = CircuitBuilder()
    given = {
        "scope": tuple(range(size)),
        "num_output_units": num_units,
        "mean": TensorParameter((num_units, size)),
        "stddev": SoftplusParameter((TensorParameter((num_units, size)),)),
        "slope": TensorParameter((num_units, size, size)),
    }
    layer = MultivariateGaussianLayer(**{**given, **changes})
    weight = Parameterization("softmax")((1, num_units))
    return compile_circuit(b.build(b.sum(b.add(layer), num_units=1, weight=weight))).double()


def data(num_rows: int = 60, size: int = 3) -> NDArray[np.float64]:
    random = np.random.default_rng(0)
    return random.normal(size=(num_rows, size)) @ random.normal(size=(size, size)) + random.normal(size=size)


def parameters_of(circuit: TorchCircuit) -> dict[str, NDArray[np.float64]]:
    """The mean, stddev and slope of the layer."""
    probe = circuit.probe()
    probe(torch.zeros(1, circuit.num_variables, dtype=torch.float64))
    (node,) = [node for node, own in probe.precise.items() if "root" in own]
    root = probe.precise[node]["root"][0].detach()
    stddev = 1 / root.diagonal(dim1=1, dim2=2)
    slope = torch.eye(root.shape[-1]) - root * stddev.unsqueeze(2)
    found = {"mean": probe.precise[node]["mean"][0, :, 0].detach(), "stddev": stddev, "slope": slope}
    return {name: value.numpy() for name, value in found.items()}


def covariance_of(stddev: NDArray[np.float64], slope: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = np.linalg.inv(np.eye(len(stddev)) - np.tril(slope, -1)) * stddev
    return spread @ spread.T


def test_one_step_of_one_unit_is_the_mean_and_covariance():
    circuit, x = mixture(num_units=1), data()
    em = ExpectationMaximization(circuit, EXACT)
    em.maximize(em.expect(torch.from_numpy(x))[0])
    found = parameters_of(circuit)
    np.testing.assert_allclose(found["mean"][0], x.mean(0), rtol=1e-8)
    np.testing.assert_allclose(covariance_of(found["stddev"][0], found["slope"][0]), np.cov(x.T, bias=True), rtol=1e-6)


def test_a_step_of_a_mixture_is_that_of_the_textbook():
    circuit, x = mixture(), data()
    before = parameters_of(circuit)
    weight = torch.softmax(next(p for p in circuit.tensors if p.shape[-2:] == (1, 2)), -1).detach().numpy().ravel()
    normal: Any = stats.multivariate_normal
    logs = [
        normal.logpdf(x, before["mean"][k], covariance_of(before["stddev"][k], before["slope"][k])) for k in range(2)
    ]
    share = weight[:, None] * np.exp(logs)
    share /= share.sum(0)
    em = ExpectationMaximization(circuit, EXACT)
    em.maximize(em.expect(torch.from_numpy(x))[0])
    after = parameters_of(circuit)
    for k in range(2):
        mean = share[k] @ x / share[k].sum()
        wanted = (share[k] * (x - mean).T) @ (x - mean) / share[k].sum()
        np.testing.assert_allclose(after["mean"][k], mean, rtol=1e-6)
        np.testing.assert_allclose(covariance_of(after["stddev"][k], after["slope"][k]), wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_no_step_lowers_the_likelihood(share: float):
    circuit, x = mixture(num_units=3), torch.from_numpy(data(80))
    gone = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < share
    x[gone] = torch.nan
    em = ExpectationMaximization(circuit, EXACT)
    last = -np.inf
    for _ in range(25):
        counts, log_likelihood = em.expect(x)
        assert log_likelihood >= last - 1e-6
        last = log_likelihood
        em.maximize(counts)


def test_missing_values_are_estimated_as_for_one_normal_density():
    """With one unit, a step is the closed form: conditional means, plus the conditional covariance."""
    circuit, x = mixture(num_units=1), data()
    before = parameters_of(circuit)
    mean, covariance = before["mean"][0], covariance_of(before["stddev"][0], before["slope"][0])
    x[::2, 1] = np.nan
    x[::3, 2] = np.nan
    sums, squares = np.zeros(3), np.zeros((3, 3))
    for row in x:
        seen = ~np.isnan(row)
        gain = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        full = np.where(seen, row, mean + gain @ (row[seen] - mean[seen]))
        spread = covariance - gain @ covariance[seen]
        spread[seen], spread[:, seen] = 0, 0
        sums += full
        squares += np.outer(full, full) + spread
    em = ExpectationMaximization(circuit, EXACT)
    em.maximize(em.expect(torch.from_numpy(x))[0])
    after = parameters_of(circuit)
    wanted = sums / len(x)
    np.testing.assert_allclose(after["mean"][0], wanted, rtol=1e-7)
    np.testing.assert_allclose(
        covariance_of(after["stddev"][0], after["slope"][0]), squares / len(x) - np.outer(wanted, wanted), rtol=1e-5
    )


@EACH_MODE
def test_a_step_is_the_same_in_every_mode(mode: Mode):
    b = CircuitBuilder()
    parts = [
        MultivariateGaussianLayer(
            scope=scope,
            num_output_units=2,
            mean=TensorParameter((2, 2)),
            stddev=SoftplusParameter((TensorParameter((2, 2)),)),
            slope=TensorParameter((2, 2, 2)),
        )
        for scope in ((0, 2), (1, 3))
    ]
    product = b.hadamard(*map(b.add, parts))
    symbolic = b.build(b.sum(product, num_units=1, weight=Parameterization("softmax")((1, 2))))
    x = torch.from_numpy(data(40, 4))
    found = []
    for one in (MODES[0], mode):
        circuit = compile_circuit(symbolic, **one).double()
        em = ExpectationMaximization(circuit, MaximizationOptions(pooled_rows=3.0, shrinkage=0.1))
        for _ in range(3):
            em.maximize(em.expect(x)[0])
        found.append(circuit(x))
    torch.testing.assert_close(found[0], found[1])


def test_consistent_counts_have_the_present_values_as_maximum():
    circuit, x = mixture(), torch.from_numpy(data())
    em = ExpectationMaximization(circuit, EXACT)
    before = circuit(x).detach()
    em.maximize(em.consistent_counts(em.expect(x)[0]))
    weights = [p for p in circuit.tensors if p.shape[-2:] == (1, 2)]
    assert len(weights) == 1
    torch.testing.assert_close(circuit(x), before, rtol=1e-5, atol=1e-5)  # the floor changes variances


def test_shrinking_averages_with_the_pooled_covariance():
    rows = torch.tensor([10.0, 30.0], dtype=torch.float64)
    covariance = torch.tensor([[[2.0, 1.0], [1.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    found = shrink(rows, rows[:, None, None] * covariance, 10.0, 0.5, 0.0)
    pooled = 0.25 * covariance[0] + 0.75 * covariance[1]
    wanted = 0.5 * covariance[0] + 0.5 * pooled
    wanted[0, 1] *= 0.5
    wanted[1, 0] *= 0.5
    torch.testing.assert_close(found[0], wanted)


def test_the_linear_form_has_the_covariance():
    covariance = np.cov(data().T)
    stddev, slope = linear_form(torch.from_numpy(covariance))
    np.testing.assert_allclose(covariance_of(stddev.numpy(), slope.numpy()), covariance, rtol=1e-10)
    with pytest.raises(LearningError, match="not positive definite"):
        linear_form(-torch.eye(2, dtype=torch.float64))


def test_bounds_of_deviations_are_kept():
    circuit = mixture(stddev=ScaledSigmoidParameter((TensorParameter((2, 3)),), vmin=0.5, vmax=0.9))
    em = ExpectationMaximization(circuit)
    for _ in range(3):
        em.maximize(em.expect(torch.from_numpy(data()))[0])
    stddev = parameters_of(circuit)["stddev"]
    assert (stddev >= 0.5).all()
    assert (stddev <= 0.9).all()


def test_parts_that_are_fixed_alone_are_refused():
    with pytest.raises(LearningError, match="are learned together"):
        ExpectationMaximization(mixture(slope=constant(np.zeros((2, 3, 3)))))


@pytest.mark.parametrize("options", [{"pooled_rows": -1.0}, {"shrinkage": 1.5}, {"shrinkage": -0.1}])
def test_options_out_of_range_are_refused(options: dict[str, float]):
    with pytest.raises(ValueRangeError):
        MaximizationOptions(**options)
