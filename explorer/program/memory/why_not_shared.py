"""Why two values are in different memory."""

from collections.abc import Iterator

from explorer.errors import UnknownNameError
from explorer.program.ir.instructions import Call, Copy, Role, Weight, reads
from explorer.program.ir.program import Program
from explorer.program.memory.lives import Lives
from explorer.program.memory.record import memory_record
from explorer.program.memory.sharing import why_copied, why_not_in_place, why_not_overwritten
from explorer.trace import SharingAnswer


def why_not_shared(program: Program, one: int, other: int) -> SharingAnswer:
    """Whether two values share memory, and if not, why: weights, lifetimes, and what `ShareBuffers` says.

    Values are weights, buffers and views, by number. Raises: UnknownNameError.
    """
    for value in (one, other):
        if value not in program.definitions:
            raise UnknownNameError(f"the program has no value %{value}")
    first, second = program.origin(one), program.origin(other)
    views = "".join(f"%{v} is a view of %{program.origin(v)}; " for v in (one, other) if v != program.origin(v))
    if first == second:
        return SharingAnswer(True, views.removesuffix("; ") or f"%{one} is one value")
    reasons = [*_weight_reasons(program, first, second), *_instruction_reasons(program, first, second)]
    if first in program.allocs and second in program.allocs:
        answer = memory_record(program).compare(first, second)
        if answer.shared:
            return SharingAnswer(True, views + answer.why)
        reasons.insert(0, answer.why)
    return SharingAnswer(False, views + "; ".join(reasons))


def _weight_reasons(program: Program, *origins: int) -> Iterator[str]:
    for origin in origins:
        weight = program.definitions[origin]
        if not isinstance(weight, Weight):
            continue
        if weight.role is Role.OUTPUT:
            yield f"%{origin} is the output {weight.name}: only what is copied into it can be made there"
        else:
            yield f"%{origin} is the {weight.role.value} {weight.name}, which is only read"


def _instruction_reasons(program: Program, *origins: int) -> Iterator[str]:
    """Why a call does not write one over the other, and a copy is made."""
    lives = Lives(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, Copy) and {program.origin(one.source), program.origin(one.dest)} == set(origins):
            reason = why_copied(lives, one, position)
            yield f"#{one.id} copies one to the other" + (f": {reason}" if reason else ", which ShareBuffers avoids")
        elif isinstance(one, Call):
            yield from _reasons_of_call(lives, one, position, origins)


def _reasons_of_call(lives: Lives, one: Call, position: int, origins: tuple[int, ...]) -> Iterator[str]:
    """Why a call that makes one of them does not write it over the other one, which it reads."""
    for out in one.outputs:
        if out not in origins or lives.first[out] != position:
            continue
        for value in dict.fromkeys(reads(one)):
            if lives.root(value) in origins and lives.root(value) != out:
                reason = why_not_in_place(one) or why_not_overwritten(lives, one, value, out, position)
                verdict = (
                    f"cannot write %{out} over %{value}: {reason}" if reason else f"can write %{out} over %{value}"
                )
                yield f"#{one.id} {verdict}" + ("" if reason else ", which ShareBuffers does")
