"""Expectation-maximization never lowers the likelihood, is the same in every mode, and refuses what it cannot learn."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st

from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, DataTypeError, LearningError, ShapeError, StructureError, ValueRangeError
from explorer.learning import ExpectationMaximization, MaximizationOptions
from explorer.symbolic import (
    CircuitBuilder,
    ClampParameter,
    ConstantInitializer,
    ExpParameter,
    GaussianLayer,
    HadamardParameter,
    IndexParameter,
    LogParameter,
    Parameterization,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SumParameter,
    TensorParameter,
    constant,
)
from explorer.templates import BinomialInput, CategoricalInput, GaussianInput, fully_factorized, hmm
from tests.fuzzing import examples
from tests.learning.random_models import INPUTS, WEIGHTS, models

STEPS = 4


def learn(circuit, rows, steps=STEPS, options=None, **mode):
    """The circuit after some steps, and the log-likelihood before each and after the last."""
    compiled = TorchCompiler(**mode).compile(circuit).double()
    em = ExpectationMaximization(compiled, options)
    found = []
    for _ in range(steps):
        counts, total = em.expect(rows)
        em.maximize(counts)
        found.append(total)
    return compiled, [*found, em.expect(rows)[1]]


@examples(40)
@given(model=models(), has_missing=st.booleans())
def test_a_step_never_lowers_the_likelihood(model, has_missing):
    circuit, rows = model
    if has_missing:
        rows = rows.double()
        rows[::3, 1], rows[4, :] = math.nan, math.nan
    _, found = learn(circuit, rows)
    assert all(after >= before - 1e-7 * abs(before) for before, after in pairwise(found)), found


@examples(10)
@given(model=models())
def test_the_values_are_the_same_in_every_mode(model):
    circuit, rows = model
    expected, _ = learn(circuit, rows, steps=2, optimize=False, fold=False)
    for optimize, fold, preset in ((True, True, "default"), (True, False, "handbook"), (False, True, "default")):
        found, _ = learn(circuit, rows, steps=2, optimize=optimize, fold=fold, preset=preset)
        torch.testing.assert_close(found(rows), expected(rows), rtol=1e-8, atol=1e-8)
        # Logarithms of what is nearly zero differ most: they are compared as far as they matter.
        for name, value in expected.leaf_state().items():
            torch.testing.assert_close(found.leaf_state()[name], value, rtol=1e-5, atol=1e-5, msg=name)


@examples(10)
@given(model=models())
def test_counts_that_are_consistent_with_the_values_change_nothing(model):
    """The rows use every unit; without rows, a unit keeps its values anyway."""
    circuit, rows = model
    compiled = TorchCompiler().compile(circuit).double()
    em = ExpectationMaximization(compiled, MaximizationOptions(stddev_floor=1e-9))
    counts, before = em.expect(rows)
    em.maximize(em.consistent_counts(counts))
    assert em.expect(rows)[1] == pytest.approx(before, rel=1e-6)


# ---- what is known by hand


def mixture(inputs, weight=None):
    """Two components over one variable."""
    b = CircuitBuilder()
    return b.build(b.sum(b.add(inputs(0, 2)), num_units=1, weight=weight or constant([[0.5, 0.5]])))


def fixed(values):
    return TensorParameter((len(values),), initializer=ConstantInitializer(values))


def normal_layer(mean, stddev):
    return lambda variable, units: GaussianLayer(scope=(variable,), num_output_units=units, mean=mean, stddev=stddev)


def test_one_distribution_is_estimated_in_one_step():
    rows = torch.tensor([[0, 1, 2.5], [2, 3, 0.5], [2, 4, 4.5], [1, 0, 0.5]], dtype=torch.float64)
    circuit = fully_factorized(3, [CategoricalInput(4), BinomialInput(4), GaussianInput(stddev=exp_of_a_leaf)])
    compiled, _ = learn(circuit, rows, steps=1)
    categorical, binomial, mean, stddev = compiled.leaf_state().values()
    assert torch.softmax(categorical, -1).flatten().tolist() == pytest.approx([0.25, 0.25, 0.5, 0.0])
    assert torch.sigmoid(binomial).item() == pytest.approx(8 / 16)
    assert (mean.item(), stddev.exp().item()) == pytest.approx((2.0, rows[:, 2].std(correction=0).item()))


@pytest.mark.parametrize("name", [name for name in INPUTS if not name.startswith("normal")])
def test_every_discrete_distribution_is_estimated_in_one_step(name):
    spec = INPUTS[name]
    compiled, _ = learn(fully_factorized(1, spec), torch.tensor([[0], [2], [2], [1]]), steps=1)
    found = compiled(torch.arange(3).unsqueeze(1)).exp().flatten().tolist()
    p = 5 / 16
    expected = (
        [(1 - p) ** 4, 4 * p * (1 - p) ** 3, 6 * p**2 * (1 - p) ** 2] if "binomial" in name else [0.25, 0.25, 0.5]
    )
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", [name for name in INPUTS if name.startswith("normal")])
def test_every_normal_distribution_is_estimated_in_one_step(name):
    rows = torch.tensor([[-0.3], [0.1], [0.5], [-0.3]], dtype=torch.float64)
    compiled, _ = learn(fully_factorized(1, INPUTS[name]), rows, steps=1)
    normal = torch.distributions.Normal(rows.mean(), rows.std(correction=0))
    torch.testing.assert_close(compiled(rows).flatten(), normal.log_prob(rows).flatten())


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_weight_of_a_mixture_of_fixed_distributions_has_its_share(name):
    """Two components that never overlap: the weights are the shares of their rows."""
    table = constant([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    circuit = mixture(CategoricalInput(4, probs=lambda _: table), WEIGHTS[name]((1, 2)))
    compiled, _ = learn(circuit, torch.tensor([[0], [2], [1], [1]]), steps=1)
    assert compiled(torch.tensor([[0], [3]])).exp().flatten().tolist() == pytest.approx([0.75 / 2, 0.25 / 2])


def exp_of_a_leaf(shape):
    return ExpParameter((TensorParameter(shape),))


def test_pseudo_counts_are_shared_by_the_entries_of_a_row():
    circuit = fully_factorized(2, [CategoricalInput(4), BinomialInput(4)])
    rows = torch.tensor([[0, 4], [2, 4]])
    compiled, _ = learn(circuit, rows, steps=1, options=MaximizationOptions(pseudo_count=2.0))
    categorical, binomial = compiled.leaf_state().values()
    assert torch.softmax(categorical, -1).flatten().tolist() == pytest.approx([1.5 / 4, 0.5 / 4, 1.5 / 4, 0.5 / 4])
    assert torch.sigmoid(binomial).item() == pytest.approx(9 / 10)


def test_counts_of_shared_leaves_add_up():
    """A homogeneous hidden Markov model with one state: its emission has the frequencies of all positions together."""
    circuit = hmm(range(3), CategoricalInput(3), num_latent_states=1, homogeneous=True)
    compiled, _ = learn(circuit, torch.tensor([[0, 0, 1], [2, 0, 0]]), steps=1)
    (probs,) = (value for value in compiled.leaf_state().values() if value.shape == (1, 3))
    assert torch.softmax(probs, -1).flatten().tolist() == pytest.approx([4 / 6, 1 / 6, 1 / 6])


def test_a_standard_deviation_stays_above_its_floor():
    mean, log_stddev = fixed([-1.0, 1.0]), fixed([0.0, 0.0])
    circuit = mixture(normal_layer(mean, ExpParameter((log_stddev,))))
    rows = torch.tensor([[-1.0], [-1.0], [1.0], [1.2]], dtype=torch.float64)
    compiled, _ = learn(circuit, rows, steps=20, options=MaximizationOptions(stddev_floor=0.05))
    assert compiled.leaf_value(mean).tolist() == pytest.approx([-1.0, 1.1], abs=1e-6)
    assert compiled.leaf_value(log_stddev).exp().tolist() == pytest.approx([0.05, 0.1], abs=1e-6)


def test_what_is_not_learned_stays():
    mean = constant([-1.0, 1.0])
    stddev = TensorParameter((2,), initializer=ConstantInitializer([1.0, 1.0]))
    rows = torch.tensor([[-1.5], [-0.5], [0.9], [1.1]], dtype=torch.float64)
    compiled, found = learn(mixture(normal_layer(mean, stddev)), rows, steps=30)
    assert compiled.leaf_value(mean).tolist() == [-1.0, 1.0]
    assert compiled.leaf_value(stddev).tolist() == pytest.approx([0.5, 0.1], abs=0.02)
    assert found == sorted(found)


def test_units_that_no_row_uses_keep_their_values():
    circuit = mixture(CategoricalInput(3), weight=constant([[1.0, 0.0]]))
    before = TorchCompiler().compile(circuit).double().leaf_state()
    compiled, _ = learn(circuit, torch.tensor([[0], [1]]), steps=2)
    name = next(name for name in before if "probs" in name)
    assert torch.equal(compiled.leaf_state()[name][1], before[name][1])
    assert torch.softmax(compiled.leaf_state()[name][0], 0).tolist() == pytest.approx([0.5, 0.5, 0.0])


# ---- what has no closed M-step


def shared_mean():
    """Two layers with one mean and different standard deviations."""
    mean = TensorParameter((2,), name="centre")
    b = CircuitBuilder()
    layers = [normal_layer(mean, exp_of_a_leaf((2,)))(variable, 2) for variable in range(2)]
    return b.build(b.sum(b.hadamard(*map(b.add, layers)), num_units=1))


def a_weight_and_its_logarithm():
    table = TensorParameter((2, 2), name="both", initializer=ConstantInitializer([[0.4, 0.6], [0.5, 0.5]]))
    b = CircuitBuilder()
    x = [
        b.add(CategoricalInput(2, probs=lambda _: table)(0, 2)),
        b.add(CategoricalInput(2, logits=lambda _: table)(1, 2)),
    ]
    return b.build(b.sum(b.hadamard(*x), num_units=1))


def named(shape):
    return TensorParameter(shape, name="odd")


REFUSED = {
    "softmax of a sigmoid": (
        mixture(CategoricalInput(3), SoftmaxParameter((SigmoidParameter((named((1, 2)),)),))),
        r"odd \(1, 2\) has no closed M-step: it passes through SoftmaxParameter to the weight of a SumLayer; "
        r"learn it by gradient descent \(--method gradient\)",
    ),
    "sigmoid as a weight": (
        mixture(CategoricalInput(3), SigmoidParameter((named((1, 2)),))),
        "is its sigmoid, whose rows",
    ),
    "clamp": (mixture(CategoricalInput(3), ClampParameter((named((1, 2)),), vmin=0.1)), r"is only from 0\.1 to inf"),
    "logarithm of a stddev": (
        mixture(GaussianInput(stddev=lambda shape: LogParameter((SoftplusParameter((named(shape),)),)))),
        "it passes through LogParameter to the stddev of a GaussianLayer",
    ),
    "mean": (
        mixture(GaussianInput(mean=lambda shape: SoftplusParameter((named(shape),)))),
        "odd .* a mean that is learned must be a leaf itself",
    ),
    "shared mean": (shared_mean(), "centre .* several layers share it, and use it in different ways"),
    "a weight and its logarithm": (a_weight_and_its_logarithm(), "both .* several layers share it"),
}


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_a_parameter_without_a_closed_step_is_named(name, fold):
    circuit, message = REFUSED[name]
    with pytest.raises(LearningError, match=message):
        ExpectationMaximization(TorchCompiler(fold=fold).compile(circuit))


def test_weights_that_cannot_be_normalized_are_refused():
    plain = TensorParameter((1, 2), name="plain", initializer=ConstantInitializer([[0.5, -0.5]]))
    with pytest.raises(LearningError, match="the weights plain or others of their shape cannot be normalized"):
        ExpectationMaximization(TorchCompiler().compile(mixture(CategoricalInput(3), plain)))


def test_negative_weights_that_are_fixed_are_refused():
    circuit = mixture(
        CategoricalInput(2, probs=lambda shape: Parameterization("softmax")(shape)), constant([[1.5, -0.5]])
    )
    compiled = TorchCompiler().compile(circuit).double()
    compiled.load_leaf_state(
        {
            n: torch.tensor([[0.0, 1.0], [0.0, 0.5]]) if v.shape == (2, 2) else v
            for n, v in compiled.leaf_state().items()
        }
    )
    em = ExpectationMaximization(compiled)
    with pytest.raises(LearningError, match="negative"):
        em.maximize(em.expect(torch.tensor([[0], [1]]))[0])


def test_a_row_of_probability_zero_is_an_error():
    probs = TensorParameter((2, 3), initializer=ConstantInitializer([[0.5, 0.5, 0.0]] * 2))
    em = ExpectationMaximization(TorchCompiler().compile(mixture(CategoricalInput(3, probs=lambda _: probs))))
    with pytest.raises(LearningError, match=r"log-likelihood of a row is -inf.*use a pseudo-count"):
        em.expect(torch.tensor([[0], [2]]))
    em.options = MaximizationOptions(pseudo_count=1.0)
    with pytest.raises(LearningError, match=r"the pseudo-count of 1 has an effect from the first step on, .* remove"):
        em.expect(torch.tensor([[0], [2]]))


def test_a_circuit_that_is_not_normalized_is_refused():
    b = CircuitBuilder()
    x = b.add(CategoricalInput(3)(0, 2))
    root = b.sum(x, num_units=1, weight=constant([[0.5, 1.0]]))
    with pytest.raises(CircuitError, match="the circuit is not normalized"):
        ExpectationMaximization(TorchCompiler().compile(b.build(root)))


def row(values):
    return TensorParameter((1, len(values)), initializer=ConstantInitializer([values]))


PARTLY_FIXED = SumParameter((HadamardParameter((row([0.6, 0.4]), constant([[1.0, 0.0]]))), constant([[0.0, 0.4]])))
READ_TWICE = IndexParameter((row([0.5, 0.5]),), indices=(0, 0), axis=1)


@pytest.mark.parametrize("weight", [PARTLY_FIXED, READ_TWICE], ids=["fixed in part", "read twice"])
@pytest.mark.parametrize("fold", [False, True])
def test_a_circuit_that_is_normalized_only_at_its_first_weights_is_refused(weight, fold):
    tables = constant([[0.7, 0.3], [0.2, 0.8]])
    compiled = TorchCompiler(fold=fold).compile(mixture(CategoricalInput(2, probs=lambda _: tables), weight))
    before = {name: value.clone() for name, value in compiled.leaf_state().items()}
    with pytest.raises(LearningError, match="not for other weights whose rows sum to one"):
        ExpectationMaximization(compiled)
    torch.testing.assert_close(compiled.leaf_state(), before)


def test_a_circuit_that_is_not_decomposable_is_refused():
    """Two coins that are always equal: its sum over all values is wrong by chance, and near 1."""
    b = CircuitBuilder()
    coin = CategoricalInput(2, probs=lambda _: constant([[1.0, 0.0]]))
    square = b.hadamard(b.add(coin(0, 1)), b.add(coin(0, 1)))
    compiled = TorchCompiler().compile(b.build(b.sum(square, num_units=1)))
    with pytest.raises(StructureError, match="decomposable"):
        ExpectationMaximization(compiled)


def test_bounds_that_the_values_are_beyond_already_lose_no_likelihood():
    """A chance nearer to 0 than the M-step would move it."""
    circuit = fully_factorized(1, BinomialInput(4, logits=lambda _: fixed([-30.0])))
    compiled, found = learn(circuit, torch.zeros((50, 1), dtype=torch.long), steps=1)
    assert found[1] >= found[0]
    assert compiled.leaf_state()["0.logits"].item() == pytest.approx(-30, abs=0.1)


def test_chances_near_one_are_learned_in_single_precision_as_in_double():
    """As float32, the sigmoid of 20 is 1: the one failure of 7 would have no likelihood, and the mixture no counts."""
    circuit = mixture(BinomialInput(7, probs=lambda _: SigmoidParameter((fixed([20.0, -20.0]),))))
    rows = torch.tensor([[7], [6], [0], [1]])
    found = []
    for dtype in (torch.float32, torch.float64):
        em = ExpectationMaximization(compiled := TorchCompiler().compile(circuit).to(dtype))
        counts, total = em.expect(rows)
        em.maximize(counts)
        found.append((total, compiled.leaf_state()["0.probs"].tolist()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
    assert found[1][1] == pytest.approx([math.log(13), -math.log(13)])


def test_other_circuits_and_options_are_refused():
    circuit = fully_factorized(2, num_categories=3)
    with pytest.raises(LearningError, match="compile with semiring lse-sum, not sum-product"):
        ExpectationMaximization(TorchCompiler(semiring="sum-product").compile(circuit))
    coin = TorchCompiler().compile(fully_factorized(1, CategoricalInput(2, probs=lambda _: constant([[0.5, 0.5]]))))
    with pytest.raises(LearningError, match="no learnable parameter"):
        ExpectationMaximization(coin)
    b = CircuitBuilder()
    x = b.add(CategoricalInput(3)(0, 2))
    two_units = TorchCompiler().compile(b.build(x))
    with pytest.raises(CircuitError, match="one output with one unit; the circuit has 1 output with 2 units"):
        ExpectationMaximization(two_units)
    for options in ({"pseudo_count": -1.0}, {"pseudo_count": float("nan")}, {"stddev_floor": 0.0}):
        with pytest.raises(ValueRangeError):
            MaximizationOptions(**options)


def test_other_rows_counts_and_options_are_typed_errors():
    circuit = TorchCompiler().compile(fully_factorized(2, num_categories=3))
    em = ExpectationMaximization(circuit)
    wrong: Any = 3
    for rows, error in ((wrong, DataTypeError), (torch.zeros(0, 5), ShapeError)):
        with pytest.raises(error):
            em.expect(rows)
    with pytest.raises(DataTypeError, match="those that expect\\(\\) returns"):
        em.maximize(wrong)
    with pytest.raises(DataTypeError, match="must be of type MaximizationOptions; found int"):
        ExpectationMaximization(circuit, wrong)
    others = (fully_factorized(2, num_categories=4), fully_factorized(3, GaussianInput()))
    for other in map(TorchCompiler().compile, others):
        with pytest.raises(ShapeError, match="counts of another circuit"):
            em.maximize(ExpectationMaximization(other).zeros())
