"""Stores that nobody reads."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit
from explorer.program.ir.instructions import Call, Copy, Role
from explorer.program.ir.program import Program
from explorer.program.ir.spans import fills
from explorer.program.passes.base import program_pass


@program_pass("DSE")
def eliminate_dead_stores(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A call or copy is removed if nothing reads what it writes before that is overwritten or freed.

    It goes backwards and keeps the memory that is read later. A write of a whole buffer ends the need for what was in
    it before; a write of a part does not. Weights other than inputs are read after the program. Random operators stay:
    those after them would draw other numbers.
    """
    locations = program.locations
    wanted = {weight.id for weight in program.weights if weight.is_returned or weight.role is Role.WEIGHT}
    for one in reversed(program.instructions):
        if isinstance(one, Call | Copy):
            is_random = isinstance(one, Call) and one.op.is_random
            if not is_random and not any(locations[value][0] in wanted for value in one.values_written):
                yield Edit((one.id,), removed=(one.id,))
                continue
            for value in one.values_written:
                if fills(program, value):
                    wanted.discard(locations[value][0])
        for value in one.values_read:
            wanted.add(locations[value][0])
