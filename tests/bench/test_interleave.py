"""Sections and jobs run interleaved until their medians are precise, with a clock that the test moves."""

import pytest
import torch

from explorer.bench import Job, clock_for, keep_freed_memory, ratio, time_interleaved
from explorer.bench.interleave import repeat_until_precise
from explorer.errors import ValueRangeError


class Clock:
    """A clock that only jobs advance."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def job(self, seconds, prepare_seconds=0.0):
        def run(_):
            self.now += seconds

        def prepare():
            self.now += prepare_seconds

        return Job(run, prepare)


def test_jobs_are_interleaved_and_each_round_starts_with_a_different_one():
    clock, order = Clock(), []
    jobs = {name: clock.job(1.0) for name in "abc"}
    time_interleaved(jobs, 3, warmups=0, clock=clock, on_run=order.append)
    assert "".join(order) == "abc" + "bca" + "cab"


def test_only_the_run_is_timed_and_warmups_are_left_out():
    clock = Clock()
    runs = []
    slow_start = iter([100.0, 1.0, 3.0, 2.0])

    def run(made):
        runs.append(made)
        clock.now += next(slow_start)

    samples = time_interleaved({"a": Job(run, lambda: "made")}, 3, warmups=1, clock=clock)
    assert samples["a"] == (1.0, 3.0, 2.0)
    assert runs == ["made"] * 4
    assert time_interleaved({"a": clock.job(1.0, prepare_seconds=50.0)}, 2, clock=clock)["a"] == (1.0, 1.0)


def test_a_slow_minute_hits_both_sides_of_a_ratio():
    clock = Clock()
    pace = iter([1.0, 1.0, 10.0, 10.0, 1.0, 1.0])

    def job(seconds):
        def run(_):
            clock.now += seconds * next(pace)

        return Job(run)

    samples = time_interleaved({"ours": job(1.0), "peer": job(2.0)}, 3, warmups=0, clock=clock)
    assert samples["ours"] == (1.0, 10.0, 1.0)
    assert ratio(samples["ours"], samples["peer"]) == 0.5


def test_timing_nothing_is_refused():
    with pytest.raises(ValueRangeError, match="repeats must be at least 1; found 0"):
        time_interleaved({"a": Job(lambda _: None)}, 0)


def test_one_thread_is_measured_in_cpu_time_several_in_wall_time():
    assert clock_for(1).__name__ == "thread_time"
    assert clock_for(2).__name__ == "perf_counter"
    assert clock_for(1, "cuda").__name__ == "synchronized_time"


def test_a_job_out_of_memory_ends_the_timing():
    def hungry(_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(MemoryError, match="a: out of memory"):
        time_interleaved({"a": Job(hungry)}, 1)


def test_malloc_reports_its_setting():
    assert keep_freed_memory().startswith("malloc ")


def test_sections_are_interleaved_until_all_are_precise():
    order = []

    def section(name, seconds):
        def run():
            order.append(name)
            return [seconds]

        return run

    repeated = repeat_until_precise({"a": section("a", 1.0), "b": section("b", 2.0)}, precision=0.1, max_seconds=60)
    assert {key: len(laps) for key, laps in repeated.laps.items()} == {"a": 6, "b": 6}  # six is the minimum
    assert order.count("a") == 8  # two warm-ups
    assert "".join(order[4:]) == "abbaabbaabba"


def test_the_time_limit_ends_imprecise_repeats_after_the_first_round():
    noisy = iter(range(1, 10_000))
    repeated = repeat_until_precise({"a": lambda: [next(noisy)]}, precision=0.0001, max_seconds=1e-9)
    assert len(repeated.laps["a"]) == 1
    found = repeated.estimate("a")
    assert found is not None
    assert not found.is_precise(0.5)


def test_a_section_out_of_memory_is_left_out_and_the_others_go_on():
    def hungry():
        raise torch.OutOfMemoryError("CUDA out of memory")

    repeated = repeat_until_precise({"a": hungry, "b": lambda: [1.0]}, precision=0.1, max_seconds=60)
    assert repeated.failed == {"a": "out of memory"}
    assert (repeated.estimate("a"), len(repeated.laps["b"])) == (None, 6)
