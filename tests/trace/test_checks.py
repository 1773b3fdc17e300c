"""`trace.check` says that values differ only where they do."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    DataType,
    EmbeddingLayer,
    KroneckerParameter,
    TensorParameter,
)
from explorer.templates import gallery
from explorer.trace.equivalence import check_steps
from tests.levels.modes import float64

__all__ = ["float64"]


def leaf(values: Any) -> TensorParameter:
    return TensorParameter(np.shape(values), DataType.REAL, initializer=ConstantInitializer(np.asarray(values)))


def signed_circuit(one: Any, other: Any) -> Circuit:
    builder = CircuitBuilder()
    weight = leaf([[1.0], [2.0], [3.0], [4.0]])
    inputs = builder.add(EmbeddingLayer(scope=(0,), num_output_units=4, num_states=1, weight=weight))
    return builder.build(builder.sum(inputs, num_units=4, weight=KroneckerParameter((leaf(one), leaf(other)))))


@pytest.mark.parametrize("seed", range(8))
def test_logarithms_of_equal_numbers_are_equal(seed):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(2, 2)) * rng.choice([0, 1], size=(2, 2)) ** (seed % 2) for _ in range(2)]
    trace = explorer.record(signed_circuit(*weights), semiring="complex-lse-sum", preset="handbook")
    checks = trace.check(torch.zeros(1, 1, dtype=torch.long))
    assert any(check.exactness == "real" for check in checks)
    assert all(check.ok for check in checks), checks


class Given:
    """A state with these outputs."""

    def __init__(self, *numbers: complex, dtype: torch.dtype = torch.complex128):
        self.outputs = torch.tensor(numbers, dtype=dtype)

    def results(self, x):
        return (self.outputs,)


LOG_ZERO = complex(-np.inf, 0)


@pytest.mark.parametrize(
    ("one", "other", "ok"),
    [
        ((1 + np.pi * 1j,), (1 - np.pi * 1j,), True),
        ((1 + 1j,), (1 + 1j + 4j * np.pi,), True),
        ((complex(-np.inf, np.pi), 0j), (LOG_ZERO, 0j), True),
        ((complex(-np.inf, np.nan), 0j), (LOG_ZERO, 0j), True),
        ((complex(-37, 3), 0j), (LOG_ZERO, 0j), True),  # what a cancellation leaves, next to a 1
        ((complex(-800, 0), 0j), (LOG_ZERO, 0j), False),  # an underflow
        ((complex(-15, 3), 0j), (LOG_ZERO, 0j), False),
        ((1 + 1j,), (1 + 2j,), False),
        ((1 + 1j,), (2 + 1j,), False),
        ((complex(np.nan, 0),), (1 + 1j,), False),
    ],
)
def test_complex_logarithms_are_compared_by_the_numbers_that_they_represent(one, other, ok):
    trace = explorer.record(signed_circuit(np.ones((2, 2)), np.ones((2, 2))), preset="handbook")
    fused = next(step for step in trace.steps if step.rewrites)
    steps = [replace(trace.steps[0], snapshot=Given(*one)), replace(fused, snapshot=Given(*other))]
    checks = check_steps(steps, trace.rules, None, lambda step: None, needs_rows=True, semiring="complex-lse-sum")
    assert checks[1].ok == ok, checks


@pytest.mark.parametrize(
    ("one", "other", "ok"),
    [
        ((1e-30,), (2e-30,), False),
        ((1e-30, 1e-33), (1e-30, 2e-33), False),
        ((1e-30,), (1e-30 * (1 + 1e-6),), True),
        ((-1e-3, 1e-9), (-1e-3, 2e-9), True),  # may be the rest of terms that cancelled
        ((-1e-3, 1e-9), (-1e-3, 2e-7), False),
        ((1e-3, 1e-9), (1e-3, 2e-9), False),
        ((1.0, 1e-6, 1e-8), (1.0, 5e-5, 0.0), False),
        ((1.0, 1e-6, 1e-8), (1.0, 1e-6 * (1 + 1e-6), 1e-8), True),
        ((1.0, np.nan), (1.0, np.nan), False),  # no value
        ((1.0, np.inf), (1.0, 1.0), False),
        ((1e-40,), (2e-40,), True),  # below the smallest number of full precision
        ((0.0,), (0.0,), True),
        ((0.0,), (1e-30,), False),
        ((np.inf, 1e-30), (np.inf, 1e-30), True),
        ((np.nan,), (1e-30,), False),
    ],
)
def test_likelihoods_are_compared_one_by_one_unless_terms_may_have_cancelled(one, other, ok):
    trace = explorer.record(signed_circuit(np.ones((2, 2)), np.ones((2, 2))), preset="handbook", semiring="sum-product")
    fused = next(step for step in trace.steps if step.rewrites)
    steps = (
        replace(trace.steps[0], snapshot=Given(*one, dtype=torch.float32)),
        replace(fused, snapshot=Given(*other, dtype=torch.float32)),
    )
    checks = replace(trace, steps=steps).check(torch.zeros(1, 1, dtype=torch.long))
    assert checks[1].exactness == "real"
    assert checks[1].ok == ok, checks


def test_differences_are_measured_from_the_original_and_from_the_step_before():
    trace = explorer.record(gallery.load_named("digits"))
    x = torch.randint(17, (4, 64), generator=torch.Generator().manual_seed(0))
    checks = trace.check(x)
    for check in checks:
        original, after = (trace.circuit_at(step)(x) for step in (0, check.step))
        assert check.from_original == (original - after).abs().max().item()
    assert (checks[0].max_difference, checks[0].from_original) == (0.0, 0.0)
    unchanged = checks[4]
    assert not trace.steps[4].changed
    assert (unchanged.max_difference, unchanged.from_original) == (0.0, checks[3].from_original)
