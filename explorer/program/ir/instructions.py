"""The instructions of a program, and the weights that they read and write.

A weight, an allocation and a view define a value, which has their number. All other instructions read and write
elements of values: `values_read` lists the values that an instruction reads, in order and with repetitions;
`values_written` the ones that it writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar

import torch

from explorer.program.ir.types import BufferType
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.variables import NOWHERE, SourceLocation


class OperandKind(Enum):
    """Kinds of operands: read, overwritten, written."""

    IN = "in"
    INOUT = "inout"
    OUT = "out"


class Access(Enum):
    """Kinds of accesses to the memory of a value."""

    DEFINE = "define"
    VIEW = "view"
    READ = "read"
    WRITE = "write"
    FREE = "free"
    BACKWARD = "backward"
    """The start of the backward pass, which has other weights than the forward pass."""


class Role(Enum):
    """Roles of weights."""

    INPUT = "input"
    TANGENT = "tangent"
    """The gradient of an output, an input of the backward pass."""
    WEIGHT = "weight"
    """A parameter or buffer that the program might write."""
    CONSTANT = "constant"
    """A parameter or buffer that the program only reads."""
    OUTPUT = "output"
    GRADIENT = "gradient"
    """A result of the backward pass."""


class Part(Enum):
    """A part of a program, in the order in which they run."""

    PARAMETERS = "parameters"
    """Operators that depend on parameters and buffers only."""
    FORWARD = "forward"
    BACKWARD = "backward"
    """The backward pass, which runs in a later call than the rest."""


class Way(Enum):
    """Ways in which an operator of PyTorch writes its results into planned memory."""

    OUT = "out"
    """The `out=` overload writes them."""
    COPIED = "copied"
    """The operator allocates its results, which are then copied: no `out=` overload computes in place."""
    ITSELF = "itself"
    """The operator overwrites its own inputs, which are its results."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Memory that lives longer than a call: an input, a parameter or buffer, or an output."""

    id: int
    name: str
    role: Role
    type: BufferType
    is_trainable: bool = False

    @property
    def is_returned(self) -> bool:
        """Whether the program returns it; all other weights are arguments."""
        return self.role in (Role.OUTPUT, Role.GRADIENT)

    @property
    def is_for_backward(self) -> bool:
        """Whether only the backward pass has it."""
        return self.role in (Role.TANGENT, Role.GRADIENT)


@dataclass(frozen=True, slots=True)
class Alloc:
    """Reserve memory for a value."""

    id: int
    type: BufferType
    values_read: ClassVar[tuple[int, ...]] = ()
    values_written: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True, slots=True)
class View:
    """Another view of the memory of a value, which begins `offset_bytes` after `source`.

    `label` is the operator that made it.
    """

    id: int
    source: int
    type: BufferType
    offset_bytes: int = 0
    label: str = ""
    values_read: ClassVar[tuple[int, ...]] = ()
    values_written: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number as an operand, which acts in a dtype."""

    value: complex
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Call:
    """Apply an operator to `inputs`, in the order of its slots; a result that is not a tensor has no value."""

    id: int
    op: Op
    inputs: tuple[int | Number, ...]
    outputs: tuple[int | None, ...]
    way: Way = Way.OUT
    location: SourceLocation = field(default=NOWHERE, compare=False)
    values_read: tuple[int, ...] = field(init=False, repr=False, compare=False)
    values_written: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values_read", tuple([v for v in self.inputs if not isinstance(v, Number)]))
        object.__setattr__(self, "values_written", tuple([v for v in self.outputs if v is not None]))


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the elements of a value into another one of the same shape."""

    id: int
    source: int
    dest: int

    @property
    def values_read(self) -> tuple[int, ...]:
        """Its source."""
        return (self.source,)

    @property
    def values_written(self) -> tuple[int, ...]:
        """Its destination."""
        return (self.dest,)


@dataclass(frozen=True, slots=True)
class Stack:
    """Elementwise calls on equally many elements, which run as one kernel."""

    id: int
    calls: tuple[Call, ...]
    values_read: tuple[int, ...] = field(init=False, repr=False, compare=False)
    values_written: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read = tuple([value for call in self.calls for value in call.values_read])
        written = tuple(dict.fromkeys([value for call in self.calls for value in call.values_written]))
        object.__setattr__(self, "values_read", read)
        object.__setattr__(self, "values_written", written)


@dataclass(frozen=True, slots=True)
class Dealloc:
    """Free the memory of an allocation."""

    id: int
    buffer: int
    values_read: ClassVar[tuple[int, ...]] = ()
    values_written: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a part. It does nothing; a program without such instructions is a forward pass."""

    id: int
    part: Part
    values_read: ClassVar[tuple[int, ...]] = ()
    values_written: ClassVar[tuple[int, ...]] = ()


Instruction = Alloc | View | Call | Copy | Stack | Dealloc | Begin
Definition = Weight | Alloc | View
Event = tuple[Access, int, Weight | Instruction]
"""An access to a value, and the weight or instruction (for a stack, the call) that makes it."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that an instruction reads, writes, or both."""

    value: int
    kind: OperandKind
    name: str


def runs(instruction: Instruction) -> bool:
    """Return whether an instruction reads or writes elements, instead of only naming or reserving memory."""
    return type(instruction) in (Call, Copy, Stack)


def calls_of(instruction: Instruction) -> tuple[Instruction, ...]:
    """Return the calls of a stack, or any other instruction itself."""
    return instruction.calls if type(instruction) is Stack else (instruction,)


def with_values(instruction: Instruction, names: Mapping[int, int]) -> Instruction:
    """Replace the values in `names` that an instruction uses; values that it defines or frees stay."""
    viewed = (instruction.source,) if isinstance(instruction, View) else ()
    known = names.keys()
    if all(map(known.isdisjoint, (instruction.values_read, instruction.values_written, viewed))):
        return instruction
    match instruction:
        case View(id, source, kind, offset_bytes, label):
            return View(id, names.get(source, source), kind, offset_bytes, label)
        case Copy(id, source, dest):
            return Copy(id, names.get(source, source), names.get(dest, dest))
        case Call(id, op, inputs, outputs, way, location):
            inputs = tuple([names.get(v, v) if isinstance(v, int) else v for v in inputs])
            outputs = tuple([None if v is None else names.get(v, v) for v in outputs])
            return Call(id, op, inputs, outputs, way, location)
        case Stack():
            calls = (with_values(call, names) for call in instruction.calls)
            return replace(instruction, calls=tuple(call for call in calls if isinstance(call, Call)))
        case _:
            return instruction


def operands(instruction: Instruction) -> tuple[Operand, ...]:
    """List the operands of an instruction; a value that is read and written is one operand `inout`."""
    found: dict[int, Operand] = {}
    written = instruction.values_written
    for value, name in zip(instruction.values_read, _names(instruction), strict=True):
        kind = OperandKind.INOUT if value in written else OperandKind.IN
        found.setdefault(value, Operand(value, kind, name))
    for position, value in enumerate(written):
        name = "out" if len(written) == 1 else f"out{position}"
        found.setdefault(value, Operand(value, OperandKind.OUT, name))
    return tuple(found.values())


def _names(instruction: Instruction) -> list[str]:
    """Return the name of the argument for each value that is read."""
    match instruction:
        case Call():
            named = zip(instruction.op.input_names(), instruction.inputs, strict=True)
            return [name for name, value in named if isinstance(value, int)]
        case Copy():
            return ["source"]
        case Stack():
            return [name for call in instruction.calls for name in _names(call)]
        case _:
            return []
