"""What calls and copies say of pairs of values: why one is not written over the other."""

from collections.abc import Iterator

from explorer.program.ir.instructions import Call, Copy
from explorer.program.ir.program import Program
from explorer.program.memory.lives import Lives
from explorer.program.memory.sharing import why_copied, why_not_in_place, why_not_overwritten
from explorer.trace import PairReason


def call_reasons(program: Program) -> Iterator[PairReason]:
    """The reasons of each instruction, in order, for a buffer or weight that it writes and one that it reads."""
    lives = Lives(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, Copy):
            reason = why_copied(lives, one, position)
            words = f"#{one.id} copies one to the other" + (f": {reason}" if reason else ", which ShareBuffers avoids")
            yield PairReason(program.origin(one.source), program.origin(one.dest), words)
        elif isinstance(one, Call):
            yield from _reasons_of_call(lives, one, position)


def _reasons_of_call(lives: Lives, one: Call, position: int) -> Iterator[PairReason]:
    """Why a call that makes a value does not write it over one that it reads."""
    for out in one.outputs:
        if out is None or lives.program.origin(out) != out or lives.first[out] != position:
            continue
        for value in dict.fromkeys(one.values_read):
            root = lives.root(value)
            if root != out:
                reason = why_not_in_place(one) or why_not_overwritten(lives, one, value, out, position)
                verdict = (
                    f"cannot write %{out} over %{value}: {reason}" if reason else f"can write %{out} over %{value}"
                )
                yield PairReason(out, root, f"#{one.id} {verdict}" + ("" if reason else ", which ShareBuffers does"))
