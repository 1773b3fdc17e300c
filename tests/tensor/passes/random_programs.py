"""Random small programs of the operators that passes look for, so that their rules meet in ways nobody thought of."""

import random

import torch

from explorer.tensor import Constant, FunctionGraph, call, library
from tests.tensor.passes.checking import aten, constant, full, tensor

SIZES = (1, 2, 3, 4, 6)


def random_graph(seed, dtype, length=12, requires_grad=False):
    """A graph of about this many operators on one or two inputs, with one to three outputs.

    Of integers it has only operators that PyTorch has for them. If it is trained, its first value is a product with a
    parameter, and constants are parameters too; their numbers are whole or halves.
    """
    source = random.Random(seed)
    steps = STEPS if dtype.is_floating_point else INTEGER_STEPS
    shape = tuple(source.choice(SIZES) for _ in range(4))
    inputs = [tensor(*shape, dtype=dtype), tensor(*shape, dtype=dtype, name="y")]
    values = list(inputs)
    if requires_grad:
        values.append(call(aten.mul.Tensor, inputs[0], _parameter(shape, dtype, seed)))
    while len(values) < length:
        x = values[-1] if source.random() < 0.7 else source.choice(values[-4:])
        values.append(source.choice([*steps, *TRAINED_STEPS] if requires_grad else steps)(source, x, values, dtype))
    outputs = [values[-1], *source.sample(values[2:], source.randint(0, 2))]
    return FunctionGraph(inputs, list(dict.fromkeys(outputs)))


def _parameter(shape, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    data = torch.randint(-2, 3, tuple(shape), generator=generator).to(dtype) / 2
    return Constant(torch.nn.Parameter(data), f"w{seed}", trainable=True)


def _train(source, x, values, dtype):
    """Arithmetic with a parameter."""
    target = source.choice([aten.add.Tensor, aten.mul.Tensor, aten.maximum.default])
    return call(target, x, _parameter(x.tensor_type.shape, dtype, source.randrange(1000)))


def _extremum(source, x, values, dtype):
    if not x.tensor_type.shape:
        return x
    return call(source.choice([aten.max.dim, aten.min.dim]), x, source.randrange(len(x.tensor_type.shape)), True)[0]


def _detach(source, x, values, dtype):
    return call(aten.detach.default, x)


def _unary(source, x, values, dtype):
    kinds = [aten.relu, aten.neg, aten.abs, aten.clone]
    if dtype.is_floating_point:
        kinds += [aten.tanh, aten.sigmoid, aten.relu6]
    return call(source.choice(kinds).default, x)


def _clip(source, x, values, dtype):
    bounds = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0) if dtype.is_floating_point else (-2, -1, 0, 1, 2)
    low, high = sorted((source.choice(bounds[:-1]), source.choice(bounds[1:])))
    return call(aten.clamp.default, x, source.choice([low, None]), high)


def _transpose(source, x, values, dtype):
    rank = len(x.tensor_type.shape)
    if rank < 2:
        return x
    if source.random() < 0.3:
        return call(aten.transpose.int, x, *source.sample(range(-rank, rank), 2))
    return call(aten.permute.default, x, source.sample(range(rank), rank))


def _back(source, x, values, dtype):
    """Undo a transpose, if there is one."""
    owner = x.owner
    if owner is None or owner.op.name != "permute":
        return _transpose(source, x, values, dtype)
    order = list(owner.op["dims"])
    return call(aten.permute.default, x, [order.index(i) for i in range(len(order))])


