"""One expression per rule, which random graphs would contain too rarely.

Each is a function of two float64 tensors of shape (4, 4); hypothesis combines some of them in one graph.
"""

from collections.abc import Callable
from typing import Any

import torch

from explorer.backend.layers.inner import TorchHadamardLayer
from explorer.backend.semiring import get_semiring
from explorer.tensor import Constant, Quantization, TensorType, Variable, call, library, quantized
from explorer.tensor.torch_io.whole_layers import operator_of

aten = torch.ops.aten
A, B = Quantization(0.05, 3), Quantization(0.11, -20)
WIDE, POSITIVE = Quantization(4.0, 20), Quantization(0.05, -128)
Plant = Callable[[Variable, Variable], Variable]


def random_constant(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Constant:
    """A constant with numbers from 0.5 to 1.5."""
    generator = torch.Generator().manual_seed(seed)
    return Constant(torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype) + 0.5)


def number(value: float) -> Constant:
    """One number."""
    return Constant(torch.tensor(value, dtype=torch.float64))


def positive(x: Variable) -> Variable:
    """Numbers from 0.5 on."""
    return add(call(aten.abs.default, x), 0.5)


def add(*args: Any) -> Variable:
    """A sum."""
    return call(aten.add.Tensor, *args)


def mul(*args: Any) -> Variable:
    """A product."""
    return call(aten.mul.Tensor, *args)


def sub(*args: Any) -> Variable:
    """A difference."""
    return call(aten.sub.Tensor, *args)


def div(*args: Any) -> Variable:
    """A quotient."""
    return call(aten.div.Tensor, *args)


def cat(*parts: Variable) -> Variable:
    """Rows below rows."""
    return call(aten.cat.default, list(parts), 0)


def one(name: str) -> Callable[..., Variable]:
    """The default overload of an operator of PyTorch."""
    return lambda *args, **settings: call(getattr(aten, name).default, *args, **settings)


neg, exp, log, relu, sigmoid, softmax_ = map(one, ("neg", "exp", "log", "relu", "sigmoid", "_softmax"))


def softmax(x: Variable) -> Variable:
    """Softmax of each row."""
    return call(aten.softmax.int, x, 1)


def total(x: Variable) -> Variable:
    """Sum of each row, kept as one column."""
    return call(aten.sum.dim_IntList, x, [1], True)


def greatest(x: Variable) -> Variable:
    """Greatest number of each row."""
    return call(aten.amax.default, x, [1], True)


def cast(x: Variable, dtype: torch.dtype) -> Variable:
    """Another dtype."""
    return call(aten._to_copy.default, x, dtype=dtype)


def picture(x: Variable) -> Variable:
    """The numbers as a batch of one with 4 channels."""
    return call(aten.reshape.default, x, [1, 4, 2, 2])


def transpose(x: Variable) -> Variable:
    """A transpose."""
    axes = len(x.tensor_type.shape)
    return call(aten.permute.default, x, list(range(axes))[::-1])


def part(x: Variable, start: int, stop: int, axis: int = 0) -> Variable:
    """Some rows."""
    return call(aten.slice.Tensor, x, axis, start, stop)


def select_rows(x: Variable, *rows: int) -> Variable:
    """Some rows by their numbers."""
    return call(aten.index_select.default, x, 0, Constant(torch.tensor(rows)))


def norm(x: Variable, *numbers: float, eps: float = 1e-3) -> Variable:
    """A batch norm of 4 channels: weight, bias, mean and variance, random ones if none are given."""
    parts = [Constant(torch.full((4,), n, dtype=torch.float64)) for n in numbers]
    parts = parts or [random_constant(4, seed=i) for i in range(4)]
    return call(aten._native_batch_norm_legit_no_training.default, x, *parts, 0.1, eps)[0]


def conv(x: Variable) -> Variable:
    """A convolution of 4 channels."""
    return call(aten.conv2d.default, x, random_constant(4, 4, 1, 1))


def whole(x: Variable, of: Quantization = A) -> Variable:
    """Quantized."""
    return quantized.quantize(cast(x, torch.float32), of)


def real(x: Variable) -> Variable:
    """Dequantized."""
    return quantized.dequantize(x)


