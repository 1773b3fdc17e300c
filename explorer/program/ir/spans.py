"""Places of values in memory: overlaps, and which elementwise calls may be one stack."""

import torch

from explorer.program.ir.instructions import Call, Instruction, Way
from explorer.program.ir.program import Program


def fills(program: Program, value: int) -> bool:
    """Return whether a value covers its whole weight or allocation."""
    origin = program.origin(value)
    if origin == value:
        return program.definitions[value].type.is_dense
    kind, whole = program.definitions[value].type, program.definitions[origin].type
    return kind.is_dense and whole.is_dense and kind.size_bytes == whole.size_bytes


def overlap(program: Program, one: int, other: int) -> bool:
    """Return whether the bytes of two values overlap, counted from the first to the last element."""
    (origin, start), (other_origin, other_start) = program.locations[one], program.locations[other]
    if origin != other_origin:
        return False
    size, other_size = (program.definitions[value].type.size_bytes for value in (one, other))
    is_empty = not size or not other_size
    return not is_empty and start < other_start + other_size and other_start < start + size


def are_same_elements(program: Program, one: int, other: int) -> bool:
    """Return whether two values are the same elements in the same order."""
    if one == other:
        return True
    same = program.locations[one] == program.locations[other]
    return same and program.definitions[one].type.is_same(program.definitions[other].type)


def why_not_elementwise(one: Instruction) -> str | None:
    """Return why an instruction is not elementwise; None if it is."""
    if not isinstance(one, Call):
        return "it is not a call"
    if torch.Tag.pointwise not in one.op.target.tags:
        return f"{one.op.name} is not elementwise"
    if one.op.is_random:
        return f"{one.op.name} draws a random number per element, in order"
    if one.way is Way.COPIED or len(one.outputs) != 1 or one.outputs[0] is None:
        return f"{one.op.name} does not write its result itself"
    return None


class Bundle:
    """Calls that may be one stack.

    All compute equally many elements. Values that one writes, the others may read or write only as the same elements:
    then element i of each call depends on element i of earlier calls, and on nothing else that they write.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._read: dict[int, dict[int, int]] = {}
        """The values that are read in each memory, with the number of their first reader."""
        self._written: dict[int, dict[int, int]] = {}
        self.calls: list[Call] = []

    def add(self, one: Call) -> None:
        """Add a call."""
        self.calls.append(one)
        for values, known in ((one.values_read, self._read), (one.values_written, self._written)):
            for value in values:
                known.setdefault(self._program.origin(value), {}).setdefault(value, one.id)

    def why_not(self, one: Call) -> str | None:
        """Return why a call cannot join; None if it can."""
        kinds = self._program.definitions
        (mine,) = one.values_written
        if self.calls:
            (first,) = self.calls[0].values_written
            if kinds[mine].type.device != kinds[first].type.device:
                return f"%{mine} is on {kinds[mine].type.device}, and %{first} on {kinds[first].type.device}"
            if kinds[mine].type.size != kinds[first].type.size:
                return f"%{mine} has {kinds[mine].type.size} elements, and %{first} has {kinds[first].type.size}"
        for value, known in ((mine, self._read), (mine, self._written), *((v, self._written) for v in one.values_read)):
            origin = self._program.locations[value][0]
            for other, call in known[origin].items() if origin in known else ():
                if value != other and self._overlap_in_part(value, other):
                    return f"%{value} overlaps %{other} of #{call}, and they are not the same elements"
        return None

    def _overlap_in_part(self, value: int, other: int) -> bool:
        return overlap(self._program, value, other) and not are_same_elements(self._program, value, other)
