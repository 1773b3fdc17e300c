"""StackDataParallel: consecutive elementwise calls on equally many elements are one kernel."""

from itertools import count

import pytest
import torch

from explorer.errors import GraphError
from explorer.program.editing import Kept
from explorer.program.ir.instructions import Stack
from explorer.program.passes.schedule import stack_data_parallel
from tests.program.programs import after, kinds, program_of
from tests.program.test_passes import CHAIN, X, run


def stacks(program) -> list[list[str]]:
    """The operators of each stack."""
    return [[call.op.name for call in one.calls] for one in program.instructions if isinstance(one, Stack)]


def why_kept(text: str) -> list[tuple[int, str]]:
    found = stack_data_parallel(program_of(text), count(100))
    return [(one.root, one.reason) for one in found if isinstance(one, Kept)]


def test_a_chain_is_one_stack_and_allocations_do_not_break_it():
    found = after(program_of(CHAIN), "StackDataParallel")
    assert stacks(found) == [["exp", "neg", "add"]]
    assert kinds(found) == ["alloc", "alloc", "alloc", "stack", "copy", "dealloc", "dealloc", "dealloc"]
    assert torch.equal(run(found, X), -2 * X.exp())


def test_deallocations_between_the_calls_move_behind_the_stack():
    text = CHAIN.replace("#9 dealloc %2\n", "").replace("%6 = alloc", "#9 dealloc %2\n%6 = alloc")
    found = after(program_of(text), "StackDataParallel")
    assert kinds(found) == ["alloc", "alloc", "alloc", "stack", "dealloc", "copy", "dealloc", "dealloc"]
    assert torch.equal(run(found, X), -2 * X.exp())


def test_a_stack_keeps_the_memory_plan_and_ends_before_freed_memory_is_used_again():
    found = after(program_of(CHAIN), "HoistDealloc", "SinkAllocas", "PlanMemory", "StackDataParallel")
    assert found.offsets == {2: 0, 4: 64, 6: 0}
    assert stacks(found) == [["exp", "neg"]]  # the sum is where exp was
    assert torch.equal(run(found, X), -2 * X.exp())


def test_results_written_over_their_inputs_are_one_stack():
    found = after(program_of(CHAIN), "ShareBuffers", "Peephole", "StackDataParallel")
    assert kinds(found) == ["stack"]
    assert torch.equal(run(found, X), -2 * X.exp())


OVERLAPPING = """
program overlapping
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%2 = alloc f32[2,2]
#3 aten.exp.default(self=%0) -> %2
%4 = view %2 : f32[2,2]{1,2} + 0 bytes, transpose
#5 aten.neg.default(self=%4) -> %1
#6 dealloc %2
"""


def test_a_call_that_reads_other_elements_than_were_written_starts_a_new_stack():
    found = after(program_of(OVERLAPPING), "StackDataParallel")
    assert not stacks(found)
    assert why_kept(OVERLAPPING) == [(5, "%4 overlaps %2 of #3, and they are not the same elements")]
    assert torch.equal(run(found, X), -X.exp().T)


def test_a_call_that_overwrites_what_was_read_in_another_order_starts_a_new_stack():
    text = OVERLAPPING.replace("#6 dealloc", "#7 aten.sin.default(self=%0) -> %2\n#6 dealloc")
    assert stacks(after(program_of(text), "StackDataParallel")) == []
    assert [number for number, _ in why_kept(text)] == [5, 7]


def test_a_broadcast_row_does_not_break_a_stack_unless_the_stack_writes_it():
    text = CHAIN.replace("%1 = output", "%12 = input row : f32[2]\n%1 = output").replace("other=%4", "other=%12")
    found = after(program_of(text), "StackDataParallel")
    assert stacks(found) == [["exp", "neg", "add"]]
    row = torch.tensor([1.0, 2.0])
    assert torch.equal(run(found, X, row), -X.exp() + row)


def test_calls_on_other_numbers_of_elements_are_other_stacks():
    text = """
program sizes
%0 = input x : f32[2,2]
%1 = input z : f32[3]
%2 = output y : f32[2,2]
%3 = output w : f32[3]
#4 aten.exp.default(self=%0) -> %2
#5 aten.neg.default(self=%2) -> %2
#6 aten.sin.default(self=%1) -> %3
#7 aten.cos.default(self=%3) -> %3
"""
    assert stacks(after(program_of(text), "StackDataParallel")) == [["exp", "neg"], ["sin", "cos"]]
    assert why_kept(text) == [(6, "%3 has 3 elements, and %2 has 4")]


@pytest.mark.parametrize("between", [
    "#20 aten.mm.default(self=%0, mat2=%0) -> %6",
    "#20 copy %0 -> %6",
    "#20 aten.bernoulli.default(self=%0) -> %6 (copied)",
])  # fmt: skip
def test_what_is_not_elementwise_breaks_a_stack(between):
    text = CHAIN.replace("%6 = alloc f32[2,2]", f"%6 = alloc f32[2,2]\n{between}")
    assert stacks(after(program_of(text), "StackDataParallel")) == [["exp", "neg"]]


def test_a_single_call_is_no_stack():
    text = CHAIN.replace("#5 aten.neg.default(self=%2)", "#5 aten.mm.default(self=%2, mat2=%2)")
    assert not stacks(after(program_of(text), "StackDataParallel"))


@pytest.mark.parametrize(("calls", "words"), [
    ("#3 aten.exp.default(self=%0) -> %1 ; #4 aten.mm.default(self=%0, mat2=%0) -> %1", "mm is not elementwise"),
    ("#3 aten.exp.default(self=%0) -> %1 ; #4 aten.neg.default(self=%2) -> %5", "are not the same elements"),
])  # fmt: skip
def test_a_stack_that_is_no_loop_over_elements_is_refused(calls, words):
    text = f"""
program wrong
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%5 = output z : f32[2,2]
%2 = view %1 : f32[2,2]{{1,2}} + 0 bytes, transpose
#9 stack {{ {calls} }}
"""
    with pytest.raises(GraphError, match=words):
        program_of(text)
