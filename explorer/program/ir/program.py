"""`Program`: weights, instructions in the order of their execution, and the places of their buffers.

Its text has a line for each weight and instruction; `parse_program` reads it back.

```
program digits
%0 = input x : i64[8,64]
%5 = constant weight : f32[16,16]
%9 = alloc f32[8,16] at 0
#7 aten.mm(self=%0, mat2=%5) -> %9
%8 = view %9 : f32[16] + 32 bytes, select
#10 copy %8 -> %11
#12 dealloc %9
#13 begin backward
```
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from explorer.program.ir.instructions import (
    Access,
    Alloc,
    Begin,
    Call,
    Copy,
    Dealloc,
    Definition,
    Event,
    Instruction,
    Number,
    Part,
    Role,
    Stack,
    View,
    Way,
    Weight,
    calls_of,
    runs,
)
from explorer.tensor.ir.ops import SLOT


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions on explicit buffers. It is immutable: a pass makes a new one that shares the unchanged parts.

    `offsets` maps each allocation to its offset in bytes, once memory is planned; otherwise it is empty and each
    allocation has its own memory.
    """

    weights: tuple[Weight, ...]
    instructions: tuple[Instruction, ...]
    offsets: Mapping[int, int] = field(default_factory=dict[int, int])
    name: str = ""

    @cached_property
    def definitions(self) -> Mapping[int, Definition]:
        """The definition of each value, by its number."""
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
        """The memory of each value: its weight or allocation (the origin), and the offset in bytes."""
        found = {weight.id: (weight.id, 0) for weight in self.weights}
        for one in self.instructions:
            if type(one) is Alloc:
                found[one.id] = (one.id, 0)
            elif type(one) is View:
                origin, offset = found.get(one.source, (one.source, 0))
                found[one.id] = (origin, offset + one.offset_bytes)
        return found

    def origin(self, value: int) -> int:
        """Return the weight or allocation that holds a value."""
        return self.locations[value][0]

    def offset_in_origin(self, value: int) -> int:
        """Return the offset of a value in its origin, in bytes."""
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
        """All accesses to each memory, in order. An undefined value counts as its own memory."""
        define, view, read, write, free = Access.DEFINE, Access.VIEW, Access.READ, Access.WRITE, Access.FREE
        found: dict[int, list[Event]] = {weight.id: [(define, weight.id, weight)] for weight in self.weights}
        of: defaultdict[int, list[Event]] = defaultdict(list)
        """The accesses to the memory of each value."""
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
                for one in calls_of(instruction):
                    for value in one.values_read:
                        of[value].append((read, value, one))
                    for value in one.values_written:
                        of[value].append((write, value, one))
        return found | {value: events for value, events in of.items() if value not in self.locations}

    @cached_property
    def uses(self) -> Mapping[int, Sequence[int]]:
        """The positions of the instructions that read or write each weight and allocation."""
        return self._positions_with(with_views=False)

    @cached_property
    def touches(self) -> Mapping[int, Sequence[int]]:
        """The same as `uses`, with the positions of views."""
        return self._positions_with(with_views=True)

    def _positions_with(self, *, with_views: bool) -> Mapping[int, Sequence[int]]:
        """Return the positions of the instructions that access each memory, once each and in order."""
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
        """The position of the last instruction that writes each weight and allocation."""
        locations = self.locations
        return {
            locations[value][0]: position
            for position, one in enumerate(self.instructions)
            for value in one.values_written
        }

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """The number of calls, copies and stacks before each position, and before the end."""
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
        """The position of the first instruction of the backward pass; after the last one if there is none."""
        begins = (i for i, one in enumerate(self.instructions) if isinstance(one, Begin) and one.part is Part.BACKWARD)
        return next(begins, len(self.instructions))

    def with_role(self, role: Role) -> tuple[Weight, ...]:
        """Return the weights of a role, in order."""
        return tuple(weight for weight in self.weights if weight.role is role)

    @property
    def next_id(self) -> int:
        """The smallest number above all used ones."""
        stacked = (call for one in self.instructions if isinstance(one, Stack) for call in one.calls)
        return 1 + max((one.id for one in (*self.weights, *self.instructions, *stacked)), default=-1)

    def with_offsets(self, offsets: Mapping[int, int]) -> "Program":
        """Replace the memory plan; cached properties are kept, because none depends on it."""
        found = replace(self, offsets=offsets)
        vars(found).update({name: value for name, value in vars(self).items() if name not in vars(found)})
        return found

    def text(self) -> str:
        """Return one line per weight and instruction; `parse_program` reads it back."""
        lines = [f"program {self.name}".rstrip(), *map(weight_text, self.weights)]
        lines += [instruction_text(one, self.offsets.get(one.id)) for one in self.instructions]
        return "\n".join(lines)

    def __deepcopy__(self, memo: object) -> "Program":
        return self

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Program: {len(self.instructions)} instructions, {len(self.allocs)} buffers>"


def weight_text(weight: Weight) -> str:
    """Return the line of a weight."""
    trainable = ", trainable" if weight.is_trainable else ""
    return f"%{weight.id} = {weight.role.value} {weight.name} : {weight.type}{trainable}"


def instruction_text(one: Instruction, offset_bytes: int | None = None) -> str:
    """Return the line of an instruction; `offset_bytes` is the offset of an allocation."""
    match one:
        case Alloc():
            return f"%{one.id} = alloc {one.type}" + ("" if offset_bytes is None else f" at {offset_bytes}")
        case View():
            label = f", {one.label}" if one.label else ""
            return f"%{one.id} = view %{one.source} : {one.type} + {one.offset_bytes} bytes{label}"
        case Dealloc():
            return f"#{one.id} dealloc %{one.buffer}"
        case Copy():
            return f"#{one.id} copy %{one.source} -> %{one.dest}"
        case Begin():
            return f"#{one.id} begin {one.part.value}"
        case Call():
            return call_text(one)
        case Stack():
            return f"#{one.id} stack {{ {' ; '.join(map(call_text, one.calls))} }}"


def call_text(one: Call) -> str:
    """Return the text of a call: the operator with its arguments by name, and the values that it writes."""
    waiting = iter(one.inputs)
    filled = {name: _argument(value, waiting) for name, value in one.op.arguments}
    known = {name for name, value in one.op.arguments if name in one.op.settings or _has_slot(value)}
    arguments = ", ".join(f"{name}={value}" for name, value in filled.items() if name in known)
    outputs = ", ".join("none" if value is None else f"%{value}" for value in one.outputs)
    way = "" if one.way is Way.OUT else f" ({one.way.value})"
    return f"#{one.id} {one.op.target}({arguments}) -> {outputs}{way}"


def _argument(value: Any, waiting: Iterable[int | Number]) -> str:
    if value is SLOT:
        return _operand(next(iter(waiting)))
    if isinstance(value, tuple):
        return f"[{', '.join(_argument(item, waiting) for item in value)}]"
    return repr(value) if isinstance(value, str) else str(value)


def _operand(value: int | Number) -> str:
    if isinstance(value, Number):
        return f"{value.value!r}:{str(value.dtype).removeprefix('torch.')}"
    return f"%{value}"


def _has_slot(value: Any) -> bool:
    return value is SLOT or (isinstance(value, tuple) and any(map(_has_slot, value)))
