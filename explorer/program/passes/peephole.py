"""Short sequences of instructions that do nothing."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit
from explorer.program.ir.instructions import Copy, View
from explorer.program.ir.program import Program
from explorer.program.ir.spans import are_same_elements
from explorer.program.passes.base import program_pass


@program_pass("Peephole")
def peephole(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A view of the type of its source is replaced by its source; a copy of elements onto themselves is removed.

    Strides of axes of size 1 have to agree as well: operators may choose a kernel by them.
    """
    for one in program.instructions:
        if isinstance(one, Copy) and are_same_elements(program, one.source, one.dest):
            yield Edit((one.id,), removed=(one.id,))
        elif isinstance(one, View) and not one.offset_bytes and program.definitions[one.source].type == one.type:
            yield Edit((one.id,), removed=(one.id,), renamed={one.id: one.source})