def bytes_of(*shape: int, of: Quantization | None = None) -> Constant:
    """Integers of 8 bits."""
    generator = torch.Generator().manual_seed(3)
    data = torch.randint(-127, 128, shape, generator=generator).to(torch.int8)
    return Constant(data) if of is None else Constant(data, quantization=of)


def put(x: Variable, of: Quantization = A) -> Variable:
    """Quantized by PyTorch's own operator."""
    target = torch.ops.quantized_decomposed.quantize_per_tensor.default
    return call(target, x, of.scale, of.offset, -128, 127, torch.int8)


def get(x: Variable, of: Quantization = A) -> Variable:
    """Dequantized by PyTorch's own operator."""
    target = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    return call(target, x, of.scale, of.offset, -128, 127, torch.int8)


def pair(x: Variable, of: Quantization = A) -> Variable:
    """Through both."""
    return get(put(cast(x, torch.float32), of), of)


def select(x: Variable, i: int) -> Variable:
    """One row."""
    return call(aten.select.int, x, 0, i)


def logsumexp_by_hand(x: Variable) -> Variable:
    """The maximum subtracted, and added again."""
    shift = greatest(x)
    return add(call(aten.logsumexp.default, sub(x, shift), [1], True), shift)


def layer(x: Variable, y: Variable) -> Variable:
    """A product layer of a circuit, whole, with x and y as its inputs."""
    product = TorchHadamardLayer(num_input_units=4, num_output_units=4, arity=2)
    operator, name = operator_of(product, get_semiring("lse-sum"), ())
    inputs = call(aten.reshape.default, cat(x, y), [1, 2, 4, 4])
    return call(aten.reshape.default, call(operator, inputs, [], name), [4, 4])


