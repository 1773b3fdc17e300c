"""The result of every operator on a random circuit has its value by definition, compiled in all modes and presets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from explorer.symbolic import Circuit
from explorer.symbolic.operators import concatenate, conjugate, differentiate, evidence, integrate, multiply
from tests.fuzzing import examples
from tests.levels.modes import MODES, PRESETS, compile_circuit, output
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.symbolic.operators.building import all_assignments, all_pairs, assert_close, values
from tests.symbolic.operators.structured import compatible_circuits

Array = NDArray[Any]
Circuits = tuple[Circuit, ...]
SEEDS = st.integers(0, 2**16)
MAX_DEGREE = 2
"""Degree of a random circuit as a polynomial in one variable: its input layers' degree, since it is decomposable."""


def some_rows(circuits: Circuits, random: np.random.Generator) -> Array:
    """Three rows that all circuits accept: their values are states of any variable, and real numbers."""
    return random.integers(0, 2, (3, max(circuit.num_variables for circuit in circuits))).astype(float)


def some_variables(circuit: Circuit, random: np.random.Generator) -> list[int]:
    return [v for v in circuit.scope if random.random() < 0.6] or list(circuit.scope[:1])


Applied = tuple[Circuit, Array, Array]
"""The result of an operator; rows; its values at them, by definition."""


def integral(circuits: Circuits, random: np.random.Generator) -> Applied:
    """Sums over all values of some variables."""
    (circuit,) = circuits
    chosen, x = some_variables(circuit, random), all_assignments(circuit)
    every, kept = values(circuit, x), [v for v in circuit.scope if v not in chosen]
    rows = x[random.integers(0, len(x), 3)]
    wanted = np.stack([every[(x[:, kept] == row[kept]).all(axis=1)].sum(axis=0) for row in rows])
    return integrate(circuit, chosen), rows, wanted


def conditioned(circuits: Circuits, random: np.random.Generator) -> Applied:
    """Values where some variables are as observed, whatever the row says."""
    (circuit,) = circuits
    x, seen = some_rows(circuits, random), some_variables(circuit, random)
    fixed = x.copy()
    fixed[:, seen] = random.integers(0, 2, len(seen))
    return evidence(circuit, dict(zip(seen, fixed[0, seen].tolist(), strict=True))), x, values(circuit, fixed)


def conjugated(circuits: Circuits, random: np.random.Generator) -> Applied:
    (circuit,) = circuits
    x = some_rows(circuits, random)
    return conjugate(circuit), x, np.conj(values(circuit, x))


def concatenated(circuits: Circuits, random: np.random.Generator) -> Applied:
    one, other = circuits
    x = some_rows(circuits, random)
    parts = (one, other, one) if values(one, x).shape[2] == values(other, x).shape[2] else (one, one)
    return concatenate(*parts), x, np.concatenate([values(part, x) for part in parts], axis=1)


def multiplied(circuits: Circuits, random: np.random.Generator) -> Applied:
    one, other = circuits
    x = some_rows(circuits, random)
    return multiply(one, other), x, all_pairs(values(one, x), values(other, x))


def squared(circuits: Circuits, random: np.random.Generator) -> Applied:
    (circuit,) = circuits
    x = some_rows(circuits, random)
    return multiply(circuit, circuit), x, all_pairs(values(circuit, x), values(circuit, x))


def differentiated(circuits: Circuits, random: np.random.Generator) -> Applied:
    """In one variable, a circuit is a polynomial of known degree, so some of its values determine all derivatives."""
    (circuit,) = circuits
    x, order, wanted = random.uniform(0.1, 1.5, (3, circuit.num_variables)), int(random.integers(1, 4)), []
    chosen = some_variables(circuit, random)
    for v in chosen:
        points = np.linspace(-1.0, 1.0, MAX_DEGREE + 1)
        moved = np.repeat(x[None], len(points), axis=0)
        moved[:, :, v] = points[:, None]
        found = values(circuit, moved.reshape(-1, x.shape[1])).reshape(len(points), *values(circuit, x).shape)
        coefficients = np.tensordot(np.linalg.inv(np.vander(points, increasing=True)), found, axes=1)
        coefficients[np.abs(coefficients) < 1e-12 * np.abs(found).max()] = 0.0  # those of a lower degree are rounding
        derivative = np.polynomial.polynomial.polyder(coefficients, order)
        powers = [x[:, v, None, None] ** d for d in range(len(derivative))]
        wanted.append(sum(c * power for c, power in zip(derivative, powers, strict=True)))
    by_output = np.stack(wanted, axis=2)  # (B, outputs, variables, O)
    return differentiate(circuit, chosen, order=order), x, by_output.reshape(len(x), -1, by_output.shape[-1])


@dataclass(frozen=True)
class Case:
    """An operator on a number of random circuits, which have the properties that it needs."""

    apply: Callable[[Circuits, np.random.Generator], Applied]
    count: int = 1
    options: Mapping[str, bool] | None = None


CASES = {
    "integrate": Case(integral, options={"continuous": False}),
    "evidence": Case(conditioned),
    "conjugate": Case(conjugated),
    "concatenate": Case(concatenated, count=2),
    "multiply": Case(multiplied, count=2),
    "multiply with itself": Case(squared),
    "differentiate": Case(differentiated, options={"polynomial": True, "complete": True}),
}


@st.composite
def applied(draw: st.DrawFn, case: Case) -> tuple[Applied, str]:
    """The result of an operator on random circuits, and a semiring for it."""
    semiring = draw(st.sampled_from(["lse-sum", "sum-product", "complex-lse-sum"]))
    positive = semiring == "lse-sum"
    complex_leaves = not positive and draw(st.booleans())
    options = {"positive": positive, "complex_leaves": complex_leaves, **(case.options or {})}
    circuits = draw(compatible_circuits(case.count, **options))
    return case.apply(circuits, np.random.default_rng(draw(SEEDS))), semiring


@pytest.mark.parametrize("name", CASES)
@examples(10)
@given(data=st.data())
def test_the_result_of_an_operator_has_its_value_in_every_mode_and_preset(name: str, data: st.DataObject):
    (result, x, wanted), semiring = data.draw(applied(CASES[name]))
    assert_close(values(result, x), wanted)
    rows = x[:, : result.num_variables] if result.num_variables else None
    leaves = constant_leaf_values(result)
    for mode, preset in product(MODES, PRESETS):
        compiled = compile_circuit(result, semiring, preset=preset, **mode)
        assert_equals_oracle(output(compiled, rows), semiring, result, leaves, rows)
