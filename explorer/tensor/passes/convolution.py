"""Passes on convolutions, pools and batch norms.

`MergePadIntoConvolution`, `OptimizePool`, `OptimizeReduceMean`, `FoldBatchNormalizationWithArithmeticChain`,
`FoldArithmeticChainUnderConvIntoBN`, `OptimizeBatchNorm`.

With the scale A = weight / sqrt(var + eps), a batch norm is y = A x + (bias - mean A) per channel. After a
convolution it is a convolution with W' = A W and b' = A b + (bias - mean A).
"""

import torch

from explorer.tensor.facts import (
    CLIPS,
    RELUS,
    constant_like,
    gradient_on_ties,
    keeps_digits,
    known_tensor,
    may_hold_padding_only,
    read_once,
    reapply,
    replace_with,
    reshape,
    shape_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import (
    CONVOLUTIONS,
    MAX_POOLS,
    batch_norm_of,
    batch_norm_results,
    batch_norm_with_parameters,
    channel_axis,
    is_convolution,
    is_transposed,
    new_batch_norm,
    schema_name,
    weight_axis,
)
from explorer.tensor.passes.sinking import PADS, padding_value, pads_by_axis

pad_into_conv = passes.new("MergePadIntoConvolution")


@pad_into_conv.rule(None, above=PADS)
def pad_into_convolution(node: Apply, pad: Apply) -> Rewrite:
    """A convolution of a tensor that is zero-padded symmetrically on its inner axes pads by itself."""
    if not is_convolution(node) or is_transposed(node):
        return False
    rank = len(shape_of(node.inputs[0]))
    if rank != len(shape_of(node.inputs[1])):
        return Declined("the convolution has no batch axis", node)
    if padding_value(pad) != 0:
        return Declined("it is not padded with zeros", pad)
    pads = pads_by_axis(pad.op["pad"], rank)
    channel = CONVOLUTIONS[schema_name(node)]
    inner = [axis for axis in range(1, rank) if axis != channel]
    if pads[0] != (0, 0) or pads[channel] != (0, 0):
        return Declined("the batch or the channels are padded too", pad)
    if any(before != after for before, after in pads):
        return Declined("the padding is asymmetric", pad)
    if any(before < 0 for before, _ in pads):
        return Declined("the padding is negative", pad)
    own = tuple(node.op["padding"])
    own = own * len(inner) if len(own) == 1 else own
    total = [old + pads[axis][0] for old, axis in zip(own, inner, strict=True)]
    return replace_with(node, reapply(node, [pad.inputs[0], *node.inputs[1:]], padding=total))


pool = passes.new("OptimizePool")


@pool.rule(None, above=(*RELUS, *CLIPS))
def relu_below_max_pool(node: Apply, above: Apply) -> Rewrite:
    """max_pool(relu(x)) is relu(max_pool(x)), also for NaN, except for the sign of zeros."""
    if schema_name(node) not in MAX_POOLS:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the relu has other users", above)
    if any(extra.clients for extra in node.outputs[1:]):
        return Declined("the indices are used too; a relu makes several numbers equal", node)
    if may_hold_padding_only(node.op):
        return Declined("a window may contain only padding, which counts as -inf", node)
    passes_on_bounds = above.op.target in (aten.clamp.default, aten.clip.default)
    if passes_on_bounds and (trained := gradient_on_ties(above)) is not None:
        return trained
    pooled = apply_op(node.op, [above.inputs[0]])
    new = apply_op(above.op, pooled.outputs[:1], above.location).outputs[0]
    return [new, *[None] * (len(node.outputs) - 1)]


reduce_mean = passes.new("OptimizeReduceMean")


@reduce_mean.rule([aten.mean.dim])
def mean_is_average_pool(node: Apply) -> Rewrite:
    """A mean over axes 2 and 3 of 4 is average pooling with a window of their sizes, then possibly a reshape."""
    kind = node.inputs[0].tensor_type
    axes = node.op["dim"]
    if kind.rank != 4 or not kind.dtype.is_floating_point or kind.size == 0:
        return False
    if axes is None or sorted(axis % 4 for axis in axes) != [2, 3]:
        return Declined("it is not over the last two axes", node)
    if node.op["dtype"] not in (None, kind.dtype):
        return Declined("it is computed in another dtype", node)
    pooled = call(aten.avg_pool2d.default, node.inputs[0], list(kind.shape[2:]))
    return replace_with(node, pooled if node.op["keepdim"] else reshape(pooled, shape_of(node.outputs[0])))


ARITHMETIC = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.rsub.Scalar)

