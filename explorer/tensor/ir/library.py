"""Custom operators, registered with PyTorch: they run, differentiate, export and compile like any other.

Each has a kernel made of PyTorch's operators and a fake kernel for the shape; those that are trained through have a
gradient. They are named `explorer::...`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch._prims_common import suggest_memory_format


@torch.library.custom_op("explorer::regression", mutates_args=())
def regression(input: Tensor, expected: Tensor) -> Tensor:
    """The end of a regression: returns the input; its gradient is (input - expected) times the gradient from above."""
    return input.clone()


@regression.register_fake
def _(input: Tensor, expected: Tensor) -> Tensor:
    return torch.empty_like(input)


def _keep_both(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _regression_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
    given, expected = ctx.saved_tensors
    return gradient * (given - expected), torch.zeros_like(expected)


regression.register_autograd(_regression_gradient, setup_context=_keep_both)


@torch.library.custom_op("explorer::channel_shuffle", mutates_args=())
def channel_shuffle(input: Tensor, groups: int, axis: int) -> Tensor:
    """Channel shuffle along any axis: the axis is split into (groups, rest), which are exchanged and flattened."""
    axis = axis % input.ndim
    return input.unflatten(axis, (groups, -1)).transpose(axis, axis + 1).flatten(axis, axis + 1).clone()


@channel_shuffle.register_fake
def _(input: Tensor, groups: int, axis: int) -> Tensor:
    if input.shape[axis] % groups:
        raise RuntimeError(f"channel_shuffle: {input.shape[axis]} channels are not divisible by {groups} groups")
    return torch.empty_like(input, memory_format=torch.contiguous_format)


def _keep_groups(ctx: Any, inputs: tuple[Tensor, int, int], output: Tensor) -> None:
    ctx.groups, ctx.axis = inputs[1] and inputs[0].shape[inputs[2]] // inputs[1], inputs[2]


def _shuffle_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
    return channel_shuffle(gradient, ctx.groups, ctx.axis), None, None


channel_shuffle.register_autograd(_shuffle_gradient, setup_context=_keep_groups)

regression_op: OpOverload = torch.ops.explorer.regression.default
channel_shuffle_op: OpOverload = torch.ops.explorer.channel_shuffle.default


# ---------------------------------------------------------------------- operators with channels last
#
# These are composite ("composite implicit"): they have gradients and fake kernels, `torch.compile` traces through them,
# and importing at the core level decomposes them. A tensor (B, H, W, C) seen as (B, C, H, W) is what PyTorch calls
# channels_last: its kernels accept it without a copy.

_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)

_COMPOSED = torch.library.Library("explorer", "FRAGMENT")


def _composite(schema: str, function: Callable[..., Tensor]) -> OpOverload:
    name = schema.partition("(")[0]
    _COMPOSED.define(schema)
    _COMPOSED.impl(name, function, "CompositeImplicitAutograd")
    return getattr(torch.ops.explorer, name).default


def _channels_last(schema: str, kernel: Callable[..., Tensor]) -> OpOverload:
    """Register a kernel of PyTorch for (batch, height, width, channels); a weight has its input channels last too."""
    name = schema.partition("(")[0]

    def run(input: Tensor, *args: Any) -> Tensor:
        if input.dim() != 4:
            raise RuntimeError(f"{name}: expected the axes (batch, height, width, channels), got {input.dim()} axes")
        if "Tensor weight" in schema:
            args = (args[0].permute(_TO_NCHW), *args[1:])
        return kernel(input.permute(_TO_NCHW), *args).permute(_TO_NHWC)

    return _composite(schema, run)


conv2d_nhwc = _channels_last(
    "conv2d_nhwc(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], int[2] padding=[0, 0], "
    "int[2] dilation=[1, 1], int groups=1) -> Tensor",
    torch.conv2d,
)
max_pool2d_nhwc = _channels_last(
    "max_pool2d_nhwc(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=[0, 0], "
    "int[2] dilation=[1, 1], bool ceil_mode=False) -> Tensor",
    torch.max_pool2d,
)
avg_pool2d_nhwc = _channels_last(
    "avg_pool2d_nhwc(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=[0, 0], "
    "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    torch.ops.aten.avg_pool2d,
)
adaptive_avg_pool2d_nhwc = _channels_last(
    "adaptive_avg_pool2d_nhwc(Tensor input, SymInt[2] output_size) -> Tensor", torch.ops.aten.adaptive_avg_pool2d
)


def _batch_norm(input: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, axis: int) -> Tensor:
    """Normalize with known statistics, (x - mean) / sqrt(var + eps) * weight + bias, with channels along any axis."""
    moved, enabled = input.movedim(axis, 1), torch.backends.cudnn.enabled
    found = torch.batch_norm(moved, weight, bias, mean, var, False, 0.0, eps, enabled)
    # PyTorch's rule for fake tensors says that the result has the strides of the input, but on the CPU it is dense.
    # Compiled code would make views that its memory forbids. Where nothing is compiled, this copies nothing.
    return found.contiguous(memory_format=suggest_memory_format(moved)).movedim(1, axis)


batch_norm = _composite(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float eps, "
    "int axis) -> Tensor",
    _batch_norm,
)