def _reshape(source, x, values, dtype):
    shape = list(x.tensor_type.shape)
    if len(shape) > 1 and source.random() < 0.5:
        i = source.randrange(len(shape) - 1)
        shape[i : i + 2] = [shape[i] * shape[i + 1]]
    else:
        i = source.randrange(len(shape)) if shape else 0
        first = next((k for k in (2, 3) if shape and shape[i] % k == 0), 1)
        shape[i : i + 1] = [first, shape[i] // first] if shape else [1]
    if len(shape) > 5:
        shape = [x.tensor_type.size]
    return call(aten.reshape.default, x, shape)


def _number(source, x, values, dtype):
    target = source.choice(
        [aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor, aten.maximum.default, aten.minimum.default]
    )
    number = full(source.choice([0.0, 1.0, 0.5, -1.0, 2.0]), *source.choice([(), x.tensor_type.shape]), dtype=dtype)
    return call(target, *source.choice([(x, number), (number, x)]))


def _constant(source, x, values, dtype):
    shape = [size if source.random() < 0.5 else 1 for size in x.tensor_type.shape]
    c = constant(*shape, dtype=dtype, seed=source.randrange(5))
    target = source.choice([aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor, aten.div.Tensor])
    return call(target, *((c, x) if source.random() < 0.2 and target is not aten.div.Tensor else (x, c)))


def _binary(source, x, values, dtype):
    alike = [v for v in values if v.type == x.type]
    target = source.choice([aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default])
    return call(target, x, source.choice(alike))


def _leaky(source, x, values, dtype):
    return call(aten.maximum.default, x, call(aten.mul.Tensor, x, full(source.choice([0.1, 1.0, 2.0]), dtype=dtype)))


def _cat(source, x, values, dtype):
    if not x.tensor_type.shape or x.tensor_type.size > 2000:
        return x
    alike = [v for v in values if v.type == x.type]
    axis = source.randrange(-len(x.tensor_type.shape), len(x.tensor_type.shape))
    return call(aten.cat.default, [x, *source.choices(alike, k=source.randint(0, 2))], axis)


def _apart(source, x, values, dtype):
    """Split a tensor, and possibly concatenate the parts in one of several ways."""
    if not x.tensor_type.shape:
        return x
    axis = source.randrange(len(x.tensor_type.shape))
    size = x.tensor_type.shape[axis]
    if source.random() < 0.5:
        pieces = list(call(aten.split.Tensor, x, 2, axis)) if size > 2 else [x]
    else:
        pieces = [call(aten.slice.Tensor, x, axis, i, i + 1) for i in range(size)]
    if source.random() < 0.3:
        return source.choice(pieces)
    if source.random() < 0.3:
        source.shuffle(pieces)
    same = all(piece.type == pieces[0].type for piece in pieces)
    return call(aten.cat.default, pieces, source.randrange(len(x.tensor_type.shape)) if same else axis)


def _pad(source, x, values, dtype):
    rank = len(x.tensor_type.shape)
    if not rank or x.tensor_type.size > 2000:
        return x
    pads = [source.choice([0, 1, 2]) for _ in range(2 * source.randint(1, rank))]
    pads = source.choice([pads, [p for p in pads[::2] for _ in (0, 1)]])
    return call(aten.constant_pad_nd.default, x, pads, source.choice([0, 0, 1]))


def _repeat(source, x, values, dtype):
    if x.tensor_type.size > 500:
        return x
    return call(aten.repeat.default, x, [source.choice([1, 1, 2]) for _ in x.tensor_type.shape] or [1])


def _norm(source, x, values, dtype):
    rank = len(x.tensor_type.shape)
    if rank < 2:
        return x
    seed = source.randrange(5)
    if source.random() < 0.3:
        axis = source.randrange(rank)
        parts = [constant(x.tensor_type.shape[axis], dtype=dtype, seed=seed + i) for i in range(4)]
        return call(library.batch_norm, x, *parts, 1e-3, axis)
    parts = [constant(x.tensor_type.shape[1], dtype=dtype, seed=seed + i) for i in range(4)]
    return call(aten._native_batch_norm_legit_no_training.default, x, *parts, 0.1, 1e-3)[0]


def _conv(source, x, values, dtype):
    if len(x.tensor_type.shape) != 4:
        return x
    seed = source.randrange(5)
    bias = constant(4, dtype=dtype, seed=seed) if source.random() < 0.5 else None
    if source.random() < 0.4:
        filter = constant(4, 1, 1, x.tensor_type.shape[3], dtype=dtype, seed=seed)
        return call(library.conv2d_nhwc, x, filter, bias)
    return call(aten.conv2d.default, x, constant(4, x.tensor_type.shape[1], 1, 1, dtype=dtype, seed=seed), bias)


def _pool(source, x, values, dtype):
    if len(x.tensor_type.shape) != 4 or min(x.tensor_type.shape[2:]) < 2:
        return x
    target = source.choice([aten.max_pool2d.default, aten.avg_pool2d.default])
    return call(target, x, [2, 2], [1, 1])


def _mean(source, x, values, dtype):
    if len(x.tensor_type.shape) != 4:
        return x
    return call(aten.mean.dim, x, source.choice([[2, 3], [-1, -2], [1]]), True)


def _product(source, x, values, dtype):
    if len(x.tensor_type.shape) < 2:
        return x
    seed, columns = source.randrange(3), source.choice([2, 3])
    if source.random() < 0.5:
        weight = constant(columns, x.tensor_type.shape[-1], dtype=dtype, seed=seed)
        return call(aten.linear.default, x, weight, constant(columns, dtype=dtype) if seed else None)
    product = call(aten.matmul.default, x, constant(x.tensor_type.shape[-1], columns, dtype=dtype, seed=seed))
    return call(aten.add.Tensor, product, constant(columns, dtype=dtype)) if source.random() < 0.5 else product


def _flat_product(source, x, values, dtype):
    if len(x.tensor_type.shape) < 2:
        return x
    flat = call(aten.reshape.default, _transpose(source, x, values, dtype), [x.tensor_type.shape[0], -1])
    if flat.tensor_type.shape[1] > 2000:
        return x
    return call(aten.mm.default, flat, constant(flat.tensor_type.shape[1], 3, dtype=dtype))


def _softmax(source, x, values, dtype):
    if not x.tensor_type.shape:
        return x
    small = call(aten.tanh.default, x)
    axis = source.randrange(-len(x.tensor_type.shape), len(x.tensor_type.shape))
    return call(
        aten.div.Tensor,
        call(aten.exp.default, small),
        call(aten.sum.dim_IntList, call(aten.exp.default, small), [axis], True),
    )


def _shuffle(source, x, values, dtype):
    shape = list(x.tensor_type.shape)
    axes = [i for i, size in enumerate(shape) if size % 2 == 0]
    if not axes:
        return x
    axis = source.choice(axes)
    divided = call(aten.reshape.default, x, [*shape[:axis], 2, shape[axis] // 2, *shape[axis + 1 :]])
    return call(aten.reshape.default, call(aten.transpose.int, divided, axis, axis + 1), shape)


def _layer_norm(source, x, values, dtype):
    if not x.tensor_type.shape or x.tensor_type.shape[-1] < 3:
        return x
    return call(aten.layer_norm.default, x, [x.tensor_type.shape[-1]])


STEPS = (
    *(_unary, _clip, _transpose, _transpose, _back, _back, _reshape, _number, _number, _constant, _constant, _binary),
    *(_leaky, _cat, _cat, _apart, _pad, _repeat, _norm, _norm, _conv, _conv, _pool, _mean, _product, _flat_product),
    *(_softmax, _shuffle, _layer_norm),
)


INTEGER_STEPS = (
    *(_unary, _clip, _transpose, _transpose, _back, _reshape, _number, _number, _binary, _cat, _cat, _apart, _pad),
    *(_repeat, _shuffle),
)

TRAINED_STEPS = (_train, _train, _train, _train, _extremum, _extremum, _detach, _clip, _clip, _leaky, _pool)


def random_values(graph, seed):
    """Inputs of the size of 1, without zeros."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(v.tensor_type.shape, generator=generator, dtype=torch.float64).to(v.tensor_type.dtype)
        for v in graph.inputs
    ]
