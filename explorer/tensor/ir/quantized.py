"""Operators on quantized tensors, registered with PyTorch as `explorer::...`, and how to apply them in a graph.

A quantized tensor holds integers; the type of its variable says which real numbers they stand for:

    real   = (stored - offset) * scale
    stored = clip(round(real * (1 / scale)) + offset, least, greatest)

The least and greatest stored numbers are -128 and 127 in 8 bits, and -2^30 and 2^30 - 1 in 32 bits, which are for
biases. Rounding is to the nearest, halves to even, in 32-bit floating point. These are the formulas of
PyTorch's `quantized_decomposed` operators, digit by digit. Glow adds the offset before it rounds: that gives one
quantum more or less where x / scale lies halfway between two integers and the offset is odd, and nowhere else.
NaN has no quantized value.

Every quantized operator gives exactly what `dequantize`, the operator in floating point and `quantize` give one
after the other: its kernel does just that. Because a kernel gets plain integers, scale and offset of each input are
arguments of the operator, and a graph checks that they are those of the input's type.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import bound
from explorer.tensor.ir.types import Quantization, TensorType
from explorer.tensor.ir.variables import NOWHERE, Apply, Constant, SourceLocation, Variable

aten = torch.ops.aten

RANGES: Mapping[torch.dtype, tuple[int, int]] = {torch.int8: (-128, 127), torch.int32: (-(2**30), 2**30 - 1)}
"""The least and the greatest number that is stored."""

DEQUANTIZES = frozenset(("dequantize", "dequantize_per_tensor", "dequantize_per_channel"))
"""Names of operators that give the numbers for integers. Of constants they are not computed once and for all: the
integers take less memory."""

_LIBRARY = torch.library.Library("explorer", "FRAGMENT")


# ---------------------------------------------------------------------- kernels


def stored(real: Tensor, scale: float, offset: int, dtype: torch.dtype = torch.int8) -> Tensor:
    """Real numbers as integers: clip(round(real / scale) + offset)."""
    if dtype not in RANGES:
        raise RuntimeError(f"quantized numbers are stored in int8 or int32; {dtype} was asked for")
    if not real.dtype.is_floating_point:
        raise RuntimeError(f"real numbers are quantized; {real.dtype} was given")
    low, high = RANGES[dtype]
    return torch.clamp(torch.round(real.to(torch.float32) * (1.0 / scale)) + offset, low, high).to(dtype)


def real(numbers: Tensor, scale: float, offset: int) -> Tensor:
    """The real numbers that integers stand for: (stored - offset) * scale."""
    if numbers.dtype not in RANGES:
        raise RuntimeError(f"quantized numbers are stored in int8 or int32; {numbers.dtype} was given")
    return (numbers.to(torch.float32) - offset) * scale


def _register(schema: str, kernel: Callable[..., Tensor]) -> OpOverload:
    """An operator with this schema, for every device; shapes come from running the kernel on fake tensors."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema)
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"explorer::{name}", kernel, lib=_LIBRARY)
    return getattr(torch.ops.explorer, name).default


quantize_op = _register("quantize(Tensor input, float out_scale, int out_offset, ScalarType dtype) -> Tensor", stored)
dequantize_op = _register("dequantize(Tensor input, float input_scale, int input_offset) -> Tensor", real)
rescale_op = _register(
    "rescale_quantized(Tensor input, float input_scale, int input_offset, float out_scale, int out_offset) -> Tensor",
    lambda input, a, b, c, d: stored(real(input, a, b), c, d),
)

# ---------------------------------------------------------------------- arithmetic


@dataclass(frozen=True, slots=True)
class QuantizedOperator:
    """A quantized operator, the floating point operators that it stands for, its tensors and its other arguments.

    The tensors stand in the order in which the floating point operators take them; other arguments have their names.
    The last tensor may be missing, or be of plain real numbers, if it is the `bias`.
    """

    target: OpOverload
    floats: tuple[OpOverload, ...]
    tensors: tuple[str, ...]
    settings: tuple[str, ...]


QUANTIZED: dict[OpOverload, QuantizedOperator] = {}
"""All quantized operators by their overloads."""

BY_FLOAT: dict[OpOverload, QuantizedOperator] = {}
"""All quantized operators by the floating point operators that they stand for."""


