"""Jobs take turns, medians and ratios are what they are called; with a clock that the test moves."""

import pytest

from explorer.bench import Job, Samples, clock_for, ratio, time_interleaved
from explorer.errors import ValueRangeError


class Clock:
    """A clock that stands still until a job moves it."""

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


def test_jobs_take_turns_and_each_round_starts_with_another():
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
    assert samples["a"].seconds == (1.0, 3.0, 2.0)
    assert samples["a"].median == 2.0
    assert runs == ["made"] * 4
    assert time_interleaved({"a": clock.job(1.0, prepare_seconds=50.0)}, 2, clock=clock)["a"].seconds == (1.0, 1.0)


def test_a_slow_minute_hits_both_sides_of_a_ratio():
    clock = Clock()
    pace = iter([1.0, 1.0, 10.0, 10.0, 1.0, 1.0])

    def job(seconds):
        def run(_):
            clock.now += seconds * next(pace)

        return Job(run)

    samples = time_interleaved({"ours": job(1.0), "peer": job(2.0)}, 3, warmups=0, clock=clock)
    assert samples["ours"].seconds == (1.0, 10.0, 1.0)
    assert ratio(samples["ours"], samples["peer"]) == 0.5


def test_the_spread_is_relative_to_the_median():
    assert Samples((1.0, 2.0, 3.0, 4.0, 5.0)).spread == pytest.approx(1 / 3)
    assert Samples((7.0,)).spread == 0.0


def test_timing_nothing_is_refused():
    with pytest.raises(ValueRangeError, match="repeats must be at least 1; found 0"):
        time_interleaved({"a": Job(lambda _: None)}, 0)
    with pytest.raises(ValueRangeError, match="at least once"):
        Samples(())


def test_one_thread_is_measured_in_cpu_time_several_in_wall_time():
    assert clock_for(1).__name__ == "process_time"
    assert clock_for(2).__name__ == "perf_counter"