arithmetic_into_norm = passes.new("FoldBatchNormalizationWithArithmeticChain")
arithmetic_under_conv = passes.new("FoldArithmeticChainUnderConvIntoBN")
batch_norm = passes.new("OptimizeBatchNorm")


def per_channel(constant: Variable, shape: tuple[int, ...], axis: int) -> torch.Tensor | None:
    """Return the value per channel of a constant broadcast to a shape; None if it differs within a channel."""
    data = known_tensor(constant)
    if data is None or data.ndim > len(shape) or not data.numel():
        return None
    data = data.reshape((1,) * (len(shape) - data.ndim) + tuple(data.shape))
    if any(size not in (1, wanted) for size, wanted in zip(data.shape, shape, strict=True)):
        return None
    for other in range(len(shape)):
        if other != axis and data.shape[other] > 1:
            first = data.narrow(other, 0, 1)
            if not bool((data == first).all()):
                return None
            data = first
    return data.reshape(-1).to(torch.float64).expand(shape[axis]).clone()


def _affine(node: Apply, axis: int) -> "tuple[Variable, torch.Tensor, torch.Tensor] | Declined":
    """Write an arithmetic node as (x, a, b) for a x + b per channel, or return why it has another form."""
    if node.op.target is aten.rsub.Scalar:
        one = torch.ones(shape_of(node.inputs[0])[axis], dtype=torch.float64, device=node.inputs[0].device)
        return node.inputs[0], -node.op["alpha"] * one, node.op["other"] * one
    left, right = node.inputs
    constant_first = isinstance(left, Constant)
    x, other = (right, left) if constant_first else (left, right)
    if not isinstance(other, Constant):
        return Declined("its other input is not a constant", node)
    if other.trainable:
        return Declined(f"the constant {other.name or 'of it'} is trained", node)
    if x.type != node.outputs[0].type:
        return Declined("the constant changes the shape or the type", node)
    number = per_channel(other, shape_of(x), axis)
    if number is None:
        return Declined("the constant differs within a channel", node)
    number = number.to(x.device)
    one, zero = torch.ones_like(number), torch.zeros_like(number)
    if node.op.target is aten.mul.Tensor:
        return x, number, zero
    if node.op.target is aten.div.Tensor:
        if constant_first:
            return Declined("the constant is the dividend", node)
        return x, 1 / number, zero
    factor = node.op["alpha"]
    sign = 1 if node.op.target is aten.add.Tensor else -1
    if constant_first:
        return x, sign * factor * one, number
    return x, one, sign * factor * number


@arithmetic_into_norm.rule(ARITHMETIC)
def arithmetic_into_batch_norm(node: Apply) -> Rewrite:
    """Fold a y + b after a batch norm y, with constants per channel: scale its weight and bias by a, and add b."""
    below = next((v for v in node.inputs if batch_norm_of(v.owner) is not None and v.index == 0), None)
    old = batch_norm_of(below.owner) if below is not None else None
    if below is None or old is None:
        return False
    if not read_once(below):
        return Declined("the batch norm has other users", old.node)
    if old.weight is None or old.bias is None:
        return Declined("the parameters of the batch norm are trained", old.node)
    found = _affine(node, old.axis)
    if isinstance(found, Declined):
        return found
    _, a, b = found
    weight, bias = a * old.weight, a * old.bias + b
    if (infinite := _not_finite(node, a, b, weight, bias)) is not None:
        return infinite
    if not keeps_digits(node.outputs[0].tensor_type.dtype, weight, a, old.weight):
        return Declined("a scale would be too small for its dtype", old.node)
    return replace_with(node, batch_norm_with_parameters(old, weight, bias))