def _operator(name: str, tensors: str, settings: str, kernel: Callable[..., Tensor], *floats: OpOverload) -> OpOverload:
    """Register `quantized_<name>`: tensors by their names, settings as in a schema, and the kernel on real numbers."""
    taken = tensors.split()
    plain = tuple(part.split()[-1] for part in settings.split(", ") if part)
    given = [f"Tensor{'?' * (t == 'bias')} {t}" for t in taken]
    scales = [f"float{'?' * (t == 'bias')} {t}_scale, int{'?' * (t == 'bias')} {t}_offset" for t in taken]
    parts = [*given, *([settings] if settings else []), *scales, "float out_scale, int out_offset"]
    count, middle = len(taken), len(taken) + len(plain)

    def on_integers(*values: Any) -> Tensor:
        reals = [
            tensor if scale is None else real(tensor, scale, offset)
            for tensor, scale, offset in zip(values, values[middle:-2:2], values[middle + 1 : -2 : 2], strict=False)
        ]
        return stored(kernel(*reals, *values[count:middle]), values[-2], values[-1])

    target = _register(f"quantized_{name}({', '.join(parts)}) -> Tensor", on_integers)
    made = QuantizedOperator(target, floats, tuple(taken), plain)
    QUANTIZED[target] = made
    BY_FLOAT.update(dict.fromkeys(floats, made))
    return target


add = _operator("add", "input other", "", torch.add, aten.add.Tensor)
sub = _operator("sub", "input other", "", torch.sub, aten.sub.Tensor)
mul = _operator("mul", "input other", "", torch.mul, aten.mul.Tensor)
div = _operator("div", "input other", "", torch.div, aten.div.Tensor)
maximum = _operator("max", "input other", "", torch.maximum, aten.maximum.default, aten.max.other)
minimum = _operator("min", "input other", "", torch.minimum, aten.minimum.default, aten.min.other)
relu = _operator("relu", "input", "", torch.relu, aten.relu.default)
clip = _operator(
    "clip",
    "input",
    "float min, float max",
    torch.clamp,
    *(aten.clamp.default, aten.clip.default, aten.hardtanh.default, aten.relu6.default),
)
matmul = _operator("matmul", "input other", "", torch.matmul, aten.matmul.default, aten.mm.default, aten.bmm.default)
linear = _operator("linear", "input weight bias", "", torch.nn.functional.linear, aten.linear.default)
conv2d = _operator(
    "conv2d",
    "input weight bias",
    "int[2] stride, int[2] padding, int[2] dilation, int groups",
    torch.conv2d,
    *(aten.conv2d.default, aten.convolution.default),
)
avg_pool2d = _operator(
    "avg_pool2d",
    "input",
    "int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override",
    aten.avg_pool2d.default,
    aten.avg_pool2d.default,
)
adaptive_avg_pool2d = _operator(
    "adaptive_avg_pool2d",
    "input",
    "int[2] output_size",
    aten.adaptive_avg_pool2d.default,
    aten.adaptive_avg_pool2d.default,
)

# ---------------------------------------------------------------------- in a graph


def quantize(
    variable: Variable, to: Quantization, dtype: torch.dtype = torch.int8, location: SourceLocation = NOWHERE
) -> Variable:
    """Real numbers as a quantized tensor."""
    return call(quantize_op, variable, to.scale, to.offset, dtype, location=location)


def dequantize(variable: Variable, location: SourceLocation = NOWHERE) -> Variable:
    """The real numbers that a quantized tensor stands for. Raises: OperatorError."""
    of = quantization_of(variable)
    return call(dequantize_op, variable, of.scale, of.offset, location=location)


def rescale(variable: Variable, to: Quantization, location: SourceLocation = NOWHERE) -> Variable:
    """A quantized tensor with another scale and offset; itself if they are the same. Raises: OperatorError."""
    of = quantization_of(variable)
    if of == to:
        return variable
    return call(rescale_op, variable, of.scale, of.offset, to.scale, to.offset, location=location)


