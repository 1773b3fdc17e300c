"""Evidence far from all means, with logarithms so large that a difference of two would mean nothing."""

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import queries
from explorer.backend.evaluation import EvaluatedCircuit
from explorer.errors import ValueRangeError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    TensorParameter,
    constant,
)
from explorer.symbolic.operators import evidence, multiply
from tests.backend.queries.far import CONTEXT, Mixture, Normal, Path, Table
from tests.fuzzing import covering
from tests.levels.modes import SWITCHES, compile_circuit

SIZES = (1e3, -1e4, 1e6, -1e7, 1e9, 1e12, -1e20, 1e60, -1e150)
MEANS, SCALES = (-1.0, 0.25, 2.0), (0.5, 1.5, 1.5)
"""Of variable 0: of the two wide components the one with the larger mean is nearer to large values."""
OTHER_MEANS, OTHER_SCALES = (3.0, -2.0, 0.5), (2.0, 0.75, 1.0)
TABLE = ((0.9, 0.1), (0.35, 0.65), (0.2, 0.8))
WEIGHTS = ((0.2, 0.3, 0.5), (0.7, 0.2, 0.1))
TRANSITION = ((0.6, 0.3, 0.1), (0.1, 0.2, 0.7), (0.25, 0.25, 0.5))


def learned(values: Any) -> TensorParameter:
    array = np.asarray(values, dtype=float)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


def leaves(b: CircuitBuilder, states: Any = TABLE) -> tuple[int, int, int]:
    """The normal variables 0 and 1 and the discrete variable 2, of three units each."""
    normals = [
        b.add(GaussianLayer(scope=(v,), num_output_units=3, mean=learned(means), stddev=learned(scales)))
        for v, (means, scales) in enumerate(((MEANS, SCALES), (OTHER_MEANS, OTHER_SCALES)))
    ]
    table = b.add(
        CategoricalLayer(scope=(2,), num_output_units=3, num_categories=len(states[0]), probs=learned(states))
    )
    return normals[0], normals[1], table


def classes(weights: Any = WEIGHTS) -> Circuit:
    """Two mixtures of three components, and a third output that does not depend on variable 1."""
    b = CircuitBuilder()
    first, second, table = leaves(b)
    joint = b.sum(b.hadamard(first, second, table), num_units=len(weights), weight=learned(weights))
    return b.build(joint, b.sum(b.hadamard(first, table), num_units=len(weights), weight=learned(weights)))


def chain() -> Circuit:
    """The component of variables 1 and 2 decides the component of variable 0 with the probabilities of a transition."""
    b = CircuitBuilder()
    first, second, table = leaves(b)
    below = b.sum(first, num_units=3, weight=learned(TRANSITION))
    return b.build(b.sum(b.hadamard(below, second, table), num_units=1, weight=learned(WEIGHTS[:1])))


def path(coefficient: float | Decimal, first: int, other: int, variables: tuple[int, ...] = (0, 1, 2)) -> Path:
    found = {
        0: (Normal(MEANS[first], SCALES[first]),),
        1: (Normal(OTHER_MEANS[other], OTHER_SCALES[other]),),
        2: (Table(TABLE[other]),),
    }
    return Path(Decimal(coefficient), {v: found[v] for v in variables})


def class_mixture(weights: tuple[float, ...], variables: tuple[int, ...] = (0, 1, 2)) -> Mixture:
    return Mixture(tuple(path(w, k, k, variables) for k, w in enumerate(weights)))


CHAIN = Mixture(
    tuple(
        path(Decimal(WEIGHTS[0][other]) * Decimal(TRANSITION[other][first]), first, other)
        for other in range(3)
        for first in range(3)
    )
)


def rows_of(row: Mapping[int, float]) -> tuple[Tensor, Tensor]:
    x, seen = torch.zeros(1, 3), torch.zeros(3, dtype=torch.bool)
    for v, value in row.items():
        x[0, v], seen[v] = value, True
    return x, seen


def log_conditional(circuit: EvaluatedCircuit, joint: Mapping[int, float], given: Mapping[int, float]) -> Tensor:
    x, _ = rows_of(joint)
    seen = rows_of(given)[1]
    return queries.conditional(circuit, x, rows_of(joint)[1] & ~seen, seen)[0]


CASES: dict[str, tuple[dict[int, float], dict[int, float]]] = {
    "a state": ({2: 1}, {0: 1.0}),
    "a density": ({1: 0.5}, {0: 1.0}),
    "a far density": ({1: -1e9}, {0: 1.0}),
    "given two": ({2: 0}, {0: 1.0, 1: -0.7}),
    "given two, one of them far": ({2: 0}, {0: 1.0, 1: 1.5e5}),
}


