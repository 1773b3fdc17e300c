"""Programs that are refused, each with the reason."""

import pytest

from explorer.errors import FileFormatError, GraphError
from explorer.program.ir.parsing import parse_program
from explorer.program.ir.verify import verify
from tests.program.programs import program_of

GOOD = """
program good
%0 = input x : f32[2,2]
%1 = output y : f32[2,2]
%2 = alloc f32[2,2] at 0
#3 aten.exp.default(self=%0) -> %2
%4 = alloc f32[2,2] at 64
#5 aten.mm.default(self=%2, mat2=%2) -> %4
#6 copy %4 -> %1
#7 dealloc %2
#8 dealloc %4
"""

BROKEN = {
    "read before it is written": ("#3 aten.exp.default(self=%0) -> %2\n", "", "reads it before all elements of %2"),
    "read after it was freed": ("#6 copy", "#9 dealloc %4\n#6 copy", "after its memory was freed"),
    "freed twice": ("#8 dealloc %4", "#8 dealloc %4\n#9 dealloc %4", "a second time"),
    "never freed": ("#8 dealloc %4", "", "is never freed"),
    "an input is written": ("-> %2\n", "-> %0\n", "writes the input x"),
    "an output that nothing writes": ("#6 copy %4 -> %1\n", "", "is returned before all elements"),
    "a number used twice": ("#8 dealloc", "#7 dealloc", "used twice"),
    "another shape": ("%4 = alloc f32[2,2]", "%4 = alloc f32[2,3]", "returns f32[2,2], but %4 is f32[2,3]"),
    "another dtype": ("%4 = alloc f32[2,2]", "%4 = alloc f64[2,2]", "returns f32[2,2], but %4 is f64[2,2]"),
    "shared bytes": ("at 64", "at 0", "shares some of them"),
    "no multiple of the alignment": ("at 64", "at 65", "not at a multiple of 64"),
    "no place": (" at 64", "", "different buffers"),
    "a product over its own input": ("-> %4\n", "-> %2\n", "overlaps its input"),
    "a value that is not defined": ("self=%0", "self=%77", "%77"),
    "a view outside of its buffer": ("#6 copy %4", "%9 = view %4 : f32[2,2] + 4 bytes\n#6 copy %9", "bytes 4 to 20"),
}


def test_a_good_program_is_accepted():
    program_of(GOOD)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_refused_with_the_place(name):
    old, new, words = BROKEN[name]
    assert old in GOOD
    with pytest.raises(GraphError, match=r"#|%") as caught:
        verify(parse_program(GOOD.replace(old, new, 1)))
    assert words in str(caught.value)


def test_the_text_of_a_program_is_read_back():
    assert parse_program(GOOD).text() == GOOD.strip()


@pytest.mark.parametrize("line", ["%2 = aloc f32[2]", "#3 aten.nothing.default(self=%0) -> %2", "#3 copy %1", "?"])
def test_a_line_that_cannot_be_read_is_named(line):
    with pytest.raises(FileFormatError, match="line 2"):
        parse_program(f"program x\n{line}")


def test_all_parts_of_the_text_survive():
    text = """
program all parts
%0 = input a name: with signs : f32[2,3]{1,2}
%1 = weight w : i64[4], trainable
%2 = constant c : bool[]
%3 = output y : f32[2,3]
%4 = alloc f32[2,3] at 128
%5 = view %4 : f32[3] + 12 bytes, select
#6 aten.add.Tensor(self=%0, other=2.5:float32, alpha=3) -> %4
#7 aten.clamp.default(self=%4, min=-inf, max=1e-30) -> %4 (copied)
#8 aten._to_copy.default(self=%1, dtype=torch.float32, device=cpu) -> none (copied)
#9 aten.cat.default(tensors=[%0, %4], dim=-1) -> %3
#10 stack { #11 aten.exp.default(self=%4) -> %4 ; #12 aten.neg.default(self=%4) -> %4 }
#13 dealloc %4
"""
    assert parse_program(text).text() == text.strip()
