"""The times of kernel calls: of each group alone, with the share of the roof that it reaches."""

from math import fsum

import pytest

import explorer
from explorer import bench
from explorer.bench import layer_times, random_inputs
from explorer.bench.measurement_run import MeasurementRun, Settings
from explorer.compiler import TorchCompiler
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot
from explorer.templates import load_named
from explorer.timings import CPU, CUDA, LAYER, SUM, WHOLE
from explorer.trace import KERNELS, Trace
from explorer.views import TraceIndex, layer_table, layers_note
from tests.runtime.circuits import has_compiler

pytestmark = has_compiler


@pytest.fixture(scope="module")
def digits() -> Trace:
    compiled = TorchCompiler().compile(load_named("digits"))
    return explorer.record(compiled, (random_inputs(compiled, 64),), level=KERNELS)


@pytest.mark.parametrize("step", [0, -1])
def test_every_call_has_a_time_and_a_roof_and_together_they_are_the_sum(digits, step):
    run = bench.measure_layers(digits, step, max_seconds=0.5, precision=0.5)
    whole, total, *calls = run.timings
    assert (whole.what, total.what) == (WHOLE, SUM)
    assert {timing.what for timing in calls} == {LAYER}
    snapshot = digits.step(step).snapshot
    assert isinstance(snapshot, KernelsSnapshot)
    assert {timing.node for timing in calls} == {number for number, _ in snapshot.plan.computed()}
    assert total.median == pytest.approx(fsum(timing.median or 0.0 for timing in calls))
    assert total.median
    assert whole.median
    assert all(timing.roof_ms for timing in calls)
    assert {timing.batch_size for timing in run.timings} == {64}


def test_a_device_without_kernels_gets_the_reason(digits):
    begun = MeasurementRun(Settings(devices=(CUDA,)), (CUDA,), {})  # a machine with CUDA
    assert layer_times._time_calls(begun, digits, 0, digits.examples[0]) == ((), False)
    assert begun.missing == {CUDA: "this trace runs on the CPU only"}
    begun = MeasurementRun(Settings(devices=(CPU, CUDA)), (CPU, CUDA), {})
    assert begun.keep_only(CPU)
    assert begun.missing == {CUDA: "this trace runs on the CPU only"}


def test_calls_are_listed_by_plate_and_the_slowest_first(digits):
    run = bench.measure_layers(digits, max_seconds=0.5, precision=0.5)
    table = layer_table(TraceIndex(digits), run)
    assert table["columns"] == ["kernel calls", "calls", "FLOP", "time", "share", "share of the roof"]
    # 64 rows of 16 units: 16 products of 4 numbers, and a multiplication and an addition for each of 16 x 16 weights.
    assert table["rows"][0][:3] == ["Sum of products of layer.257", "16", "573 thousand"]
    assert [row[0] for row in table["rows"][-2:]] == ["sum of kernel calls", "whole forward pass"]
    assert layers_note(run).startswith("The kernel calls one by one take ")


def test_the_steps_have_the_memory_of_the_kernels_and_shares_of_the_roof(digits):
    run = bench.measure_steps(digits, [0, -1], max_seconds=0.5, precision=0.5)
    first, last = run.timings
    assert first.rows_recomputed == last.rows_recomputed == 0
    assert first.roof_ms
    assert last.roof_ms
    assert first.roof_ms > last.roof_ms, "tables need no products"
    assert first.peak_bytes
    assert last.peak_bytes
    assert first.peak_bytes > last.peak_bytes, "values share slots"