@pytest.mark.parametrize(
    ("size", "case", "optimize", "fold", "frozen"), covering(SIZES, tuple(CASES), *SWITCHES, (False, True))
)
def test_conditionals_equal_exact_ones(size: float, case: str, optimize: bool, fold: bool, frozen: bool):
    asked, known = CASES[case]
    given = {v: value * size if v == 0 or abs(value) < 1 else value for v, value in known.items()}
    joint = {**given, **asked}
    circuit = compile_circuit(chain(), optimize=optimize, fold=fold)
    found = log_conditional(circuit.freeze() if frozen else circuit, joint, given).item()
    assert found == pytest.approx(CHAIN.log_ratio(joint, given), rel=1e-9, abs=1e-8)


@pytest.mark.parametrize(("size", "state", "optimize", "fold"), covering(SIZES, (0, 1), *SWITCHES))
def test_each_output_and_class_has_its_own_conditional(size: float, state: int, optimize: bool, fold: bool):
    circuit = compile_circuit(classes(), optimize=optimize, fold=fold)
    given = {0: size, 1: -2 * size}
    joint = {**given, 2: state}
    found = log_conditional(circuit, joint, given)
    for number, weights in enumerate(WEIGHTS):
        both, alone = class_mixture(weights), class_mixture(weights, (0, 2))
        assert found[0, number].item() == pytest.approx(both.log_ratio(joint, given), abs=1e-8)
        assert found[1, number].item() == pytest.approx(alone.log_ratio({0: size, 2: state}, {0: size}), abs=1e-8)


def square() -> tuple[Circuit, Mixture]:
    """The square of a mixture of three equally wide components with a negative weight."""
    weights, scale = (0.8, -0.5, 0.3), 1.5
    b = CircuitBuilder()
    normal = b.add(GaussianLayer(scope=(0,), num_output_units=3, mean=constant(MEANS), stddev=constant([scale] * 3)))
    table = b.add(CategoricalLayer(scope=(2,), num_output_units=3, num_categories=2, probs=constant(TABLE)))
    other = b.add(GaussianLayer(scope=(1,), num_output_units=3, mean=constant(OTHER_MEANS), stddev=constant([1.0] * 3)))
    base = b.build(b.sum(b.hadamard(normal, other, table), num_units=1, weight=constant([weights])))
    paths = [
        Path(
            Decimal(w),
            {0: (Normal(MEANS[k], scale),), 1: (Normal(OTHER_MEANS[k], 1.0),), 2: (Table(TABLE[k]),)},
        )
        for k, w in enumerate(weights)
    ]
    return multiply(base, base), Mixture(tuple(paths)).square()


@pytest.mark.parametrize(("semiring", "size"), covering(("sum-product", "lse-sum", "complex-lse-sum"), SIZES))
def test_the_square_of_a_mixture_with_a_negative_weight(semiring: str, size: float):
    circuit, exact = square()
    compiled = compile_circuit(circuit, semiring)
    for given, asked in (({0: size}, {2: 1}), ({0: size}, {1: -0.5}), ({0: size, 1: size / 3}, {2: 0})):
        joint = {**given, **asked}
        found = log_conditional(compiled, joint, given).item()
        assert found == pytest.approx(exact.log_ratio(joint, given), rel=1e-7, abs=1e-7)
    x, seen = rows_of({0: size})
    moments = queries.moments(compiled, 1, x, seen)[0, 0, 0]
    assert moments[2].item() == pytest.approx(math.exp(exact.log_ratio({0: size, 2: 1}, {0: size})), abs=1e-7)


@pytest.mark.parametrize(("size", "optimize", "fold"), covering(SIZES, *SWITCHES))
def test_moments_and_expectations_equal_exact_ones(size: float, optimize: bool, fold: bool):
    circuit = compile_circuit(classes(), optimize=optimize, fold=fold)
    x, seen = rows_of({0: size})
    ordinary = rows_of({0: 0.5})[0]
    both = torch.cat([ordinary, x, ordinary])
    found = queries.moments(circuit, 1, both, seen)[1]
    power = queries.expectation(circuit, {2: queries.power(1)}, both, seen)[1]
    for number, weights in enumerate(WEIGHTS):
        exact = class_mixture(weights)
        assert found[0, number, 1].item() == pytest.approx(exact.mean(1, {0: size}), rel=1e-8)
        assert found[0, number, 2].item() == pytest.approx(exact.mean(2, {0: size}), rel=1e-8)
        assert power[1, number].item() == pytest.approx(exact.mean(2, {0: size}), rel=1e-8)
    alone = queries.moments(circuit, 1, ordinary, seen)[0]
    for row in (0, 2):
        torch.testing.assert_close(
            queries.moments(circuit, 1, both, seen)[row], alone, rtol=1e-14, atol=0, equal_nan=True
        )


