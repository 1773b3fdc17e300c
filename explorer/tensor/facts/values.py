"""Numbers that are known when a graph is rewritten, and constants that take their place."""

from typing import Any

import torch
from torch._ops import OpOverload

from explorer.tensor.facts.owners import owned_by
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Constant, Variable

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
    return not op.is_random and not op.target._schema.is_mutable


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """A constant with one number everywhere; it takes the memory of one number. Lies where `like` does."""
    device = like.device if like is not None else None
    data = torch.tensor(number, dtype=kind.dtype, device=device).expand(kind.shape)
    return Constant(data, layout=kind.layout, quantization=kind.quantization)


def full_like(variable: Variable, number: Any) -> Constant:
    """A constant of the type of a variable with one number everywhere, where the variable lies."""
    return splat(variable.tensor_type, number, variable)


def constant_like(old: Variable, data: torch.Tensor, name: str = "") -> Constant:
    """A constant with new content in place of an old one."""
    kind = old.tensor_type
    return Constant(data.contiguous(), name or old.name, False, kind.layout, kind.quantization)
