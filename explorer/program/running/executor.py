"""Runs the instructions of a program in order, each on the memory that was planned for it."""

from collections.abc import Sequence

import torch

from explorer.errors import OperatorError
from explorer.program.ir.instructions import Role, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.ir.verify import ALIGNMENT
from explorer.program.running.steps import Poison, Values, allocate, step_of
from explorer.tensor.graph.interface import same_strides


class Executor:
    """Runs a program on tensors; it keeps no memory between calls, so that several threads may use it.

    `poison` is called with the memory of a buffer when it is allocated and when it is freed, for tests of the plan.
    """

    def __init__(self, program: Program, poison: Poison | None = None) -> None:
        self.program = program
        self._given = [w for w in program.weights if w.role is not Role.OUTPUT]
        self._outputs = program.with_role(Role.OUTPUT)
        self._arena = _arena_bytes(program)
        planned = [program.allocs[buffer].type for buffer in program.offsets]
        self._blocks = tuple(dict.fromkeys((kind.device, kind.dtype) for kind in planned))
        self._steps = tuple(step_of(one, program.offsets, poison) for one in program.instructions)

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs for the inputs, followed by the other weights, in the order of the program.

        Raises: OperatorError for tensors of other types.
        """
        with torch.no_grad():
            return self._run(tensors)

    def _run(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        if len(tensors) != len(self._given):
            raise OperatorError(f"expected {len(self._given)} tensors, got {len(tensors)}")
        values: Values = {w.id: _given(w, t) for w, t in zip(self._given, tensors, strict=True)}
        values |= {weight.id: allocate(weight.type) for weight in self._outputs}
        arenas = {device: torch.empty(size, dtype=torch.uint8, device=device) for device, size in self._arena.items()}
        values |= {(device, dtype): arenas[device].view(dtype) for device, dtype in self._blocks}
        for step in self._steps:
            step(values)
        return tuple(values[weight.id] for weight in self._outputs)


def _arena_bytes(program: Program) -> dict[torch.device, int]:
    """The size of the planned memory on each device, a multiple of the size of each dtype."""
    found: dict[torch.device, int] = {}
    for buffer, place in program.offsets.items():
        kind = program.allocs[buffer].type
        end = place + -(-kind.size_bytes // ALIGNMENT) * ALIGNMENT
        found[kind.device] = max(found.get(kind.device, 0), end)
    return found


def _given(weight: Weight, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the program expects it; one with other strides is copied."""
    kind = weight.type
    if (tensor.dtype, tuple(tensor.shape), tensor.device.type) != (kind.dtype, kind.shape, kind.device.type):
        raise OperatorError(f"expected {weight.name} to be {kind}, got {BufferType.of(tensor)}")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg() or not same_strides(kind.shape, tensor.stride(), kind.strides):
        return allocate(kind).copy_(tensor)
    return tensor
