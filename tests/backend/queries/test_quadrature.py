"""Queries and integrals of circuits with normal variables equal numerical integration by scipy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.integrate import dblquad, quad, trapezoid

from explorer.backend import Polynomial, queries
from explorer.errors import StructureError, ValueRangeError
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    GaussianLayer,
    constant,
)
from explorer.symbolic.operators import integrate, multiply
from tests.fuzzing import covering, seeded
from tests.levels.modes import MODES, PRESETS, Mode, compile_circuit, output
from tests.oracle import constant_leaf_values, evaluate

Array = NDArray[Any]
SEMIRINGS = ("sum-product", "lse-sum", "complex-lse-sum")
NUM_STATES = 3
"""Values of variable 0; all other variables are real."""
POINTS = np.linspace(-12.0, 12.0, 161)
"""For a function that is smooth and almost zero at both ends, such as a normal density, the trapezoidal rule has an
error of exp(-2 (pi s / h)^2), where h = 0.15 is the distance of the points: below 1e-15 for a standard deviation s
above 0.21."""


@dataclass(frozen=True)
class Table:
    """The values of a circuit of one unit at all states of variable 0 and all points of the real variables."""

    circuit: Circuit

    @property
    def axes(self) -> list[Array]:
        return [np.arange(float(NUM_STATES)), *[POINTS] * (self.circuit.num_variables - 1)]

    @cached_property
    def values(self) -> Array:
        """Shape (states, points, ...), one axis per variable."""
        grid = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1)
        rows = grid.reshape(-1, grid.shape[-1])
        found = evaluate(self.circuit, constant_leaf_values(self.circuit), rows)
        return found.reshape(grid.shape[:-1])

    def row(self, at: tuple[int, ...]) -> Array:
        return np.array([axis[i] for axis, i in zip(self.axes, at, strict=True)])

    def integral(self, values: Array, at: tuple[int, ...], observed: NDArray[np.bool_]) -> float:
        """The sum or integral over all variables that are not observed, with the observed ones as in the row `at`."""
        for v in reversed(range(len(at))):
            if observed[v]:
                values = values.take(at[v], axis=v)
            else:
                values = values.sum(axis=0) if v == 0 else trapezoid(values, POINTS, axis=v)
        return float(values)

    def apply(self, functions: dict[int, Polynomial], values: Array) -> Array:
        """The values, times functions of single variables."""
        for v, function in functions.items():
            factor = np.polynomial.Polynomial(function.coefficients)(self.axes[v])
            values = values * factor.reshape([-1 if v == axis else 1 for axis in range(values.ndim)])
        return values


def random_circuit(random: np.random.Generator, num_real: int, *, signed: bool = False) -> Circuit:
    """A mixture of products of a discrete and `num_real` normal variables; `signed` weights may be negative."""
    b = CircuitBuilder()

    def numbers(*shape: int) -> Array:
        return random.uniform(-1.5 if signed else 0.1, 1.5, shape)

    def normal(variable: int) -> int:
        mean, stddev = constant(random.uniform(-1, 1, 2)), constant(random.uniform(0.5, 1.2, 2))
        log_partition = constant(random.uniform(-1, 1, 2)) if random.random() < 0.5 else None
        return b.add(
            GaussianLayer(scope=(variable,), num_output_units=2, mean=mean, stddev=stddev, log_partition=log_partition)
        )

    def discrete() -> int:
        kind = random.integers(4)
        if kind == 0:
            weight = constant(numbers(2, NUM_STATES))
            return b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=NUM_STATES, weight=weight))
        if kind == 1:
            probs = constant(random.uniform(0.1, 0.9, 2))
            return b.add(BinomialLayer(scope=(0,), num_output_units=2, total_count=NUM_STATES - 1, probs=probs))
        table = constant(random.uniform(0.1, 1.0, (2, NUM_STATES)))
        probs, logits = (table, None) if kind == 2 else (None, table)
        return b.add(
            CategoricalLayer(scope=(0,), num_output_units=2, num_categories=NUM_STATES, probs=probs, logits=logits)
        )

    order = random.permutation(num_real) + 1  # of all products, so that the circuit has a square

    def product() -> int:
        top = discrete()
        for v in order:
            below = b.kronecker(top, normal(int(v))) if random.random() < 0.5 else b.hadamard(top, normal(int(v)))
            top = b.sum(below, num_units=2, weight=constant(numbers(2, b.width(below))))
        return top

    parts = [product() for _ in range(random.integers(1, 3))]
    return b.build(b.sum(*parts, num_units=1, weight=constant(numbers(1, 2 * len(parts)))))


def random_table(seed: int) -> tuple[Table, Circuit]:
    """A table of densities, and their circuit: a mixture, or the square of one with negative weights."""
    random = np.random.default_rng(seed)
    signed = seed % 2 == 1
    base = random_circuit(random, num_real=1 + seed // 2 % 2, signed=signed)
    table = Table(base)
    if not signed:
        return table, base
    squared = Table(base)
    squared.__dict__["values"] = table.values**2
    return squared, multiply(base, base)


def mode_of(seed: int) -> Mode:
    return {**MODES[seed // 4 % 4], "preset": PRESETS[seed // 3 % 2]}


def rows_and_masks(table: Table, random: np.random.Generator) -> tuple[list[tuple[int, ...]], NDArray[np.bool_]]:
    """Rows of the table as indices, real ones within the bulk of the distribution, and observed variables of each."""
    middle = len(POINTS) // 2
    rows = [
        (int(random.integers(NUM_STATES)), *(int(i) for i in random.integers(middle - 12, middle + 13, values)))
        for values in [table.values.ndim - 1] * 4
    ]
    return rows, random.random((4, table.values.ndim)) < 0.5


RTOL = 1e-8
"""Values are sums of some dozens of positive terms, or of squares with terms that cancel by a few digits at most."""


def assert_near(found: object, wanted: float) -> None:
    """Expectations of polynomials may be near zero, where their terms of about 1 cancel."""
    np.testing.assert_allclose(float(found), wanted, rtol=RTOL, atol=1e-8)  # pyright: ignore[reportArgumentType]


@seeded(64)
def test_masses_and_integrals_of_a_random_circuit_equal_quadrature(seed: int):
    table, circuit = random_table(seed)
    random = np.random.default_rng(seed)
    semiring = SEMIRINGS[seed % 3]
    compiled = compile_circuit(circuit, semiring, **mode_of(seed))
    rows, masks = rows_and_masks(table, random)
    nothing, everything = np.zeros(masks.shape[1], bool), np.ones(masks.shape[1], bool)
    total = table.integral(table.values, rows[0], nothing)
    found = queries.partition_function(compiled).detach().numpy()
    np.testing.assert_allclose(np.exp(found), [[total]], rtol=RTOL)

    x = torch.from_numpy(np.stack([table.row(row) for row in rows]))
    asked = ~masks & (random.random(masks.shape) < 0.5)
    hidden = x.where(torch.from_numpy(masks), torch.nan)
    with torch.no_grad():
        likelihood = queries.log_likelihood(compiled, x)[:, 0, 0].exp().numpy()
        marginal = queries.marginal(compiled, hidden, torch.from_numpy(masks))[:, 0, 0].exp().numpy()
        conditional = queries.conditional(compiled, x, torch.from_numpy(asked), torch.from_numpy(masks))
    for i, (row, mask) in enumerate(zip(rows, masks, strict=True)):
        given = table.integral(table.values, row, mask)
        np.testing.assert_allclose(likelihood[i], table.integral(table.values, row, everything) / total, rtol=RTOL)
        np.testing.assert_allclose(marginal[i], given / total, rtol=RTOL)
        both = table.integral(table.values, row, mask | asked[i])
        np.testing.assert_allclose(conditional[i, 0, 0].exp(), both / given, rtol=RTOL)

        variables = [v for v in range(len(row)) if not mask[v]]
        integral = compile_circuit(integrate(circuit, variables), semiring, **mode_of(seed))
        columns = x[i : i + 1, : integral.num_variables].numpy()
        value = output(integral, columns if integral.num_variables else None).item()
        value = value if semiring == "sum-product" else np.exp(value)
        if not (semiring == "lse-sum" and seed % 2):  # real logarithms of negative factors are not numbers
            np.testing.assert_allclose(value, given, rtol=RTOL)


@seeded(64)
def test_expectations_and_moments_of_a_random_circuit_equal_quadrature(seed: int):
    table, circuit = random_table(seed)
    random = np.random.default_rng(seed)
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **mode_of(seed))
    rows, masks = rows_and_masks(table, random)
    num_variables = masks.shape[1]
    chosen = [v for v in range(num_variables) if random.random() < 0.6] or [num_variables - 1]
    functions = {v: Polynomial(tuple(random.normal(size=3))) for v in chosen}
    product = table.apply(functions, table.values)

    nothing = np.zeros(num_variables, bool)
    total = table.integral(table.values, rows[0], nothing)
    found = queries.expectation(compiled, functions).item()
    assert_near(found, table.integral(product, rows[0], nothing) / total)
    for order in range(4):
        moments = queries.moments(compiled, order)[0, 0].numpy()
        for v in range(num_variables):
            powers = table.apply({v: queries.power(order)}, table.values)
            assert_near(moments[v], table.integral(powers, rows[0], nothing) / total)

    x, observed = torch.from_numpy(np.stack([table.row(row) for row in rows])), torch.from_numpy(masks)
    given = queries.expectation(compiled, functions, x, observed)[:, 0, 0].numpy()
    means = queries.moments(compiled, 1, x, observed)[:, 0, 0].numpy()
    for i, (row, mask) in enumerate(zip(rows, masks, strict=True)):
        mass = table.integral(table.values, row, mask)
        assert_near(given[i], table.integral(product, row, mask) / mass)
        for v in range(num_variables):
            first = table.apply({v: queries.power(1)}, table.values)
            assert_near(means[i, v], table.integral(first, row, mask) / mass)


def deterministic_circuit(seed: int, num_real: int) -> Circuit:
    """A decision on the state of variable 0 between products of normal variables."""
    random = np.random.default_rng(seed)
    b = CircuitBuilder()

    def normal(variable: int) -> int:
        return b.add(
            GaussianLayer(
                scope=(variable,),
                num_output_units=1,
                mean=constant(random.uniform(-1, 1, 1)),
                stddev=constant(random.uniform(0.5, 1.2, 1)),
                log_partition=constant(random.uniform(-1, 1, 1)) if variable == 1 else None,
            )
        )

    def branch(state: int) -> int:
        table = constant(np.eye(NUM_STATES)[[state]] * random.uniform(0.5, 2.0))
        indicator = b.add(EmbeddingLayer(scope=(0,), num_output_units=1, num_states=NUM_STATES, weight=table))
        return b.hadamard(indicator, *(normal(v) for v in range(1, 1 + num_real)))

    branches = [branch(state) for state in range(NUM_STATES)]
    return b.build(b.sum(*branches, num_units=1, weight=constant(random.uniform(0.2, 1.5, (1, NUM_STATES)))))


@pytest.mark.parametrize(("num_real", "mode", "preset"), covering((1, 2), MODES, PRESETS))
def test_entropy_and_divergence_of_deterministic_circuits_equal_quadrature(num_real: int, mode: Mode, preset: str):
    pair = [deterministic_circuit(seed, num_real) for seed in (0, 1)]
    p, q = (compile_circuit(circuit, preset=preset, **mode) for circuit in pair)
    tables = [Table(circuit) for circuit in pair]
    at, nothing = (0,) * (num_real + 1), np.zeros(num_real + 1, bool)
    one, other = (table.values / table.integral(table.values, at, nothing) for table in tables)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 log 0 is 0: of p, far from all means
        surprise = np.where(one > 0, -one * np.log(one), 0.0)
        difference = np.where(one > 0, one * (np.log(one) - np.log(other)), 0.0)
    np.testing.assert_allclose(queries.entropy(p).item(), tables[0].integral(surprise, at, nothing), rtol=RTOL)
    np.testing.assert_allclose(queries.divergence(p, q).item(), tables[0].integral(difference, at, nothing), rtol=RTOL)


@seeded(20)
def test_entropy_and_divergence_of_real_mixtures_are_refused_with_the_reason(seed: int):
    table, circuit = random_table(seed)
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **mode_of(seed))
    for ask in (lambda: queries.entropy(compiled), lambda: queries.divergence(compiled, compiled)):
        with pytest.raises((StructureError, ValueRangeError), match=r"not known to be deterministic|negative"):
            ask()
    assert table.values.min() >= 0


def value_at(circuit: Circuit, *row: float) -> float:
    return float(np.real(evaluate(circuit, constant_leaf_values(circuit), np.array([row])))[0, 0, 0])


@pytest.mark.parametrize("num_real", [1, pytest.param(2, marks=pytest.mark.fuzz)])
def test_the_trapezoidal_rule_agrees_with_adaptive_quadrature(num_real: int):
    circuit = random_circuit(np.random.default_rng(7), num_real)
    table = Table(circuit)
    first = table.apply({1: queries.power(1)}, table.values)
    at, observed = (1, *[0] * num_real), np.array([True] + [False] * num_real)
    for values, order in ((table.values, 0), (first, 1)):
        if num_real == 1:
            found = quad(lambda x, n=order: x**n * value_at(circuit, 1, x), -12, 12, epsabs=1e-8)[0]
        else:
            found = dblquad(lambda y, x, n=order: x**n * value_at(circuit, 1, x, y), -9, 9, -9, 9, epsabs=1e-8)[0]
        # The error that quadrature may make.
        np.testing.assert_allclose(found, table.integral(values, at, observed), rtol=0, atol=1e-7)
