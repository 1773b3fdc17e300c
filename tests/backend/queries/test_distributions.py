"""The exponential and Laplace densities and the histogram against SciPy: values, integrals, moments, samples, modes."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from explorer.backend import TorchCircuit, queries
from explorer.errors import DataTypeError, LearningError, ScopeError, ShapeError, ValueRangeError
from explorer.learning import ExpectationMaximization
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ExponentialLayer,
    HistogramLayer,
    InputLayer,
    LaplaceLayer,
    Parameterization,
    ParameterNode,
    SoftmaxParameter,
    SoftplusParameter,
    TensorParameter,
    constant,
    operators,
)
from tests.backend.queries.deciding import leaf
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
GIVEN = {"scope": (0,), "num_output_units": 2}
EDGES = (-1.0, 0.0, 0.5, 3.0)
PROBS = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
WEIGHT = np.array([0.3, 0.7])

LAYERS: dict[str, InputLayer] = {
    "exponential": ExponentialLayer(**GIVEN, mean=leaf([0.5, 2.0])),
    "Laplace": LaplaceLayer(**GIVEN, location=leaf([0.5, -1.0]), scale=leaf([1.0, 0.4])),
    "histogram": HistogramLayer(**GIVEN, edges=EDGES, probs=leaf(PROBS)),
}
FROZEN = {
    "exponential": [stats.expon(scale=0.5), stats.expon(scale=2.0)],
    "Laplace": [stats.laplace(0.5, 1.0), stats.laplace(-1.0, 0.4)],
    "histogram": [stats.rv_histogram((row, np.array(EDGES)), density=False) for row in PROBS],
}
X = np.array([-1.5, -1.0, -0.3, 0.0, 0.2, 0.5, 1.7, 3.0, 4.0])
EACH = pytest.mark.parametrize("name", LAYERS)


def mixture(layer: InputLayer, weight: NDArray[np.float64] = WEIGHT) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.sum(b.add(layer), num_units=1, weight=leaf(weight[None])))


def compiled(name: str, weight: NDArray[np.float64] = WEIGHT) -> TorchCircuit:
    return compile_circuit(mixture(LAYERS[name], weight)).double()


def density(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    parts = [one.pdf(x) for one in FROZEN[name]]
    if name == "histogram":  # SciPy has 0 at the last edge
        parts = [
            np.where(x == EDGES[-1], one.pdf(EDGES[-1] - 1e-9), part)
            for one, part in zip(FROZEN[name], parts, strict=True)
        ]
    return WEIGHT @ np.stack(parts)


@EACH
@EACH_MODE
def test_values_are_those_of_scipy(name: str, mode: Mode):
    circuit = compile_circuit(mixture(LAYERS[name]), **mode).double()
    found = circuit(torch.from_numpy(X)[:, None]).detach().flatten().exp()
    np.testing.assert_allclose(found, density(name, X), rtol=1e-6)  # the leaves are in single precision
    assert circuit.integral().item() == pytest.approx(0.0, abs=1e-6)


@EACH
def test_integrals_and_evidence_are_operators(name: str):
    circuit = mixture(LAYERS[name])
    assert compile_circuit(operators.integrate(circuit))(None).item() == pytest.approx(0.0, abs=1e-6)
    seen = compile_circuit(operators.evidence(circuit, {0: 0.2}))(None).item()
    assert math.exp(seen) == pytest.approx(density(name, np.array([0.2]))[0], rel=1e-6)


@EACH
@pytest.mark.parametrize("order", range(5))
def test_moments_are_those_of_scipy(name: str, order: int):
    found = queries.moments(compiled(name), order).item()
    wanted = sum(w * one.moment(order) for w, one in zip(WEIGHT, FROZEN[name], strict=True)) if order else 1.0
    assert found == pytest.approx(wanted, rel=1e-6)


@EACH
def test_other_functions_have_no_closed_form(name: str):
    with pytest.raises(DataTypeError, match="no closed form"):
        queries.expectation(compiled(name), {0: torch.sin})


@EACH
def test_samples_have_the_distribution(name: str):
    for unit, one in enumerate(FROZEN[name]):
        circuit = compiled(name, np.eye(2)[unit])
        drawn = queries.sample(circuit, 4_000, generator=torch.Generator().manual_seed(unit)).flatten().numpy()
        assert stats.kstest(drawn, one.cdf).pvalue > 1e-4


@EACH
def test_the_mode_is_the_largest_density(name: str):
    grid = np.linspace(-3, 5, 4001)
    for unit, one in enumerate(FROZEN[name]):
        circuit = compiled(name, np.eye(2)[unit])
        found = queries.most_probable(circuit)
        assert found.log_bound.item() == pytest.approx(math.log(one.pdf(grid).max()), abs=2e-3)  # of the grid
        reached = queries.log_likelihood(circuit, found.assignment).item()
        assert reached == pytest.approx(found.log_bound.item(), abs=1e-9)


@EACH
def test_entropies_and_divergences_are_those_of_scipy(name: str):
    one, _other = (compiled(name, np.eye(2)[unit]) for unit in range(2))
    entropy = queries.entropy(one).item()
    assert entropy == pytest.approx(FROZEN[name][0].entropy(), rel=1e-5, abs=1e-6)


def test_a_laplace_divergence_is_its_integral():
    pair = [
        LaplaceLayer(scope=(0,), num_output_units=1, location=leaf([m]), scale=leaf([s]))
        for m, s in ((0.5, 1.0), (-1.0, 0.4))
    ]
    one, other = (compile_circuit(mixture(layer, np.ones(1))).double() for layer in pair)
    grid = np.linspace(-40, 40, 800_001)
    p, q = (law.logpdf(grid) for law in FROZEN["Laplace"])
    wanted = np.trapezoid(np.exp(p) * (p - q), grid)
    assert queries.divergence(one, other).item() == pytest.approx(wanted, rel=1e-5)


@EACH
def test_folds_of_two_variables_have_their_values(name: str):
    b = CircuitBuilder()
    other = {**GIVEN, "scope": (1,)}
    second = {
        "exponential": lambda: ExponentialLayer(**other, mean=leaf([1.0, 3.0])),
        "Laplace": lambda: LaplaceLayer(**other, location=leaf([0.0, 1.0]), scale=leaf([2.0, 1.0])),
        "histogram": lambda: HistogramLayer(**other, edges=EDGES, probs=leaf(PROBS[::-1])),
    }[name]()
    product = b.hadamard(b.add(LAYERS[name]), b.add(second))
    circuit = b.build(b.sum(product, num_units=1, weight=leaf(WEIGHT[None])))
    x = torch.tensor([[0.3, 1.2], [1.0, 0.1]], dtype=torch.float64)
    values = [compile_circuit(circuit, **mode).double()(x).detach() for mode in MODES]
    for value in values[1:]:
        torch.testing.assert_close(value, values[0])


# ---------------------------------------------------------------------- expectation-maximization


def positive(*shape: int) -> ParameterNode:
    return SoftplusParameter((TensorParameter(shape),))


def learned(layer: InputLayer) -> TorchCircuit:
    b = CircuitBuilder()
    weight = Parameterization("softmax")((1, layer.num_output_units))
    return compile_circuit(b.build(b.sum(b.add(layer), num_units=1, weight=weight))).double()


def test_the_exponential_density_is_learned_as_the_mean():
    circuit = learned(ExponentialLayer(scope=(0,), num_output_units=1, mean=positive(1)))
    x = torch.from_numpy(np.random.default_rng(0).exponential(3.0, (200, 1)))
    x[::7] = math.nan  # missing
    em = ExpectationMaximization(circuit)
    em.maximize(em.expect(x)[0])
    assert queries.moments(circuit).item() == pytest.approx(np.nanmean(x.numpy()), rel=1e-6)


def test_the_histogram_is_learned_as_frequencies():
    probs = SoftmaxParameter((TensorParameter((1, 3)),), axis=1)
    circuit = learned(HistogramLayer(scope=(0,), num_output_units=1, edges=EDGES, probs=probs))
    x = np.random.default_rng(0).uniform(-1, 3, (200, 1))
    em = ExpectationMaximization(circuit)
    em.maximize(em.expect(torch.from_numpy(x))[0])
    counts, _ = np.histogram(x, EDGES)
    found = circuit(torch.tensor([[-0.5], [0.2], [1.0]], dtype=torch.float64)).detach().flatten().exp()
    np.testing.assert_allclose(found, counts / 200 / np.diff(EDGES), rtol=1e-6)


@pytest.mark.parametrize("kind", ["exponential", "histogram"])
def test_no_step_of_a_mixture_lowers_the_likelihood(kind: str):
    probs = SoftmaxParameter((TensorParameter((3, 3)),), axis=1)
    layers: dict[str, InputLayer] = {
        "exponential": ExponentialLayer(scope=(0,), num_output_units=3, mean=positive(3)),
        "histogram": HistogramLayer(scope=(0,), num_output_units=3, edges=(0.0, 0.5, 2.0, 100.0), probs=probs),
    }
    circuit = learned(layers[kind])
    random = np.random.default_rng(1)
    x = torch.from_numpy(np.concatenate([random.exponential(0.3, (80, 1)), random.exponential(5.0, (80, 1))]))
    em, last = ExpectationMaximization(circuit), -math.inf
    for _ in range(20):
        counts, found = em.expect(x)
        assert found >= last - 1e-9
        last = found
        em.maximize(counts)
    before = circuit(x).detach()
    em.maximize(em.consistent_counts(em.expect(x)[0]))
    torch.testing.assert_close(circuit(x), before, rtol=1e-6, atol=1e-6)


def test_a_laplace_density_has_no_closed_step_and_this_is_said():
    layer = LaplaceLayer(scope=(0,), num_output_units=2, location=TensorParameter((2,)), scale=positive(2))
    with pytest.raises(LearningError, match=r"no closed M-step.*LaplaceLayer.*gradient"):
        ExpectationMaximization(learned(layer))
    circuit = learned(layer)
    x = torch.from_numpy(np.random.default_rng(0).laplace(1.0, 0.5, (200, 1)))
    optimizer = torch.optim.Adam(circuit.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        (-circuit(x).mean()).backward()
        optimizer.step()
    assert (
        circuit(x).mean().item() > np.log(FROZEN["Laplace"][0].pdf((x - 1.0).numpy() / 0.5 + 0.5) / 0.5).mean() - 0.02
    )


def test_evidence_outside_has_probability_zero():
    for name, x in (("exponential", -0.1), ("histogram", 3.1)):
        point = torch.tensor([[x]], dtype=torch.float64)
        assert compiled(name)(point).item() == -math.inf
        with pytest.raises(ValueRangeError):
            queries.sample(compiled(name), 1, point, torch.tensor([True]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ExponentialLayer(**GIVEN, mean=constant([1.0, 0.0])), ValueRangeError, "mean must be above 0"),
        (lambda: LaplaceLayer(**GIVEN, location=constant([0.0]), scale=constant([1.0])), ShapeError, "location"),
        (lambda: LaplaceLayer(**GIVEN, location=leaf([0, 0]), scale=constant([1.0, -1.0])), ValueRangeError, "scale"),
        (
            lambda: HistogramLayer(**GIVEN, edges=(0.0, 0.0), probs=leaf([[1], [1]])),
            ValueRangeError,
            "must be finite and",
        ),
        (lambda: HistogramLayer(**GIVEN, edges=(0.0, math.inf), probs=leaf([[1], [1]])), ValueRangeError, "finite"),
        (lambda: HistogramLayer(**GIVEN, edges=(0.0,), probs=leaf([[1], [1]])), ValueRangeError, "finite and increase"),
        (
            lambda: HistogramLayer(**GIVEN, edges=(0.0, 1.0), probs=constant([[1.0], [-1.0]])),
            ValueRangeError,
            "at least 0",
        ),
        (lambda: ExponentialLayer(**{**GIVEN, "scope": (0, 1)}, mean=leaf([1, 1])), ScopeError, "one variable"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
