"""The memory passes on small programs: what they change, and that values stay; Glow's facts about its own passes."""

from itertools import count

import pytest
import torch

from explorer.program.editing import Kept
from explorer.program.ir.instructions import Dealloc, operands
from explorer.program.passes.buffers import share_buffers
from explorer.program.running.executor import Executor
from tests.program.programs import after, kinds, poison, program_of

X = torch.tensor([[1.0, -2.0], [3.0, -4.0]])

CHAIN = """
program chain
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%2 = alloc f32[2,2]
#3 aten.exp.default(self=%0) -> %2
%4 = alloc f32[2,2]
#5 aten.neg.default(self=%2) -> %4
%6 = alloc f32[2,2]
#7 aten.add.Tensor(self=%4, other=%4) -> %6
#8 copy %6 -> %1
#9 dealloc %2
#10 dealloc %4
#11 dealloc %6
"""


def run(program, *inputs):
    return Executor(program, poison)(*inputs)[0]


def test_a_chain_of_elementwise_calls_shares_one_buffer_which_is_the_output():
    before = program_of(CHAIN)
    found = after(before, "ShareBuffers", "DeleteDeadAllocs")
    assert [kind for kind in kinds(found) if kind != "view"] == ["exp", "neg", "add"]
    assert not found.allocs
    assert torch.equal(run(found, X), -2 * X.exp())


def test_a_value_that_is_read_later_is_not_overwritten():
    text = CHAIN.replace("add.Tensor(self=%4, other=%4)", "add.Tensor(self=%4, other=%2)")
    found = after(program_of(text), "ShareBuffers", "DeleteDeadAllocs")
    assert len(found.allocs) == 1  # exp stays alive until add
    assert torch.equal(run(found, X), -X.exp() + X.exp())


def test_a_result_that_was_allocated_before_its_input_is_written_over_it():
    text = CHAIN.replace("%4 = alloc f32[2,2]\n", "").replace("%2 = alloc", "%4 = alloc f32[2,2]\n%2 = alloc")
    found = after(program_of(text), "ShareBuffers", "Peephole")
    assert not found.allocs
    assert torch.equal(run(found, X), -2 * X.exp())


def test_an_input_is_never_overwritten():
    found = after(program_of(CHAIN), "ShareBuffers")
    x = X.clone()
    run(found, x)
    assert torch.equal(x, X)


MATMUL = """
program matmul
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%2 = alloc f32[2,2]
#3 aten.exp.default(self=%0) -> %2
%4 = alloc f32[2,2]
#5 aten.mm.default(self=%2, mat2=%2) -> %4
#8 copy %4 -> %1
#9 dealloc %2
#10 dealloc %4
"""


def test_a_matrix_product_is_not_written_over_its_input():
    found = after(program_of(MATMUL), "ShareBuffers", "DeleteDeadAllocs")
    assert list(found.allocs) == [2]
    assert torch.equal(run(found, X), X.exp() @ X.exp())


def test_buffers_are_freed_after_their_last_use_and_allocated_before_their_first():
    text = MATMUL.replace("%2 = alloc f32[2,2]\n", "").replace("#3", "%4 = alloc f32[2,2]\n%2 = alloc f32[2,2]\n#3")
    text = text.replace("%4 = alloc f32[2,2]\n#5", "#5")
    found = after(program_of(text), "HoistDealloc", "SinkAllocas")
    assert kinds(found) == ["alloc", "exp", "alloc", "mm", "dealloc", "copy", "dealloc"]
    assert [one.buffer for one in found.instructions if isinstance(one, Dealloc)] == [2, 4]
    assert torch.equal(run(found, X), X.exp() @ X.exp())


def test_hoisting_twice_changes_nothing_the_second_time():
    once = after(program_of(MATMUL), "HoistDealloc", "SinkAllocas")
    assert after(once, "HoistDealloc", "SinkAllocas").text() == once.text()


STORES = """
program stores
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
#2 aten.exp.default(self=%0) -> %1
#3 aten.neg.default(self=%0) -> %1
#4 copy %0 -> %1
"""


def test_stores_that_are_overwritten_unread_are_removed_and_the_last_one_stays():
    found = after(program_of(STORES), "DSE")
    assert kinds(found) == ["copy"]
    assert torch.equal(run(found, X), X)


