"""Facts of Glow's tests of its IR optimizer, on small programs: the instructions that are left, and the values.

Slices and insertions are views and `cat` here, so that counts differ where Glow has instructions for them.
"""

import pytest
import torch

from explorer.program.passes import MEMORY_PIPELINE
from tests.program.programs import after, kinds, program_of
from tests.program.test_passes import run

X = torch.arange(1.0, 7.0).reshape(2, 3)
ALL = MEMORY_PIPELINE.pass_ids


def test_dse_the_last_write_of_a_weight_stays_and_a_view_that_nothing_uses_goes():
    text = """
program dse
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
%2 = view %1 : f32[6] + 0 bytes, view
#3 aten.neg.default(self=%0) -> %1
#4 copy %0 -> %1
"""
    found = after(program_of(text), "DSE", "DeleteDeadAllocs")
    assert kinds(found) == ["copy"]
    assert torch.equal(run(found, X), X)


def test_share_buffers_three_allocations_of_one_size_become_none():
    text = """
program share
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
%2 = alloc f32[2,3]
%3 = alloc f32[2,3]
%4 = alloc f32[2,3]
#5 copy %0 -> %2
#6 aten.neg.default(self=%2) -> %3
#7 aten.exp.default(self=%3) -> %4
#8 copy %4 -> %1
#9 dealloc %2
#10 dealloc %3
#11 dealloc %4
"""
    found = after(program_of(text), "OptimizeExtracts", "ShareBuffers", "Peephole", "DeleteDeadAllocs")
    assert kinds(found) == ["neg", "exp"]
    assert torch.equal(run(found, X), (-X).exp())


COPIES = """
program copies
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
%2 = alloc f32[2,3]
#3 aten.exp.default(self=%0) -> %2
%4 = alloc f32[2,3]
#5 copy %2 -> %4
%6 = alloc f32[2,3]
#7 copy %4 -> %6
#8 aten.neg.default(self=%6) -> %1
#9 dealloc %2
#10 dealloc %4
#11 dealloc %6
"""


@pytest.mark.parametrize("names", [("OptimizeExtracts",), ("ShareBuffers",)])
def test_copy_propagation_a_chain_of_two_copies_goes_with_its_buffers(names):
    """Either reading where the elements are, or making them where they go, is enough."""
    found = after(program_of(COPIES), *names, "Peephole", "DeleteDeadAllocs")
    assert "copy" not in kinds(found)
    assert len(found.allocs) <= 1
    assert torch.equal(run(found, X), -X.exp())


def test_copy_propagation_stops_where_the_source_is_overwritten_in_place():
    text = COPIES.replace("#7 copy", "#20 aten.neg.default(self=%2) -> %2\n#7 copy")
    text = text.replace("aten.neg.default(self=%6)", "aten.add.Tensor(self=%6, other=%2)")
    for names in (("OptimizeExtracts",), ("ShareBuffers",), ALL):
        found = after(program_of(text), *names)
        assert kinds(found).count("copy") == 1
        assert torch.equal(run(found, X), X.exp() - X.exp())


def test_an_inout_operand_of_a_copy_keeps_its_users():
    """The copy is changed in place: its source still has the old elements."""
    text = """
program inout
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
%2 = alloc f32[2,3]
#3 copy %0 -> %2
#4 aten.neg.default(self=%2) -> %2
#5 aten.add.Tensor(self=%2, other=%0) -> %1
#6 dealloc %2
"""
    found = after(program_of(text), *ALL)
    assert kinds(found).count("copy") == 1
    x = X.clone()
    assert torch.equal(run(found, x), X - X)
    assert torch.equal(x, X)


def test_a_buffer_with_a_first_use_that_only_reads_the_output_keeps_its_copy():
    """Glow adds a copy if sharing leaves a weight without its value; here such buffers are not shared."""
    text = """
program reuse
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
%2 = alloc f32[2,3]
#3 copy %0 -> %1
#4 aten.neg.default(self=%1) -> %2
#5 copy %2 -> %1
#6 dealloc %2
"""
    found = after(program_of(text), *ALL)
    assert kinds(found) == ["copy", "alloc", "neg", "copy", "dealloc"]
    assert torch.equal(run(found, X), -X)


