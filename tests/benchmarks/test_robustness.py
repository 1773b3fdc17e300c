"""Answers of fast circuits with sharp distributions."""

from dataclasses import replace

import torch

import benchmarks
from benchmarks.robustness import _count_wrong
from tests.runtime.circuits import has_compiler


@has_compiler
def test_the_layers_are_wrong_where_logits_are_large_and_the_fast_circuit_is_not():
    case = replace(benchmarks.ROBUSTNESS_CASES[1], shape=(1, 8, 8), num_units=8, batch_size=64)
    found = benchmarks.measure_robustness(case)
    assert [entry.scale for entry in found] == [1, 5, 10, 20, 40, 80]
    assert [entry.wrong for entry in found] == [0] * 6
    assert (found[0].again, found[-1].again) == (0, 64)
    assert found[-1].wrong_in_layers > 0
    assert max(entry.largest_error for entry in found) < 1e-6


def test_an_answer_that_is_not_finite_is_not_wrong_but_any_other_difference_is():
    precise = torch.tensor([-1.0, -2.0, -3.0, -torch.inf], dtype=torch.float64)
    found = torch.tensor([-1.0, -2.00001, -torch.inf, -5.0], dtype=torch.float64)
    assert _count_wrong(found, precise) == 2
