"""OptimizeExtracts: copies of contiguous parts become views; Glow's rule of what a contiguous slice is."""

from itertools import count

import pytest
import torch

from explorer.program.editing import Kept
from explorer.program.ir.types import BufferType, contiguous_strides
from explorer.program.passes.copies import optimize_extracts
from tests.program.programs import after, kinds, program_of
from tests.program.test_passes import run

X = torch.arange(24.0).reshape(4, 6)


def extract(kind: str, offset: int, copied: str) -> str:
    """A program that copies a part of its input, and negates the copy."""
    return f"""
program extract
%0 = input x : f32[4,6]
%1 = output y : {copied}
%2 = view %0 : {kind} + {offset} bytes, slice
%3 = alloc {copied}
#4 copy %2 -> %3
#5 aten.neg.default(self=%3) -> %1
#6 dealloc %3
"""


def why_kept(text: str) -> list[str]:
    found = optimize_extracts(program_of(text), count(100))
    return [one.reason for one in found if isinstance(one, Kept)]


def test_a_copy_of_rows_is_not_made():
    found = after(program_of(extract("f32[2,6]", 24, "f32[2,6]")), "OptimizeExtracts")
    assert kinds(found) == ["view", "view", "neg"]
    assert torch.equal(run(found, X), -X[1:3])


def test_columns_are_copied_because_they_have_gaps():
    text = extract("f32[4,2]{6,1}", 4, "f32[4,2]")
    found = after(program_of(text), "OptimizeExtracts")
    assert "copy" in kinds(found)
    assert why_kept(text) == ["the elements are f32[4,2]{6,1} in %2, and %3 is f32[4,2]"]
    assert torch.equal(run(found, X), -X[:, 1:3])


SLICES = [
    # slice, tensor, contiguous
    ((1,), (1,), True),
    ((1,), (3,), True),
    ((2,), (3,), True),
    ((3,), (3,), True),
    ((1, 1), (2, 3), True),
    ((1, 2), (2, 3), True),
    ((1, 3), (2, 3), True),
    ((2, 1), (2, 3), False),
    ((2, 2), (2, 3), False),
    ((2, 3), (2, 3), True),
    ((2, 3), (4, 3), True),
    ((2, 1), (4, 1), True),
    ((1, 1, 1), (2, 3, 4), True),
    ((1, 1, 2), (2, 3, 4), True),
    ((1, 1, 4), (2, 3, 4), True),
    ((1, 2, 1), (2, 3, 4), False),
    ((1, 2, 2), (2, 3, 4), False),
    ((1, 2, 4), (2, 3, 4), True),
    ((1, 3, 4), (2, 3, 4), True),
    ((2, 1, 1), (2, 3, 4), False),
    ((2, 1, 4), (2, 3, 4), False),
    ((2, 2, 4), (2, 3, 4), False),
    ((2, 3, 1), (2, 3, 4), False),
    ((2, 3, 2), (2, 3, 4), False),
    ((2, 3, 4), (2, 3, 4), True),
    ((2, 3, 4), (5, 3, 4), True),
    ((2, 1, 4), (5, 1, 4), True),
]


@pytest.mark.parametrize(("part", "whole", "contiguous"), SLICES)
def test_a_slice_is_contiguous_if_all_axes_after_its_first_long_one_are_full(part, whole, contiguous):
    """Glow's table of `isSliceContiguous`, as strides: the slice keeps the strides of the whole tensor."""
    source = torch.randn(whole)
    kind = BufferType(torch.float32, part, contiguous_strides(whole))
    text = f"""
program slice
%0 = input x : {BufferType.of(source)}
%1 = output y : {BufferType.contiguous(torch.float32, part)}
%2 = view %0 : {kind} + 0 bytes, slice
%3 = alloc {BufferType.contiguous(torch.float32, part)}
#4 copy %2 -> %3
#5 aten.neg.default(self=%3) -> %1
#6 dealloc %3
"""
    found = after(program_of(text), "OptimizeExtracts")
    assert ("copy" not in kinds(found)) == contiguous
    assert torch.equal(run(found, source), -source[tuple(slice(n) for n in part)])


