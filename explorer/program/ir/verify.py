"""The invariants of a program, and which of them a change may break.

A program is valid if each memory is used correctly, which depends only on the accesses to it and their order
(`Program.histories`), and each instruction fits its values, which depends only on itself and on their types and memory.
So after a change only memories with another history are checked, and the instructions that are new or have values of
another type or in another place.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise

import torch

from explorer.errors import GraphError
from explorer.program.ir.instructions import (
    Access,
    Alloc,
    Begin,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Part,
    Role,
    Stack,
    View,
    Way,
    Weight,
    calls_of,
)
from explorer.program.ir.program import Program
from explorer.program.ir.results import may_overwrite, results_of
from explorer.program.ir.spans import Bundle, are_same_elements, fills, overlap, why_not_elementwise

ALIGNMENT = 64
"""Buffers begin at multiples of this many bytes: a cache line, and the widest vector."""


def verify(program: Program, known: Program | None = None) -> None:
    """Check that numbers are unique, that values are defined, written and not freed when they are read, and types.

    `known` is a valid program: what is the same in it is not checked again.
    Raises: GraphError with the first violation.
    """
    if known is None or program.instructions is not known.instructions or program.weights is not known.weights:
        _check_contents(program, known)
    if program.offsets:
        _check_offsets(program)


def _check_contents(program: Program, known: Program | None) -> None:
    _check_numbers(program)
    _check_parts(program)
    histories = {} if known is None else known.histories
    changed = [origin for origin, events in program.histories.items() if histories.get(origin) != events]
    position, error = _first_wrong_access(program, changed)
    if known is None:
        parts = (part for one in program.instructions[:position] for part in _parts(one))
    else:
        parts = _new_or_moved(program, known, position)
    for part in parts:
        _check_instruction(program, part)
    if error is not None:
        raise error


def _new_or_moved(program: Program, known: Program, end: int) -> Iterator[Instruction]:
    """Yield the instructions before a position that are new, or use values that have changed since a valid program."""
    kinds, locations = known.definitions, known.locations
    changed = {
        value
        for value, found in program.definitions.items()
        if value not in kinds or kinds[value].type is not found.type or locations[value] != program.locations[value]
    }
    if not changed and program.instructions is known.instructions:
        return
    unchanged = {id(part) for one in known.instructions for part in _parts(one)}
    for one in program.instructions[:end]:
        for part in _parts(one):
            if id(part) not in unchanged or not changed.isdisjoint(part.values_read + part.values_written):
                yield part


def _parts(one: Instruction) -> tuple[Instruction, ...]:
    """Return an instruction; a stack after its calls."""
    return (*one.calls, one) if type(one) is Stack else (one,)


def _check_numbers(program: Program) -> None:
    numbers = [one.id for one in (*program.weights, *program.instructions)]
    numbers += [call.id for one in program.instructions if type(one) is Stack for call in one.calls]
    if len(set(numbers)) < len(numbers):
        seen = set[int]()
        twice = next(number for number in numbers if number in seen or seen.add(number))
        raise GraphError(f"the number #{twice} is used twice")


def _check_parts(program: Program) -> None:
    order = list(Part)
    found = [one for one in program.instructions if isinstance(one, Begin)]
    for before, one in pairwise(found):
        if order.index(one.part) <= order.index(before.part):
            raise GraphError(f"#{one.id} begins the part {one.part.value} after the part {before.part.value}")


def _first_wrong_access(program: Program, origins: Iterable[int]) -> tuple[int, GraphError | None]:
    """Find the position of the first invalid access to some memories, and the error; the end if there is none."""
    found = [error for origin in origins if (error := MemoryUse(program, origin).first_error()) is not None]
    positions = {call.id: i for i, one in enumerate(program.instructions) for call in calls_of(one)} if found else {}
    placed = [(positions.get(number, len(program)), error) for number, error in found]
    return min(placed, key=lambda one: one[0], default=(len(program), None))


def _check_instruction(program: Program, one: Instruction) -> None:
    """Check the types of values, and that no input is overwritten too early. Raises: GraphError."""
    match one:
        case Copy():
            source, dest = program.definitions[one.source].type, program.definitions[one.dest].type
            if source.shape != dest.shape:
                raise GraphError(f"#{one.id} copies {source} into {dest}: the shapes differ")
        case Call():
            _check_call(program, one)
        case Stack():
            bundle = Bundle(program)
            for call in one.calls:
                reason = why_not_elementwise(call) or bundle.why_not(call)
                if reason is not None:
                    raise GraphError(f"#{call.id} cannot be in the stack #{one.id}: {reason}")
                bundle.add(call)
        case _:
            pass


def _check_call(program: Program, one: Call) -> None:
    definitions = program.definitions
    kinds = tuple([definitions[value].type if isinstance(value, int) else value for value in one.inputs])
    results = results_of(one.op, kinds)
    if len(results) != len(one.outputs):
        raise GraphError(f"#{one.id} {one.op.name} has {len(results)} results, and {len(one.outputs)} outputs")
    for value, result in zip(one.outputs, results, strict=True):
        if result is None or value is None:
            if result is not value:
                raise GraphError(f"#{one.id} {one.op.name}: an output is not a tensor")
            continue
        kind, wanted = definitions[value].type, result.type
        if kind is not wanted and (kind.dtype, kind.shape, kind.device) != (wanted.dtype, wanted.shape, wanted.device):
            raise GraphError(f"#{one.id} {one.op.name} returns {wanted}, but %{value} is {kind}")
        if one.way is Way.OUT:
            _check_apart(program, one, value)


def _check_apart(program: Program, one: Call, value: int) -> None:
    """Check that an output overlaps no input, except one that it may overwrite. Raises: GraphError."""
    locations = program.locations
    origin = locations[value][0]
    for position, other in enumerate(one.inputs):
        if not isinstance(other, int) or locations[other][0] != origin or not overlap(program, value, other):
            continue
        if may_overwrite(one.op.target, position) and are_same_elements(program, value, other):
            continue
        raise GraphError(f"#{one.id} {one.op.name} writes %{value}, which overlaps its input %{other}")


def _check_offsets(program: Program) -> None:
    """Check that each buffer has an offset, and shares no byte with another live one. Raises: GraphError."""
    if set(program.offsets) != set(program.allocs):
        odd = ", ".join(f"%{buffer}" for buffer in sorted(set(program.offsets) ^ set(program.allocs)))
        raise GraphError(f"the memory plan and the program have different buffers: {odd}")
    live = {alloc.type.device: list[_Span]() for alloc in program.allocs.values()}
    for one in program.instructions:
        alloc = program.allocs[one.buffer] if isinstance(one, Dealloc) else one
        if not isinstance(alloc, Alloc) or not alloc.type.size_bytes:
            continue
        start = program.offsets[alloc.id]
        span = (start, start + alloc.type.size_bytes, alloc.id)
        spans = live[alloc.type.device]
        place = bisect_left(spans, span)
        if isinstance(one, Dealloc):
            del spans[place]
            continue
        _check_span(span, spans[max(place - 1, 0) : place + 1])
        spans.insert(place, span)


_Span = tuple[int, int, int]
"""The first byte of a buffer, the one after its last, and its number."""


def _check_span(span: _Span, neighbors: list[_Span]) -> None:
    start, end, buffer = span
    if start < 0 or start % ALIGNMENT:
        raise GraphError(f"%{buffer} begins at byte {start}, not at a multiple of {ALIGNMENT}")
    for low, high, other in neighbors:
        if start < high and low < end:
            raise GraphError(f"%{buffer} has bytes {start} to {end}, and %{other}, which is alive, shares some of them")


def _is_plain(program: Program, origin: int) -> bool:
    """Check quickly whether accesses are legal; covers most memories.

    A buffer is defined, written as a whole, then read or written, and freed, always as a whole; a weight is only read.
    """
    owner, events = program.definitions.get(origin), program.histories[origin]
    read, write, view = Access.READ, Access.WRITE, Access.VIEW
    if isinstance(owner, Weight):
        is_given = owner.role in (Role.INPUT, Role.WEIGHT, Role.CONSTANT)
        return is_given and all(access is read for access, _, _ in events[1:])
    if events[0][0] is not Access.DEFINE or events[-1][0] is not Access.FREE or events[-1][1] != origin:
        return False
    whole, is_written = {origin} if fills(program, origin) else set[int](), False
    for access, value, one in events[1:-1]:
        if access is view and isinstance(one, View) and one.source in whole and _is_whole(program, value, origin):
            whole.add(value)
            continue
        is_write = access is write
        if value not in whole or not (is_write or (access is read and is_written)):
            return False
        is_written = True
    return is_written


def _is_whole(program: Program, value: int, origin: int) -> bool:
    """Return whether a value covers its whole memory from the start."""
    return program.locations[value] == (origin, 0) and fills(program, value)


class MemoryUse:
    """The state of a weight or allocation while a program runs: defined values and written elements."""

    def __init__(self, program: Program, origin: int) -> None:
        self._program = program
        self._origin = origin
        self._owner = program.definitions.get(origin)
        self._defined = set[int]()
        self._is_freed = False
        self._is_backward = False
        self._written: torch.Tensor | bool = isinstance(self._owner, Weight) and not self._owner.is_returned
        """Whether all elements are written, or a mask of the bytes."""

    def first_error(self) -> tuple[int, GraphError] | None:
        """Find the first instruction with an invalid access (-1: the end of the program), and the error."""
        number = -1
        if _is_plain(self._program, self._origin):
            return None
        try:
            for access, value, one in self._program.histories[self._origin]:
                number = one.id
                self._step(access, value, one)
            number = -1
            self._end()
        except GraphError as error:
            return number, error
        return None

    def _step(self, access: Access, value: int, one: Instruction | Weight) -> None:
        if access is Access.READ:
            self._check_usable(one, value)
            if self._written is not True:
                self._check_written(value, f"#{one.id}", "reads it")
        elif access is Access.WRITE:
            self._check_usable(one, value)
            self._write(one, value)
        elif access is Access.VIEW:
            assert isinstance(one, View)
            self._check_usable(one, one.source)
            self._check_bounds(one)
            self._defined.add(value)
        elif access is Access.DEFINE:
            self._defined.add(value)
        elif access is Access.FREE:
            self._free(one, value)
        else:
            self._begin_backward()

    def _begin_backward(self) -> None:
        """Check the outputs, which the caller has from now on."""
        self._is_backward = True
        if isinstance(self._owner, Weight) and self._owner.role is Role.OUTPUT:
            self._check_returned(self._owner)

    def _end(self) -> None:
        owner = self._owner
        if isinstance(owner, Alloc) and not self._is_freed:
            raise GraphError(f"buffer %{self._origin} is never freed")
        if isinstance(owner, Weight) and owner.is_for_backward and not self._is_backward:
            raise GraphError("the program has tangents or gradients, and no backward pass")
        if isinstance(owner, Weight) and owner.is_returned and self._is_here(owner):
            self._check_returned(owner)

    def _is_here(self, owner: Weight) -> bool:
        """Return whether the present part of the program has a weight."""
        if owner.role is Role.OUTPUT:
            return not self._is_backward
        return self._is_backward or not owner.is_for_backward

    def _check_returned(self, owner: Weight) -> None:
        self._check_written(self._origin, f"the {owner.role.value} {owner.name}", "is returned")

    def _check_usable(self, one: Instruction | Weight, value: int) -> None:
        if value not in self._defined:
            raise GraphError(f"#{one.id} uses %{value}, which is not defined before it")
        if self._is_freed:
            raise GraphError(f"#{one.id} uses %{value} after its memory was freed")
        owner = self._owner
        if isinstance(owner, Weight) and not self._is_here(owner):
            when = "before" if owner.is_for_backward else "in"
            raise GraphError(f"#{one.id} uses the {owner.role.value} {owner.name} {when} the backward pass")

    def _check_bounds(self, one: View) -> None:
        assert self._owner is not None
        if not one.type.size:
            return  # a view of no element may begin anywhere
        room = self._owner.type.size_bytes
        first = self._program.offset_in_origin(one.id)
        if first < 0 or first + one.type.size_bytes > room:
            raise GraphError(
                f"the view %{one.id} has bytes {first} to {first + one.type.size_bytes} of a buffer of {room} bytes"
            )

    def _check_written(self, value: int, who: str, verb: str) -> None:
        written = self._written
        if isinstance(written, torch.Tensor):
            written = bool(self._part(written, value).all())
        if not written and self._program.definitions[value].type.size:
            raise GraphError(f"{who} {verb} before all elements of %{value} are written")

    def _write(self, one: Instruction | Weight, value: int) -> None:
        owner = self._owner
        if isinstance(owner, Weight) and owner.role in (Role.INPUT, Role.TANGENT, Role.CONSTANT):
            raise GraphError(f"#{one.id} writes the {owner.role.value} {owner.name}, which is only read")
        if self._written is True:
            return
        if fills(self._program, value):
            self._written = True
        else:
            if not isinstance(self._written, torch.Tensor):
                assert owner is not None
                self._written = torch.zeros(owner.type.size_bytes, dtype=torch.bool)
            self._part(self._written, value).fill_(True)

    def _part(self, mask: torch.Tensor, value: int) -> torch.Tensor:
        """Select the bytes of the elements of a value."""
        kind = self._program.definitions[value].type
        width = kind.dtype.itemsize
        strides = [stride * width for stride in kind.strides]
        return mask.as_strided((*kind.shape, width), (*strides, 1), self._program.offset_in_origin(value))

    def _free(self, one: Instruction | Weight, value: int) -> None:
        if value != self._origin or value not in self._defined or not isinstance(self._owner, Alloc):
            raise GraphError(f"#{one.id} frees %{value}, which is not an allocation before it")
        if self._is_freed:
            raise GraphError(f"#{one.id} frees %{value} a second time")
        self._is_freed = True
