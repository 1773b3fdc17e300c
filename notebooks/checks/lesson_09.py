"""Lesson 9, buffers: from when to when they are alive, what is written over an input, and a memory plan."""

from dataclasses import replace
from typing import Any

from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.errors import GraphError
from explorer.program import Program, parse_program, plan_memory, verify

PROGRAM = """\
program exercise
%0 = input x : f32[32,32]
%1 = output y : f32[32,32]
%2 = alloc f32[32,32]
%3 = alloc f32[32,32]
%4 = alloc f32[32,32]
%5 = alloc f32[32]
%6 = alloc f32[32,32]
%7 = alloc f32[32,32]
#10 aten.tanh.default(self=%0) -> %2
#11 aten.mm.default(self=%2, mat2=%0) -> %3
#12 aten.exp.default(self=%3) -> %4
#13 aten.amax.default(self=%4, dim=[1]) -> %5
#14 aten.sub.Tensor(self=%4, other=%5) -> %6
#15 aten.mul.Tensor(self=%6, other=%2) -> %7
#16 aten.mm.default(self=%7, mat2=%4) -> %1
#22 dealloc %2
#23 dealloc %3
#24 dealloc %4
#25 dealloc %5
#26 dealloc %6
#27 dealloc %7"""
"""The program of exercises 1 and 2."""

FIVE_BUFFERS = """\
program five
%0 = input x : f32[64]
%1 = output y : f32[64]
%2 = alloc f32[64]
#10 aten.exp.default(self=%0) -> %2
%3 = alloc f32[2,64]
#11 aten.stack.default(tensors=[%2, %2]) -> %3 (copied)
%4 = alloc f32[64]
#12 aten.sum.dim_IntList(self=%3, dim=[0]) -> %4
#20 dealloc %3
%5 = alloc f32[64]
#13 aten.mul.Tensor(self=%4, other=%2) -> %5
#21 dealloc %2
%6 = alloc f32[3,64]
#14 aten.stack.default(tensors=[%4, %5, %4]) -> %6 (copied)
#22 dealloc %4
#23 dealloc %5
#15 aten.sum.dim_IntList(self=%6, dim=[0]) -> %1
#24 dealloc %6"""
"""The program of exercise 3."""

IN_PLACE = {12, 15}
"""The instructions of `PROGRAM` whose result may be written over an input."""

WHY_NOT = {
    10: "its only input belongs to the caller",
    11: "a product of matrices reads each number of its inputs several times",
    13: "its result has another shape",
    14: "one input is used later, and the other one has another shape",
    16: "a product of matrices reads each number of its inputs several times",
}


# ---------------------------------------------------------------------- alive


def exercise_1(answer: Any) -> None:
    """The first and the last use of each buffer."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compare with the uses that the program has."""
    if answer is None:
        return not_answered("a dictionary from the number of a buffer to its first and last use")
    if not isinstance(answer, dict):
        return something_else("a dictionary", answer)
    program = parse_program(PROGRAM)
    wanted = _uses(program)
    odd = next((key for key in answer if key not in wanted), None)
    if odd is not None:
        return Feedback(False, f"{odd!r} is not the number of a buffer; they are {', '.join(map(str, wanted))}.")
    missing = [buffer for buffer in wanted if buffer not in answer]
    if missing:
        return Feedback(False, f"Buffer {missing[0]} is missing.")
    for buffer, uses in wanted.items():
        found = answer[buffer]
        if not isinstance(found, tuple | list) or len(found) != 2 or not all(map(is_integer, found)):
            return Feedback(False, f"Expected two numbers of instructions for buffer {buffer}; got {found!r}.")
        for which, mine, right in zip(("first", "last"), found, uses, strict=True):
            if mine != right:
                return Feedback(False, f"Instruction {mine} is not the {which} one that uses buffer {buffer}.")
    return Feedback(True, "Right: a buffer is alive from the instruction that writes it to the last one that reads it.")


def _uses(program: Program) -> dict[int, tuple[int, int]]:
    """The first and the last instruction that use each buffer."""
    return {
        buffer: (program.instructions[positions[0]].id, program.instructions[positions[-1]].id)
        for buffer, positions in program.uses.items()
        if buffer in program.allocs
    }


# ---------------------------------------------------------------------- in place


def exercise_2(answer: Any) -> None:
    """The instructions that may work in place."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compare the numbers, and say what is wrong with the first odd one."""
    if answer is None:
        return not_answered("a set of numbers of instructions")
    if not isinstance(answer, set | frozenset | list | tuple):
        return something_else("a set", answer)
    if not all(map(is_integer, answer)):
        return Feedback(False, f"Expected numbers of instructions; got {sorted(map(repr, answer))[0]}.")
    known = {*IN_PLACE, *WHY_NOT}
    for number in sorted(answer):
        if number not in known:
            return Feedback(False, f"{number} is no instruction that computes; these are 10 to 16.")
        if number in WHY_NOT:
            return Feedback(False, f"Not instruction {number}: {WHY_NOT[number]}.")
    left = len(IN_PLACE) - len(set(answer))
    if left:
        noun = "one more instruction" if left == 1 else f"{left} more instructions"
        return Feedback(False, f"So far so good, but {noun} may work in place. Which inputs die where they are read?")
    return Feedback(
        True, "Right: both work on single numbers, and an input of the type of their result dies where they read it."
    )


# ---------------------------------------------------------------------- a plan


def exercise_3(answer: Any) -> None:
    """A place for each of five buffers."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Verify the plan, and compare its size with the largest live set."""
    if answer is None:
        return not_answered("a dictionary from the number of a buffer to its place in bytes")
    if not isinstance(answer, dict):
        return something_else("a dictionary", answer)
    program = parse_program(FIVE_BUFFERS)
    if set(answer) != set(program.allocs):
        return Feedback(False, f"Expected a place for each of the buffers {', '.join(map(str, program.allocs))}.")
    odd = next((place for place in answer.values() if not is_integer(place)), None)
    if odd is not None:
        return Feedback(False, f"A place is a number of bytes; got {odd!r}.")
    offsets = {buffer: int(answer[buffer]) for buffer in program.allocs}
    try:
        verify(replace(program, offsets=offsets))
    except GraphError as error:
        return Feedback(False, f"This is no plan: {error}.")
    size = max(place + program.allocs[buffer].type.size_bytes for buffer, place in offsets.items())
    bound = plan_memory(program).lower_bound_bytes
    if size > bound:
        return Feedback(
            False,
            f"It is a plan, of {size:,} bytes. Fewer are enough: how many are alive at the fullest moment?",
        )
    return Feedback(True, f"Right: {size:,} bytes, as many as are alive at the fullest moment.")