def quantized(
    target: OpOverload,
    inputs: Sequence[Variable],
    to: Quantization,
    location: SourceLocation = NOWHERE,
    **settings: Any,
) -> Variable:
    """A quantized operator on quantized tensors, whose scales and offsets are taken from their types.

    Raises: OperatorError for what is no quantized operator, or for tensors or settings that do not fit.
    """
    if target not in QUANTIZED:
        raise OperatorError(f"{target} is no quantized operator; there are {', '.join(map(str, QUANTIZED))}")
    kind = QUANTIZED[target]
    values: dict[str, Any] = dict(zip(kind.tensors, inputs, strict=False))
    if "bias" in kind.tensors:
        values.setdefault("bias", None)
    scales: dict[str, Any] = {}
    for name, value in values.items():
        of = value.tensor_type.quantization if value is not None else None
        scales |= {f"{name}_scale": of and of.scale, f"{name}_offset": of and of.offset}
    return call(target, location=location, **values, **settings, **scales, out_scale=to.scale, out_offset=to.offset)


def requantized(node: Apply, inputs: Sequence[Variable], to: Quantization | None = None) -> Variable:
    """An operator of this file on other inputs, whose types its arguments then tell; maybe with another result.

    Raises: OperatorError if the inputs do not fit.
    """
    changes: dict[str, Any] = {}
    for name, variable in zip(node.op.input_names(), inputs, strict=True):
        of = variable.tensor_type.quantization
        if f"{name}_scale" in node.op.attributes:
            changes |= {f"{name}_scale": of and of.scale, f"{name}_offset": of and of.offset}
    if to is not None:
        changes |= {"out_scale": to.scale, "out_offset": to.offset}
    return apply_op(node.op.changed(**changes), inputs, node.location).outputs[0]


def quantization_of(variable: Variable) -> Quantization:
    """Scale and offset of a quantized tensor. Raises: OperatorError for another one."""
    found = variable.tensor_type.quantization
    if found is None:
        raise OperatorError(f"a quantized tensor is needed; {variable} is a {variable.type}")
    return found


def is_quantized_in_8_bits(variable: Variable) -> bool:
    """Whether a tensor is quantized and stored in 8 bits: then quantizing what it stands for gives it back."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.quantization is not None and kind.dtype is torch.int8


def real_range(of: Quantization, dtype: torch.dtype = torch.int8) -> tuple[float, float]:
    """The least and the greatest real number that integers with this scale and offset stand for."""
    ends = real(torch.tensor(RANGES[dtype], dtype=dtype), of.scale, of.offset)
    return ends[0].item(), ends[1].item()


def quantization_of_range(low: float, high: float) -> Quantization:
    """Scale and offset with which 8 bits stand for the numbers from low to high, and for 0 exactly.

    The range is extended to hold 0. Raises: ValueRangeError if it is too narrow or too wide.
    Source: Glow, chooseQuantizationParams (asymmetric).
    """
    least, greatest = RANGES[torch.int8]
    low, high = min(low, 0.0), max(high, 0.0)
    scale = Quantization((high - low) / (greatest - least), 0).scale
    return Quantization(scale, min(max(round(least - low / scale), least), greatest))


def quantized_constant(variable: Constant, to: Quantization, dtype: torch.dtype = torch.int8) -> Constant:
    """A constant of real numbers, quantized."""
    data = stored(variable.data.detach(), to.scale, to.offset, dtype)
    return Constant(data, variable.name, False, variable.tensor_type.layout, to)


def with_quantization(variable: Constant, to: Quantization) -> Constant:
    """A constant of integers, which now stand for real numbers."""
    return Constant(variable.data, variable.name, variable.trainable, variable.tensor_type.layout, to)


def name_quantization(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Before an operator is applied to inputs and constants without scale and offset: give them those that it names.

    PyTorch knows plain integers only, so this is how a graph that went through it is a graph of quantized tensors
    again. Raises: OperatorError for arguments that do not fit.
    """
    if target not in QUANTIZED and target not in (dequantize_op, rescale_op):
        return
    given = bound(target, args, kwargs)
    for name, value in given.items():
        scale = given.get(f"{name}_scale")
        if isinstance(value, Variable) and value.owner is None and scale is not None:
            kind = value.tensor_type
            if kind.quantization is None:
                value.type = replace(kind, quantization=Quantization(scale, given[f"{name}_offset"]))
