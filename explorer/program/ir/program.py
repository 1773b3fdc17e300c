"""`Program`: weights, instructions in the order of their execution, and where their buffers lie."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from explorer.program.ir.instructions import (
    Alloc,
    Dealloc,
    Definition,
    Instruction,
    Role,
    Stack,
    View,
    Weight,
    reads,
    runs,
    writes,
)


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions on explicit buffers. It is immutable: a pass makes a new one that shares what did not change.

    `offsets` is the place of each allocation in bytes, once memory has been planned; otherwise it is empty and each
    allocation has memory of its own.
    """

    weights: tuple[Weight, ...]
    instructions: tuple[Instruction, ...]
    offsets: Mapping[int, int] = field(default_factory=dict[int, int])
    name: str = ""

    @cached_property
    def definitions(self) -> Mapping[int, Definition]:
        """What defines each value, by the number of the value."""
        found: dict[int, Definition] = {weight.id: weight for weight in self.weights}
        found |= {one.id: one for one in self.instructions if isinstance(one, Alloc | View)}
        return found

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """The position of each instruction by its number."""
        return {one.id: i for i, one in enumerate(self.instructions)}

    @cached_property
    def _locations(self) -> Mapping[int, tuple[int, int]]:
        """For each value its origin, and its offset in the memory of that."""
        found = {weight.id: (weight.id, 0) for weight in self.weights}
        for one in self.instructions:
            if isinstance(one, Alloc):
                found[one.id] = (one.id, 0)
            elif isinstance(one, View):
                origin, offset = found.get(one.source, (one.source, 0))
                found[one.id] = (origin, offset + one.offset_bytes)
        return found

    def origin(self, value: int) -> int:
        """The weight or allocation whose memory a value is in."""
        return self._locations[value][0]

    def offset_in_origin(self, value: int) -> int:
        """How many bytes after those of its origin the elements of a value begin."""
        return self._locations[value][1]

    @cached_property
    def allocs(self) -> Mapping[int, Alloc]:
        """The allocations by their numbers."""
        return {one.id: one for one in self.instructions if isinstance(one, Alloc)}

    @cached_property
    def deallocs(self) -> Mapping[int, Dealloc]:
        """The deallocation of each buffer, if it has one."""
        return {one.buffer: one for one in self.instructions if isinstance(one, Dealloc)}

    @cached_property
    def uses(self) -> Mapping[int, tuple[int, ...]]:
        """For each weight and allocation the positions of the instructions that read or write its memory."""
        found: dict[int, list[int]] = {weight.id: [] for weight in self.weights}
        found |= {alloc: [] for alloc in self.allocs}
        for position, one in enumerate(self.instructions):
            for origin in dict.fromkeys(self.origin(value) for value in (*reads(one), *writes(one))):
                found[origin].append(position)
        return {origin: tuple(positions) for origin, positions in found.items()}

    @cached_property
    def touches(self) -> Mapping[int, tuple[int, ...]]:
        """As `uses`, with the positions of the views of that memory."""
        found = {origin: list(positions) for origin, positions in self.uses.items()}
        for position, one in enumerate(self.instructions):
            if isinstance(one, View):
                found[self.origin(one.id)].append(position)
        return {origin: tuple(sorted(positions)) for origin, positions in found.items()}

    @cached_property
    def last_writes(self) -> Mapping[int, int]:
        """For each weight and allocation that is written the position of the last instruction that does."""
        positions = enumerate(self.instructions)
        return {self.origin(value): position for position, one in positions for value in writes(one)}

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """For each position, and the end, the number of calls, copies and stacks before it."""
        found = [0]
        for one in self.instructions:
            found.append(found[-1] + runs(one))
        return tuple(found)

    def with_role(self, role: Role) -> tuple[Weight, ...]:
        """The weights of a role, in order."""
        return tuple(weight for weight in self.weights if weight.role is role)

    @property
    def next_id(self) -> int:
        """A number above all that it uses."""
        stacked = (call for one in self.instructions if isinstance(one, Stack) for call in one.calls)
        return 1 + max((one.id for one in (*self.weights, *self.instructions, *stacked)), default=-1)

    def with_instructions(self, instructions: Iterable[Instruction]) -> "Program":
        """The program with other instructions, whose memory is not planned yet."""
        return replace(self, instructions=tuple(instructions), offsets={})

    def verify(self) -> None:
        """Check the invariants of a program. Raises: GraphError with the first violation."""
        from explorer.program.ir.verify import verify

        verify(self)

    def text(self) -> str:
        """One line per weight and instruction; `parse_program` reads it back."""
        from explorer.program.ir.text import text

        return text(self)

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Program: {len(self.instructions)} instructions, {len(self.allocs)} buffers>"
