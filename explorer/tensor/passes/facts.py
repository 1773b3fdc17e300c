"""Questions that rules ask of the operators around an application: is it a transpose, a reshape, a known number."""

from collections.abc import Iterator, Sequence
from math import copysign, prod
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.tensor.passes.present import trained_among
from explorer.tensor.rewriting import Declined
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Apply, Constant, Variable, apply_op, call

aten = torch.ops.aten

RESHAPES: tuple[OpOverload, ...] = (
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.flatten.using_ints,
    aten.unflatten.int,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.unsqueeze.default,
)
"""Operators that keep the numbers in their order and change the shape only."""

TRANSPOSES: tuple[OpOverload, ...] = (aten.permute.default, aten.transpose.int, aten.t.default, aten.numpy_T.default)
"""Operators that exchange axes and nothing else."""

RELUS: tuple[OpOverload, ...] = (aten.relu.default,)
CLIPS: tuple[OpOverload, ...] = (aten.clamp.default, aten.clip.default, aten.hardtanh.default, aten.relu6.default)
"""Operators that bound their input from one side or both by numbers."""

FULLS: tuple[OpOverload, ...] = (
    aten.full.default,
    aten.full_like.default,
    aten.zeros.default,
    aten.zeros_like.default,
    aten.ones.default,
    aten.ones_like.default,
    aten.scalar_tensor.default,
)
"""Operators that give one number everywhere."""


def owner_in(variable: Variable, targets: Sequence[OpOverload]) -> Apply | None:
    """The application that gives a variable, if its operator is one of these."""
    owner = variable.owner
    return owner if owner is not None and owner.op.target in targets else None


def is_read_once(variable: Variable) -> bool:
    """Whether one place reads it, and reads it once."""
    return len(variable.clients) == 1


def only_user(variable: Variable) -> Apply | None:
    """The application that reads a variable, if nothing else does and no output of the graph is it."""
    clients = list(variable.clients)
    return clients[0][0] if len(clients) == 1 else None


def shape_of(variable: Variable) -> tuple[int, ...]:
    """The shape of a variable, which is a tensor."""
    return variable.tensor_type.shape


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis % rank if rank else 0


# ---------------------------------------------------------------------- values that are known


def known_tensor(variable: Variable | None) -> torch.Tensor | None:
    """The content of a constant that cannot change; None for anything else."""
    if isinstance(variable, Constant) and not variable.trainable:
        return variable.data.detach()
    return None


def is_constant(variable: Variable | None) -> bool:
    """Whether it is a constant that cannot change."""
    return isinstance(variable, Constant) and not variable.trainable


def splat_number(variable: Variable) -> Any:
    """The number that all elements of a variable are, whatever the graph is given; None if that is not known."""
    if isinstance(variable, Constant):
        return variable.number
    node = owner_in(variable, FULLS)
    kind = variable.type
    if node is None or not isinstance(kind, TensorType) or not kind.size:
        return None
    name = node.op.name
    value = 0 if name.startswith("zeros") else 1 if name.startswith("ones") else None
    if value is None:
        value = node.op["s" if name == "scalar_tensor" else "fill_value"]
    return torch.tensor(value, dtype=kind.dtype).item()


def device_of(variable: Variable) -> torch.device | None:
    """The device of a variable, as far as what it is made of or read with tells; None if nothing does.

    A constant of no axes on the processor tells nothing: PyTorch combines it with tensors on any device.
    """
    seen = {variable}
    waiting = [variable]
    for current in waiting:
        device = _own_device(current)
        if device is not None:
            return device
        found = [near for near in _beside(current) if near not in seen]
        seen.update(found)
        waiting.extend(found)
    return None


def _own_device(variable: Variable) -> torch.device | None:
    if isinstance(variable, Constant):
        device = variable.data.device
        return device if variable.data.ndim or device.type != "cpu" else None
    named = variable.owner.op.attributes.get("device") if variable.owner is not None else None
    return None if named is None else torch.device(named)


def _beside(variable: Variable) -> Iterator[Variable]:
    """What a variable is made of, then what is made of it, and what that is made of too; never across a conversion."""
    if variable.owner is not None:
        yield from variable.owner.inputs
    for client, _ in variable.clients:
        if client is not None and client.op.attributes.get("device") is None:
            yield from client.inputs
            yield from client.outputs


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """A constant with one number everywhere; it takes the memory of one number. Lies where `like` does."""
    device = device_of(like) if like is not None else None
    data = torch.tensor(number, dtype=kind.dtype, device=device).expand(kind.shape)
    return Constant(data, layout=kind.layout, quantization=kind.quantization)