@arithmetic_under_conv.rule(ARITHMETIC)
def arithmetic_under_convolution(node: Apply) -> Rewrite:
    """Replace a y + b after a convolution y, with constants per channel, by a batch norm of mean 0 and variance 1."""
    below = next((v for v in node.inputs if v.owner is not None and channel_axis(v.owner) is not None), None)
    conv = below.owner if below is not None else None
    axis = channel_axis(conv) if conv is not None else None
    if below is None or conv is None or axis is None or conv.op.target is aten.linear.default:
        return False
    if len(shape_of(below)) != conv_rank(conv):
        return Declined("the convolution has no batch axis", conv)
    if not read_once(below):
        return Declined("the convolution has other users", conv)
    if not below.tensor_type.dtype.is_floating_point:
        return False
    found = _affine(node, axis)
    if isinstance(found, Declined):
        return found
    _, a, b = found
    return _not_finite(node, a, b) or replace_with(node, new_batch_norm(below, a, b, axis))


def _not_finite(node: Apply, *numbers: torch.Tensor) -> Declined | None:
    """Return the reason why arithmetic is not folded: x / 0 is infinite, and a later sum may be NaN."""
    kind = node.outputs[0].tensor_type.dtype
    if all(keeps_digits(kind, part) for part in numbers):
        return None
    return Declined("a scale or a shift would not be finite", node)


arithmetic_under_conv.add(arithmetic_into_batch_norm)


def conv_rank(conv: Apply) -> int:
    """Return the number of axes of a batched input of a convolution, which its weight has too."""
    return len(shape_of(conv.inputs[1]))


@batch_norm.rule(None)
def remove_identity_batch_norm(node: Apply) -> Rewrite:
    """A batch norm y = scale (x - mean) + bias with scale 1 and bias equal to mean is its input.

    The scale may be off by one rounding of the result's dtype.
    """
    old = batch_norm_of(node)
    if old is None or old.mean is None or old.weight is None or not old.mean.numel():
        return False
    rounding = torch.finfo(old.input.tensor_type.dtype).eps / 2
    if old.bias is None or not torch.equal(old.bias, old.mean) or bool(((old.scale - 1).abs() > rounding).any()):
        return False
    found = without_copy(node, old.input)
    return found if isinstance(found, Declined) else batch_norm_results(node, old.input)


@batch_norm.rule(None)
def batch_norm_into_convolution(node: Apply) -> Rewrite:
    """A batch norm of a convolution or linear layer is one with W' = A W and b' = A b + (bias - mean A)."""
    old = batch_norm_of(node)
    conv = old.input.owner if old is not None else None
    axis = channel_axis(conv) if conv is not None else None
    if old is None or conv is None or axis is None:
        return False
    if len(shape_of(old.input)) != conv_rank(conv):
        return Declined("the convolution has no batch axis", conv)
    if axis != old.axis:
        return Declined(
            f"the channels of {conv.op.name} are at axis {axis}, those of the batch norm at {old.axis}", conv
        )
    if not read_once(old.input):
        return Declined("the convolution has other users", conv)
    if not old.is_known:
        return Declined("the parameters of the batch norm are trained", node)
    weight, bias = conv.inputs[1], conv.input_of("bias")
    data, offset = known_tensor(weight), known_tensor(bias)
    if data is None or (bias is not None and offset is None):
        return Declined("weight or bias of the convolution is trained, or not a constant", conv)
    if is_transposed(conv) and conv.op["groups"] != 1:
        return Declined("it is a transposed convolution with groups", conv)
    scale, shift = old.scale, old.shift
    across = [1] * data.ndim
    across[weight_axis(conv)] = -1
    new_weight = constant_like(weight, (data.to(torch.float64) * scale.reshape(across)).to(data.dtype))
    before = offset.to(torch.float64) if offset is not None else torch.zeros_like(shift)
    new_offset = (scale * before + shift).to(data.dtype)
    if not bool(torch.isfinite(new_offset).all() and torch.isfinite(new_weight.data).all()):
        return Declined("weight or bias of the convolution would not be finite", conv)
    new_bias = constant_like(bias, new_offset) if bias is not None else Constant(new_offset, _bias_name(weight))
    return batch_norm_results(node, _with_parameters(conv, new_weight, new_bias))


def _bias_name(weight: Variable) -> str:
    name = weight.name
    return f"{name.removesuffix('weight')}bias" if name.endswith("weight") else ""


def _with_parameters(conv: Apply, weight: Variable, bias: Variable) -> Variable:
    """Return the convolution with another weight and bias."""
    given = conv.op.bind(conv.inputs)
    given["weight"], given["bias"] = weight, bias
    return call(conv.op.target, **given, location=conv.location)
