"""The joint normal density against SciPy: values, marginals, conditionals, samples, most probable rows, moments."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from explorer.backend import TorchCircuit, queries
from explorer.errors import DataTypeError, ScopeError, ShapeError, ValueRangeError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    GaussianLayer,
    MultivariateGaussianLayer,
    SoftplusParameter,
    TensorParameter,
    circuit_from_json,
    circuit_to_json,
    constant,
    operators,
)
from tests.backend.queries.deciding import leaf
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit

UNITS, SIZE = 3, 3
WEIGHT = np.array([0.2, 0.5, 0.3])
RANDOM = np.random.default_rng(0)
MEAN = RANDOM.normal(size=(UNITS, SIZE))
STDDEV = RANDOM.uniform(0.3, 1.5, (UNITS, SIZE))
SLOPE = RANDOM.normal(size=(UNITS, SIZE, SIZE))
PROBS = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
X = RANDOM.normal(size=(5, SIZE))
MASKS = [torch.tensor(mask) for mask in product([False, True], repeat=SIZE)]

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def covariances() -> NDArray[np.float64]:
    """The covariance of each unit, from its definition."""
    spread = [
        np.linalg.inv(np.eye(SIZE) - np.tril(slope, -1)) * stddev for slope, stddev in zip(SLOPE, STDDEV, strict=True)
    ]
    return np.stack([factor @ factor.T for factor in spread])


COVARIANCE = covariances()


def joint(first: int = 0) -> MultivariateGaussianLayer:
    """Three units over three variables."""
    scope = tuple(range(first, first + SIZE))
    return MultivariateGaussianLayer(
        scope=scope, num_output_units=UNITS, mean=leaf(MEAN), stddev=leaf(STDDEV), slope=leaf(SLOPE)
    )


def mixture() -> Circuit:
    """A mixture of normal densities of variables 0 to 2, times a category of variable 3."""
    b = CircuitBuilder()
    category = CategoricalLayer(scope=(SIZE,), num_output_units=UNITS, num_categories=2, probs=leaf(PROBS))
    both = b.hadamard(b.add(joint()), b.add(category))
    return b.build(b.sum(both, num_units=1, weight=leaf(WEIGHT[None])))


def rows(category: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([X, np.full((len(X), 1), category)], axis=1))


def densities(x: NDArray[np.float64], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The marginal densities (B, O) of the seen variables."""
    if not seen.any():
        return np.ones((len(x), UNITS))
    return np.stack(
        [
            multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).pdf(x[:, seen]).reshape(len(x))
            for mean, covariance in zip(MEAN, COVARIANCE, strict=True)
        ],
        axis=1,
    )


def posterior(x: NDArray[np.float64], seen: NDArray[np.bool_], category: int | None) -> NDArray[np.float64]:
    """The probabilities (B, O) of the units given evidence."""
    share = WEIGHT * densities(x, seen) * (1.0 if category is None else PROBS[:, category])
    return share / share.sum(1, keepdims=True)


