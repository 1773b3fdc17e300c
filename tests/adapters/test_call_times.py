"""The calls of generated code are timed in their places: each is marked, and what runs otherwise has no marks."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import fsum
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import explorer
from explorer import bench
from explorer.adapters.inductor.marks import MarkedCall, MarkedCode
from explorer.adapters.snapshot import WatchedSnapshot
from explorer.bench import watched_times
from explorer.bench.measurement_run import MeasurementRun, Settings
from explorer.bench.watched_times import time_watched
from explorer.errors import CircuitError
from explorer.timings import CUDA, LAYER, SUM, WHOLE
from explorer.trace import Trace
from explorer.views import TraceIndex, layer_table, layers_note
from tests.adapters.models import built_here, head

__all__ = ["built_here"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""

FEW: dict[str, Any] = {"max_seconds": 0.2, "precision": 0.5}


@pytest.fixture(scope="module")
def trace(built_here: None) -> Trace:
    module, x = head()
    return explorer.watch(module, x)


def last_of(trace: Trace) -> WatchedSnapshot:
    snapshot = trace.steps[-1].snapshot
    assert isinstance(snapshot, WatchedSnapshot)
    return snapshot


def marks_of(trace: Trace) -> list[int | None]:
    """The marks of a run, after which nothing is marked any more."""
    marks: list[int | None] = []
    snapshot = last_of(trace)
    with snapshot.marked(marks.append):
        marked = snapshot.results(trace.examples)
    count = len(marks)
    for one, other in zip(snapshot.results(trace.examples), marked, strict=True):
        assert torch.equal(one, other)
    assert len(marks) == count
    return marks


def test_each_call_has_a_mark_before_and_behind_it(trace: Trace) -> None:
    marks = marks_of(trace)
    assert marks[::2] == last_of(trace).calls
    assert set(marks[1::2]) == {None}


def test_a_training_step_has_the_marks_of_both_parts(built_here: None) -> None:
    module, x = head()
    trained = explorer.watch(module, x, mode="train")
    assert marks_of(trained)[::2] == last_of(trained).calls
    run = bench.measure_layers(trained, **FEW)
    assert "the whole training step" in layers_note(run)


class Mixed(nn.Module):
    """Calls of every form: several results, a write into the input, parts of one buffer, the same function twice."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.add_(1)
        values, order = torch.sort(x @ x)
        both = torch.cat([values.sin(), order.cos()])
        return torch.softmax(both @ x, -1) @ torch.softmax(y @ x, -1)


def test_calls_of_every_form_are_marked(built_here: None) -> None:
    mixed = explorer.watch(Mixed(), torch.rand(8, 8), torch.rand(8, 8))
    assert marks_of(mixed)[::2] == last_of(mixed).calls


def test_a_buffer_that_several_calls_write_is_of_each_in_turn() -> None:
    """Library calls may write in place: a statement names what it writes, and what others wrote before it."""
    code = """
class Runner:
    def call(self):
        buf0 = empty_strided(2)
        library.mm(buf0)
        library.add_(buf0)
        kernel_0(buf0, buf1 := empty_strided(2))
        library.mm(buf1, buf9)
"""
    module, run = ModuleType("generated"), list[str]()
    names = ("empty_strided", "kernel_0", "library.mm", "library.add_")
    first, second, third, fourth = (partial(lambda name, *_: run.append(name), name) for name in names)
    library = SimpleNamespace(mm=third, add_=fourth)
    vars(module).update(empty_strided=first, kernel_0=second, library=library, buf9=None)
    exec(code, vars(module))
    calls = [
        MarkedCall(1, "", ["buf0"]),
        MarkedCall(2, "", ["buf0"]),
        MarkedCall(3, "kernel_0", ["buf1"]),
        MarkedCall(4, "", ["buf9"]),
    ]
    marked = MarkedCode(module, code, calls)
    for _ in range(2):
        with marked.marked(lambda number: run.append(str(number))):
            module.Runner().call()
    once = ["1", "library.mm", "None", "2", "library.add_", "None", "3", "empty_strided", "kernel_0", "None"]
    assert run == 2 * ["empty_strided", *once, "4", "library.mm", "None"]


def test_code_has_no_marks_after_a_run_that_fails(trace: Trace) -> None:
    snapshot, marks = last_of(trace), []
    with pytest.raises(AssertionError), snapshot.marked(marks.append):
        snapshot.circuit()(*[one[:1] if isinstance(one, torch.Tensor) else one for one in trace.examples])
    count = len(marks)
    snapshot.results(trace.examples)
    assert len(marks) == count


def test_another_thread_runs_the_program_without_marks_meanwhile() -> None:
    code = """
class Runner:
    def call(self):
        kernel_0(buf0)
        kernel_0(buf1)
"""
    module, marks = ModuleType("generated"), list[int | None]()
    inside, goes_on = Event(), Event()

    def kernel(_: object) -> None:
        inside.set()
        assert goes_on.wait(60)

    vars(module).update(kernel_0=kernel, buf0=None, buf1=None)
    exec(code, vars(module))
    marked = MarkedCode(module, code, [MarkedCall(1, "kernel_0", ["buf0"]), MarkedCall(2, "kernel_0", ["buf1"])])
    with ThreadPoolExecutor(1) as other:
        with marked.marked(marks.append):
            late = other.submit(module.Runner().call)
            assert inside.wait(60)
        goes_on.set()
        late.result(60)  # it went on in the marked code after the marks were gone
    assert not marks


def test_calls_and_their_sum_and_the_whole_have_times(trace: Trace) -> None:
    run = bench.measure_layers(trace, **FEW)
    whole, total, *calls = run.timings
    assert (whole.what, total.what, {one.what for one in calls}) == (WHOLE, SUM, {LAYER})
    assert [one.node for one in calls] == last_of(trace).calls
    assert all(one.median for one in (whole, total, *calls))
    table = layer_table(TraceIndex(trace), run)
    assert table["columns"] == ["call", "time", "share", "bytes moved"]
    assert [row[0] for row in table["rows"][-2:]] == ["sum of calls", "whole forward pass"]
    assert layers_note(run).startswith("The calls one by one take ")


def test_the_sum_of_a_run_is_that_of_its_calls(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = last_of(trace).calls
    seconds = {None: 100.0, **{call: 2.0**at for at, call in enumerate(calls)}}
    monkeypatch.setattr(watched_times, "_run_calls", lambda *_: seconds)
    _, total, *timed = bench.measure_layers(trace, **FEW).timings
    assert [one.median for one in timed] == [1000 * seconds[call] for call in calls]
    assert total.median == fsum(one.median or 0 for one in timed)


def test_a_device_that_cannot_run_the_code_gets_the_reason(trace: Trace) -> None:
    begun = MeasurementRun(Settings(devices=(CUDA,)), (CUDA,), {})  # a machine with CUDA and a trace of the CPU
    assert time_watched(begun, trace, len(trace.steps) - 1) == ((), False)
    assert begun.missing == {CUDA: "this trace runs on the CPU only"}


def test_a_step_whose_code_is_not_known_is_refused(trace: Trace) -> None:
    assert not bench.has_part_times(trace, "lower")
    with pytest.raises(CircuitError, match="after the step codegen"):
        bench.measure_layers(trace, "lower", **FEW)