def test_a_store_that_is_read_before_it_is_overwritten_stays():
    found = after(program_of(STORES.replace("neg.default(self=%0)", "neg.default(self=%1)")), "DSE")
    assert kinds(found) == ["copy"]  # nothing reads what neg writes, then nothing reads what exp writes
    text = STORES.replace("copy %0 -> %1", "aten.neg.default(self=%1) -> %1")
    assert kinds(after(program_of(text), "DSE")) == ["neg", "neg"]


def test_a_write_of_a_part_keeps_what_was_in_the_rest():
    text = """
program part
%0 = input x : f32[2]
%1 = output y : f32[2,2]
%2 = input z : f32[2,2]
#3 copy %2 -> %1
%4 = view %1 : f32[2] + 8 bytes, select
#5 copy %0 -> %4
"""
    found = after(program_of(text), "DSE")
    assert kinds(found) == ["copy", "view", "copy"]
    row = torch.tensor([7.0, 8.0])
    assert torch.equal(run(found, row, X), torch.stack([X[0], row]))


def test_unused_views_and_buffers_are_removed():
    text = CHAIN.replace("#3 aten", "%12 = view %0 : f32[4] + 0 bytes\n%13 = view %12 : f32[2] + 0 bytes\n#3 aten")
    text = text.replace("#9", "%14 = alloc f32[99]\n#15 dealloc %14\n#9")
    assert after(program_of(text), "DeleteDeadAllocs").text() == program_of(CHAIN).text()


def test_random_operator_stays_because_later_ones_would_draw_other_numbers():
    text = STORES.replace("aten.exp.default(self=%0)", "aten.bernoulli.default(self=%0)").replace(
        "-> %1\n#3", "-> %1 (copied)\n#3"
    )
    assert kinds(after(program_of(text), "DSE")) == ["bernoulli", "copy"]


def test_weights_that_nothing_writes_become_constants():
    text = CHAIN.replace("%1 = output", "%12 = weight w : f32[3]\n%1 = output")
    found = after(program_of(text), "MakeWeightsConst")
    assert [weight.role.value for weight in found.weights] == ["input", "constant", "output"]


def test_a_copy_onto_itself_is_removed():
    text = CHAIN.replace("#8 copy", "#12 copy %6 -> %6\n#8 copy")
    assert after(program_of(text), "Peephole").text() == program_of(CHAIN).text()


def test_after_peephole_a_shared_buffer_is_an_inout_operand():
    found = after(program_of(CHAIN), "ShareBuffers", "Peephole", "DeleteDeadAllocs")
    assert found.text().splitlines()[3:] == [
        "#3 aten.exp.default(self=%0) -> %1",
        "#5 aten.neg.default(self=%1) -> %1",
        "#7 aten.add.Tensor(self=%1, other=%1) -> %1",
    ]
    assert [(one.value, one.kind.value) for one in operands(found.instructions[1])] == [(1, "inout")]
    assert torch.equal(run(found, X), -2 * X.exp())


def test_views_of_views_of_the_same_type_are_all_replaced_by_their_source():
    views = "%12 = view %0 : f32[2,2] + 0 bytes, alias\n%13 = view %12 : f32[2,2] + 0 bytes, alias\n"
    text = CHAIN.replace("%2 = alloc", f"{views}%2 = alloc").replace("exp.default(self=%0)", "exp.default(self=%13)")
    assert after(program_of(text), "Peephole").text() == program_of(CHAIN).text()


@pytest.mark.parametrize("kind", ["f32[4] + 0", "f32[2,2]{1,2} + 0", "f32[2] + 8", "i32[2,2] + 0"])
def test_a_view_of_another_type_or_of_a_part_stays(kind):
    text = CHAIN.replace("%2 = alloc", f"%12 = view %0 : {kind} bytes, view\n%2 = alloc")
    assert kinds(after(program_of(text), "Peephole"))[0] == "view"


def test_why_a_result_is_not_written_over_an_input_is_told():
    found = [one for one in share_buffers(program_of(CHAIN), count(100)) if isinstance(one, Kept)]
    assert [(one.root, one.reason) for one in found] == [(3, "%0 is the input x")]