@pytest.mark.parametrize(("offset", "copies"), [(0, 0), (12, 1)])
def test_peephole_removes_copies_between_equal_offsets_only(offset, copies):
    text = f"""
program offsets
%0 = input x : f32[2,3]
%1 = output y : f32[2,3]
#2 copy %0 -> %1
%3 = view %1 : f32[3] + 0 bytes, select
%4 = view %1 : f32[3] + {offset} bytes, select
#5 copy %3 -> %4
"""
    found = after(program_of(text), "Peephole")
    assert kinds(found).count("copy") == 1 + copies
    assert torch.equal(run(found, X), X if offset == 0 else X[:1].expand(2, 3))


def insertion(dim: int) -> str:
    """A program that concatenates the negated halves of its input."""
    shape = "[2,3]" if dim == 0 else "[3,2]"
    whole = "[4,3]" if dim == 0 else "[3,4]"
    return f"""
program insertion
%0 = input x : f32{shape}
%1 = output y : f32{whole}
%2 = alloc f32{shape}
#3 aten.neg.default(self=%0) -> %2
%4 = alloc f32{shape}
#5 aten.exp.default(self=%0) -> %4
%6 = alloc f32{whole}
#7 aten.cat.default(tensors=[%2, %4], dim={dim}) -> %6
#8 copy %6 -> %1
#9 dealloc %2
#10 dealloc %4
#11 dealloc %6
"""


def test_insertions_of_contiguous_parts_are_computed_in_their_places():
    found = after(program_of(insertion(0)), "OptimizeInserts", "ShareBuffers", "Peephole", "DeleteDeadAllocs")
    assert kinds(found) == ["view", "neg", "view", "exp"]
    assert not found.allocs
    assert torch.equal(run(found, X), torch.cat((-X, X.exp())))


def test_insertions_of_parts_with_gaps_stay_a_concatenation():
    text = insertion(1)
    found = after(program_of(text), "OptimizeInserts", "ShareBuffers", "Peephole", "DeleteDeadAllocs")
    assert kinds(found).count("cat") == 1
    assert torch.equal(run(found, X.T.contiguous()), torch.cat((-X.T, X.T.exp()), 1))


def test_an_insertion_that_fills_its_buffer_is_that_buffer():
    text = insertion(0).replace("tensors=[%2, %4]", "tensors=[%2]").replace("[4,3]", "[2,3]")
    text = text.replace("%4 = alloc f32[2,3]\n#5 aten.exp.default(self=%0) -> %4\n", "").replace("#10 dealloc %4\n", "")
    found = after(program_of(text), "OptimizeInserts", "ShareBuffers", "Peephole", "DeleteDeadAllocs")
    assert kinds(found) == ["neg"]
    assert torch.equal(run(found, X), -X)


def test_two_insertions_into_each_other_are_computed_in_the_outer_one():
    text = (
        insertion(0)
        .replace(
            "#8 copy %6 -> %1",
            """%20 = alloc f32[6,3]
#21 aten.cat.default(tensors=[%6, %0], dim=0) -> %20
#8 copy %20 -> %1
#22 dealloc %20""",
        )
        .replace("%1 = output y : f32[4,3]", "%1 = output y : f32[6,3]")
    )
    found = after(program_of(text), *ALL)
    assert "cat" not in kinds(found)
    assert kinds(found).count("copy") == 1  # of the input
    assert torch.equal(run(found, X), torch.cat((-X, X.exp(), X)))


def test_a_part_that_is_inserted_twice_is_made_once_and_copied_once():
    """Glow leaves an insertion with a count above 1 alone."""
    text = insertion(0).replace("tensors=[%2, %4]", "tensors=[%2, %2]")
    found = after(program_of(text), *ALL)
    assert kinds(found).count("neg") == 1
    assert torch.equal(run(found, X), torch.cat((-X, -X)))


def test_the_program_as_text_after_all_passes():
    assert after(program_of(COPIES), *ALL).text() == (
        "program copies\n"
        "%0 = input x : f32[2,3]\n"
        "%1 = output y : f32[2,3]\n"
        "%2 = alloc f32[2,3] at 0\n"
        "#12 stack { #3 aten.exp.default(self=%0) -> %2 ; #8 aten.neg.default(self=%2) -> %1 }\n"
        "#11 dealloc %2"
    )
