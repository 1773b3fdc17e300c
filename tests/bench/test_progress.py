"""A measurement reports its progress between timed sections, can be cancelled, and waits for another one."""

from itertools import count, pairwise
from threading import Event

import pytest
import torch

from explorer import bench
from explorer.bench import candidates, interleave, layer_times, measurement_run
from explorer.bench.measurement_run import PROGRESS_SECONDS
from explorer.errors import CircuitError
from tests.bench.conftest import FEW
from tests.waiting import PATIENCE


@pytest.fixture
def sections(monkeypatch):
    """Whether a section is being timed, and the number of those that were."""
    state = {"inside": 0, "timed": 0}

    def watching(real):
        def make(device, num_threads):
            watch = real(device, num_threads)

            def timed(items, count):
                state["inside"] += 1
                try:
                    return watch(items, count)
                finally:
                    state["inside"] -= 1
                    state["timed"] += 1

            return timed

        return make

    for module in (candidates, layer_times):
        monkeypatch.setattr(module, "stopwatch", watching(module.stopwatch))
    return state


SECTION_SECONDS = PROGRESS_SECONDS / 4


@pytest.fixture
def clock(monkeypatch, sections):
    """The clock of measurements; only timed sections advance it."""

    def now():
        return sections["timed"] * SECTION_SECONDS

    for module in (interleave, measurement_run):
        monkeypatch.setattr(module, "monotonic", now)
    return now


def test_the_time_limit_holds_for_the_whole_run_with_its_preparation(digits, monkeypatch):
    """Every look at this clock takes a second: preparing all steps would exceed the limit many times over."""
    clock = count()
    for module in (interleave, measurement_run):
        monkeypatch.setattr(module, "monotonic", lambda: float(next(clock)))
    run = bench.measure_steps(digits, batch_size=4, precision=1e-9, max_seconds=20.0, total_seconds=20.0)
    assert next(clock) < 2 * 20
    first, *others, last = run.timings
    assert first.estimate is not None
    assert last.estimate is not None, "the last step is prepared first"
    assert others[-1].missing == "not timed within 20 s"


def test_what_had_no_time_but_to_warm_up_has_the_time_of_that_run():
    sections = {"a": lambda: [1.0], "b": lambda: [2.0]}
    share = count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interleave, "monotonic", lambda: float(next(share)))
        repeated = interleave.repeat_until_precise(
            sections, precision=0.1, max_seconds=2.5, warmups=2, whole_rounds=False
        )
    assert repeated.laps == {"a": [(1.0,)], "b": [(2.0,)]}


def test_progress_is_reported_between_timed_sections_and_not_too_often(digits, sections, clock):
    reports = []

    def tell(progress):
        assert sections["inside"] == 0
        reports.append((clock(), progress))

    endless = {"batch_size": 8, "precision": 1e-9, "max_seconds": 20 * SECTION_SECONDS}
    worker = bench.Worker(
        lambda on_progress, cancelled: [
            measure(digits, on_progress=on_progress, cancelled=cancelled, **endless)
            for measure in (bench.measure_steps, bench.measure_layers)
        ],
        tell,
    )
    worker.start()
    assert worker.join(PATIENCE)
    assert worker.error is None
    assert worker.state is bench.WorkerState.DONE
    assert sections["timed"] >= 40
    gaps = [
        later - earlier
        for (earlier, _), (later, progress) in pairwise(reports)
        if progress.note != "done" and progress.note != "preparing the unoptimized circuit"
    ]
    assert len(gaps) > 6
    assert min(gaps) >= PROGRESS_SECONDS
    live = [progress.timings for _, progress in reports if progress.note.startswith("repeat")]
    assert any(timing.estimate is not None for timings in live for timing in timings)
    assert reports[-1][1].share == 1.0


def test_a_slow_listener_is_waited_for(digits, sections):
    timed_meanwhile = []

    def slow(progress):
        before = sections["timed"]
        Event().wait(0.05)
        timed_meanwhile.append(sections["timed"] - before)

    bench.measure_steps(digits, [-1], on_progress=slow, **FEW)
    assert set(timed_meanwhile) == {0}


def test_cancelled_measurement_stops_after_the_timed_section_and_keeps_its_times(digits, sections):
    begun = Event()

    def tell(progress):
        if any(timing.estimate for timing in progress.timings):
            begun.set()

    worker = bench.Worker(
        lambda on_progress, cancelled: bench.measure_steps(
            digits, precision=0.0001, max_seconds=600.0, on_progress=on_progress, cancelled=cancelled
        ),
        tell,
    )
    threads = torch.get_num_threads()
    worker.start()
    assert begun.wait(PATIENCE)
    worker.cancel()
    timed = sections["timed"]
    assert worker.join(PATIENCE)
    assert sections["timed"] - timed <= 1
    assert worker.state is bench.WorkerState.CANCELLED
    assert worker.result is not None
    assert worker.result.cancelled
    assert any(timing.estimate for timing in worker.result.timings)
    assert torch.get_num_threads() == threads


def test_cancelling_before_anything_is_timed_sets_the_reason_of_each(digits):
    run = bench.measure_steps(digits, cancelled=lambda: True)
    assert (run.cancelled, run.timings) == (True, ())
    answers = iter([False, False, False])
    late = bench.measure_steps(digits, cancelled=lambda: next(answers, True), **FEW)
    assert late.cancelled
    assert {timing.missing for timing in late.timings} == {"cancelled before it was timed"}


def test_two_measurements_wait_for_each_other(digits):
    inside, waiting, notes = Event(), Event(), []

    def second(progress):
        notes.append(progress.note)
        waiting.set()

    def first(progress):
        inside.set()

    one = bench.Worker(
        lambda on_progress, cancelled: bench.measure_steps(
            digits, precision=0.0001, max_seconds=600.0, on_progress=on_progress, cancelled=cancelled
        ),
        first,
    )
    two = bench.Worker(
        lambda on_progress, cancelled: bench.measure_steps(
            digits, [-1], on_progress=on_progress, cancelled=cancelled, **FEW
        ),
        second,
    )
    one.start()
    assert inside.wait(PATIENCE)
    two.start()
    assert waiting.wait(PATIENCE)
    assert set(notes) == {"waiting: something else is being timed"}
    one.cancel()
    assert one.join(PATIENCE)
    assert two.join(PATIENCE)
    assert two.state is bench.WorkerState.DONE


def test_a_worker_keeps_the_error_and_runs_once():
    ended = []
    worker = bench.Worker(lambda on_progress, cancelled: 1 // 0, on_end=ended.append)
    assert worker.state is bench.WorkerState.IDLE
    worker.start()
    assert worker.join(PATIENCE)
    assert worker.state is bench.WorkerState.FAILED
    assert isinstance(worker.error, ZeroDivisionError)
    assert ended == [worker]
    with pytest.raises(CircuitError, match="runs only once"):
        worker.start()
    idle = bench.Worker(lambda on_progress, cancelled: 1)
    idle.cancel()
    assert idle.state is bench.WorkerState.CANCELLED