def conditional(unit: int, x: NDArray[np.float64], seen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], ...]:
    """The mean (U,) and covariance (U, U) of the other variables of a row, by the formula of the textbook."""
    mean, covariance = MEAN[unit], COVARIANCE[unit]
    gain = covariance[np.ix_(~seen, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    center = mean[~seen] + gain @ (x[seen] - mean[seen])
    return center, covariance[np.ix_(~seen, ~seen)] - gain @ covariance[np.ix_(seen, ~seen)]


@EACH_MODE
def test_values_are_those_of_scipy(mode: Mode):
    circuit = compile_circuit(mixture(), **mode).double()
    wanted = np.log((WEIGHT * densities(X, np.ones(SIZE, bool)) * PROBS[:, 1]).sum(1))
    np.testing.assert_allclose(circuit(rows()).detach().flatten(), wanted, rtol=1e-10)
    np.testing.assert_allclose(circuit.integral().detach().flatten(), 0.0, atol=1e-12)


def test_single_precision_loses_only_its_digits():
    single = compile_circuit(mixture())(rows().float())
    double = compile_circuit(mixture()).double()(rows())
    torch.testing.assert_close(single.double(), double, rtol=0, atol=1e-4)  # x has 24 bits, and its distance 3 digits


@EACH_MODE
@pytest.mark.parametrize("seen", MASKS, ids=str)
def test_marginals_are_those_of_scipy(seen: torch.Tensor, mode: Mode):
    circuit = compile_circuit(mixture(), **mode)
    for category in (None, 1):
        observed = torch.cat([seen, torch.tensor([category is not None])])
        found = queries.marginal(circuit, rows(), observed).detach().flatten()
        probs = 1.0 if category is None else PROBS[:, category]
        wanted = np.log((WEIGHT * densities(X, seen.numpy()) * probs).sum(1))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)  # the leaves are in single precision


def test_each_row_may_observe_different_variables():
    circuit = compile_circuit(mixture()).double()
    observed = torch.cat([torch.stack(MASKS), torch.ones(len(MASKS), 1, dtype=torch.bool)], 1)
    x = rows()[:1].expand(len(MASKS), -1)
    found = queries.marginal(circuit, x, observed).flatten()
    one_by_one = [queries.marginal(circuit, x[:1], mask).flatten() for mask in observed]
    torch.testing.assert_close(found, torch.cat(one_by_one))
    missing = torch.where(observed, x, math.nan)  # as training reads them
    torch.testing.assert_close(circuit.probe()(missing).flatten().double(), found)


@pytest.mark.parametrize("seen", MASKS[:-1], ids=str)
def test_samples_have_the_conditional_moments(seen: torch.Tensor):
    circuit = compile_circuit(mixture()).double()
    observed = torch.cat([seen, torch.tensor([True])])
    known = seen.numpy()
    drawn = queries.sample(circuit, 20_000, rows()[:1], observed, generator=torch.Generator().manual_seed(0))[
        :, 0
    ].numpy()
    assert (drawn[:, :SIZE][:, known] == X[0][known]).all()
    share = posterior(X[:1], known, 1)[0]
    parts = [conditional(unit, X[0], known) for unit in range(UNITS)]
    mean = sum(s * center for s, (center, _) in zip(share, parts, strict=True))
    second = sum(s * (cov + np.outer(center, center)) for s, (center, cov) in zip(share, parts, strict=True))
    others = drawn[:, :SIZE][:, ~known]
    np.testing.assert_allclose(others.mean(0), mean, atol=0.08)  # 4 standard errors, of a deviation below 2.5
    np.testing.assert_allclose(others.T @ others / len(others), second, atol=0.4)


@EACH_MODE
@pytest.mark.parametrize("seen", MASKS, ids=str)
def test_moments_are_those_of_conditional_normals(seen: torch.Tensor, mode: Mode):
    circuit = compile_circuit(mixture(), **mode)
    circuit.double()
    observed, known = torch.cat([seen, torch.tensor([True])]), seen.numpy()
    for order in (1, 2, 3):
        found = queries.moments(circuit, order, rows(), observed)[:, 0, 0, :SIZE].numpy()
        for row, x in enumerate(X):
            share = posterior(X[row : row + 1], known, 1)[0]
            wanted = np.where(known, x**order, 0.0)
            for unit in range(UNITS):
                center, covariance = conditional(unit, x, known)
                variance = covariance.diagonal()
                raw = {1: center, 2: center**2 + variance, 3: center**3 + 3 * center * variance}[order]
                wanted[~known] += share[unit] * raw
            np.testing.assert_allclose(found[row], wanted, rtol=1e-8)


def test_products_of_variables_of_one_leaf_have_expectations():
    circuit = compile_circuit(mixture()).double()
    product_of = {0: queries.power(1), 2: queries.power(1)}
    found = queries.expectation(circuit, product_of).item()
    wanted = (WEIGHT * (COVARIANCE[:, 0, 2] + MEAN[:, 0] * MEAN[:, 2])).sum()
    assert found == pytest.approx(wanted, rel=1e-9)
    given = queries.expectation(circuit, product_of, rows(), torch.tensor([False, True, False, True])).flatten()
    for row, x in enumerate(X):
        known = np.array([False, True, False])
        share = posterior(X[row : row + 1], known, 1)[0]
        parts = [conditional(unit, x, known) for unit in range(UNITS)]
        wanted = sum(s * (cov[0, 1] + center[0] * center[1]) for s, (center, cov) in zip(share, parts, strict=True))
        assert given[row].item() == pytest.approx(wanted, rel=1e-8)


def test_a_joint_density_of_one_variable_is_a_gaussian():
    given = {"scope": (0,), "num_output_units": 2}
    mean, stddev = [0.5, -1.0], [1.5, 0.7]
    pair = [
        MultivariateGaussianLayer(
            **given,
            mean=leaf([[m] for m in mean]),
            stddev=leaf([[s] for s in stddev]),
            slope=leaf(np.zeros((2, 1, 1))),
        ),
        GaussianLayer(**given, mean=leaf(mean), stddev=leaf(stddev)),
    ]
    found = []
    for layer in pair:
        b = CircuitBuilder()
        circuit = compile_circuit(b.build(b.sum(b.add(layer), num_units=1, weight=leaf([[0.4, 0.6]])))).double()
        x = torch.linspace(-2, 2, 5, dtype=torch.float64).unsqueeze(1)
        values = [circuit(x).detach(), queries.most_probable(circuit).log_bound]
        found.append([*values, *(queries.moments(circuit, order).flatten() for order in range(4))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_functions_without_a_closed_form_are_refused():
    circuit = compile_circuit(mixture())
    with pytest.raises(DataTypeError, match="no closed form"):
        queries.expectation(circuit, {0: torch.sin})


@pytest.mark.parametrize("seen", MASKS, ids=str)
def test_one_unit_is_completed_by_its_conditional_mean(seen: torch.Tensor):
    b = CircuitBuilder()
    circuit = compile_circuit(b.build(b.sum(b.add(joint()), num_units=1, weight=leaf([[0.0, 1.0, 0.0]])))).double()
    found = queries.most_probable(circuit, torch.from_numpy(X), seen)
    assert found.is_exact.all()
    known = seen.numpy()
    for row, x in enumerate(X):
        center, _ = conditional(1, x, known)
        np.testing.assert_allclose(found.assignment[row][~seen], center, rtol=1e-8)
        assert (found.assignment[row][seen].numpy() == x[known]).all()
    torch.testing.assert_close(found.log_probability, queries.log_likelihood(circuit, found.assignment).flatten())


@pytest.mark.parametrize("seen", MASKS, ids=str)
def test_no_row_is_more_probable_than_the_bound(seen: torch.Tensor):
    circuit = compile_circuit(mixture()).double()
    observed = torch.cat([seen, torch.tensor([False])])
    found = queries.most_probable(circuit, rows(), observed)
    assert (found.log_probability <= found.log_bound + 1e-9).all()
    drawn = queries.sample(circuit, 500, rows(), observed, generator=torch.Generator().manual_seed(1))
    logs = torch.stack([queries.log_likelihood(circuit, one).flatten() for one in drawn])
    assert (logs.amax(0) <= found.log_bound + 1e-9).all()


def test_the_divergence_of_normal_densities_has_a_closed_form():
    def single(unit: int) -> TorchCircuit:
        layer = MultivariateGaussianLayer(
            scope=(0, 1, 2),
            num_output_units=1,
            mean=leaf(MEAN[[unit]]),
            stddev=leaf(STDDEV[[unit]]),
            slope=leaf(SLOPE[[unit]]),
        )
        b = CircuitBuilder()
        return compile_circuit(b.build(b.sum(b.add(layer), num_units=1, weight=leaf([[1.0]])))).double()

    entropy = queries.entropy(single(0)).item()
    assert entropy == pytest.approx(multivariate_normal(MEAN[0], COVARIANCE[0]).entropy(), rel=1e-9)
    inverse = np.linalg.inv(COVARIANCE[1])
    step = MEAN[1] - MEAN[0]
    ratio = np.log(np.linalg.det(COVARIANCE[1]) / np.linalg.det(COVARIANCE[0]))
    wanted = 0.5 * (np.trace(inverse @ COVARIANCE[0]) + step @ inverse @ step - SIZE + ratio)
    assert queries.divergence(single(0), single(1)).item() == pytest.approx(wanted, rel=1e-9)


def test_integrals_and_evidence_are_of_all_of_its_variables():
    circuit = mixture()
    integral = compile_circuit(operators.integrate(circuit, [0, 1, 2])).double()
    wanted = math.log((WEIGHT * PROBS[:, 1]).sum())
    assert integral(torch.tensor([[0, 0, 0, 1.0]])).item() == pytest.approx(wanted, rel=1e-6)
    seen = compile_circuit(operators.evidence(circuit, dict(enumerate(X[0])))).double()
    assert seen(torch.tensor([[0, 0, 0, 1.0]])).item() == pytest.approx(
        compile_circuit(circuit).double()(rows()[:1]).item(), rel=1e-6
    )
    for refused in (lambda: operators.integrate(circuit, [0]), lambda: operators.evidence(circuit, {0: 0.5})):
        with pytest.raises(ScopeError):
            refused()


def test_a_file_keeps_it():
    circuit = mixture()
    again = circuit_from_json(circuit_to_json(circuit))
    torch.testing.assert_close(compile_circuit(again)(rows().float()), compile_circuit(circuit)(rows().float()))


def test_gradients_are_those_of_differences():
    b = CircuitBuilder()
    layer = MultivariateGaussianLayer(
        scope=(0, 1, 2),
        num_output_units=2,
        mean=TensorParameter((2, 3)),
        stddev=SoftplusParameter((TensorParameter((2, 3)),)),
        slope=TensorParameter((2, 3, 3)),
    )
    circuit = compile_circuit(b.build(b.sum(b.add(layer), num_units=1, weight=leaf([[0.3, 0.7]])))).double()
    x = torch.from_numpy(X)
    loss = circuit(x).sum()
    loss.backward()
    for parameter in circuit.parameters():
        gradient = parameter.grad
        if gradient is None:
            continue
        step = torch.from_numpy(np.random.default_rng(1).normal(size=parameter.shape))
        with torch.no_grad():
            values = []
            for sign in (1, -1):
                parameter += sign * 1e-6 * step
                values.append(circuit(x).sum().item())
                parameter -= sign * 1e-6 * step
        slope = (values[0] - values[1]) / 2e-6
        assert (gradient * step).sum().item() == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"scope": ()}, ScopeError, "at least one variable"),
        ({"slope": constant(np.zeros((2, 3)))}, ShapeError, r"slope must have shape \(2, 3, 3\)"),
        ({"stddev": constant(np.zeros((2, 3)))}, ValueRangeError, "stddev must be above 0"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(changes, error, message):
    given = {
        "scope": (0, 1, 2),
        "num_output_units": 2,
        "mean": constant(np.zeros((2, 3))),
        "stddev": constant(np.ones((2, 3))),
        "slope": constant(np.zeros((2, 3, 3))),
    }
    with pytest.raises(error, match=message):
        MultivariateGaussianLayer(**{**given, **changes})


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_evidence_that_rounding_hides_is_refused(far: float):
    circuit = compile_circuit(mixture()).double()
    x, observed = torch.tensor([[0.0, far, 0.0, 1.0]]).double(), torch.tensor([False, True, False, False])
    for query in (queries.moments, queries.most_probable):
        with pytest.raises(ValueRangeError, match="so improbable"):
            query(circuit, x=x, observed=observed)
