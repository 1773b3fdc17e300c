"""Estimates cover what they claim, and a run knows its devices, states and crossover; literal values."""

import random

import pytest

import explorer
from explorer.errors import ValueRangeError
from explorer.templates import gallery
from explorer.timings import (
    CPU,
    CUDA,
    SWEEP,
    Estimate,
    Run,
    Setup,
    Timing,
    crossover,
    default_steps,
    estimate,
    interval_rank,
    state_step,
)


def test_ranks_are_those_of_the_tables_of_the_sign_test():
    """Conover, Practical Nonparametric Statistics: the ranks of 95 % intervals of a median (from zero here)."""
    ranks = {count: interval_rank(count)[0] for count in (6, 8, 9, 12, 15, 20, 25, 50, 100)}
    assert ranks == {6: 0, 8: 0, 9: 1, 12: 2, 15: 3, 20: 5, 25: 7, 50: 17, 100: 39}
    assert interval_rank(5) == (0, 0.9375)
    assert interval_rank(1) == (0, 0.0)


def test_an_estimate_is_in_milliseconds_and_robust_to_an_outlier():
    found = estimate([0.001, 0.002, 0.003, 0.004, 0.005, 9.0])
    assert found == Estimate(3.5, 1.0, 9000.0, 2.25, 4.75, 6, 0.96875)
    assert estimate([0.002]) == Estimate(2.0, 2.0, 2.0, 2.0, 2.0, 1, 0.0)
    with pytest.raises(ValueRangeError, match="expected at least one measured time, got none"):
        estimate([])


def test_few_repeats_are_never_precise():
    assert not estimate([0.001] * 5).is_precise(0.1)
    assert estimate([0.001] * 6).is_precise(0.1)


def test_intervals_cover_the_true_median_as_often_as_they_claim():
    """Times of a skew distribution with median 1: of 2,000 intervals of 15 samples at least 95 % hold it (96.5 %)."""
    chance = random.Random(7)
    held = 0
    for _ in range(2000):
        found = estimate([chance.lognormvariate(0.0, 1.0) / 1000 for _ in range(15)])
        held += found.low <= 1.0 <= found.high
    assert 0.95 <= held / 2000 <= 0.98


def test_the_states_worth_timing_are_each_timed_once():
    trace = explorer.record(gallery.load_named("digits"))
    assert [trace.step(step).path for step in default_steps(trace)] == [
        "compile",
        "optimize/round 1/fuse",
        "fold/level 0",
        "fold/level 1",
        "fold/level 2",
        "fold/level 3",
    ]
    assert state_step(trace, -1) == default_steps(trace)[-1]  # the last step left one layer alone
    assert state_step(trace, 1) == 0


SETUP = Setup("", 1, "", "", 0.1, 1.0, 0, {}, {}, "")


def sweep(cpu, cuda):
    timings = [
        Timing(f"batch {size}", device, size, Estimate(time, time, time, time, time, 9, 0.96))
        for device, times in ((CPU, cpu), (CUDA, cuda))
        for size, time in times.items()
    ]
    return Run(SWEEP, "forward", "", {}, tuple(timings), SETUP)


def test_the_crossover_is_where_straight_lines_on_a_log_log_scale_meet():
    """CPU 1 ms a row, CUDA always 8 ms: they meet at 8 rows, whichever sizes were measured."""
    assert crossover(sweep({1: 1.0, 4: 4.0, 64: 64.0}, {1: 8.0, 4: 8.0, 64: 8.0})) == pytest.approx(8.0)
    assert crossover(sweep({1: 1.0, 4: 4.0}, {1: 8.0, 4: 8.0})) is None
    assert crossover(sweep({1: 1.0, 4: 4.0}, {})) is None
