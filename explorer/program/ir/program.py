"""`Program`: weights, instructions in the order of their execution, and where their buffers lie."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
    runs,
    unstacked,
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
        for one in self.instructions:
            if type(one) is Alloc or type(one) is View:
                found[one.id] = one
        return found

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """The position of each instruction by its number."""
        return {one.id: i for i, one in enumerate(self.instructions)}

    @cached_property
    def locations(self) -> Mapping[int, tuple[int, int]]:
        """For each value the weight or allocation whose memory it is in, and how many bytes after that it begins."""
        found = {weight.id: (weight.id, 0) for weight in self.weights}
        for one in self.instructions:
            if type(one) is Alloc:
                found[one.id] = (one.id, 0)
            elif type(one) is View:
                origin, offset = found.get(one.source, (one.source, 0))
                found[one.id] = (origin, offset + one.offset_bytes)
        return found

    def origin(self, value: int) -> int:
        """The weight or allocation whose memory a value is in."""
        return self.locations[value][0]

    def offset_in_origin(self, value: int) -> int:
        """How many bytes after those of its origin the elements of a value begin."""
        return self.locations[value][1]

    @cached_property
    def allocs(self) -> Mapping[int, Alloc]:
        """The allocations by their numbers."""
        return {one.id: one for one in self.instructions if type(one) is Alloc}

    @cached_property
    def deallocs(self) -> Mapping[int, Dealloc]:
        """The deallocation of each buffer, if it has one."""
        return {one.buffer: one for one in self.instructions if type(one) is Dealloc}

    @cached_property
    def histories(self) -> Mapping[int, Sequence[Event]]:
        """For each memory all accesses to it, in order. A value that is not defined counts as a memory of its own."""
        define, view, read, write, free = Access.DEFINE, Access.VIEW, Access.READ, Access.WRITE, Access.FREE
        found: dict[int, list[Event]] = {weight.id: [(define, weight.id, weight)] for weight in self.weights}
        of: defaultdict[int, list[Event]] = defaultdict(list)
        """By the value: the accesses to its memory."""
        for value, (origin, _) in self.locations.items():
            of[value] = found[origin] if origin in found else found.setdefault(origin, of[origin])
        for instruction in self.instructions:
            kind = type(instruction)
            if kind is Alloc:
                of[instruction.id].append((define, instruction.id, instruction))
            elif kind is View:
                of[instruction.id].append((view, instruction.id, instruction))
            elif isinstance(instruction, Dealloc):
                of[instruction.buffer].append((free, instruction.buffer, instruction))
            elif isinstance(instruction, Begin):
                for weight in self.weights if instruction.part is Part.BACKWARD else ():
                    if weight.role is Role.OUTPUT or weight.is_for_backward:
                        of[weight.id].append((Access.BACKWARD, weight.id, instruction))
            else:
                for one in unstacked(instruction):
                    for value in one.values_read:
                        of[value].append((read, value, one))
                    for value in one.values_written:
                        of[value].append((write, value, one))
        return found | {value: events for value, events in of.items() if value not in self.locations}

    @cached_property
    def uses(self) -> Mapping[int, Sequence[int]]:
        """For each weight and allocation the positions of the instructions that read or write its memory."""
        return self._positions_with(with_views=False)

    @cached_property
    def touches(self) -> Mapping[int, Sequence[int]]:
        """As `uses`, with the positions of the views of that memory."""
        return self._positions_with(with_views=True)

    def _positions_with(self, *, with_views: bool) -> Mapping[int, Sequence[int]]:
        """For each memory the positions of the instructions that access it so, each once, in order."""
        locations = self.locations
        found: dict[int, list[int]] = {weight.id: [] for weight in self.weights} | {
            buffer: [] for buffer in self.allocs
        }
        for position, one in enumerate(self.instructions):
            values = one.values_read + one.values_written
            for value in (one.id,) if with_views and type(one) is View else values:
                known = found[locations[value][0]]
                if not known or known[-1] != position:
                    known.append(position)
        return found

    @cached_property
    def last_writes(self) -> Mapping[int, int]:
        """For each weight and allocation that is written the position of the last instruction that does."""
        locations = self.locations
        return {
            locations[value][0]: position
            for position, one in enumerate(self.instructions)
            for value in one.values_written
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

    def with_offsets(self, offsets: Mapping[int, int]) -> "Program":
        """The program with another memory plan, of which nothing that was computed on demand depends."""
        found = replace(self, offsets=offsets)
        vars(found).update({name: value for name, value in vars(self).items() if name not in vars(found)})
        return found

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
