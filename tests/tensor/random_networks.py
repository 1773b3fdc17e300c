"""Random small networks for hypothesis: convolutions, norms, clips, pools, products, and the moves between them."""

from typing import Any

import torch
from hypothesis import strategies as st

from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call

aten = torch.ops.aten
LARGEST = 400
"""The most numbers that a tensor of a network has."""


class _Weights:
    """Makes the constants of a network with unique names; they are parameters if it is trained."""

    def __init__(self, dtype: torch.dtype, requires_grad: bool, seed: int) -> None:
        self.dtype, self.requires_grad = dtype, requires_grad
        self.generator = torch.Generator().manual_seed(seed)
        self.count = 0

    def __call__(self, *shape: int, low: float = -1.0, learned: bool = True) -> Constant:
        data = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (1.5 - low) + low
        self.count += 1
        if self.requires_grad and learned:
            return Constant(torch.nn.Parameter(data.to(self.dtype)), f"w{self.count}", trainable=True)
        return Constant(data.to(self.dtype), f"c{self.count}")


def _shape(x: Variable) -> tuple[int, ...]:
    return x.tensor_type.shape


def _conv(draw: Any, x: Variable, weights: _Weights) -> Variable:
    channels, kernel = _shape(x)[1], draw(st.sampled_from((1, 3)))
    outputs = draw(st.sampled_from((2, 4)))
    bias = weights(outputs) if draw(st.booleans()) else None
    settings = ([1, 1], [kernel // 2, kernel // 2])
    if draw(st.booleans()):
        padded = call(aten.constant_pad_nd.default, x, [1, 1, 1, 1])
        return call(aten.conv2d.default, padded, weights(outputs, channels, kernel, kernel), bias, [2, 2], [0, 0])
    return call(aten.conv2d.default, x, weights(outputs, channels, kernel, kernel), bias, *settings)


def _norm(draw: Any, x: Variable, weights: _Weights) -> Variable:
    channels = _shape(x)[1]
    affine = [weights(channels, low=0.5), weights(channels)]
    held = [weights(channels, learned=False), weights(channels, low=0.5, learned=False)]
    if weights.requires_grad and draw(st.booleans()):
        return call(aten._native_batch_norm_legit_functional.default, x, *affine, *held, True, 0.1, 1e-3)[0]
    return call(aten._native_batch_norm_legit_no_training.default, x, *affine, *held, 0.1, 1e-3)[0]


CLIPS = (
    lambda x: call(aten.relu.default, x),
    lambda x: call(aten.hardtanh.default, x, 0.0, 6.0),
    lambda x: call(aten.hardtanh.default, x),
    lambda x: call(aten.clamp.default, x, -0.5, 2.0),
    lambda x: call(aten.relu6.default, x),
)


def _clip(draw: Any, x: Variable, weights: _Weights) -> Variable:
    return draw(st.sampled_from(CLIPS))(x)


POOLS = (
    lambda x: call(aten.max_pool2d.default, x, [2, 2], [1, 1]),
    lambda x: call(aten.max_pool2d_with_indices.default, x, [2, 2], [1, 1])[0],
    lambda x: call(aten.avg_pool2d.default, x, [2, 2], [1, 1]),
    lambda x: call(aten.adaptive_avg_pool2d.default, x, [1, 1]),
    lambda x: call(aten.mean.dim, x, [2, 3], True),
)


def _pool(draw: Any, x: Variable, weights: _Weights) -> Variable:
    return draw(st.sampled_from(POOLS))(x) if min(_shape(x)[2:]) > 1 else x


def _permute(draw: Any, x: Variable, weights: _Weights) -> Variable:
    owner = x.owner
    if owner is not None and owner.op.name == "permute" and draw(st.booleans()):
        order = list(owner.op["dims"])
        return call(aten.permute.default, x, [order.index(i) for i in range(len(order))])
    rank = len(_shape(x))
    return call(aten.permute.default, x, draw(st.permutations(range(rank))))


def _reshape(draw: Any, x: Variable, weights: _Weights) -> Variable:
    shape = _shape(x)
    whole = draw(st.booleans())
    if len(shape) > 2:
        wanted = [shape[0], -1] if whole else [*shape[:2], -1]
    else:
        rows, columns = list(shape)
        wanted = [rows, columns // 2, 2, 1] if columns % 2 == 0 else [rows, columns, 1, 1]
    return call(draw(st.sampled_from((aten.reshape.default, aten.view.default))), _contiguous(x), wanted)


def _contiguous(x: Variable) -> Variable:
    return call(aten.clone.default, x, memory_format=torch.contiguous_format)


def _product(draw: Any, x: Variable, weights: _Weights) -> Variable:
    inputs, outputs = _shape(x)[-1], draw(st.sampled_from((2, 4)))
    if draw(st.booleans()):
        bias = weights(outputs) if draw(st.booleans()) else None
        return call(aten.linear.default, x, weights(outputs, inputs), bias)
    product = call(aten.matmul.default, x, weights(inputs, outputs))
    return call(aten.add.Tensor, product, weights(outputs)) if draw(st.booleans()) else product


def _scale(draw: Any, x: Variable, weights: _Weights) -> Variable:
    """Arithmetic with one number for each channel."""
    channels = weights(_shape(x)[1], *([1] * (len(_shape(x)) - 2)), low=0.5)
    return call(draw(st.sampled_from((aten.mul.Tensor, aten.add.Tensor, aten.sub.Tensor))), x, channels)


ANY = (_clip, _clip, _permute, _permute, _reshape, _product, _scale)
PICTURES = (*ANY, _conv, _conv, _norm, _norm, _pool)


@st.composite
def networks(
    draw: Any, dtype: torch.dtype = torch.float64, requires_grad: bool = False, longest: int = 9
) -> FunctionGraph:
    """A network of up to this many layers on one image; the last result is an output, and so are some others."""
    x = Variable(TensorType(dtype, (2, 4, 4, 3)), name="x")
    weights = _Weights(dtype, requires_grad, draw(st.integers(0, 99)))
    known: list[Variable] = [_conv(draw, x, weights) if requires_grad else x]
    for _ in range(draw(st.integers(2, longest))):
        x_ = known[draw(st.integers(max(0, len(known) - 3), len(known) - 1))]
        alike = [v for v in known if v is not x_ and v.type == x_.type]
        if alike and draw(st.booleans()):
            pair = [x_, draw(st.sampled_from(alike))]
            joins = draw(st.booleans())
            new = call(aten.cat.default, pair, draw(st.integers(0, 1))) if joins else call(aten.add.Tensor, *pair)
        else:
            layers = PICTURES if len(_shape(x_)) == 4 else ANY
            new = draw(st.sampled_from(layers))(draw, x_, weights)
        if new.tensor_type.size <= LARGEST:
            known.append(new)
    outputs = [known[-1], known[draw(st.integers(0, len(known) - 1))]]
    return FunctionGraph([x], [v for v in dict.fromkeys(outputs) if v is not x] or [call(aten.relu.default, x)])
