"""`Program`: weights, instructions in the order of their execution, and where their buffers lie."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from explorer.program.ir.instructions import (
    Access,
    Alloc,
    Begin,
    Dealloc,
    Definition,
    Event,
    Instruction,
    Part,
    Role,
    Stack,
    View,
    Weight,
    reads,
    runs,
    unstacked,
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
    def histories(self) -> Mapping[int, tuple[Event, ...]]:
        """For each memory all accesses to it, in order. A value that is not defined counts as a memory of its own."""
        found: dict[int, list[Event]] = {weight.id: [(Access.DEFINE, weight.id, weight)] for weight in self.weights}

        def note(access: Access, values: Iterable[int], one: Instruction) -> None:
            for value in values:
                origin, _ = self._locations.get(value, (value, 0))
                found.setdefault(origin, []).append((access, value, one))

        border = [weight.id for weight in self.weights if weight.role is Role.OUTPUT or weight.is_for_backward]
        for instruction in self.instructions:
            for one in unstacked(instruction):
                match one:
                    case Alloc():
                        note(Access.DEFINE, (one.id,), one)
                    case View():
                        note(Access.VIEW, (one.id,), one)
                    case Dealloc():
                        note(Access.FREE, (one.buffer,), one)
                    case Begin():
                        note(Access.BACKWARD, border if one.part is Part.BACKWARD else (), one)
                    case _:
                        note(Access.READ, reads(one), one)
                        note(Access.WRITE, writes(one), one)
        return {origin: tuple(events) for origin, events in found.items()}

    @cached_property
    def uses(self) -> Mapping[int, tuple[int, ...]]:
        """For each weight and allocation the positions of the instructions that read or write its memory."""
        return self._positions_with(Access.READ, Access.WRITE)

    @cached_property
    def touches(self) -> Mapping[int, tuple[int, ...]]:
        """As `uses`, with the positions of the views of that memory."""
        return self._positions_with(Access.READ, Access.WRITE, Access.VIEW)

    @cached_property
    def last_writes(self) -> Mapping[int, int]:
        """For each weight and allocation that is written the position of the last instruction that does."""
        return {origin: found[-1] for origin, found in self._positions_with(Access.WRITE).items() if found}

    def _positions_with(self, *accesses: Access) -> Mapping[int, tuple[int, ...]]:
        """For each memory the positions of the instructions that access it so, each once, in order."""
        positions = {call.id: i for i, one in enumerate(self.instructions) for call in unstacked(one)}
        return {
            origin: tuple(dict.fromkeys([positions[one.id] for access, _, one in events if access in accesses]))
            for origin, events in self.histories.items()
        }

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """For each position, and the end, the number of calls, copies and stacks before it."""
        found = [0]
        for one in self.instructions:
            found.append(found[-1] + runs(one))
        return tuple(found)

    @cached_property
    def running(self) -> tuple[int, ...]:
        """The numbers of the calls, copies and stacks, in order."""
        return tuple(one.id for one in self.instructions if runs(one))

    @cached_property
    def backward(self) -> int:
        """The position of the first instruction of the backward pass; behind the last one if it has none."""
        begins = (i for i, one in enumerate(self.instructions) if isinstance(one, Begin) and one.part is Part.BACKWARD)
        return next(begins, len(self.instructions))

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

    def verify(self, known: "Program | None" = None) -> None:
        """Check the invariants; what has not changed since a valid program is not checked again. Raises: GraphError."""
        from explorer.program.ir.verify import verify

        verify(self, known)

    def text(self) -> str:
        """One line per weight and instruction; `parse_program` reads it back."""
        from explorer.program.ir.text import text

        return text(self)

    def __reduce__(self) -> tuple[Callable[[str], "Program"], tuple[str]]:
        """It is pickled as text, because operators of PyTorch cannot be pickled."""
        from explorer.program.ir.parsing import parse_program

        return parse_program, (self.text(),)

    def __deepcopy__(self, memo: object) -> "Program":
        return self

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Program: {len(self.instructions)} instructions, {len(self.allocs)} buffers>"
