"""Runs the instructions of a program in order, each on the memory that was planned for it."""

from collections.abc import Iterable, Sequence

import torch

from explorer.errors import OperatorError
from explorer.program.ir.instructions import View, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.memory.liveness import aligned
from explorer.program.running.steps import Poison, Step, Values, allocate, step_of
from explorer.tensor.graph.interface import same_strides

Tensors = tuple[torch.Tensor, ...]


class Executor:
    """Runs a program on tensors; it keeps no memory between calls, so that several threads may use it.

    `poison` is called with all memory when it is allocated, and with that of a buffer when it is freed: a check finds
    programs that read what they have not written.
    """

    def __init__(self, program: Program, poison: Poison | None = None) -> None:
        self.program = program
        self.given = tuple(w for w in program.weights if not w.is_returned and not w.is_for_backward)
        """The weights that a call is given: inputs, parameters and buffers."""
        border = program.backward
        self.kept = tuple(w for w in self.given if program.touches[w.id] and program.touches[w.id][-1] > border)
        """Those that the backward pass reads too."""
        self._returned = [w for w in program.weights if w.is_returned]
        self.tangents = tuple(w for w in program.weights if w.is_for_backward and not w.is_returned)
        self._arena = _arena_bytes(program)
        planned = [program.allocs[buffer].type for buffer in program.offsets]
        self._poison = poison
        self._blocks = tuple(dict.fromkeys((kind.device, kind.dtype) for kind in planned))
        self._forward = _steps(program, range(border), poison)
        self._backward = _steps(program, range(border, len(program)), poison)
        views = [one for one in program.instructions[:border] if isinstance(one, View)]
        weights, kept = {weight.id for weight in program.weights}, {weight.id for weight in self.kept}
        self._borrowed = {*weights, *(one.id for one in views if program.origin(one.id) in weights)}
        """Values in memory of the caller, who may change it before the backward pass."""
        again = [one for one in views if program.origin(one.id) in kept]
        self._views = [step_of(one, program.offsets, poison) for one in again]

    def __reduce__(self) -> tuple[type["Executor"], tuple[Program, Poison | None]]:
        return Executor, (self.program, self._poison)

    def __deepcopy__(self, memo: object) -> "Executor":
        return self

    def __call__(self, *tensors: torch.Tensor) -> Tensors:
        """The outputs for the weights that are given, in the order of the program: the forward pass.

        Raises: OperatorError for tensors of other types.
        """
        return self.begin(*tensors)[0]

    def begin(self, *tensors: torch.Tensor) -> tuple[Tensors, Values]:
        """The outputs, and the memory that the backward pass needs. Raises: as a call."""
        with torch.no_grad():
            values = _given(self.given, tensors)
            arenas = {kind: torch.empty(size, dtype=torch.uint8, device=kind) for kind, size in self._arena.items()}
            if self._poison is not None:
                for arena in arenas.values():
                    self._poison(arena)
            values |= {(device, dtype): arenas[device].view(dtype) for device, dtype in self._blocks}
            for step in self._forward:
                step(values)
            returned = tuple(values[weight.id] for weight in self._returned if not weight.is_for_backward)
            return returned, {name: value for name, value in values.items() if name not in self._borrowed}

    def finish(self, values: Values, kept: Sequence[torch.Tensor], tangents: Sequence[torch.Tensor]) -> Tensors:
        """The gradients: the backward pass, which uses up the memory of its forward pass.

        `kept` are the tensors of the weights that it reads too. Raises: OperatorError for tensors of other types.
        """
        with torch.no_grad():
            values |= _given(self.kept, kept) | _given(self.tangents, tangents)
            for step in (*self._views, *self._backward):
                step(values)
            return tuple(values[weight.id] for weight in self._returned if weight.is_for_backward)


def _steps(program: Program, positions: Iterable[int], poison: Poison | None) -> list[Step]:
    """The instructions at some positions; what is returned is allocated right before its first use."""
    firsts: dict[int, list[Weight]] = {}
    for weight in program.weights:
        if weight.is_returned:
            firsts.setdefault(program.touches[weight.id][0], []).append(weight)
    found: list[Step] = []
    for position in positions:
        found += [_allocation(weight, poison) for weight in firsts.get(position, ())]
        found.append(step_of(program.instructions[position], program.offsets, poison))
    return found


def _allocation(weight: Weight, poison: Poison | None) -> Step:
    def step(values: Values) -> None:
        made = values[weight.id] = allocate(weight.type)
        if poison is not None:
            poison(made)

    return step


def copied(values: Values) -> Values:
    """The memory of a forward pass a second time, for a backward pass that may be repeated."""
    memory: dict[int, torch.UntypedStorage] = {}
    found: Values = {}
    for name, tensor in values.items():
        storage = tensor.untyped_storage()
        if storage._cdata not in memory:
            memory[storage._cdata] = storage.clone()
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        found[name] = made.set_(memory[storage._cdata], tensor.storage_offset(), tensor.shape, tensor.stride())
    return found


def _arena_bytes(program: Program) -> dict[torch.device, int]:
    """The size of the planned memory on each device, a multiple of the size of each dtype."""
    found: dict[torch.device, int] = {}
    for buffer, place in program.offsets.items():
        kind = program.allocs[buffer].type
        end = place + aligned(kind.size_bytes)
        found[kind.device] = max(found.get(kind.device, 0), end)
    return found


def why_not_laid_out(weight: Weight, tensor: torch.Tensor) -> str | None:
    """Why a tensor cannot be copied into the strides of a plan; None if it can, or has these strides."""
    kind = weight.type
    if not kind.may_overlap or tuple(tensor.shape) != kind.shape:
        return None
    if same_strides(kind.shape, tensor.stride(), kind.strides):
        return None
    return f"{weight.name} has strides {tensor.stride()}, and the plan is for overlapping ones, {kind.strides}"


def _given(weights: Sequence[Weight], tensors: Sequence[torch.Tensor]) -> Values:
    """Tensors as the values of weights. Raises: OperatorError for tensors of other types."""
    if len(tensors) != len(weights):
        raise OperatorError(f"expected {len(weights)} tensors, got {len(tensors)}")
    return {weight.id: _as_planned(weight, tensor) for weight, tensor in zip(weights, tensors, strict=True)}


def _as_planned(weight: Weight, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the program expects it; one with other strides is copied."""
    kind = weight.type
    if (tensor.dtype, tuple(tensor.shape), tensor.device.type) != (kind.dtype, kind.shape, kind.device.type):
        raise OperatorError(f"expected {weight.name} to be {kind}, got {BufferType.of(tensor)}")
    if (reason := why_not_laid_out(weight, tensor)) is not None:
        raise OperatorError(f"{reason}; pass a tensor with these")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg() or not same_strides(kind.shape, tensor.stride(), kind.strides):
        return allocate(kind).copy_(tensor)
    return tensor