PLANTS: dict[str, Plant] = {
    "layer": layer,
    "to": lambda x, y: call(aten.to.dtype, x, torch.float32),
    "same cast": lambda x, y: neg(cast(x, torch.float64)),
    "casts": lambda x, y: cast(cast(cast(x, torch.float32), torch.float64), torch.float32),
    "ones": lambda x, y: add(x, call(aten.ones.default, [4, 4], dtype=torch.float64)),
    "arange": lambda x, y: add(x, call(aten.arange.default, 4, dtype=torch.float64)),
    "second name": lambda x, y: call(aten.multiply.Tensor, x, y),
    "rsub": lambda x, y: call(aten.rsub.Scalar, x, 2.0),
    "square": lambda x, y: call(aten.square.default, x),
    "addcmul": lambda x, y: call(aten.addcmul.default, x, y, x, value=2),
    "neg neg": lambda x, y: exp(neg(neg(x))),
    "first power": lambda x, y: neg(call(aten.pow.Tensor_Scalar, x, 1)),
    "second power": lambda x, y: call(aten.pow.Tensor_Scalar, x, 2),
    "same truths": lambda x, y: call(aten.eq.Tensor, gt := call(aten.gt.Tensor, x, y), gt),
    "and true": lambda x, y: call(
        aten.logical_not.default,
        call(aten.logical_and.default, call(aten.gt.Tensor, x, y), Constant(torch.tensor(True))),
    ),
    "sub 0": lambda x, y: neg(sub(x, 0.0)),
    "div 1": lambda x, y: neg(div(x, 1.0)),
    "log exp": lambda x, y: neg(log(exp(x))),
    "exp log": lambda x, y: exp(log(positive(x))),
    "_softmax": lambda x, y: softmax_(x, 1, False),
    "expand_as": lambda x, y: call(aten.expand_as.default, total(x), y),
    "broadcasts": lambda x, y: neg(call(aten.expand.default, call(aten.expand.default, x, [2, 4, 4]), [3, 2, 4, 4])),
    "alias": lambda x, y: neg(call(aten.alias.default, x)),
    "dropout": lambda x, y: neg(call(aten.dropout.default, x, 0.5, False)),
    "range": lambda x, y: neg(select_rows(x, 1, 2)),
    "selections": lambda x, y: select_rows(select_rows(x, 3, 0, 2), 2, 0),
    "slices": lambda x, y: neg(part(part(x, 0, 3), 1, 3)),
    "where": lambda x, y: neg(call(aten.where.self, Constant(torch.tensor(True)), x, y)),
    "log softmax": lambda x, y: log(softmax(x)),
    "exp log_softmax": lambda x, y: exp(call(aten.log_softmax.int, x, 1)),
    "log sum exp": lambda x, y: log(total(exp(x))),
    "logsumexp": lambda x, y: logsumexp_by_hand(x),
    "softmax of shifted": lambda x, y: softmax(sub(x, greatest(x))),
    "minus logsumexp": lambda x, y: sub(x, call(aten.logsumexp.default, x, [1], True)),
    "log 1 +": lambda x, y: log(add(positive(x), 1.0)),
    "exp - 1": lambda x, y: sub(exp(x), 1.0),
    "exp + -1": lambda x, y: add(exp(x), -1.0),
    "log1p exp": lambda x, y: call(aten.log1p.default, exp(x)),
    "1 / (1 + exp -)": lambda x, y: call(aten.reciprocal.default, add(exp(neg(x)), 1.0)),
    "1 - sigmoid": lambda x, y: sub(number(1.0), sigmoid(x)),
    "log sigmoid": lambda x, y: log(sigmoid(x)),
    "1 /": lambda x, y: div(number(1.0), positive(x)),
    "1 / sqrt": lambda x, y: call(aten.reciprocal.default, call(aten.sqrt.default, positive(x))),
    "/ sqrt": lambda x, y: div(y, call(aten.sqrt.default, positive(x))),
    "silu": lambda x, y: mul(x, sigmoid(x)),
    "exp exp": lambda x, y: mul(exp(x), exp(y)),
    "factor": lambda x, y: add(x, mul(y, 3.0)),
    "sum of product": lambda x, y: add(x, mul(x, y)),
    "mm +": lambda x, y: add(call(aten.mm.default, x, y), y),
    "linear +": lambda x, y: add(call(aten.linear.default, x, random_constant(4, 4)), random_constant(4)),
    "rows": lambda x, y: add(add(add(select(x, 0), select(x, 1)), select(x, 2)), select(x, 3)),
    "0 *": lambda x, y: mul(Constant(torch.zeros(4, 4, dtype=torch.float64)), x),
    "conv *": lambda x, y: mul(conv(picture(x)), random_constant(4, 1, 1)),
    "conv norm": lambda x, y: norm(conv(picture(x))),
    "norm *": lambda x, y: mul(norm(picture(x)), random_constant(4, 1, 1)),
    "norm of nothing": lambda x, y: neg(norm(picture(x), 1.0, 0.0, 0.0, 1.0, eps=0.0)),
    "norm of a view": lambda x, y: norm(call(aten.view.default, picture(x), [1, 4, 4])),
    "part of a norm": lambda x, y: part(norm(picture(x)), 0, 1, 2),
    "min max": lambda x, y: call(aten.minimum.default, call(aten.maximum.default, x, number(-1.0)), number(1.0)),
    "concats": lambda x, y: cat(x, cat(x, y)),
    "part of a concat": lambda x, y: neg(part(cat(x, y), 4, 8)),
    "concat of parts": lambda x, y: neg(cat(part(x, 0, 2), part(x, 2, 3), y)),
    "concat of all parts": lambda x, y: neg(cat(part(x, 0, 2), part(x, 2, 4))),
    "concat of relus": lambda x, y: cat(relu(x), relu(y)),
    "prelu": lambda x, y: call(aten.prelu.default, transpose(x), number_row(0.25)),
    "part of a transpose": lambda x, y: neg(part(transpose(x), 1, 3)),
    "tile": lambda x, y: call(aten.repeat.default, transpose(x), [1, 2]),
    "pad": lambda x, y: call(aten.constant_pad_nd.default, transpose(x), [1, 2], 3.0),
    "power": lambda x, y: call(aten.pow.Tensor_Tensor, transpose(positive(x)), transpose(y)),
    "shuffle": lambda x, y: call(aten.channel_shuffle.default, transpose(picture(x)), 2),
    "max": lambda x, y: call(aten.max.dim, x, 1)[0],
    "layer norm": lambda x, y: mul(call(aten.layer_norm.default, x, [4]), random_constant(4)),
    "left factor": lambda x, y: add(*(call(aten.mm.default, x, random_constant(4, 4, seed=i)) for i in (1, 2))),
    "right factor": lambda x, y: add(*(call(aten.mm.default, v, W) for v in (x, y))),
    "no pad": lambda x, y: neg(call(aten.constant_pad_nd.default, x, [0, 0])),
    "greatest of one": lambda x, y: neg(call(aten.max_pool2d.default, picture(x), [1, 1])),
    "average of one": lambda x, y: neg(call(aten.avg_pool2d.default, picture(x), [1, 1])),
    "pool of relu": lambda x, y: call(aten.max_pool2d.default, relu(picture(x)), [2, 2], [1, 1]),
    "regression": lambda x, y: neg(call(library.regression_op, x, y)),
    "clip of splat": lambda x, y: add(x, call(aten.clamp.default, FIVES, 0.0, 2.0)),
    "quantized constant": lambda x, y: whole_constant(),
    "same scale": lambda x, y: real(call(quantized.rescale_op, whole(x), A.scale, A.offset, A.scale, A.offset)),
    "max with splat": lambda x, y: real(quantized.apply(quantized.maximum, [whole(x), LEAST], A)),
    "rescale of max": lambda x, y: quantized.rescale(quantized.apply(quantized.maximum, [whole(x), whole(y)], A), B),
    "rescale of sum": lambda x, y: quantized.rescale(quantized.apply(quantized.add, [whole(x), whole(y)], A), B),
    "relu of linear": lambda x, y: relu(
        real(quantized.apply(quantized.linear, [whole(x), bytes_of(4, 4, of=B)], WIDE))
    ),
    "turned constant": lambda x, y: transpose(whole_constant()),
    "view quantized": lambda x, y: quantized.quantize(call(aten.view.default, cast(x, torch.float32), [2, 8]), A),
    "parts of the next axis": lambda x, y: neg(call(aten.cat.default, [part(x, i, i + 1) for i in range(4)], 1)),
    "matmul +": lambda x, y: add(call(aten.matmul.default, x, W), random_constant(4)),
    "mean": lambda x, y: call(aten.mean.dim, picture(x), [2, 3]),
    "reshape of a constant": lambda x, y: add(x, call(aten.reshape.default, random_constant(16), [4, 4])),
    "reshape of a splat": lambda x, y: add(x, call(aten.reshape.default, call(aten.ones.default, [16]), [4, 4])),
    "clip of a clip": lambda x, y: call(aten.clamp.default, relu(x), 0.0),
    "relu of a transpose": lambda x, y: relu(transpose(x)),
    "exp of a transpose": lambda x, y: exp(transpose(x)),
    "add 0": lambda x, y: neg(add(x, 0.0)),
    "alpha": lambda x, y: call(aten.add.Tensor, x, y, alpha=3),
    "same shape": lambda x, y: neg(call(aten.reshape.default, x, [4, 4])),
    "whole slice": lambda x, y: neg(part(x, 0, 4)),
    "axis of 1": lambda x, y: neg(call(aten.permute.default, call(aten.reshape.default, x, [4, 1, 4]), [2, 1, 0])),
    "greatest with indices": lambda x, y: call(aten.max_pool2d_with_indices.default, picture(x), [2, 2])[0],
    "shuffle by hand": lambda x, y: shuffled_by_hand(picture(x)),
    "pad and conv": lambda x, y: conv(call(aten.constant_pad_nd.default, picture(x), [1, 1, 1, 1])),
    "transpose of a product": lambda x, y: call(aten.mm.default, flat_picture(x), random_constant(16, 2)),
    "reshapes joined": lambda x, y: call(
        aten.cat.default, [call(aten.reshape.default, v, [4, 2, 2]) for v in (x, y)], 0
    ),
    "quantized splat": lambda x, y: add(x, real(quantized.quantize(cast(FIVES, torch.float32), A))),
    "converted splat": lambda x, y: real(LEAST),
    "part of rescaled": lambda x, y: part(quantized.rescale(whole(x), B), 1, 3),
    "sum of rescaled": lambda x, y: quantized.apply(
        quantized.add, [quantized.rescale(whole(x), B), quantized.rescale(whole(y), B)], A
    ),
    "rescale of rescale": lambda x, y: quantized.rescale(quantized.rescale(whole(x), B), A),
    "clip of dequantize": lambda x, y: call(aten.clamp.default, real(whole(x)), -9.0, 9.0),
    "clip of sum": lambda x, y: call(
        aten.clamp.default, real(quantized.apply(quantized.add, [whole(x), whole(y)], B)), 0.0, 6.0
    ),
    "wide clip": lambda x, y: quantized.quantize(call(aten.clamp.default, neg(cast(x, torch.float32)), -9.0, 9.0), A),
    "narrow clip": lambda x, y: quantized.apply(
        quantized.relu, [quantized.quantize(call(aten.clamp.default, cast(x, torch.float32), 0.0, 1.0), A)], B
    ),
    "part of a splat": lambda x, y: add(part(call(aten.ones.default, [6, 4]), 1, 5), x),
    "part of dequantized": lambda x, y: quantized.quantize(part(real(whole(x)), 1, 3), A),
    "raised sum": lambda x, y: quantized.quantize(add(real(whole(x)), real(whole(y))), B),
    "identity clip": lambda x, y: real(quantized.apply(quantized.clip, [whole(x)], A, min=-9.0, max=9.0)),
    "identity relu": lambda x, y: real(quantized.apply(quantized.relu, [whole(x, POSITIVE)], POSITIVE)),
    "relu of a clip": lambda x, y: relu(call(aten.clamp.default, x, -1.0, 2.0)),
    "sum of transposes": lambda x, y: add(transpose(x), transpose(y)),
    "norm of a transpose": lambda x, y: norm(call(aten.permute.default, picture(x), [0, 1, 3, 2])),
    "concat of transposes": lambda x, y: cat(transpose(x), transpose(y)),
    "quantized transpose": lambda x, y: whole(transpose(x)),
    "dequantized transpose": lambda x, y: real(transpose(whole(x))),
    "exp of a reshape": lambda x, y: exp(picture(x)),
    "transposed constant": lambda x, y: add(x, transpose(W)),
    "copy": lambda x, y: neg(call(aten.clone.default, x)),
    "same order": lambda x, y: neg(call(aten.permute.default, x, [0, 1])),
    "relu relu": lambda x, y: neg(relu(relu(x))),
    "concat of one": lambda x, y: neg(cat(x)),
    "repeated once": lambda x, y: neg(call(aten.repeat.default, x, [1, 1])),
    "transposes": lambda x, y: transpose(transpose(x)),
    "hardtanh": lambda x, y: call(aten.hardtanh.default, x),
    "t": lambda x, y: call(aten.t.default, x),
    "transpose of ones": lambda x, y: neg(call(aten.permute.default, total(x), [1, 0])),
    "exp over sum": lambda x, y: div(powers := exp(x), total(powers)),
    "leaky relu": lambda x, y: call(aten.maximum.default, x, mul(x, number(0.5))),
    "times 1": lambda x, y: neg(mul(x, 1.0)),
    "quantize of dequantize": lambda x, y: quantized.quantize(real(whole(x)), B),
    "quantized concat": lambda x, y: quantized.quantize(cat(real(whole(x)), real(whole(y, B))), B),
    "pair": lambda x, y: pair(x),
    "pair of constant": lambda x, y: neg(get(bytes_of(4, 4))),
    "relu between pairs": lambda x, y: put(relu(call(aten.mm.default, pair(x), pair(y, B))), WIDE),
    "relu before quantize": lambda x, y: quantized.quantize(
        relu(call(aten.mm.default, real(whole(x)), real(whole(y, B)))), WIDE
    ),
}
W = random_constant(4, 4)
FIVES = Constant(torch.full((4, 4), 5.0, dtype=torch.float64))
LEAST = Constant(torch.full((4, 4), -128, dtype=torch.int8), quantization=A)


def shuffled_by_hand(x: Variable) -> Variable:
    """Two reshapes and a transpose between them."""
    divided = call(aten.reshape.default, x, [1, 2, 2, 2, 2])
    return call(aten.reshape.default, call(aten.transpose.int, divided, 1, 2), [1, 4, 2, 2])


def flat_picture(x: Variable) -> Variable:
    """A picture with the channels moved to the end, as one row."""
    return call(aten.reshape.default, call(aten.permute.default, picture(x), [0, 2, 3, 1]), [1, 16])


def number_row(value: float) -> Constant:
    """One number as a row."""
    return Constant(torch.full((1,), value, dtype=torch.float64))


def whole_constant() -> Variable:
    """A constant, quantized."""
    return quantized.quantize(random_constant(4, 4, dtype=torch.float32), A)


def inputs() -> tuple[Variable, Variable]:
    """The inputs of planted expressions."""
    x, y = (Variable(TensorType(torch.float64, (4, 4)), name=name) for name in "xy")
    return x, y
