"""A program as text, a line for each weight and instruction; `parse_program` reads it back.

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

from collections.abc import Iterable
from typing import Any

from explorer.program.ir.instructions import (
    Alloc,
    Begin,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Number,
    Stack,
    View,
    Way,
    Weight,
)
from explorer.program.ir.program import Program
from explorer.tensor.ir.ops import SLOT


def text(program: Program) -> str:
    """The program as text."""
    lines = [f"program {program.name}".rstrip(), *map(weight_text, program.weights)]
    lines += [instruction_text(one, program.offsets.get(one.id)) for one in program.instructions]
    return "\n".join(lines)


def weight_text(weight: Weight) -> str:
    """The line of a weight."""
    trainable = ", trainable" if weight.is_trainable else ""
    return f"%{weight.id} = {weight.role.value} {weight.name} : {weight.type}{trainable}"


def instruction_text(one: Instruction, offset_bytes: int | None = None) -> str:
    """The line of an instruction; `offset_bytes` is where an allocation lies."""
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
    """A call: the operator with its arguments by name, and the values that it writes."""
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
