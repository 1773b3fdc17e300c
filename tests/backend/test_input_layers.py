"""Every input layer against the distribution of torch that it represents, in the three semirings."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, distributions

from explorer.backend import SEMIRINGS, Semiring
from explorer.compiler import TorchCompiler
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    InputLayer,
    PolynomialLayer,
    SigmoidParameter,
    TensorParameter,
    constant,
)
from explorer.symbolic.operators import evidence, multiply
from tests.levels.modes import compile_circuit

EACH_SEMIRING = pytest.mark.parametrize("semiring", SEMIRINGS, ids=lambda semiring: semiring.name)
torch.manual_seed(0)
PROBS = torch.distributions.Dirichlet(torch.ones(4, dtype=torch.float64)).sample((3,))  # (O=3, V=4)
LOGITS = torch.randn(3, 4, dtype=torch.float64)
UNIT = torch.rand(3, dtype=torch.float64) * 0.8 + 0.1
MEAN, STDDEV = torch.randn(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64) + 0.5
STATES = torch.arange(4).unsqueeze(1)
COUNTS = torch.arange(8).unsqueeze(1)
POINTS = torch.linspace(-3, 3, 9, dtype=torch.float64).unsqueeze(1)
POSITIVE = torch.linspace(0.1, 3, 9, dtype=torch.float64).unsqueeze(1)


def circuit_of(layer: InputLayer) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.add(layer))


def values(layer: InputLayer, semiring: Semiring, x: Tensor | None) -> Tensor:
    """The plain values (B, O) of a layer, (O,) without input."""
    with torch.no_grad():
        found = compile_circuit(circuit_of(layer), semiring.name)(x)[..., 0, :]
    return found if semiring.name == "sum-product" else torch.exp(found)


def categorical(**given: Tensor) -> CategoricalLayer:
    parameters = {name: constant(value.numpy()) for name, value in given.items()}
    return CategoricalLayer(scope=(0,), num_output_units=3, num_categories=4, **parameters)


def binomial(**given: Tensor) -> BinomialLayer:
    parameters = {name: constant(value.numpy()) for name, value in given.items()}
    return BinomialLayer(scope=(0,), num_output_units=3, total_count=7, **parameters)


def gaussian(log_partition: Tensor | None = None) -> GaussianLayer:
    return GaussianLayer(
        scope=(0,),
        num_output_units=3,
        mean=constant(MEAN.numpy()),
        stddev=constant(STDDEV.numpy()),
        log_partition=None if log_partition is None else constant(log_partition.numpy()),
    )


def polynomial(coeff: Sequence[Sequence[float]]) -> PolynomialLayer:
    degree = len(coeff[0]) - 1
    return PolynomialLayer(scope=(0,), num_output_units=len(coeff), degree=degree, coeff=constant(coeff))


@EACH_SEMIRING
def test_categorical_layers(semiring: Semiring):
    wanted = torch.exp(distributions.Categorical(probs=PROBS).log_prob(STATES))
    np.testing.assert_allclose(values(categorical(probs=PROBS), semiring, STATES).real, wanted, rtol=1e-12)
    by_logits = values(categorical(logits=LOGITS), semiring, STATES).real
    np.testing.assert_allclose(by_logits, torch.exp(LOGITS).T, rtol=1e-12)  # as they are, not normalized
    normalized = torch.log_softmax(LOGITS, dim=1)
    wanted = torch.exp(distributions.Categorical(logits=LOGITS).log_prob(STATES))
    np.testing.assert_allclose(values(categorical(logits=normalized), semiring, STATES).real, wanted, rtol=1e-12)


@EACH_SEMIRING
def test_a_category_of_probability_zero_has_value_zero(semiring: Semiring):
    probs = torch.tensor([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)
    layer = CategoricalLayer(scope=(0,), num_output_units=3, num_categories=2, probs=constant(probs.numpy()))
    np.testing.assert_array_equal(values(layer, semiring, STATES[:2]).real, probs.T)


@EACH_SEMIRING
def test_binomial_layers(semiring: Semiring):
    wanted = torch.exp(distributions.Binomial(7, probs=UNIT).log_prob(COUNTS.double()))
    np.testing.assert_allclose(values(binomial(probs=UNIT), semiring, COUNTS).real, wanted, rtol=1e-12)
    by_logits = binomial(logits=torch.logit(UNIT))
    np.testing.assert_allclose(values(by_logits, semiring, COUNTS).real, wanted, rtol=1e-10)


@pytest.mark.parametrize("total_count", [1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("is_logits", [False, True])
def test_a_binomial_of_many_trials_does_not_cancel_in_single_precision(total_count: int, is_logits: bool):
    """Its three terms are of the size of the number of trials; the result is rounded once, to float32."""
    p = torch.tensor([0.5, 0.25])
    parameters = {"logits": torch.logit(p)} if is_logits else {"probs": p}
    weights = {
        name: TensorParameter((2,), initializer=ConstantInitializer(v.numpy())) for name, v in parameters.items()
    }
    layer = BinomialLayer(scope=(0,), num_output_units=2, total_count=total_count, **weights)
    b = CircuitBuilder()
    circuit = TorchCompiler().compile(b.build(b.add(layer)))
    half = total_count // 2
    x = torch.tensor([[half], [half + 100], [half - 300]])
    exact = distributions.Binomial(total_count, logits=torch.logit(p.double())).log_prob(x.double())
    # The logits of float32 are rounded by 3e-8, shared by the trials.
    tolerance = 3e-7 * exact.abs() + (4e-8 * total_count if is_logits else 0)
    with torch.no_grad():
        assert ((circuit(x)[:, 0].double() - exact).abs() <= tolerance).all()
        assert circuit.integral().abs().max() < 1e-5  # of rounded values


def binomial_of_sigmoids(*logits: float) -> BinomialLayer:
    leaf = TensorParameter((len(logits),), initializer=ConstantInitializer(np.array(logits)))
    return BinomialLayer(scope=(0,), num_output_units=len(logits), total_count=7, probs=SigmoidParameter((leaf,)))


def log_probs_of_counts(*logits: float) -> Tensor:
    """The log-probabilities (8, len(logits)) in double precision."""
    return distributions.Binomial(7, logits=torch.tensor(logits).double()).log_prob(COUNTS.double())


LARGE_LOGITS = (12.0, -12.0, 20.0, -20.0)
"""As float32, the sigmoid of 12 is off by some percent of 1 - p, and the sigmoid of 20 is 1: p would lose 1 - p."""


def assert_rounded_once(found: Tensor, exact: Tensor) -> None:
    torch.testing.assert_close(found.detach().double(), exact, rtol=3e-7, atol=1e-9)


@pytest.mark.parametrize("fold", [True, False])
def test_binomial_with_a_sigmoid_near_one_is_right_in_single_precision(fold: bool):
    layer = circuit_of(binomial_of_sigmoids(*LARGE_LOGITS))
    circuit = TorchCompiler(fold=fold, optimize=fold).compile(layer).float()
    assert [tuple(one.shape) for one in circuit.parameters()] == [(1, 4)]
    exact = log_probs_of_counts(*LARGE_LOGITS)
    for module in (circuit, circuit.freeze(), circuit.probe()):
        assert_rounded_once(module(COUNTS)[:, 0], exact)
    missing = circuit.probe()(torch.tensor([[7.0], [math.nan], [0.0]]))[:, 0].detach().double()
    assert_rounded_once(missing[::2], exact[[7, 0]])
    torch.testing.assert_close(missing[1], torch.zeros(4).double(), rtol=0, atol=1e-6)  # of a sum of rounded values


@pytest.mark.parametrize("count", [0, 3, 7])
def test_observed_binomial_with_a_sigmoid_near_one_is_right_in_single_precision(count: int):
    observed = evidence(circuit_of(binomial_of_sigmoids(*LARGE_LOGITS)), {0: count})
    circuit = TorchCompiler().compile(observed).float()
    for module in (circuit, circuit.freeze(), circuit.probe()):
        assert_rounded_once(module()[0], log_probs_of_counts(*LARGE_LOGITS)[count])


def test_product_of_binomials_with_sigmoids_near_one_is_right_in_single_precision():
    ours, theirs = (20.0, -20.0), (12.0, -12.0)
    product = multiply(circuit_of(binomial_of_sigmoids(*ours)), circuit_of(binomial_of_sigmoids(*theirs)))
    circuit = TorchCompiler().compile(product).float()
    left, right = log_probs_of_counts(*ours), log_probs_of_counts(*theirs)
    exact = (left.unsqueeze(2) + right.unsqueeze(1)).flatten(1)
    for module in (circuit, circuit.freeze()):
        found = module(COUNTS)[:, 0].detach().double()
        torch.testing.assert_close(found, exact, rtol=6e-7, atol=1e-9)  # both factors and their sum are rounded


@EACH_SEMIRING
def test_a_certain_binomial_is_one_at_the_end_and_zero_elsewhere(semiring: Semiring):
    found = values(binomial(probs=torch.tensor([0.0, 1.0, 0.5]).double()), semiring, COUNTS).real
    np.testing.assert_allclose(found[:, 0], [1, 0, 0, 0, 0, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(found[:, 1], [0, 0, 0, 0, 0, 0, 0, 1], atol=1e-15)


@EACH_SEMIRING
def test_gaussian_layers(semiring: Semiring):
    wanted = torch.exp(distributions.Normal(MEAN, STDDEV).log_prob(POINTS))
    np.testing.assert_allclose(values(gaussian(), semiring, POINTS).real, wanted, rtol=1e-12)
    scaled = values(gaussian(log_partition=LOGITS[:, 0]), semiring, POINTS).real
    np.testing.assert_allclose(scaled, wanted * torch.exp(LOGITS[:, 0]), rtol=1e-12)


def test_a_gaussian_far_away_does_not_underflow_in_log_space():
    far = torch.tensor([[1e6]])
    found = compile_circuit(circuit_of(gaussian()))(far)[:, 0]
    np.testing.assert_allclose(found, distributions.Normal(MEAN, STDDEV).log_prob(far), rtol=1e-12)


@EACH_SEMIRING
def test_embedding_layers(semiring: Semiring):
    weight = PROBS if semiring.name == "lse-sum" else LOGITS
    layer = EmbeddingLayer(scope=(0,), num_output_units=3, num_states=4, weight=constant(weight.numpy()))
    np.testing.assert_allclose(values(layer, semiring, STATES).real, weight.T, rtol=1e-12)


@EACH_SEMIRING
@pytest.mark.parametrize("coeff", [[[2.0]], [[1.0, 2.0], [0.5, 0.0]], [[0.0, 0.0, 1.0], [1.0, 2.0, 3.0]]])
def test_polynomial_layers(semiring: Semiring, coeff: list[list[float]]):
    points = POSITIVE if semiring.name == "lse-sum" else POINTS
    wanted = sum(torch.tensor(coeff)[:, d] * points**d for d in range(len(coeff[0])))
    np.testing.assert_allclose(values(polynomial(coeff), semiring, points).real, wanted, rtol=1e-12, atol=1e-13)


@EACH_SEMIRING
def test_constants_can_be_values_or_logarithms(semiring: Semiring):
    given = constant(UNIT.numpy())
    plain = ConstantValueLayer(num_output_units=3, value=given)
    logarithm = ConstantValueLayer(num_output_units=3, log_space=True, value=given)
    np.testing.assert_allclose(values(plain, semiring, None).real, UNIT, rtol=1e-12)
    np.testing.assert_allclose(values(logarithm, semiring, None).real, torch.exp(UNIT), rtol=1e-12)


@EACH_SEMIRING
@pytest.mark.parametrize(
    ("layer", "seen"),
    [
        (categorical(probs=PROBS), 2),
        (binomial(probs=UNIT), 5),
        (gaussian(), 0.7),
        (polynomial([[1.0, 2.0], [0.5, 0.25], [0.0, 1.0]]), 1.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_evidence_is_the_layer_at_its_observation(semiring: Semiring, layer: InputLayer, seen: float):
    evidence = EvidenceLayer(num_output_units=3, layer=layer, observation=constant([seen]))
    np.testing.assert_allclose(values(evidence, semiring, None), values(layer, semiring, torch.tensor([[seen]]))[0])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64])
def test_integers_of_any_type_are_read(dtype: torch.dtype):
    wanted = values(categorical(probs=PROBS), SEMIRINGS[0], STATES)
    assert torch.equal(values(categorical(probs=PROBS), SEMIRINGS[0], STATES.to(dtype)), wanted)
    points = torch.tensor([[1], [2]])
    assert torch.equal(
        values(gaussian(), SEMIRINGS[0], points.to(dtype)), values(gaussian(), SEMIRINGS[0], points.double())
    )


def test_bools_are_read_as_zero_and_one():
    both = torch.tensor([[False], [True]])
    found = values(categorical(probs=PROBS), SEMIRINGS[0], both)
    np.testing.assert_allclose(found, PROBS.T[:2])
