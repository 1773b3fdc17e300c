"""Answers of fast circuits with sharp distributions."""

from dataclasses import replace

import pytest
import torch

import benchmarks
from benchmarks.robustness import _count_wrong
from tests.benchmarks.test_measurements import needs_peer, text_of
from tests.runtime.circuits import has_compiler


@has_compiler
def test_neither_the_layers_nor_the_fast_circuit_are_wrong_where_logits_are_large():
    case = replace(benchmarks.ROBUSTNESS_CASES[1], shape=(1, 8, 8), num_units=8, batch_size=64)
    found = benchmarks.measure_robustness(case)
    assert [entry.setting for entry in found] == [f"logits times {scale}" for scale in (1, 5, 10, 20, 40, 80)]
    assert [(entry.wrong, entry.wrong_in_layers) for entry in found] == [(0, 0)] * 6
    assert (found[0].rows_recomputed, found[-1].rows_recomputed) == (0, 64)
    assert max(entry.largest_error for entry in found) < 1e-6
    assert 0 < benchmarks.share_again(found) < 1


@has_compiler
@pytest.mark.parametrize("case", benchmarks.ROBUSTNESS_CASES[:2], ids=["gaussian", "categorical"])
def test_a_circuit_that_learns_has_no_wrong_answers(case):
    case = replace(case, shape=(1, 8, 8), num_units=4, batch_size=32)
    found = benchmarks.measure_trained(case, steps=(0, 3, 6))
    assert [entry.setting for entry in found] == [f"trained for {steps} steps" for steps in (0, 3, 6)]
    assert [entry.wrong for entry in found] == [0] * 3
    errors = {entry.largest_error for entry in found}
    assert len(errors) == 3, "each step has its own parameters"


@needs_peer
@pytest.mark.peer
def test_the_fallback_is_timed_next_to_the_peer():
    case = replace(benchmarks.ROBUSTNESS_CASES[0], shape=(1, 4, 4), num_units=4, batch_size=8)
    times = benchmarks.measure_fallback(case, 1, 2)
    assert times.speedup > 0
    assert case.name in text_of(benchmarks.fallback_table([times]))


def test_an_answer_that_is_not_finite_is_not_wrong_but_any_other_difference_is():
    precise = torch.tensor([-1.0, -2.0, -3.0, -torch.inf], dtype=torch.float64)
    found = torch.tensor([-1.0, -2.00001, -torch.inf, -5.0], dtype=torch.float64)
    assert _count_wrong(found, precise) == 2
