"""What each instruction does in a call: prepared once, so that a call only looks up tensors and runs kernels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.program.ir.instructions import Alloc, Begin, Call, Copy, Dealloc, Instruction, Stack, View, Way
from explorer.program.ir.results import out_overload
from explorer.program.ir.types import BufferType
from explorer.tensor.ir.numbers import PythonNumber, operands
from explorer.tensor.ir.schemas import aten, flat_results, kernel, split_call

Block = tuple[torch.device, torch.dtype]
"""The planned memory of a device, as elements of a dtype."""
Values = dict[int | Block, torch.Tensor]
"""The tensors of a call: those of values by number, and the planned memory."""
Step = Callable[[Values], None]
Poison = Callable[[torch.Tensor], None]


VIEW_OF = {
    aten.slice_scatter.default: aten.slice.Tensor,
    aten.select_scatter.default: aten.select.int,
    aten.diagonal_scatter.default: aten.diagonal.default,
}
"""The part of a tensor that an operator replaces."""


def step_of(one: Instruction, offsets: Mapping[int, int], poison: Poison | None) -> Step:
    """What an instruction does to the tensors of a call."""
    match one:
        case Alloc():
            return _alloc(one, offsets.get(one.id), poison)
        case View():
            return _view(one)
        case Copy():
            return _copy(one)
        case Call():
            return _call(one)
        case Stack():
            return _in_order([_call(call) for call in one.calls])
        case Dealloc():
            return _dealloc(one, poison)
        case Begin():
            return _nothing


def _nothing(values: Values) -> None:
    """Where a part begins."""


def allocate(kind: BufferType) -> torch.Tensor:
    """Memory for a tensor of a type."""
    return torch.empty_strided(kind.shape, kind.strides, dtype=kind.dtype, device=kind.device)


def _alloc(one: Alloc, offset_bytes: int | None, poison: Poison | None) -> Step:
    kind = one.type
    block = (kind.device, kind.dtype)

    def step(values: Values) -> None:
        made = allocate(kind) if offset_bytes is None else _view_of(values[block], kind, offset_bytes)
        values[one.id] = made
        if poison is not None:
            poison(made)

    return step


def _dealloc(one: Dealloc, poison: Poison | None) -> Step:
    def step(values: Values) -> None:
        freed = values.pop(one.buffer)
        if poison is not None:
            poison(freed)

    return step


def _view(one: View) -> Step:
    def step(values: Values) -> None:
        values[one.id] = _view_of(values[one.source], one.type, one.offset_bytes)

    return step


def _copy(one: Copy) -> Step:
    def step(values: Values) -> None:
        values[one.dest].copy_(values[one.source])

    return step


def _in_order(steps: list[Step]) -> Step:
    def step(values: Values) -> None:
        for one in steps:
            one(values)

    return step


def _view_of(source: torch.Tensor, kind: BufferType, offset_bytes: int) -> torch.Tensor:
    """A view of the memory of a tensor, that many bytes after its first element."""
    start, rest = divmod(int(source.storage_offset()) * source.dtype.itemsize + offset_bytes, kind.dtype.itemsize)
    if rest:
        raise OperatorError(f"{kind} cannot begin between two of its elements; pass a tensor with memory of its own")
    if source.dtype is kind.dtype:
        return source.as_strided(kind.shape, kind.strides, start)
    made = torch.empty(0, dtype=kind.dtype, device=source.device)
    return made.set_(source.untyped_storage(), start, kind.shape, kind.strides)


@dataclass(frozen=True, slots=True)
class _Value:
    """Stands for the tensor of a value among the arguments of a kernel."""

    number: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Stands for a place in a storage, so many elements after the first one of a value."""

    number: int
    elements: int


def _call(one: Call) -> Step:
    target = one.op.target
    given = [_Value(v) if isinstance(v, int) else PythonNumber.of(v.value, v.dtype) for v in one.inputs]
    bound: dict[str, Any] = one.op.bind(operands(target, given))
    if isinstance(place := bound.get("storage_offset"), int) and isinstance(source := one.inputs[0], int):
        bound["storage_offset"] = _Place(source, place)
    outputs = [(i, value) for i, value in enumerate(one.outputs) if value is not None]
    if one.way is Way.OUT:
        found = out_overload(target)
        if found is None:
            raise OperatorError(f"{target} has no overload that writes into given memory")
        target, names = found
        bound = {name: value for name, value in bound.items() if name in _argument_names(target)}
        bound |= {names[i]: _Value(value) for i, value in outputs}
    args, kwargs = split_call(target, bound)
    run = kernel(target)
    is_copied = one.way is Way.COPIED

    def step(values: Values) -> None:
        # PyTorch's kernel copies the storage of its input from the begin, which is all planned memory before it.
        if target in VIEW_OF and _scattered(values, one, bound):
            return
        results = run(*[_filled(value, values) for value in args], **{k: _filled(v, values) for k, v in kwargs.items()})
        if is_copied:
            flat = flat_results(results)
            for i, value in outputs:
                if not isinstance(flat[i], torch.Tensor) or flat[i].shape != values[value].shape:
                    raise OperatorError(f"result {i} of {target} is not a tensor of shape {tuple(values[value].shape)}")
                values[value].copy_(flat[i])

    return step


def _scattered(values: Values, one: Call, bound: Mapping[str, Any]) -> bool:
    """Copy an input into the result and another one into a part of it, unless that is where the result is."""
    (number,) = one.outputs
    whole, source = (values[bound[name].number] for name in ("self", "src"))
    if number is None or values[number].data_ptr() == source.data_ptr():
        return False
    settings = {name: value for name, value in bound.items() if name not in ("self", "src")}
    values[number].copy_(whole)
    VIEW_OF[one.op.target](values[number], **settings).copy_(source)
    return True


@cache
def _argument_names(target: OpOverload) -> frozenset[str]:
    return frozenset(argument.name for argument in target._schema.arguments)


def _filled(argument: Any, values: Values) -> Any:
    """An argument with tensors in place of values."""
    if isinstance(argument, _Value):
        return values[argument.number]
    if isinstance(argument, _Place):
        return values[argument.number].storage_offset() + argument.elements
    if isinstance(argument, list):
        return [_filled(item, values) for item in argument]
    return argument
