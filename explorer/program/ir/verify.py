"""The invariants of a program."""

from bisect import bisect_left

import torch

from explorer.errors import GraphError
from explorer.program.ir.instructions import (
    Alloc,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Number,
    Role,
    Stack,
    View,
    Way,
    reads,
    writes,
)
from explorer.program.ir.program import Program
from explorer.program.ir.results import results_of
from explorer.program.ir.stacks import Bundle, why_not_elementwise
from explorer.program.ir.types import BufferType

ALIGNMENT = 64
"""Buffers begin at multiples of this many bytes: a cache line, and the widest vector."""


def verify(program: Program) -> None:
    """Check that numbers are unique, that a value is defined, written and not freed when it is read, and types.

    Raises: GraphError with the first violation.
    """
    _check_numbers(program)
    state = _State(program)
    for one in program.instructions:
        state.step(one)
    for weight in program.with_role(Role.OUTPUT):
        state.check_written(weight.id, f"the output {weight.name}", "is returned")
    for buffer in program.allocs:
        if buffer not in state.freed:
            raise GraphError(f"buffer %{buffer} is never freed")
    if program.offsets:
        _check_offsets(program)


def _check_numbers(program: Program) -> None:
    seen: set[int] = set()
    inner = (call for one in program.instructions if isinstance(one, Stack) for call in one.calls)
    for one in (*program.weights, *program.instructions, *inner):
        if one.id in seen:
            raise GraphError(f"the number #{one.id} is used twice")
        seen.add(one.id)


def fills(program: Program, value: int) -> bool:
    """Whether a value is all the memory of its weight or allocation."""
    origin = program.origin(value)
    if origin == value:
        return program.definitions[value].type.is_dense
    kind, whole = program.definitions[value].type, program.definitions[origin].type
    return kind.is_dense and whole.is_dense and kind.size_bytes == whole.size_bytes


