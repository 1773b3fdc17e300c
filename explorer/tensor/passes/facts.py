"""Questions that rules ask of the operators around an application: is it a transpose, a reshape, a known number."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch._ops import OpOverload

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


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """A constant with one number everywhere; it takes the memory of one number. Lies where the constant `like` does."""
    device = like.data.device if isinstance(like, Constant) else None
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
    if low != low or high != high or low > high:
        return None  # NaN, or bounds that PyTorch resolves in an order of its own
    return low, high


def clip(variable: Variable, low: float, high: float) -> Variable:
    """The variable between two bounds, an infinite one left out."""
    return call(aten.clamp.default, variable, None if low == -torch.inf else low, None if high == torch.inf else high)


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