def constant_like(old: Variable, data: torch.Tensor, name: str = "") -> Constant:
    """A constant with new content in place of an old one."""
    kind = old.tensor_type
    return Constant(data.contiguous(), name or old.name, False, kind.layout, kind.quantization)


# ---------------------------------------------------------------------- transposes and reshapes


def permutation_of(variable: Variable) -> tuple[int, ...] | None:
    """If a transpose gives this variable: which axis of its input each axis of it is; else None."""
    node = owner_in(variable, TRANSPOSES)
    if node is None:
        return None
    rank = len(shape_of(node.inputs[0]))
    order = list(range(rank))
    if node.op.target is aten.permute.default:
        return tuple(axis % rank for axis in node.op["dims"]) if rank else ()
    if node.op.target is aten.transpose.int:
        if rank:
            a, b = node.op["dim0"] % rank, node.op["dim1"] % rank
            order[a], order[b] = order[b], order[a]
        return tuple(order)
    return tuple(reversed(order))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(list(order).index(axis) for axis in range(len(order)))


def permuted(values: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    """Values of axes in another order of the axes."""
    return tuple(values[axis] for axis in order)


def permute(variable: Variable, order: Sequence[int]) -> Variable:
    """The variable with its axes in another order."""
    return call(aten.permute.default, variable, list(order))


def reshape(variable: Variable, shape: Sequence[int]) -> Variable:
    """The variable in another shape."""
    return call(aten.reshape.default, variable, list(shape))


def channel_kept(before: Sequence[int], after: Sequence[int], axis: int) -> int | None:
    """The axis of the shape `after` that runs as `axis` of the shape `before` does, with a reshape between; or None."""
    lead, trail = prod(before[:axis]), prod(before[axis + 1 :])
    for i, size in enumerate(after):
        if size == before[axis] and prod(after[:i]) == lead and prod(after[i + 1 :]) == trail:
            return i
    return None


# ---------------------------------------------------------------------- clips


def clip_bounds(node: Apply) -> tuple[float, float] | None:
    """The least and the greatest number that a clip or a relu lets through; None if it is neither, or has no bound."""
    target = node.op.target
    low, high = -torch.inf, torch.inf
    if target in RELUS:
        low = 0.0
    elif target is aten.relu6.default:
        low, high = 0.0, 6.0
    elif target is aten.hardtanh.default:
        low, high = node.op["min_val"], node.op["max_val"]
    elif target in (aten.clamp.default, aten.clip.default):
        low = low if node.op["min"] is None else node.op["min"]
        high = high if node.op["max"] is None else node.op["max"]
    else:
        return None
    if low != low or high != high or low > high or _is_minus_zero(low) or _is_minus_zero(high):
        return None  # NaN, -0, or bounds that PyTorch resolves in an order of its own
    return low, high


def _is_minus_zero(bound: float) -> bool:
    return bound == 0 and copysign(1.0, bound) < 0


def clip(variable: Variable, low: float, high: float) -> Variable:
    """The variable between two bounds, an infinite one left out; integers between integers stay integers."""
    floating = variable.tensor_type.dtype.is_floating_point

    def given(bound: float) -> float | None:
        if abs(bound) == torch.inf:
            return None
        return int(bound) if not floating and bound == int(bound) else bound

    return call(aten.clamp.default, variable, given(low), given(high))


# ---------------------------------------------------------------------- training


def gradient_on_ties(node: Apply) -> Declined | None:
    """Why a rule that changes the gradient where numbers are equal, or on a bound, must not apply; None if it may."""
    found = trained_among(*node.inputs)
    if found is None:
        return None
    name = found.name or "a constant"
    return Declined(f"{name} is trained, and its gradient would be another one where numbers are equal", node)


# ---------------------------------------------------------------------- making replacements


def fitting(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """The replacement of the only result of a node, if it is of its type; else the reason."""
    old = node.outputs[0]
    if new.type != old.type:
        return Declined(f"the replacement would be a {new.type}, and what it replaces is a {old.type}", node)
    return [new]


def reapplied(node: Apply, inputs: Sequence[Variable], **attributes: Any) -> Variable:
    """The operator of a node, which has one result, with some attributes changed and on other inputs."""
    op = node.op.changed(**attributes) if attributes else node.op
    return apply_op(op, inputs, node.place).outputs[0]
