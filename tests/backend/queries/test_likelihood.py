"""Likelihoods, marginals, conditionals and partition functions are those that brute force finds."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.integrate import quad

import explorer
from explorer.backend import TorchCircuit, TorchInputLayer, queries
from explorer.errors import CircuitError, DataTypeError, ScopeError, ShapeError, StructureError, ValueRangeError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    GaussianLayer,
    InputLayer,
    PolynomialLayer,
    TensorParameter,
)
from explorer.symbolic.operators import evidence
from explorer.templates import gallery
from tests.backend.queries.brute import Table, chi_square_p, table_of
from tests.fuzzing import covering, examples
from tests.levels.modes import MODE_IDS, MODES, PRESETS, SWITCHES, Mode, compile_circuit
from tests.strategies import circuits

DISCRETE = circuits(discrete=True, smooth=True)
SEMIRINGS = ("sum-product", "lse-sum", "complex-lse-sum")
SEEDS = st.integers(0, 2**16)


def leaf(*values: Any) -> TensorParameter:
    array = np.array(values)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


def rows_and_masks(table: Table, seed: int, count: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (B, D); variables (B, D) that all outputs depend on, to ask about; and some that any output depends on."""
    random = np.random.default_rng(seed)
    rows = table.assignments[random.integers(0, len(table.assignments), count)]
    reads = np.array([[v in scope for v in range(rows.shape[1])] for scope in table.scopes])
    return rows, reads.all(0) & (random.random(rows.shape) < 0.5), reads.any(0) & (random.random(rows.shape) < 0.5)


