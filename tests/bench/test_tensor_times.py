"""Times of a tensor graph after the passes that changed it; its shapes are fixed."""

from copy import deepcopy

import pytest
import torch
from torch import nn

import explorer
from explorer.bench import measure_layers, measure_steps, measure_sweep
from explorer.errors import CircuitError
from explorer.timings import default_steps
from explorer.views import TraceIndex, bottlenecks, step_bars
from tests.bench.test_step_times import median_of


@pytest.fixture(scope="module")
def trace():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    return explorer.record(module, (torch.randn(4, 3, 8, 8),))


def test_every_pass_that_changed_something_is_timed_with_the_arguments_of_the_trace(trace):
    run = measure_steps(trace, max_seconds=0.3)
    changed = [trace.step(step).path.partition("/")[0] for step in default_steps(trace)]
    assert [timing.what.partition("/")[0] for timing in run.timings] == changed
    assert {"import", "OptimizeBatchNorm"} <= set(changed)
    for timing in run.timings:
        assert median_of(timing) > 0
        assert timing.batch_size == 4
        assert timing.layers == trace.stats(timing.step)["operators"]
        assert timing.planned_bytes == trace.stats(timing.step)["activation_bytes"]
        assert timing.one_row is None
    executed = [timing.operators or 0 for timing in run.timings]
    assert executed[0] - executed[-1] == 1  # the batch norm


def test_custom_arguments_are_used(trace):
    run = measure_steps(trace, [0, -1], x=(torch.zeros(4, 3, 8, 8),), max_seconds=0.2)
    assert [timing.missing for timing in run.timings] == ["", ""]


def test_a_state_with_a_different_value_is_not_timed_and_has_a_reason(trace, monkeypatch):
    spoiled = deepcopy(trace.circuit_at(-1))
    for value in (*spoiled.buffers(), *spoiled.parameters()):
        value.data.mul_(2)
    real = type(trace).circuit_at
    last = len(trace.steps) - 1
    monkeypatch.setattr(type(trace), "circuit_at", lambda self, step: spoiled if step == last else real(self, step))
    run = measure_steps(trace, [0, last], max_seconds=0.2)
    assert run.timings[0].estimate is not None
    assert run.timings[1].missing.startswith("no time: the output differs from the unoptimized one's on the CPU by")


def test_timing_leaves_the_constants_of_the_trace_alone(trace):
    before = [value.clone() for value in trace.circuit_at(-1).state_dict().values()]
    measure_steps(trace, [-1], max_seconds=0.2)
    for value, kept in zip(trace.circuit_at(-1).state_dict().values(), before, strict=True):
        assert torch.equal(value, kept)


def test_a_training_step_is_timed_if_the_graph_is_for_training():
    trace = explorer.record(nn.Linear(3, 2), (torch.randn(4, 3),), mode="train")
    run = measure_steps(trace, kind="training", max_seconds=0.2)
    assert all(median_of(timing) > 0 for timing in run.timings)


@pytest.mark.parametrize("measure", [measure_layers, measure_sweep])
def test_measurements_of_layers_or_batch_sizes_are_refused(trace, measure):
    with pytest.raises(CircuitError, match="this trace is of operators of fixed shapes: time its steps"):
        measure(trace)


def test_views_name_operators_and_have_no_lints_about_layers(trace):
    index = TraceIndex(trace)
    run = measure_steps(trace, max_seconds=0.2)
    assert step_bars(index, run)["table"]["columns"][1] == "operators"
    assert {bottleneck.kind for bottleneck in bottlenecks(index, [run])} <= {"launch-bound"}


class Scaled(nn.Module):
    """Has a keyword-only argument."""

    def forward(self, x, *, scale):
        return (x * scale).relu()


def test_keyword_arguments_are_passed_by_keyword():
    trace = explorer.record(Scaled(), (torch.randn(3, 4),), kwargs={"scale": torch.tensor(2.0)})
    (timing,) = measure_steps(trace, [-1], max_seconds=0.2).timings
    assert median_of(timing) > 0


@pytest.mark.parametrize("is_training", [True, False])
def test_a_module_is_timed_in_the_mode_in_which_it_was_recorded(is_training):
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).train(is_training)
    trace = explorer.record(module, (torch.randn(4, 3),), mode="train")
    for kind in ("forward", "training"):
        run = measure_steps(trace, steps=(0, -1), kind=kind, max_seconds=0.1)
        assert all(median_of(timing) > 0 for timing in run.timings)
