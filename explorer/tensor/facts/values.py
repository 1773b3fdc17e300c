"""Numbers that are known when a graph is rewritten, and constants that take their place."""

from collections.abc import Iterator
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.tensor.facts.owners import owned_by
from explorer.tensor.ops import Op
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Constant, Variable

aten = torch.ops.aten

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


def is_known(variable: Variable | None) -> bool:
    """Whether it is a constant that no training changes."""
    return isinstance(variable, Constant) and not variable.trainable


def known_tensor(variable: Variable | None) -> torch.Tensor | None:
    """The content of a constant that cannot change; None for anything else."""
    if isinstance(variable, Constant) and not variable.trainable:
        return variable.data.detach()
    return None


def number_of(variable: Variable) -> Any:
    """The number that all elements of a known constant are; None if there is none."""
    return variable.number if isinstance(variable, Constant) else None


def splat_number(variable: Variable) -> Any:
    """The number that all elements of a variable are, whatever the graph is given; None if that is not known."""
    if isinstance(variable, Constant):
        return variable.number
    node = owned_by(variable, *FULLS)
    kind = variable.type
    if node is None or not isinstance(kind, TensorType) or not kind.size:
        return None
    name = node.op.name
    value = 0 if name.startswith("zeros") else 1 if name.startswith("ones") else None
    if value is None:
        value = node.op["s" if name == "scalar_tensor" else "fill_value"]
    return torch.tensor(value, dtype=kind.dtype).item()


def plain(op: Op) -> bool:
    """Whether an operator gives the same whenever it is called on the same, and leaves its inputs as they are."""
    return torch.Tag.nondeterministic_seeded not in op.target.tags and not op.target._schema.is_mutable


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """A constant with one number everywhere; it takes the memory of one number. Lies where `like` does."""
    device = device_of(like) if like is not None else None
    data = torch.tensor(number, dtype=kind.dtype, device=device).expand(kind.shape)
    return Constant(data, layout=kind.layout, quantization=kind.quantization)


def full_like(variable: Variable, number: Any) -> Constant:
    """A constant of the type of a variable with one number everywhere, where the variable lies."""
    return splat(variable.tensor_type, number, variable)


def constant_like(old: Variable, data: torch.Tensor, name: str = "") -> Constant:
    """A constant with new content in place of an old one."""
    kind = old.tensor_type
    return Constant(data.contiguous(), name or old.name, False, kind.layout, kind.quantization)


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
