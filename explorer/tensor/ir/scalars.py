"""Doubles, and the operators on them that the tutorial uses."""

import torch

from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Variable

DOUBLE = TensorType(torch.float64, ())

add = Op.of(torch.ops.aten.add.Tensor)
sub = Op.of(torch.ops.aten.sub.Tensor)
mul = Op.of(torch.ops.aten.mul.Tensor)
div = Op.of(torch.ops.aten.div.Tensor)
identity = Op.of(torch.ops.aten.alias.default)


def double(name: str) -> Variable:
    """Return a number with a name."""
    return Variable(DOUBLE, name=name)


def doubles(names: str) -> tuple[Variable, ...]:
    """Return several numbers, by their names between blanks."""
    return tuple(map(double, names.split()))
