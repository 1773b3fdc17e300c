"""`trace.check()` at the program level: what it reports of programs with planted defects."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import explorer
from explorer.program import lowering
from explorer.program.ir.instructions import Call, Copy, Number
from tests.program.programs import snapshot_of

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """Elementwise operators, a view, integers, and a comparison."""

    def forward(self, x):
        values, order = x * 2, x.detach().argsort()
        return values.exp().t() @ values, order * 2 + 1, (values.abs() > 1).logical_not()


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Decomposition(nn.Module):
    def forward(self, x):
        q, r = torch.linalg.qr(x + 1)
        return q.sum(0), r.sum(0)


def with_program(trace, change):
    """A trace with other instructions in the program of its last step that changed something."""
    step = next(step for step in reversed(trace.steps) if step.changed)
    snapshot = snapshot_of(trace, step.index)
    program = replace(snapshot.program, instructions=tuple(change(snapshot.program.instructions)))
    steps = list(trace.steps)
    steps[step.index] = replace(step, snapshot=replace(snapshot, program=program))
    return replace(trace, steps=tuple(steps)), step.index


def internal_writes(program):
    """The instructions that write buffers, not outputs."""
    found = [one for one in program.instructions if isinstance(one, Call | Copy)]
    return [one for one in found if all(program.origin(value) in program.allocs for value in one.values_written)]


@pytest.mark.parametrize("mode", ["infer", "train"])
def test_each_write_that_a_program_leaves_out_is_reported(mode):
    x = X.clone().requires_grad_(mode == "train")
    trace = explorer.record(Net(), (x,), level="program", mode=mode, pipeline=["HoistDealloc", "PlanMemory"])
    assert all(check.ok for check in trace.check())
    missed = internal_writes(snapshot_of(trace).program)
    assert len(missed) >= 5
    for missing in missed:
        broken, index = with_program(trace, lambda found, missing=missing: [one for one in found if one is not missing])
        checks = {check.step: check for check in broken.check()}
        assert not checks[index].ok, missing


def test_a_kernel_that_leaves_its_result_unwritten_is_reported(monkeypatch):
    monkeypatch.setattr(lowering, "computes_in_place", lambda target, device: True)
    trace = explorer.record(Decomposition(), (X,), level="program")
    assert not all(check.ok for check in trace.check())


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_module_without_parameters_is_checked_for_training(requires_grad):
    trace = explorer.record(Double(), (X.clone().requires_grad_(requires_grad),), level="program", mode="train")
    for x in (None, (X,), (X.clone().requires_grad_(),)):
        assert all(check.ok for check in trace.check(x))


def test_a_wrong_gradient_of_an_input_is_reported():
    x = X.clone().requires_grad_()
    trace = explorer.record(Double(), (x,), level="program", mode="train", pipeline=["HoistDealloc", "PlanMemory"])

    def change(found):
        *_, last = (i for i, one in enumerate(found) if isinstance(one, Call))
        call = found[last]
        inputs = tuple(Number(3, value.dtype) if isinstance(value, Number) else value for value in call.inputs)
        assert inputs != call.inputs
        return [*found[:last], replace(call, inputs=inputs), *found[last + 1 :]]

    broken, index = with_program(trace, change)
    for given in (None, (X,)):
        assert [check.step for check in broken.check(given) if not check.ok] == [index]
