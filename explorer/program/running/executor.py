"""Runs the instructions of a program in order, each on the memory that was planned for it.

Each instruction is prepared once as a step, so that a call only looks up tensors and runs kernels.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.program.ir.instructions import Alloc, Begin, Call, Copy, Dealloc, Instruction, Stack, View, Way, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.results import out_overload
from explorer.program.ir.types import BufferType
from explorer.program.memory.planning import align
from explorer.tensor.graph.interface import same_strides
from explorer.tensor.ir.schemas import PythonNumber, aten, flat_results, kernel, operands, split_call

Block = tuple[torch.device, torch.dtype]
"""The planned memory of a device, as elements of a dtype."""
Values = dict[int | Block, torch.Tensor]
"""The tensors of a call: values by number, and the planned memory."""
Step = Callable[[Values], None]
Poison = Callable[[torch.Tensor], None]


VIEW_OF = {
    aten.slice_scatter.default: aten.slice.Tensor,
    aten.select_scatter.default: aten.select.int,
    aten.diagonal_scatter.default: aten.diagonal.default,
}
"""Views of the part of a tensor that an operator replaces."""


def step_of(one: Instruction, offsets: Mapping[int, int], poison: Poison | None) -> Step:
    """Prepare an instruction as a function of the tensors of a call."""
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
    """Do nothing: a part begins."""


def allocate(kind: BufferType) -> torch.Tensor:
    """Allocate memory for a tensor of a type."""
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
    """View the memory of a tensor from `offset_bytes` after its first element."""
    start, rest = divmod(int(source.storage_offset()) * source.dtype.itemsize + offset_bytes, kind.dtype.itemsize)
    if rest:
        raise OperatorError(f"{kind} cannot begin between two of its elements; pass a tensor with memory of its own")
    if source.dtype is kind.dtype:
        return source.as_strided(kind.shape, kind.strides, start)
    made = torch.empty(0, dtype=kind.dtype, device=source.device)
    return made.set_(source.untyped_storage(), start, kind.shape, kind.strides)


@dataclass(frozen=True, slots=True)
class _Value:
    """A placeholder of the tensor of a value among the arguments of a kernel."""

    number: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A placeholder of a storage offset: some elements after the first element of a value."""

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
    """Copy an input into the result and another one into a part of it, unless that input is the result."""
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
    """Replace values in an argument by tensors."""
    if isinstance(argument, _Value):
        return values[argument.number]
    if isinstance(argument, _Place):
        return values[argument.number].storage_offset() + argument.elements
    if isinstance(argument, list):
        return [_filled(item, values) for item in argument]
    return argument


def poison(memory: torch.Tensor) -> None:
    """Fill memory with NaN, or with large integers; invert bools."""
    dtype = memory.dtype
    if dtype == torch.bool:
        memory.logical_not_()
    elif dtype.is_floating_point or dtype.is_complex:
        memory.fill_(float("nan"))
    else:
        memory.fill_(torch.iinfo(dtype).max // 3)


Tensors = tuple[torch.Tensor, ...]


class Executor:
    """Runs a program on tensors; it keeps no memory between calls, so several threads may use it.

    `poison` is called with all memory when it is allocated, and with a buffer when it is freed: a check finds programs
    that read unwritten memory.
    """

    def __init__(self, program: Program, poison: Poison | None = None) -> None:
        self.program = program
        self.given = tuple(w for w in program.weights if not w.is_returned and not w.is_for_backward)
        """The weights that are arguments of a call: inputs, parameters and buffers."""
        border = program.backward
        self.kept = tuple(w for w in self.given if program.touches[w.id] and program.touches[w.id][-1] > border)
        """The given weights that the backward pass reads too."""
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
        """Values in memory of the caller, who may change them before the backward pass."""
        again = [one for one in views if program.origin(one.id) in kept]
        self._views = [step_of(one, program.offsets, poison) for one in again]

    def __reduce__(self) -> tuple[type["Executor"], tuple[Program, Poison | None]]:
        return Executor, (self.program, self._poison)

    def __deepcopy__(self, memo: object) -> "Executor":
        return self

    def __call__(self, *tensors: torch.Tensor) -> Tensors:
        """Run the forward pass on the given weights, in the order of the program; return the outputs.

        Raises: OperatorError for tensors of other types.
        """
        return self.begin(*tensors)[0]

    def begin(self, *tensors: torch.Tensor) -> tuple[Tensors, Values]:
        """Run the forward pass; return the outputs, and the memory that the backward pass needs. Raises: as a call."""
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
        """Run the backward pass, which uses up the memory of its forward pass; return the gradients.

        `kept` are the tensors of the weights that it reads too. Raises: OperatorError for tensors of other types.
        """
        with torch.no_grad():
            values |= _given(self.kept, kept) | _given(self.tangents, tangents)
            for step in (*self._views, *self._backward):
                step(values)
            return tuple(values[weight.id] for weight in self._returned if weight.is_for_backward)


def _steps(program: Program, positions: Iterable[int], poison: Poison | None) -> list[Step]:
    """Prepare the instructions at some positions; returned weights are allocated right before their first use."""
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


def copy_values(values: Values) -> Values:
    """Copy the memory of a forward pass, for a backward pass that may be repeated."""
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
    """Return the size of the planned memory on each device, a multiple of the size of each dtype."""
    found: dict[torch.device, int] = {}
    for buffer, place in program.offsets.items():
        kind = program.allocs[buffer].type
        end = place + align(kind.size_bytes)
        found[kind.device] = max(found.get(kind.device, 0), end)
    return found


def why_not_laid_out(weight: Weight, tensor: torch.Tensor) -> str | None:
    """Return why a tensor cannot be copied into the strides of a plan; None if it can, or has these strides."""
    kind = weight.type
    if not kind.may_overlap or tuple(tensor.shape) != kind.shape:
        return None
    if same_strides(kind.shape, tensor.stride(), kind.strides):
        return None
    return f"{weight.name} has strides {tensor.stride()}, and the plan is for overlapping ones, {kind.strides}"


def _given(weights: Sequence[Weight], tensors: Sequence[torch.Tensor]) -> Values:
    """Assign tensors to weights. Raises: OperatorError for tensors of other types."""
    if len(tensors) != len(weights):
        raise OperatorError(f"expected {len(weights)} tensors, got {len(tensors)}")
    return {weight.id: _as_planned(weight, tensor) for weight, tensor in zip(weights, tensors, strict=True)}


def _as_planned(weight: Weight, tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with the strides that the program expects, copied if necessary."""
    kind = weight.type
    if (tensor.dtype, tuple(tensor.shape), tensor.device.type) != (kind.dtype, kind.shape, kind.device.type):
        raise OperatorError(f"expected {weight.name} to be {kind}, got {BufferType.of(tensor)}")
    if (reason := why_not_laid_out(weight, tensor)) is not None:
        raise OperatorError(f"{reason}; pass a tensor with these")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg() or not same_strides(kind.shape, tensor.stride(), kind.strides):
        return allocate(kind).copy_(tensor)
    return tensor
