"""Weights that are only read."""

from collections.abc import Iterator
from dataclasses import replace

from explorer.program.editing.edits import Edit
from explorer.program.ir.instructions import Role
from explorer.program.ir.program import Program
from explorer.program.passes.base import program_pass


@program_pass("MakeWeightsConst")
def make_weights_const(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A weight that no instruction writes becomes a constant, which several runs may share."""
    written = {program.origin(value) for one in program.instructions for value in one.values_written}
    for weight in program.with_role(Role.WEIGHT):
        if weight.id not in written:
            yield Edit((weight.id,), weights=(replace(weight, role=Role.CONSTANT),))
