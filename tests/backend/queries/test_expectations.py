"""Expectations, moments, entropy and divergence equal brute force, or scipy for real variables."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from numpy.polynomial import Polynomial as NumpyPolynomial
from scipy.stats import norm

from explorer.backend import Polynomial, queries
from explorer.backend.queries import information
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, ScopeError, ShapeError, StructureError, ValueRangeError
from explorer.symbolic import Circuit, CircuitBuilder, GaussianLayer, with_values
from explorer.templates import fully_factorized, gallery
from tests.backend.queries.brute import table_of
from tests.backend.queries.deciding import decision_circuit, leaf
from tests.backend.queries.test_likelihood import DISCRETE, SEEDS, SEMIRINGS
from tests.fuzzing import examples
from tests.levels.modes import MODE_IDS, MODES, PRESETS, Mode, compile_circuit
from tests.oracle import constant_leaf_values
from tests.symbolic.operators.structured import compatible_circuits


def mode_of(seed: int) -> Mode:
    return {**MODES[seed // 3 % 4], "preset": PRESETS[seed // 12 % 2]}


@given(DISCRETE, SEEDS)
@examples(40)
def test_expectations_moments_and_entropy_equal_brute_force(circuit: Circuit, seed: int):
    table, random = table_of(circuit), np.random.default_rng(seed)
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **mode_of(seed))
    form = compiled.freeze() if seed % 2 else compiled
    coefficients = random.normal(size=3)
    function = Polynomial(tuple(coefficients))
    x = table.assignments[random.integers(0, len(table.assignments), 2)]
    mask = random.random(x.shape) < 0.4
    second = queries.moments(form, 2, torch.from_numpy(x), torch.from_numpy(mask)).numpy()
    entropy = queries.entropy(form).numpy()
    common = [v for v in range(circuit.num_variables) if all(v in scope for scope in table.scopes)]
    product = queries.expectation(form, dict.fromkeys(common, function)).numpy()
    for output, scope in enumerate(table.scopes):
        rows, values = table.distinct(output)
        for number in range(values.shape[1]):
            p = values[:, number] / values[:, number].sum()
            factors = NumpyPolynomial(coefficients)(rows[:, common]).prod(1)
            np.testing.assert_allclose(product[output, number], (p * factors).sum(), rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(entropy[output, number], -(p * np.log(p)).sum(), rtol=1e-8, atol=1e-8)
            for row, observed, found in zip(x, mask, second[:, output, number], strict=True):
                seen = [v for v in scope if observed[v]]
                share = np.where((rows[:, seen] == row[seen]).all(1), p, 0.0)
                wanted = (share / share.sum()) @ rows**2
                unread = [v for v in range(rows.shape[1]) if v not in scope]
                assert np.isnan(found[unread]).all()
                np.testing.assert_allclose(np.delete(found, unread), np.delete(wanted, unread), rtol=1e-8, atol=1e-8)


@given(DISCRETE, SEEDS)
@examples(40)
def test_expectations_given_evidence_equal_brute_force(circuit: Circuit, seed: int):
    table, random = table_of(circuit), np.random.default_rng(seed)
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **mode_of(seed))
    form = compiled.freeze() if seed % 2 else compiled
    common = [v for v in range(circuit.num_variables) if all(v in scope for scope in table.scopes)]
    known = [Polynomial(tuple(random.normal(size=3))), torch.sin, queries.power(2)]
    functions = {v: known[random.integers(len(known))] for v in common if random.random() < 0.7}
    x = table.assignments[random.integers(0, len(table.assignments), 4)]
    mask = random.random(x.shape) < 0.4
    hidden = torch.from_numpy(np.where(mask, x, -1))  # what is not observed is ignored
    found = queries.expectation(form, functions, hidden, torch.from_numpy(mask)).numpy()
    assert found.shape == (4, *table.values.shape[1:])
    for output, scope in enumerate(table.scopes):
        rows, values = table.distinct(output)
        factors = np.ones(len(rows))
        for v, function in functions.items():
            factors = factors * function(torch.from_numpy(rows[:, v]).double()).numpy()
        for row, observed, one in zip(x, mask, found[:, output], strict=True):
            seen = [v for v in scope if observed[v]]
            share = np.where((rows[:, seen] == row[seen]).all(1)[:, None], values, 0.0)
            wanted = (share * factors[:, None]).sum(0) / share.sum(0)
            np.testing.assert_allclose(one, wanted, rtol=1e-8, atol=1e-8)  # factors of both signs may cancel


@given(DISCRETE, SEEDS)
@examples(40)
def test_the_divergence_of_two_settings_of_a_random_circuit_equals_brute_force(circuit: Circuit, seed: int):
    random = np.random.default_rng(seed)
    values = {circuit.leaf_names[leaf]: value for leaf, value in constant_leaf_values(circuit).items()}
    changed = {  # smaller, so that probabilities stay probabilities
        name: value if value.dtype.kind == "i" else value * random.uniform(0.5, 1.0, value.shape)
        for name, value in values.items()
    }
    other = with_values(circuit, changed)
    p, q = compile_circuit(circuit, **mode_of(seed)), compile_circuit(other, SEMIRINGS[seed % 3], **mode_of(seed // 5))
    forms = (p.freeze(), q) if seed % 2 else (p, q)
    assert_divergence_equals_brute_force(circuit, other, queries.divergence(*forms))


@given(compatible_circuits(2, continuous=False, complete=True), SEEDS)
@examples(30)
def test_the_divergence_of_two_random_circuits_equals_brute_force(circuits: tuple[Circuit, Circuit], seed: int):
    one, other = circuits
    p, q = compile_circuit(one, SEMIRINGS[seed % 3], **mode_of(seed)), compile_circuit(other, **mode_of(seed // 5))
    if p.output_shape != q.output_shape:
        with pytest.raises(ScopeError, match="same number of outputs, classes and variables"):
            queries.divergence(p, q)
        return
    assert_divergence_equals_brute_force(one, other, queries.divergence(p, q))


def assert_divergence_equals_brute_force(one: Circuit, other: Circuit, found: torch.Tensor) -> None:
    tables = table_of(one), table_of(other)
    assert found.shape == tables[0].values.shape[1:]
    for output in range(len(found)):
        p, q = (table.distinct(output)[1] / table.distinct(output)[1].sum(0) for table in tables)
        # The difference of two entropies: it may be near zero.
        np.testing.assert_allclose(found[output], (p * np.log(p / q)).sum(0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_moments_of_a_normal_mixture_equal_those_of_scipy(mode: Mode, preset: str):
    b = CircuitBuilder()
    log_partition = leaf([0.3, -0.2])
    normal = b.add(
        GaussianLayer(
            scope=(0,), num_output_units=2, mean=leaf([0.5, -4]), stddev=leaf([1, 0.5]), log_partition=log_partition
        )
    )
    circuit = compile_circuit(b.build(b.sum(normal, num_units=1, weight=leaf([[0.6, 1.4]]))), preset=preset, **mode)
    masses = 0.6 * math.exp(0.3), 1.4 * math.exp(-0.2)
    for order in range(5):
        moments = [norm(mean, deviation).moment(order) for mean, deviation in ((0.5, 1.0), (-4.0, 0.5))]
        wanted = (masses[0] * moments[0] + masses[1] * moments[1]) / sum(masses)
        np.testing.assert_allclose(queries.moments(circuit, order).item(), wanted, rtol=1e-7)
    with pytest.raises(DataTypeError, match="pass a Polynomial"):
        queries.expectation(circuit, {0: torch.sin})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_deterministic_circuit_has_exact_answers_without_enumeration(
    mode: Mode, preset: str, monkeypatch: pytest.MonkeyPatch
):
    one, other = (compile_circuit(decision_circuit(3, seed), preset=preset, **mode) for seed in (0, 1))
    table = table_of(decision_circuit(3, 0))
    p, q = (t.values[:, 0, 0] / t.values[:, 0, 0].sum() for t in (table, table_of(decision_circuit(3, 1))))
    np.testing.assert_allclose(queries.divergence(one, other).item(), (p * np.log(p / q)).sum(), rtol=1e-9)
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    np.testing.assert_allclose(queries.entropy(one).item(), -(p * np.log(p)).sum(), rtol=1e-9)
    np.testing.assert_allclose(queries.divergence(one, other).item(), (p * np.log(p / q)).sum(), rtol=1e-9)
    found = queries.most_probable(one)
    assert bool(found.is_exact.all())
    np.testing.assert_allclose(found.log_probability.item(), np.log(p.max()), rtol=1e-9)
    assert found.assignment.tolist() == [table.assignments[p.argmax()].tolist()]


def test_the_differential_entropy_of_a_decision_between_normals_has_its_closed_form():
    circuit = compile_circuit(decision_circuit(1, 0, ends_real=True))
    random = np.random.default_rng(0)
    deviations = [(random.normal(), random.uniform(0.5, 2.0))[1] for _ in range(2)]
    weights = random.uniform(0.2, 1.5, 2)
    shares = weights / weights.sum()
    normals = [0.5 * math.log(2 * math.pi * math.e * deviation**2) for deviation in deviations]
    wanted = sum(share * (normal - math.log(share)) for share, normal in zip(shares, normals, strict=True))
    np.testing.assert_allclose(queries.entropy(circuit).item(), wanted, rtol=1e-9)


def test_entropy_is_refused_with_the_reason_where_it_is_not_tractable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    circuit = compile_circuit(gallery.load_named("conflict"))
    with pytest.raises(StructureError, match="two of its terms are not shown to exclude each other"):
        queries.entropy(circuit)
    one, other = (compile_circuit(decision_circuit(n, 0)) for n in (2, 3))
    with pytest.raises(ScopeError, match="same number of outputs, classes and variables"):
        queries.divergence(one, other)


def test_queries_answer_under_inference_mode_too():
    circuit = compile_circuit(gallery.load_named("conflict"))
    wanted = queries.moments(circuit), queries.log_likelihood(circuit, torch.zeros((1, 4), dtype=torch.long))
    with torch.inference_mode():
        found = queries.moments(circuit), queries.log_likelihood(circuit, torch.zeros((1, 4), dtype=torch.long))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other.detach())


def test_a_divergence_names_variables_with_other_numbers_of_values():
    one, other = (TorchCompiler().compile(fully_factorized(2, num_categories=count)) for count in (2, 3))
    with pytest.raises(ScopeError, match=r"x0 \(2 values and 3 values\), x1 \(2 values and 3 values\) differ"):
        queries.divergence(one, other)


def test_functions_without_their_variables_are_refused():
    circuit = TorchCompiler().compile(fully_factorized(2, num_categories=2))
    with pytest.raises(DataTypeError, match=r"must be of type Mapping; found list; for example \{0: power\(2\)\}"):
        queries.expectation(circuit, [Polynomial((0.0, 1.0))])  # type: ignore[arg-type]


def test_a_divergence_from_a_circuit_with_less_support_is_infinite_or_refused(monkeypatch: pytest.MonkeyPatch):
    one, other = (compile_circuit(decision_circuit(2, 0)) for _ in range(2))
    state = other.leaf_state()
    name = next(name for name, value in state.items() if value.shape == (1, 2) and bool((value > 0).all()))
    other.load_leaf_state(state | {name: torch.tensor([[1.0, 0.0]])})
    assert queries.divergence(one, other).item() == math.inf
    assert math.isfinite(queries.divergence(other, one).item())
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    assert math.isfinite(queries.divergence(other, one).item())
    with pytest.raises(ValueRangeError, match="may be infinite"):
        queries.divergence(one, other)


def test_misuse_of_expectations_is_a_typed_error():
    circuit = compile_circuit(gallery.load_named("conflict"))
    with pytest.raises(DataTypeError, match=r"must be of type Mapping; found list; for example \{0: power\(2\)\}"):
        queries.expectation(circuit, [queries.power(1)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueRangeError, match="at least 0; found -1"):
        queries.power(-1)
    with pytest.raises(DataTypeError, match=r"an integer; found 0\.5"):
        queries.power(0.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DataTypeError, match="real numbers; found 'ab'"):
        Polynomial("ab")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ScopeError, match=r"variables \[9\]"):
        queries.expectation(circuit, {9: Polynomial((0.0, 1.0))})
    with pytest.raises(ShapeError, match="elementwise"):
        queries.expectation(circuit, {0: torch.sum})
    with pytest.raises(ValueRangeError, match="not a number"):
        queries.expectation(circuit, {0: torch.log})
    with pytest.raises(ValueRangeError, match="order"):
        queries.moments(circuit, -1)
    with pytest.raises(StructureError, match="not deterministic"):
        queries.most_probable(circuit, is_deterministic=True)