def masses(table: Table, rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
    outputs = range(len(table.scopes))
    return np.array([[table.mass(x, m, o) for o in outputs] for x, m in zip(rows, masks, strict=True)])


def assert_near(found: torch.Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9)  # logarithms of sums of positive terms


@given(DISCRETE, SEEDS)
@examples(60)
def test_every_likelihood_query_equals_brute_force(circuit: Circuit, seed: int):
    table = table_of(circuit)
    rows, asked, given_ = rows_and_masks(table, seed)
    everything = np.ones_like(given_)
    z = masses(table, rows[:1], ~everything[:1])[0]
    x, query, evidence = map(torch.from_numpy, (rows, asked, given_))
    mode = MODES[seed % 4] | {"preset": PRESETS[seed // 4 % 2]}
    compiled = compile_circuit(circuit, SEMIRINGS[seed // 8 % 3], **mode)
    for form in (compiled, compiled.freeze()):
        with torch.no_grad():
            likelihood = queries.log_likelihood(form, x)
            marginal = queries.marginal(form, x, evidence)
            conditional = queries.conditional(form, x, query, evidence)
            partition = queries.partition_function(form)
        assert {v.dtype for v in (likelihood, marginal, conditional)} == {torch.float64}
        assert_near(likelihood, np.log(masses(table, rows, everything) / z))
        assert_near(marginal, np.log(masses(table, rows, given_) / z))
        both = masses(table, rows, asked | given_)
        assert_near(conditional, np.log(both / masses(table, rows, given_)))
        assert_near(partition.real, np.log(z))


def tables_in_one_fold(kind: str, mode: Mode) -> tuple[Circuit, TorchCircuit]:
    """A mixture of products of three variables, with input layers that fold into one."""
    random = np.random.default_rng(4)
    b = CircuitBuilder()

    def table(variable: int) -> InputLayer:
        values = leaf(*random.uniform(0.1, 1.5, (2, 3)))
        if kind == "embedding":
            return EmbeddingLayer(scope=(variable,), num_output_units=2, num_states=3, weight=values)
        return CategoricalLayer(scope=(variable,), num_output_units=2, num_categories=3, logits=values)

    product = b.hadamard(*(b.add(table(v)) for v in range(3)))
    circuit = b.build(b.sum(product, num_units=1, weight=leaf([0.4, 1.3])))
    return circuit, compile_circuit(circuit, **mode)


@pytest.mark.parametrize(("kind", "optimize", "fold"), covering(("logits", "embedding"), *SWITCHES))
def test_marginals_of_folded_tables_are_right_for_any_number_of_rows(kind: str, optimize: bool, fold: bool):
    """One row, as many as there are folds, and others; the tables are not normalized."""
    circuit, compiled = tables_in_one_fold(kind, {"optimize": optimize, "fold": fold})
    num_folds = 3 if fold else 1
    assert {layer.num_folds for layer in compiled.layers if isinstance(layer, TorchInputLayer)} == {num_folds}
    table = table_of(circuit)
    masks = np.array(list(np.ndindex(2, 2, 2)), dtype=bool)
    z = table.values.sum()
    wanted = np.array([[table.mass(row, mask, 0)[0] / z for mask in masks] for row in table.assignments])
    for size in (1, 3, 4, len(table.assignments)):
        for first in range(0, len(table.assignments), size):
            part = slice(first, first + size)
            x = torch.from_numpy(table.assignments[part])
            chosen = (np.arange(len(x)) + first) % len(masks)  # another mask for each row
            each = queries.marginal(compiled, x, torch.from_numpy(masks[chosen]))
            assert_near(each[:, 0, 0].detach(), np.log(wanted[part][np.arange(len(x)), chosen]))
        for number, mask in enumerate(masks):
            x = torch.from_numpy(table.assignments[:size])
            shared = queries.marginal(compiled, x, torch.from_numpy(mask))
            assert_near(shared[:, 0, 0].detach(), np.log(wanted[:size, number]))


@given(circuits(discrete=True, smooth=True, positive=False), SEEDS)
@examples(30)
def test_negative_weights_have_the_right_logarithm_or_a_typed_error(circuit: Circuit, seed: int):
    table = table_of(circuit)
    rows, _, masks = rows_and_masks(table, seed, 2)
    z = masses(table, rows[:1], np.zeros_like(masks[:1]))[0]
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **MODES[seed % 4])
    try:
        found = queries.marginal(compiled, torch.from_numpy(rows), torch.from_numpy(masks))
    except ValueRangeError:
        assert (z <= 1e-9 * np.abs(table.values).sum()).any() or (masses(table, rows, masks) <= 1e-9).any()
    else:
        np.testing.assert_allclose(found.detach(), np.log(masses(table, rows, masks) / z), rtol=1e-6, atol=1e-6)


def test_variables_that_the_circuit_does_not_read_are_not_asked_about():
    circuit = compile_circuit(evidence(gallery.load_named("blackboard"), {1: 0}))
    x = torch.tensor([[1, 1, 0, 0, 0]])
    masks = torch.eye(5, dtype=torch.bool)
    with pytest.raises(ScopeError, match=r"does not depend on the variables \[1\], which are asked"):
        queries.conditional(circuit, x, masks[1], masks[0])
    with pytest.raises(ScopeError, match=r"no output depends on the variables \[1\]"):
        queries.marginal(circuit, x, masks[0] | masks[1])
    whole = queries.marginal(circuit, x, masks.any(0))
    torch.testing.assert_close(whole, queries.log_likelihood(circuit, x))
    given_ = queries.conditional(circuit, x, masks[0], masks[1] | masks[2])  # evidence without influence
    torch.testing.assert_close(given_, queries.conditional(circuit, x, masks[0], masks[2]))


def test_every_step_of_a_trace_answers_alike():
    trace = explorer.record(gallery.load_named("kronecker"))
    states = torch.cartesian_prod(torch.arange(2), torch.arange(2))
    mask = torch.tensor([True, False])
    first = trace.circuit_at(0)
    wanted = queries.marginal(first, states, mask)
    p = queries.log_likelihood(first, states)[:, 0, 0].exp().detach()
    for number, step in enumerate(trace.steps):
        circuit = trace.circuit_at(step)
        torch.testing.assert_close(queries.marginal(circuit, states, mask), wanted)
        samples = queries.sample(circuit, 400, generator=torch.Generator().manual_seed(number))
        assert chi_square_p(samples.numpy(), states.numpy(), p.numpy()) > 1e-5


def test_a_normal_mixture_integrates_unobserved_variables_out():
    b = CircuitBuilder()
    leaves = [
        b.add(GaussianLayer(scope=(v,), num_output_units=2, mean=leaf(0.5, -1.0), stddev=leaf(1.0, 0.5 + v)))
        for v in range(2)
    ]
    circuit = compile_circuit(b.build(b.sum(b.hadamard(*leaves), num_units=1, weight=leaf([0.6, 1.4]))))
    x = torch.tensor([[0.3, torch.nan]])
    found = queries.marginal(circuit, x, torch.tensor([True, False])).exp()
    normal = torch.distributions.Normal
    wanted = 0.3 * normal(0.5, 1.0).log_prob(x[0, 0]).exp() + 0.7 * normal(-1.0, 0.5).log_prob(x[0, 0]).exp()
    torch.testing.assert_close(found.squeeze(), wanted)


def mixed_circuit() -> Circuit:
    """A mixture of products of a coin and two normal variables."""
    b = CircuitBuilder()
    coin = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=leaf([0.3, 0.7], [0.8, 0.2]))
    normals = [
        GaussianLayer(scope=(v,), num_output_units=2, mean=leaf(v, -1.0), stddev=leaf(0.7, 0.4 * v)) for v in (1, 2)
    ]
    leaves = [b.add(layer) for layer in (coin, *normals)]
    return b.build(b.sum(b.hadamard(*leaves), num_units=1, weight=leaf([0.5, 1.5])))


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_conditional_densities_equal_quadrature(mode: Mode):
    circuit = compile_circuit(mixed_circuit(), **mode)

    def value(coin: int, one: float, two: float) -> float:
        with torch.no_grad():
            return circuit(torch.tensor([[coin, one, two]])).exp().item()

    masses = [quad(lambda one, c=coin: value(c, one, 0.4), -8, 8)[0] for coin in range(2)]
    x, query = torch.tensor([[1.0, torch.nan, 0.4]]), torch.tensor([True, False, False])
    with torch.no_grad():
        found = queries.conditional(circuit, x, query, torch.tensor([False, False, True])).exp()
    np.testing.assert_allclose(found.item(), masses[1] / sum(masses), rtol=1e-7)


def test_gradients_of_a_marginal_reach_the_parameters():
    circuit = compile_circuit(gallery.load_named("levels"))
    x = torch.zeros((2, circuit.num_variables), dtype=torch.long)
    mask = torch.arange(circuit.num_variables) % 2 == 0
    queries.marginal(circuit, x, mask).sum().backward()
    assert all(p.grad is not None and bool(torch.isfinite(p.grad).all()) for p in circuit.parameters())


def coins(*values: float, scope: tuple[int, ...] = (0,)) -> CategoricalLayer:
    return CategoricalLayer(scope=scope, num_output_units=1, num_categories=len(values), probs=leaf(values))


def test_evidence_of_probability_zero_is_refused():
    b = CircuitBuilder()
    circuit = compile_circuit(b.build(b.hadamard(b.add(coins(1.0, 0.0)), b.add(coins(0.5, 0.5, scope=(1,))))))
    x, first = torch.tensor([[0, 1], [1, 1]]), torch.tensor([True, False])
    with pytest.raises(ValueRangeError, match="row 1 has probability zero"):
        queries.conditional(circuit, x, ~first, first)


def test_nan_is_refused_as_evidence_and_ignored_elsewhere():
    circuit = compile_circuit(mixed_circuit())
    x = torch.tensor([[1.0, torch.nan, 0.4]])
    with pytest.raises(ValueRangeError, match="variable 1 is NaN"):
        queries.marginal(circuit, x, torch.tensor([True, True, False]))
    assert torch.isfinite(queries.marginal(circuit, x, torch.tensor([True, False, True]))).all()


@pytest.mark.parametrize("ask", [queries.marginal, queries.most_probable, partial(queries.sample, num_samples=2)])
@pytest.mark.parametrize("value", [0.5, -0.5, 2.0])
def test_evidence_that_is_not_a_value_of_its_variable_is_refused(ask: Callable[..., object], value: float):
    circuit = compile_circuit(gallery.load_named("conflict"))
    observed = torch.tensor([False, True, False, False])
    with pytest.raises(ValueRangeError, match=f"variable 1 must be an integer from 0 to 1; found {value} in row 0"):
        ask(circuit, x=torch.tensor([[0.5, value, 0.0, 0.0]]), observed=observed)


def test_autocast_does_not_change_the_precision_of_an_answer():
    circuit = compile_circuit(gallery.load_named("conflict")).float()  # a product of weights, by a matrix product
    x = torch.zeros((2, circuit.num_variables), dtype=torch.long)
    wanted = queries.log_likelihood(circuit, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(queries.log_likelihood(circuit, x), wanted)


def test_every_query_of_no_rows_has_no_answers():
    circuit = compile_circuit(gallery.load_named("blackboard"))
    x, mask = torch.zeros(0, circuit.num_variables), torch.zeros(circuit.num_variables, dtype=torch.bool)
    shape = (0, *circuit.output_shape)
    assert queries.log_likelihood(circuit, x).shape == shape
    assert queries.conditional(circuit, x, ~mask, mask).shape == shape
    assert queries.expectation(circuit, {0: torch.square}, x, mask).shape == shape
    assert queries.moments(circuit, 1, x, mask).shape == (*shape, circuit.num_variables)
    assert queries.sample(circuit, 3, x, mask, root=(0, 0)).shape == (3, *x.shape)
    found = queries.most_probable(circuit, x, mask, root=(0, 0))
    assert found.assignment.shape == x.shape
    assert found.log_probability.shape == found.log_bound.shape == found.is_exact.shape == (0,)


def test_a_circuit_that_is_not_smooth_is_refused():
    b = CircuitBuilder()
    one, two = b.add(coins(0.5, 0.5)), b.add(coins(0.5, 0.5, scope=(1,)))
    both = b.hadamard(one, two)
    circuit = compile_circuit(b.build(b.sum(one, both, num_units=1, weight=leaf([0.5, 0.5]))), optimize=False)
    with pytest.raises(StructureError, match=r"not depend on variables \[1\]"):
        queries.marginal(circuit, torch.zeros((1, 2), dtype=torch.long), torch.tensor([True, False]))


def test_negative_density_is_refused_and_negative_partition_function_is_complex():
    b = CircuitBuilder()
    embedding = EmbeddingLayer(scope=(0,), num_output_units=1, num_states=2, weight=leaf([1.0, -3.0]))
    symbolic = b.build(b.add(embedding))
    with pytest.raises(ValueRangeError, match="not a density"):
        queries.log_likelihood(compile_circuit(symbolic, "sum-product"), torch.tensor([[0]]))
    found = queries.partition_function(compile_circuit(symbolic, "complex-lse-sum"))
    torch.testing.assert_close(found.exp(), torch.tensor([[-2.0 + 0j]]))


def test_a_layer_without_an_integral_is_refused_only_if_one_is_needed():
    b = CircuitBuilder()
    polynomial = PolynomialLayer(scope=(0,), num_output_units=1, degree=1, coeff=leaf([1.0, 2.0]))
    circuit = compile_circuit(b.build(b.add(polynomial)))
    with pytest.raises(DataTypeError, match="no known integral"):
        queries.log_likelihood(circuit, torch.tensor([[1.0]]))


X: Any = torch.zeros((2, 5), dtype=torch.long)
NOTHING: Any = None
MASK: Any = [True] * 5
SEED: Any = 3
NAME: Any = ("0", 0)
OUTPUT: Any = (0,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: queries.marginal(c, X, torch.ones(2, 4, dtype=torch.bool)), ShapeError),
        (lambda c: queries.marginal(c, X, torch.ones(2, 5)), DataTypeError),
        (lambda c: queries.marginal(c, X, MASK), DataTypeError),
        (lambda c: queries.marginal(c, X[:, :4], torch.ones(4, dtype=torch.bool)), ShapeError),
        (lambda c: queries.marginal(c, X, NOTHING), ShapeError),
        (lambda c: queries.log_likelihood(c, X + 2), ValueRangeError),
        (lambda c: queries.log_likelihood(c, X.double() * torch.nan), ValueRangeError),
        (lambda c: queries.log_likelihood(c, X.double() + 0.5), ValueRangeError),
        (lambda c: queries.log_likelihood(c, X * 1j), DataTypeError),
        (lambda c: queries.log_likelihood(c, X.tolist()), DataTypeError),
        (lambda c: queries.log_likelihood(c.graph, X), CircuitError),
        (lambda c: queries.sample(c, 2, generator=SEED), DataTypeError),
        (lambda c: queries.sample(c, 2, root=NAME), DataTypeError),
        (lambda c: queries.most_probable(c, root=OUTPUT), DataTypeError),
        (lambda c: queries.expectation(c, {0: NOTHING}), DataTypeError),
    ],
)
def test_misuse_is_a_typed_error(call: Any, error: type[Exception]):
    circuit = compile_circuit(gallery.load_named("blackboard"))
    with pytest.raises(error):
        call(circuit)


def test_a_fast_circuit_says_where_its_circuit_is():
    fast: Any = compile_circuit(gallery.load_named("conflict")).fast(backend="torch")
    with pytest.raises(DataTypeError, match=r"found FastCircuit; ask its \.circuit"):
        queries.partition_function(fast)
    assert torch.isfinite(queries.partition_function(fast.circuit)).all()
