"""The channel axes of convolutions, pools and batch norms, for both layouts.

Operators are listed by the names of their schemas, so that one registered elsewhere needs one line here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from explorer.tensor.facts import known_tensor, shape_of
from explorer.tensor.ir import library
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable

CONVOLUTIONS: Mapping[str, int] = {
    "aten::conv1d": 1,
    "aten::conv2d": 1,
    "aten::conv3d": 1,
    "aten::convolution": 1,
    "aten::conv_transpose1d": 1,
    "aten::conv_transpose2d.input": 1,
    "explorer::conv2d_nhwc": 3,
}
"""Convolutions and their channel axes."""

MAX_POOLS: Mapping[str, int] = {
    "aten::max_pool1d": 1,
    "aten::max_pool2d": 1,
    "aten::max_pool3d": 1,
    "aten::max_pool2d_with_indices": 1,
    "aten::adaptive_max_pool2d": 1,
    "explorer::max_pool2d_nhwc": 3,
}
"""Max pools and their channel axes."""

ATEN_BATCH_NORM = "aten::_native_batch_norm_legit_no_training"
BATCH_NORM = "explorer::batch_norm"
"""A batch norm with known statistics and an explicit axis."""


def schema_name(node: Apply) -> str:
    """Return the name of an operator with its namespace and without the overload: `aten::conv2d`."""
    return node.op.target._schema.name


def is_convolution(node: Apply | None) -> bool:
    """Return whether it is a convolution with its padding as numbers."""
    return node is not None and schema_name(node) in CONVOLUTIONS and "padding" not in node.op.target._overloadname


def is_transposed(node: Apply) -> bool:
    """Return whether a convolution is transposed; its weight then has the output channels at axis 1."""
    return dict(node.op.arguments).get("transposed") is True or "transpose" in schema_name(node)


def weight_axis(node: Apply) -> int:
    """Return the axis of the output channels in the weight of a convolution or a linear layer."""
    return 1 if is_transposed(node) else 0


def channel_axis(node: Apply) -> int | None:
    """Return the channel axis of the result of a convolution or a linear layer; None for anything else."""
    if is_convolution(node):
        return CONVOLUTIONS[schema_name(node)]
    if node.op.target is aten.linear.default:
        return len(shape_of(node.outputs[0])) - 1
    return None


@dataclass(frozen=True, slots=True)
class BatchNorm:
    """The parts of a batch norm with known statistics: y = (x - mean) / sqrt(var + eps) * weight + bias, along `axis`.

    `weight`, `bias`, `mean` and `var` are in double precision; all are None if one of them is trained.
    """

    node: Apply
    axis: int
    eps: float
    weight: torch.Tensor | None
    bias: torch.Tensor | None
    mean: torch.Tensor | None
    var: torch.Tensor | None

    @property
    def input(self) -> Variable:
        """The normalized variable."""
        return self.node.inputs[0]

    @property
    def is_known(self) -> bool:
        """Whether all parameters are known."""
        return self.weight is not None

    @property
    def scale(self) -> torch.Tensor:
        """Weight / sqrt(var + eps)."""
        assert self.weight is not None
        assert self.var is not None
        return self.weight / torch.sqrt(self.var + self.eps)

    @property
    def shift(self) -> torch.Tensor:
        """Bias - mean * scale."""
        assert self.bias is not None
        assert self.mean is not None
        return self.bias - self.mean * self.scale


def batch_norm_of(node: Apply | None) -> BatchNorm | None:
    """Return the parts of a batch norm with known statistics if only its first result is used; else None."""
    if node is None or schema_name(node) not in (ATEN_BATCH_NORM, BATCH_NORM):
        return None
    if any(extra.clients for extra in node.outputs[1:]):
        return None
    rank = len(shape_of(node.inputs[0]))
    axis = node.op["axis"] % rank if schema_name(node) == BATCH_NORM else 1
    count = shape_of(node.inputs[0])[axis]
    parts = [_part(node, name, count) for name in ("weight", "bias", "running_mean", "running_var")]
    if any(part is None for part in parts):
        parts = [None] * 4
    return BatchNorm(node, axis, float(node.op["eps"]), *parts)


def _part(node: Apply, name: str, count: int) -> torch.Tensor | None:
    variable = node.input_of(name)
    if variable is None:
        default = 0.0 if name in ("bias", "running_mean") else 1.0
        return torch.full((count,), default, dtype=torch.float64, device=node.outputs[0].device)
    data = known_tensor(variable)
    return None if data is None else data.to(torch.float64)


def batch_norm_results(node: Apply, first: Variable) -> list[Variable | None]:
    """Replace a batch norm with only one used result, the first."""
    return [first, *[None] * (len(node.outputs) - 1)]


def batch_norm_with_parameters(old: BatchNorm, weight: torch.Tensor, bias: torch.Tensor) -> Variable:
    """Return the batch norm with another weight and bias, given in double precision."""
    node = old.node
    kind = node.inputs[0].tensor_type.dtype
    given = node.op.bind(node.inputs)
    for name, data in (("weight", weight), ("bias", bias)):
        before = given[name]
        stored = before.data.dtype if isinstance(before, Constant) else kind
        label = before.name if isinstance(before, Constant) else ""
        given[name] = Constant(data.to(stored), label)
    return _first(call(node.op.target, **given, location=node.location))


def batch_norm_on(old: BatchNorm, source: Variable, axis: int) -> Variable:
    """Apply a batch norm to another variable, with channels at `axis`."""
    node = old.node
    if axis == old.axis:
        return apply_op(node.op, [source, *node.inputs[1:]], node.location).outputs[0]
    names = ("weight", "bias", "running_mean", "running_var")
    parts = {name: node.input_of(name) for name in names}
    return call(library.batch_norm, source, **parts, eps=old.eps, axis=axis, location=node.location)


def new_batch_norm(source: Variable, weight: torch.Tensor, bias: torch.Tensor, axis: int) -> Variable:
    """Return a batch norm of mean 0, variance 1 and eps 0: weight * x + bias along an axis."""
    kind = source.tensor_type.dtype
    parts = [weight, bias, torch.zeros_like(weight), torch.ones_like(weight)]
    constants = [Constant(part.to(kind)) for part in parts]
    if axis != 1:
        return call(library.batch_norm, source, *constants, 0.0, axis)
    return _first(call(aten._native_batch_norm_legit_no_training.default, source, *constants, 0.1, 0.0))


def _first(given: Any) -> Variable:
    return given[0] if isinstance(given, tuple) else given