@pytest.mark.parametrize(("call", "offset"), [
    ("aten.slice_copy.Tensor(self=%0, dim=0, start=1, end=3)", 1),
    ("aten.narrow_copy.default(self=%0, dim=0, start=1, length=2)", 1),
    ("aten.slice_copy.Tensor(self=%0, dim=0, start=2)", 2),
])  # fmt: skip
def test_an_operator_that_copies_a_slice_becomes_a_view(call, offset):
    text = f"""
program slice_copy
%0 = input x : f32[4,6]
%1 = output y : f32[2,6]
%3 = alloc f32[2,6]
#4 {call} -> %3 (copied)
#5 aten.neg.default(self=%3) -> %1
#6 dealloc %3
"""
    found = after(program_of(text), "OptimizeExtracts")
    assert kinds(found) == ["view", "neg"]
    assert torch.equal(run(found, X), -X[offset : offset + 2])


WRITTEN = """
program written
%0 = input x : f32[4,6]
%1 = output y : f32[2,6]
%2 = alloc f32[4,6]
#3 aten.exp.default(self=%0) -> %2
%4 = view %2 : f32[2,6] + 48 bytes, slice
%5 = alloc f32[2,6]
#6 copy %4 -> %5
#7 aten.neg.default(self=%0) -> %2
#8 aten.add.Tensor(self=%5, other=%4) -> %1
#9 dealloc %2
#10 dealloc %5
"""


def test_a_part_that_is_overwritten_later_is_copied():
    found = after(program_of(WRITTEN), "OptimizeExtracts")
    assert "copy" in kinds(found)
    assert why_kept(WRITTEN) == ["#7 writes %4 or %5 later"]
    assert torch.equal(run(found, X), X.exp()[2:] - X[2:])


def test_a_copy_that_is_overwritten_later_stays_a_copy():
    text = WRITTEN.replace("neg.default(self=%0) -> %2", "neg.default(self=%4) -> %5")
    assert "copy" in kinds(after(program_of(text), "OptimizeExtracts"))
    assert why_kept(text) == ["#7 writes %4 or %5 later"]


LONG = """
program long
%0 = input x : f32[4,6]
%1 = output y : f32[1,6]
%2 = alloc f32[4,6]
#3 aten.exp.default(self=%0) -> %2
%4 = view %2 : f32[1,6] + 0 bytes, slice
%5 = alloc f32[1,6]
#6 copy %4 -> %5
#7 dealloc %2
%8 = alloc f32[4,6]
#9 aten.sin.default(self=%0) -> %8
%10 = view %8 : f32[1,6] + 0 bytes, slice
#11 aten.add.Tensor(self=%5, other=%10) -> %1
#12 dealloc %5
#13 dealloc %8
"""


def test_a_large_buffer_is_not_kept_alive_for_a_part_of_it_at_the_peak():
    assert "copy" in kinds(after(program_of(LONG), "OptimizeExtracts"))
    assert why_kept(LONG) == ["%2 would stay alive until #11: 192 bytes in use, and at most 120 now"]


def test_a_buffer_that_is_viewed_lives_as_long_as_the_copy_did():
    text = LONG.replace("%8 = alloc f32[4,6]\n", "").replace("#9 aten.sin.default(self=%0) -> %8\n", "")
    text = text.replace("%10 = view %8 : f32[1,6] + 0 bytes, slice\n", "").replace("#13 dealloc %8\n", "")
    text = text.replace("other=%10", "other=%5")
    found = after(program_of(text), "OptimizeExtracts")
    assert kinds(found) == ["alloc", "exp", "view", "view", "add", "dealloc"]
    assert torch.equal(run(found, X), 2 * X.exp()[:1])


def test_two_copies_in_a_row_are_both_views_of_the_first_buffer():
    text = """
program two
%0 = input x : f32[4,6]
%1 = output y : f32[6]
%2 = view %0 : f32[2,6] + 24 bytes, slice
%3 = alloc f32[2,6]
#4 copy %2 -> %3
%5 = view %3 : f32[6] + 24 bytes, select
%6 = alloc f32[6]
#7 copy %5 -> %6
#8 aten.neg.default(self=%6) -> %1
#9 dealloc %3
#10 dealloc %6
"""
    found = after(program_of(text), "OptimizeExtracts")
    assert not found.allocs
    assert torch.equal(run(found, X), -X[2])