@pytest.mark.parametrize(("size", "optimize", "fold"), covering(SIZES, *SWITCHES))
def test_samples_and_most_probable_rows_follow_exact_posteriors(size: float, optimize: bool, fold: bool):
    circuit = compile_circuit(chain(), optimize=optimize, fold=fold)
    x, seen = rows_of({0: size})
    generator = torch.Generator().manual_seed(0)
    drawn = queries.sample(circuit, 4000, x, seen, generator=generator)[:, 0]
    p = math.exp(CHAIN.log_ratio({0: size, 2: 1}, {0: size}))
    assert drawn[:, 2].mean().item() == pytest.approx(p, abs=0.035)  # four standard deviations
    assert drawn[:, 1].mean().item() == pytest.approx(CHAIN.mean(1, {0: size}), abs=0.2)
    found = queries.most_probable(circuit, x, seen)
    heights = [max(TABLE[other]) / OTHER_SCALES[other] for other in range(3) for _ in range(3)]
    best = np.argmax(np.array(CHAIN.shares({0: size})) * heights) // 3
    assert found.assignment[0, 1].item() == OTHER_MEANS[best]
    assert found.assignment[0, 2].item() == np.argmax(TABLE[best])
    assert not bool(found.is_exact)


@pytest.mark.parametrize(("size", "optimize", "fold"), covering(SIZES, *SWITCHES))
def test_gradients_of_conditionals_equal_exact_differences(size: float, optimize: bool, fold: bool):
    """The gradient by the logits of one parameter each, against a difference quotient in decimal arithmetic."""
    circuit = compile_circuit(chain(), optimize=optimize, fold=fold)
    given, joint = {0: size}, {0: size, 2: 1}
    log_conditional(circuit, joint, given).sum().backward()
    step = Decimal(10) ** -40
    log_weights = {number: Decimal(0) for number in range(3)}

    def exact(moved: int) -> Decimal:
        paths = [
            Path(one.coefficient * (1 + step if n // 3 == moved else 1), one.leaves)
            for n, one in enumerate(CHAIN.paths)
        ]
        mixture = Mixture(tuple(paths))
        return mixture.log_mass(joint) - mixture.log_mass(given)

    with localcontext(CONTEXT):
        wanted = [float((exact(k) - exact(-1)) / step) / WEIGHTS[0][k] for k in log_weights]
    found = [leaf.grad for leaf in circuit.parameters() if leaf.grad is not None]
    assert all(bool(one.isfinite().all()) for one in found)
    tops = [one for one in found if one.numel() == 3 and one.squeeze().shape == (3,)]
    assert any(torch.allclose(one.flatten(), torch.tensor(wanted), rtol=1e-6, atol=1e-7) for one in tops)


def tied(difference: float) -> EvaluatedCircuit:
    """Two components that are equally probable far out, up to what float64 rounds, in different variables."""
    b = CircuitBuilder()
    scales = (1.0, 3.0)
    normals = [
        b.add(GaussianLayer(scope=(v,), num_output_units=2, mean=constant([0.0, difference * v]), stddev=constant(one)))
        for v, one in enumerate((scales, scales[::-1]))
    ]
    table = b.add(CategoricalLayer(scope=(2,), num_output_units=2, num_categories=2, probs=constant(TABLE[:2])))
    return compile_circuit(b.build(b.sum(b.hadamard(*normals, table), num_units=1, weight=constant([[0.5, 0.5]]))))


@pytest.mark.parametrize("query", ["conditional", "moments", "expectation", "sample", "most_probable"])
def test_what_rounding_hides_is_refused(query: str):
    circuit = tied(1e-6)
    x, seen = rows_of({0: 1e12, 1: 1e12})
    rows = torch.cat([rows_of({0: 0.5, 1: 0.1})[0], x])
    asked = {
        "conditional": lambda: queries.conditional(circuit, rows, torch.tensor([False, False, True]), seen),
        "moments": lambda: queries.moments(circuit, 1, rows, seen),
        "expectation": lambda: queries.expectation(circuit, {2: queries.power(1)}, rows, seen),
        "sample": lambda: queries.sample(circuit, 3, rows, seen),
        "most_probable": lambda: queries.most_probable(circuit, rows, seen),
    }
    with pytest.raises(ValueRangeError, match="evidence of row 1 is so improbable that the rounding"):
        asked[query]()


def test_evidence_whose_logarithm_overflows_is_answered_and_not_called_impossible():
    circuit = compile_circuit(chain())
    found = log_conditional(circuit, {0: 1e300, 2: 1}, {0: 1e300}).item()
    assert found == pytest.approx(CHAIN.log_ratio({0: 1e150, 2: 1}, {0: 1e150}), abs=1e-8)
    with pytest.raises(ValueRangeError, match="so improbable that the rounding"):
        log_conditional(circuit, {0: math.inf, 2: 1}, {0: math.inf})


def test_a_partition_function_that_hides_what_is_divided_by_it_is_refused():
    circuit = compile_circuit(evidence(chain(), {0: 1e9}))
    x = torch.zeros(1, 3)
    second = torch.tensor([False, False, True])
    for ask in (
        lambda: queries.log_likelihood(circuit, x),
        lambda: queries.marginal(circuit, x, second),
    ):
        with pytest.raises(ValueRangeError, match=r"logarithm of the partition function is .*hides what is divided by"):
            ask()
    for ask in (
        lambda: queries.conditional(circuit, x, second, ~second & second),
        lambda: queries.sample(circuit, 2),
        lambda: queries.moments(circuit),
        lambda: queries.most_probable(circuit, x, second),
    ):
        with pytest.raises(ValueRangeError, match="evidence of row 0 is so improbable that the rounding"):
            ask()


@pytest.mark.parametrize(("size", "log_ratio", "optimize", "fold"), covering((1e6, 1e9, -1e12), (0.0, 1.0), *SWITCHES))
def test_gradients_of_components_that_are_almost_equal(size: float, log_ratio: float, optimize: bool, fold: bool):
    """Two components with a ratio of about 1 or e far out; each derivative is a part of a huge one."""
    means, scales = [0.0, log_ratio / size], [1.0, 1.0]
    b = CircuitBuilder()
    normal = b.add(GaussianLayer(scope=(0,), num_output_units=2, mean=learned(means), stddev=learned(scales)))
    table = b.add(CategoricalLayer(scope=(1,), num_output_units=2, num_categories=2, probs=constant(TABLE[:2])))
    circuit = b.build(b.sum(b.hadamard(normal, table), num_units=1, weight=constant([[0.5, 0.5]])))
    compiled = compile_circuit(circuit, optimize=optimize, fold=fold)
    first = torch.tensor([True, False])
    found = queries.conditional(compiled, torch.tensor([[size, 1.0]]), ~first, first)
    found.sum().backward()
    p, q = np.array(TABLE[:2])[:, 1], 1 / (1 + math.exp(log_ratio))
    joint = q * p[0] / (q * p[0] + (1 - q) * p[1])  # the share of component 0, if its state is known, too
    assert found.item() == pytest.approx(math.log(q * p[0] + (1 - q) * p[1]), rel=1e-9)
    moved = joint - q
    wanted = {"mean": moved * size, "stddev": moved * size**2}
    gradients = [one.grad.flatten() for one in compiled.parameters() if one.grad is not None]
    assert len(gradients) == 2
    for name, gradient in zip(wanted, sorted(gradients, key=lambda one: one.abs().sum().item()), strict=True):
        pair = gradient[:2].tolist()
        assert pair == pytest.approx([wanted[name], -wanted[name]], rel=2e-6)


def test_a_far_value_beside_a_state_of_probability_zero_is_impossible():
    b = CircuitBuilder()
    product = b.hadamard(*leaves(b, [[0.5, 0.5, 0.0]] * 3))
    circuit = compile_circuit(b.build(b.sum(product, num_units=1, weight=constant(WEIGHTS[:1]))))
    given = {0: 1e9, 2: 2}
    x, seen = rows_of(given)
    for ask in (
        lambda: log_conditional(circuit, {**given, 1: 0.5}, given),
        lambda: queries.moments(circuit, 1, x, seen),
        lambda: queries.expectation(circuit, {1: queries.power(1)}, x, seen),
        lambda: queries.sample(circuit, 2, x, seen),
        lambda: queries.most_probable(circuit, x, seen),
    ):
        with pytest.raises(ValueRangeError, match="the evidence of row 0 has probability zero"):
            ask()
    assert log_conditional(circuit, given, {0: 1e9}).item() == -math.inf
