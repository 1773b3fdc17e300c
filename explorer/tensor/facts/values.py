"""Values that are known when a graph is rewritten, and constants."""

from typing import Any

import torch

from explorer.tensor.facts.owners import owned_by
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Constant, Variable

FULLS = overloads("full full_like zeros zeros_like ones ones_like scalar_tensor")
"""Operators that fill a tensor with one number."""


def known_tensor(variable: Variable | None) -> torch.Tensor | None:
    """The content of a constant that is not trained; None for anything else."""
    if isinstance(variable, Constant) and not variable.trainable:
        return variable.data.detach()
    return None


def number_of(variable: Variable) -> Any:
    """The number that all elements of a known constant are equal to; None if there is none."""
    return variable.number if isinstance(variable, Constant) else None


def splat_number(variable: Variable) -> Any:
    """The number that all elements of a variable are equal to for any inputs; None if there is none."""
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
    """Whether an operator is deterministic and does not overwrite its inputs."""
    return not op.is_random and not op.target._schema.is_mutable


def splat(kind: TensorType, number: Any, like: Variable | None = None) -> Constant:
    """A constant filled with one number, stored once, on the device of `like`."""
    device = like.device if like is not None else None
    data = torch.tensor(number, dtype=kind.dtype, device=device).expand(kind.shape)
    return Constant(data, layout=kind.layout, quantization=kind.quantization)


def full_like(variable: Variable, number: Any) -> Constant:
    """A constant of the type and device of a variable, filled with one number."""
    return splat(variable.tensor_type, number, variable)


def constant_like(old: Variable, data: torch.Tensor, name: str = "") -> Constant:
    """A constant with new content and the name of an old one."""
    kind = old.tensor_type
    return Constant(data.contiguous(), name or old.name, False, kind.layout, kind.quantization)
