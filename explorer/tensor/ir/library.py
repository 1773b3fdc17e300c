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
    """Channel shuffle along any axis: the axis as (groups, rest), the two exchanged, and joined again."""
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


# ---------------------------------------------------------------------- operators whose channels come last
#
# These are made of PyTorch's operators for every backend, mode and level ("composite implicit"): so they have
# gradients and fake kernels, `torch.compile` looks into them, and the core level of an import takes them apart. A
# tensor (B, H, W, C) seen as (B, C, H, W) is what PyTorch calls channels_last: its kernels take it without a copy.

Sizes = list[int] | tuple[int, ...]

_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)

_COMPOSED = torch.library.Library("explorer", "FRAGMENT")


def _composed(schema: str) -> Callable[[Callable[..., Tensor]], OpOverload]:
    """Decorator: a composite operator with this schema."""
    name = schema.partition("(")[0]

    def register(function: Callable[..., Tensor]) -> OpOverload:
        _COMPOSED.define(schema)
        _COMPOSED.impl(name, function, "CompositeImplicitAutograd")
        return getattr(torch.ops.explorer, name).default

    return register


@_composed(
    "conv2d_nhwc(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], int[2] padding=[0, 0], "
    "int[2] dilation=[1, 1], int groups=1) -> Tensor"
)
def conv2d_nhwc(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    dilation: Sizes = (1, 1),
    groups: int = 1,
) -> Tensor:
    """Convolution of (batch, height, width, channels) with a weight (outputs, height, width, inputs / groups)."""
    _four_axes("conv2d_nhwc", input)
    found = torch.conv2d(input.permute(_TO_NCHW), weight.permute(_TO_NCHW), bias, stride, padding, dilation, groups)
    return found.permute(_TO_NHWC)


@_composed(
    "max_pool2d_nhwc(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=[0, 0], "
    "int[2] dilation=[1, 1], bool ceil_mode=False) -> Tensor"
)
def max_pool2d_nhwc(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = (0, 0),
    dilation: Sizes = (1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest number of each window of (batch, height, width, channels)."""
    _four_axes("max_pool2d_nhwc", input)
    found = torch.max_pool2d(input.permute(_TO_NCHW), kernel_size, stride, padding, dilation, ceil_mode)
    return found.permute(_TO_NHWC)


@_composed(
    "avg_pool2d_nhwc(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=[0, 0], "
    "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
)
def avg_pool2d_nhwc(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = (0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (batch, height, width, channels)."""
    _four_axes("avg_pool2d_nhwc", input)
    found = torch.ops.aten.avg_pool2d(
        input.permute(_TO_NCHW), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return found.permute(_TO_NHWC)


@_composed("adaptive_avg_pool2d_nhwc(Tensor input, SymInt[2] output_size) -> Tensor")
def adaptive_avg_pool2d_nhwc(input: Tensor, output_size: Sizes) -> Tensor:
    """Means of as many windows of (batch, height, width, channels) as the result has places."""
    _four_axes("adaptive_avg_pool2d_nhwc", input)
    return torch.ops.aten.adaptive_avg_pool2d(input.permute(_TO_NCHW), output_size).permute(_TO_NHWC)


@_composed(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float eps, "
    "int axis) -> Tensor"
)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
    axis: int,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias with known statistics, the channels along any axis."""
    moved = input.movedim(axis, 1)
    found = torch.batch_norm(
        moved, weight, bias, running_mean, running_var, False, 0.0, eps, torch.backends.cudnn.enabled
    )
    # PyTorch's rule for fake tensors says that the result has the strides of the input, but on the CPU it is dense.
    # Compiled code would make views that its memory forbids. Where nothing is compiled, this copies nothing.
    return found.contiguous(memory_format=suggest_memory_format(moved)).movedim(1, axis)


def _four_axes(name: str, input: Tensor) -> None:
    if input.dim() != 4:
        raise RuntimeError(f"{name} takes (batch, height, width, channels); a tensor of {input.dim()} axes was given")
