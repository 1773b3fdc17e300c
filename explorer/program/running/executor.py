"""Runs the instructions of a program in order, each on the memory that was planned for it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from explorer.errors import OperatorError
from explorer.program.ir.instructions import Alloc, Call, Copy, Dealloc, Number, Role, Stack, View, Way, Weight
from explorer.program.ir.out_overloads import out_overload
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.tensor.graph.interface import same_strides
from explorer.tensor.ir.numbers import PythonNumber, operands
from explorer.tensor.ir.schemas import split_call

Memory = Callable[[int, BufferType], torch.Tensor]
Poison = Callable[[torch.Tensor], None]


class Executor:
    """Runs a program on tensors; it keeps no memory between calls, so that several threads may use it.

    `poison` is called with the memory of a buffer when it is allocated and when it is freed, for tests of the plan.
    """

    def __init__(self, program: Program, poison: Poison | None = None) -> None:
        self.program = program
        self._poison = poison
        self._given = [w for w in program.weights if w.role is not Role.OUTPUT]
        self._outputs = program.with_role(Role.OUTPUT)
        self._arena = _arena_bytes(program)

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs for the inputs, followed by the other weights, in the order of the program.

        Raises: OperatorError for tensors of other types.
        """
        with torch.no_grad():
            return self._run(tensors)

    def _run(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        program = self.program
        if len(tensors) != len(self._given):
            raise OperatorError(f"expected {len(self._given)} tensors, got {len(tensors)}")
        values: dict[int, torch.Tensor] = {w.id: _given(w, t) for w, t in zip(self._given, tensors, strict=True)}
        values |= {weight.id: _allocate(weight.type) for weight in self._outputs}
        arenas = {device: torch.empty(size, dtype=torch.uint8, device=device) for device, size in self._arena.items()}
        for one in program.instructions:
            match one:
                case Alloc():
                    kind = one.type
                    place = program.offsets.get(one.id)
                    made = _allocate(kind) if place is None else _view(arenas[kind.device], kind, place)
                    values[one.id] = made
                    if self._poison is not None:
                        self._poison(made)
                case View():
                    values[one.id] = _view(values[one.source], one.type, one.offset_bytes)
                case Copy():
                    values[one.dest].copy_(values[one.source])
                case Call():
                    _call(one, values)
                case Stack():
                    for call in one.calls:
                        _call(call, values)
                case Dealloc():
                    freed = values.pop(one.buffer)
                    if self._poison is not None:
                        self._poison(freed)
        return tuple(values[weight.id] for weight in self._outputs)


def _arena_bytes(program: Program) -> dict[torch.device, int]:
    """The size of the planned memory on each device."""
    found: dict[torch.device, int] = {}
    for buffer, place in program.offsets.items():
        kind = program.allocs[buffer].type
        found[kind.device] = max(found.get(kind.device, 0), place + kind.size_bytes)
    return found


def _given(weight: Weight, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the program expects it; one with other strides is copied."""
    kind = weight.type
    if (tensor.dtype, tuple(tensor.shape), tensor.device.type) != (kind.dtype, kind.shape, kind.device.type):
        raise OperatorError(f"expected {weight.name} to be {kind}, got {BufferType.of(tensor)}")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg() or not same_strides(kind.shape, tensor.stride(), kind.strides):
        return _allocate(kind).copy_(tensor)
    return tensor


def _allocate(kind: BufferType) -> torch.Tensor:
    return torch.empty_strided(kind.shape, kind.strides, dtype=kind.dtype, device=kind.device)


def _view(source: torch.Tensor, kind: BufferType, offset_bytes: int) -> torch.Tensor:
    """A view of the memory of a tensor, that many bytes after its first element."""
    start = source.storage_offset() * source.dtype.itemsize + offset_bytes
    made = torch.empty(0, dtype=kind.dtype, device=source.device)
    return made.set_(source.untyped_storage(), start // kind.dtype.itemsize, kind.shape, kind.strides)


def _call(one: Call, values: dict[int, torch.Tensor]) -> None:
    tensors = [_operand(value, values) for value in one.inputs]
    if one.way is Way.OUT:
        found = out_overload(one.op.target)
        assert found is not None
        target, names = found
        bound: dict[str, Any] = one.op.bind(operands(one.op.target, tensors))
        bound |= {name: values[value] for name, value in zip(names, one.outputs, strict=True) if value is not None}
        args, kwargs = split_call(target, bound)
        target(*args, **kwargs)
        return
    results = one.op.run(tensors)
    if one.way is Way.ITSELF:
        return
    for value, result in zip(one.outputs, results, strict=True):
        if value is not None:
            values[value].copy_(result)


def _operand(value: int | Number, values: dict[int, torch.Tensor]) -> torch.Tensor:
    return values[value] if isinstance(value, int) else PythonNumber.of(value.value, value.dtype)
