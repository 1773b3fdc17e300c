"""Reads and writes in an order that a pass could get wrong, and result types that depend on more than inputs."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import OperatorError
from explorer.program.ir.instructions import Call, Stack, Way
from explorer.program.lowering import lower
from explorer.program.running.executor import Executor
from explorer.tensor import FunctionGraph, TensorType, Variable, call
from tests.program.programs import after, assert_computes, graph_of, kinds, poison, program_of, snapshot_of

X = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
aten = torch.ops.aten

CONCAT = """
program concat
%0 = input x : f32[2,2]
%1 = output y : f32[4,2]
%2 = output z : f32[2,2]
%3 = alloc f32[2,2]
#4 aten.exp.default(self=%0) -> %3
%5 = alloc f32[2,2]
#6 aten.neg.default(self=%0) -> %5
%7 = alloc f32[4,2]
#8 aten.cat.default(tensors=[%3, %5]) -> %7
#9 aten.sin_.default(self=%7) -> %7 (itself)
#10 copy %7 -> %1
#11 copy %3 -> %2
#12 dealloc %3
#13 dealloc %5
#14 dealloc %7
"""
FULL = ("OptimizeInserts", "ShareBuffers", "Peephole", "DeleteDeadAllocs", "HoistDealloc", "SinkAllocas", "PlanMemory")


def test_part_read_after_its_concatenation_is_overwritten_has_its_own_memory():
    program = program_of(CONCAT)
    wanted = Executor(program, poison)(X)
    found = after(program, *FULL)
    assert all(map(torch.equal, Executor(found, poison)(X), wanted))
    assert torch.equal(wanted[1], X.exp())


def test_parts_are_not_made_in_a_result_whose_memory_is_in_use_before():
    text = CONCAT.replace("%7 = alloc f32[4,2]\n", "").replace("%3 = alloc", "%7 = alloc f32[4,2]\n%3 = alloc")
    text = text.replace("%5 = alloc", "%15 = view %7 : f32[2,2] + 0 bytes\n#16 copy %0 -> %15\n%5 = alloc")
    text = text.replace("neg.default(self=%0)", "neg.default(self=%15)").replace(
        "#9 aten.sin_.default(self=%7) -> %7 (itself)\n", ""
    )
    program = program_of(text)
    found = after(program, *FULL)
    assert all(map(torch.equal, Executor(found, poison)(X), Executor(program, poison)(X)))


def test_a_part_that_nothing_overwrites_is_made_in_its_place():
    text = CONCAT.replace("#9 aten.sin_.default(self=%7) -> %7 (itself)\n", "")
    assert "cat" not in kinds(after(program_of(text), "OptimizeInserts"))


def test_a_result_that_was_freed_before_its_parts_lives_as_long_as_they():
    text = CONCAT.replace("#9 aten.sin_.default(self=%7) -> %7 (itself)\n", "")
    freed = text.replace("#11 copy", "#14 dealloc %7\n#11 copy").removesuffix("#14 dealloc %7\n")
    found = after(program_of(freed), "OptimizeInserts")
    assert "cat" not in kinds(found)
    assert all(map(torch.equal, Executor(found, poison)(X), Executor(program_of(text), poison)(X)))


def test_a_copy_that_was_freed_before_its_source_lives_as_long_as_that():
    text = """
program copied
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%2 = output z : f32[2,2]
%3 = alloc f32[2,2]
#4 aten.exp.default(self=%0) -> %3
%5 = alloc f32[2,2]
#6 copy %3 -> %5
#7 aten.neg.default(self=%5) -> %1
#8 dealloc %5
#9 aten.sin.default(self=%3) -> %2
#10 dealloc %3
"""
    found = after(program_of(text), "ShareBuffers")
    assert "copy" not in kinds(found)
    assert all(map(torch.equal, Executor(found, poison)(X), Executor(program_of(text), poison)(X)))


def test_an_operator_that_overwrites_a_view_of_an_input_is_refused():
    x = Variable(TensorType(torch.float32, (2, 2)), name="x")
    row = call(aten.select.int, x, 0, 1)
    graph = FunctionGraph([x], [call(aten.neg.default, row)])
    lowered = lower(graph)
    assert kinds(lowered)[0] == "view"
    graph = FunctionGraph([x], [call(aten.exp_.default, row)])
    with pytest.raises(OperatorError, match="overwrites memory of the input x"):
        lower(graph)


def test_the_type_of_a_quotient_of_integers_is_that_of_the_present_default():
    def program():
        x = Variable(TensorType(torch.int64, (3,)), name="x")
        return lower(FunctionGraph([x], [call(aten.div.Tensor, x, x)]))

    before = torch.get_default_dtype()
    assert program().weights[-1].type.dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert program().weights[-1].type.dtype == torch.float64
    finally:
        torch.set_default_dtype(before)


def test_an_input_that_begins_between_two_elements_of_its_view_is_refused():
    text = """
program bits
%0 = input x : u8[8]
%1 = output y : i32[2]
%2 = view %0 : i32[2] + 0 bytes
#3 copy %2 -> %1
"""
    data = torch.arange(9, dtype=torch.uint8)
    executor = Executor(program_of(text))
    assert torch.equal(executor(data[:8])[0], data[:8].view(torch.int32))
    with pytest.raises(OperatorError, match="between two of its elements"):
        executor(data[1:])


def test_a_loss_is_not_written_into_planned_memory_because_its_kernel_enlarges_it():
    x, y = (Variable(TensorType(torch.float32, (40, 40)), name=name) for name in "xy")
    program = lower(FunctionGraph([x, y], [call(aten.mse_loss.default, x, y)]))
    assert [one.way for one in program.instructions if isinstance(one, Call)] == [Way.COPIED]


ROWS = torch.tensor([2, 0, 2])
PLACES = ROWS.unsqueeze(1).expand(3, 4)
CHANGING = {
    "index_add": lambda h, y: h.index_add(0, ROWS, y),
    "index_copy": lambda h, y: h.index_copy(0, ROWS[:2], y[:2]),
    "scatter": lambda h, y: h.scatter(0, PLACES[:2], y[:2]),
    "scatter_add": lambda h, y: h.scatter_add(0, PLACES, y),
}


class Changing(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, x):
        return self.change(x.exp(), x.neg()).sin() + self.change(torch.zeros(3, 4), x.neg())


@pytest.mark.parametrize("name", CHANGING)
def test_an_operator_that_changes_elements_is_computed_over_its_first_input(name):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    snapshot = snapshot_of(explorer.record(Changing(CHANGING[name]), (x,), level="program", tensor_pipeline=[]))
    stacked = [
        part for one in snapshot.program.instructions for part in (one.calls if isinstance(one, Stack) else [one])
    ]
    calls = [one for one in stacked if isinstance(one, Call) and one.op.name == name]
    assert len(calls) == 2
    assert all(one.inputs[0] == one.outputs[0] and one.way is Way.OUT for one in calls)
    assert_computes(snapshot.program, graph_of(snapshot), x)
    assert "zeros.default" in snapshot.program.text()
    assert "(copied)" not in snapshot.program.text()