class _State:
    """What is defined, written and freed while a program runs."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.defined: dict[int, BufferType] = {}
        self.freed: set[int] = set()
        self._written: dict[int, torch.Tensor | bool] = {}
        """For each origin: whether all its elements were written, or which."""
        for weight in program.weights:
            self.defined[weight.id] = weight.type
            self._written[weight.id] = weight.role is not Role.OUTPUT
        self._fixed = {w.id: w for w in program.weights if w.role in (Role.INPUT, Role.CONSTANT)}

    def step(self, one: Instruction) -> None:
        """Check an instruction, and note what it does."""
        match one:
            case Alloc():
                self.defined[one.id] = one.type
                self._written[one.id] = False
            case View():
                self._check_view(one)
                self.defined[one.id] = one.type
            case Dealloc():
                if one.buffer not in self.program.allocs or one.buffer not in self.defined:
                    raise GraphError(f"#{one.id} frees %{one.buffer}, which is no allocation before it")
                if one.buffer in self.freed:
                    raise GraphError(f"#{one.id} frees %{one.buffer} a second time")
                self.freed.add(one.buffer)
            case Copy():
                self._access(one)
                if self.defined[one.source].shape != self.defined[one.dest].shape:
                    source, dest = self.defined[one.source], self.defined[one.dest]
                    raise GraphError(f"#{one.id} copies {source} into {dest}: the shapes differ")
            case Call():
                self._call(one)
            case Stack():
                self._stack(one)

    def check_written(self, value: int, who: str, verb: str) -> None:
        """Raises: GraphError if elements of a value were not written."""
        written = self._written[self.program.origin(value)]
        if isinstance(written, torch.Tensor):
            written = bool(self._part(written, value).all())
        if not written and self.defined[value].size:
            raise GraphError(f"{who} {verb} before all elements of %{value} are written")

    def _check_view(self, one: View) -> None:
        self._check_usable(one, one.source)
        room = self.defined[self.program.origin(one.source)].size_bytes
        first = self.program.offset_in_origin(one.id)
        if first < 0 or first + one.type.size_bytes > room:
            raise GraphError(
                f"the view %{one.id} has bytes {first} to {first + one.type.size_bytes} of a buffer of {room} bytes"
            )

    def _check_usable(self, one: Instruction, value: int) -> None:
        if value not in self.defined:
            raise GraphError(f"#{one.id} uses %{value}, which is not defined before it")
        if self.program.origin(value) in self.freed:
            raise GraphError(f"#{one.id} uses %{value} after its memory was freed")

    def _access(self, one: Call | Copy) -> None:
        for value in reads(one):
            self._check_usable(one, value)
            self.check_written(value, f"#{one.id}", "reads it")
        for value in writes(one):
            self._check_usable(one, value)
            origin = self.program.origin(value)
            if origin in self._fixed:
                weight = self._fixed[origin]
                raise GraphError(f"#{one.id} writes the {weight.role.value} {weight.name}, which is only read")
            self._write(origin, value)

    def _write(self, origin: int, value: int) -> None:
        if fills(self.program, value):
            self._written[origin] = True
        elif self._written[origin] is not True:
            mask = self._written[origin]
            if not isinstance(mask, torch.Tensor):
                self._written[origin] = mask = torch.zeros(self.defined[origin].size_bytes, dtype=torch.bool)
            self._part(mask, value).fill_(True)

    def _part(self, mask: torch.Tensor, value: int) -> torch.Tensor:
        """The bytes of the elements of a value."""
        kind = self.defined[value]
        width = kind.dtype.itemsize
        strides = [stride * width for stride in kind.strides]
        return mask.as_strided((*kind.shape, width), (*strides, 1), self.program.offset_in_origin(value))

    def _call(self, one: Call) -> None:
        self._access(one)
        kinds = tuple(value if isinstance(value, Number) else self.defined[value] for value in one.inputs)
        results = results_of(one.op, kinds)
        if len(results) != len(one.outputs):
            raise GraphError(f"#{one.id} {one.op.name} has {len(results)} results, and {len(one.outputs)} outputs")
        for value, result in zip(one.outputs, results, strict=True):
            if result is None or value is None:
                if result is not value:
                    raise GraphError(f"#{one.id} {one.op.name}: an output is no tensor")
                continue
            kind = self.defined[value]
            if (kind.dtype, kind.shape, kind.device) != (result.type.dtype, result.type.shape, result.type.device):
                raise GraphError(f"#{one.id} {one.op.name} returns {result.type}, but %{value} is {kind}")
            if one.way is Way.OUT:
                self._check_apart(one, value)

    def _stack(self, one: Stack) -> None:
        bundle = Bundle(self.program)
        for call in one.calls:
            self._call(call)
            reason = why_not_elementwise(call) or bundle.why_not(call)
            if reason is not None:
                raise GraphError(f"#{call.id} cannot be in the stack #{one.id}: {reason}")
            bundle.add(call)

    def _check_apart(self, one: Call, value: int) -> None:
        """Raises: GraphError if an output overlaps an input, unless it is that input of an elementwise operator."""
        origin = self.program.origin(value)
        elementwise = torch.Tag.pointwise in one.op.target.tags
        for other in reads(one):
            if self.program.origin(other) != origin or not self._overlap(value, other):
                continue
            same = self._span(value) == self._span(other) and self.defined[value].is_same(self.defined[other])
            if not (elementwise and same):
                raise GraphError(f"#{one.id} {one.op.name} writes %{value}, which overlaps its input %{other}")

    def _overlap(self, one: int, other: int) -> bool:
        first, second = self._span(one), self._span(other)
        return first[0] < second[1] and second[0] < first[1]

    def _span(self, value: int) -> tuple[int, int]:
        start = self.program.offset_in_origin(value)
        return start, start + self.defined[value].size_bytes


def _check_offsets(program: Program) -> None:
    """Raises: GraphError if a buffer has no place, or shares bytes with another one that lives at the same time."""
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
        raise GraphError(f"%{buffer} begins at byte {start}, which is no multiple of {ALIGNMENT}")
    for low, high, other in neighbors:
        if start < high and low < end:
            raise GraphError(f"%{buffer} has bytes {start} to {end}, and %{other}, which is alive, shares some of them")
