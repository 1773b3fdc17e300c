"""Operators on quantized tensors, registered with PyTorch as `explorer::...`, and how to apply them in a graph.

A quantized tensor holds integers; the type of its variable says which real numbers they represent:

    real   = (stored - offset) * scale
    stored = clip(round(real * (1 / scale)) + offset, min, max)

Stored numbers range from -128 to 127 in 8 bits, and from -2^30 to 2^30 - 1 in 32 bits, which are for biases. Rounding
is to nearest, ties to even, in float32. These formulas are bit-equal to PyTorch's `quantized_decomposed` operators.
Glow adds the offset before it rounds, which differs by one quantum where x / scale is halfway between two integers and
the offset is odd, and nowhere else. NaN has no quantized value.

The kernel of a quantized operator applies `dequantize`, the floating-point operator and `quantize`, so it returns
exactly what these return. Because kernels receive plain integers, scale and offset of each input are arguments of
the operator; a graph checks that they agree with the type of the input.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from explorer.errors import OperatorError
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import aten, bind_arguments
from explorer.tensor.ir.types import Quantization, TensorType
from explorer.tensor.ir.variables import NOWHERE, Apply, Constant, SourceLocation, Variable

RANGES: Mapping[torch.dtype, tuple[int, int]] = {torch.int8: (-128, 127), torch.int32: (-(2**30), 2**30 - 1)}
"""The minimum and maximum stored number."""

DEQUANTIZES = frozenset(("dequantize", "dequantize_per_tensor", "dequantize_per_channel"))
"""Names of operators that dequantize. They are not evaluated on constants, because the integers need less memory."""

_LIBRARY = torch.library.Library("explorer", "FRAGMENT")


# ---------------------------------------------------------------------- kernels


def quantize_tensor(real: Tensor, scale: float, offset: int, dtype: torch.dtype = torch.int8) -> Tensor:
    """Quantize real numbers: clip(round(real / scale) + offset)."""
    if dtype not in RANGES:
        raise RuntimeError(f"quantized numbers are stored in int8 or int32; got {dtype}")
    if not real.dtype.is_floating_point:
        raise RuntimeError(f"expected real numbers to quantize; got {real.dtype}")
    low, high = RANGES[dtype]
    return torch.clamp(torch.round(real.to(torch.float32) * (1.0 / scale)) + offset, low, high).to(dtype)


def dequantize_tensor(numbers: Tensor, scale: float, offset: int) -> Tensor:
    """Dequantize integers: (stored - offset) * scale."""
    if numbers.dtype not in RANGES:
        raise RuntimeError(f"quantized numbers are stored in int8 or int32; got {numbers.dtype}")
    return (numbers.to(torch.float32) - offset) * scale


def _register(schema: str, kernel: Callable[..., Tensor]) -> OpOverload:
    """Register an operator for all devices; its fake kernel is the kernel itself."""
    name = schema.partition("(")[0]
    _LIBRARY.define(schema)
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"explorer::{name}", kernel, lib=_LIBRARY)
    return getattr(torch.ops.explorer, name).default


quantize_op = _register(
    "quantize(Tensor input, float out_scale, int out_offset, ScalarType dtype) -> Tensor", quantize_tensor
)
dequantize_op = _register("dequantize(Tensor input, float input_scale, int input_offset) -> Tensor", dequantize_tensor)
rescale_op = _register(
    "rescale_quantized(Tensor input, float input_scale, int input_offset, float out_scale, int out_offset) -> Tensor",
    lambda input, a, b, c, d: quantize_tensor(dequantize_tensor(input, a, b), c, d),
)

# ---------------------------------------------------------------------- arithmetic


@dataclass(frozen=True, slots=True)
class QuantizedOperator:
    """A quantized operator, its floating-point operators, its tensors and its other arguments.

    Tensors and other arguments have the order and the names of the floating-point operators. A last tensor called
    `bias` may be missing or real.
    """

    target: OpOverload
    floats: tuple[OpOverload, ...]
    tensors: tuple[str, ...]
    settings: tuple[str, ...]


QUANTIZED: dict[OpOverload, QuantizedOperator] = {}
"""All quantized operators by overload."""

BY_FLOAT: dict[OpOverload, QuantizedOperator] = {}
"""All quantized operators by floating-point operator."""


def _operator(name: str, tensors: str, settings: str, kernel: Callable[..., Tensor], *floats: OpOverload) -> OpOverload:
    """Register `quantized_<name>`: names of tensors, settings as in a schema, and the kernel on real numbers."""
    taken = tensors.split()
    plain = tuple(part.split()[-1] for part in settings.split(", ") if part)
    given = [f"Tensor{'?' * (t == 'bias')} {t}" for t in taken]
    scales = [f"float{'?' * (t == 'bias')} {t}_scale, int{'?' * (t == 'bias')} {t}_offset" for t in taken]
    parts = [*given, *([settings] if settings else []), *scales, "float out_scale, int out_offset"]
    count, middle = len(taken), len(taken) + len(plain)

    def on_integers(*values: Any) -> Tensor:
        reals = [
            tensor if scale is None else dequantize_tensor(tensor, scale, offset)
            for tensor, scale, offset in zip(values, values[middle:-2:2], values[middle + 1 : -2 : 2], strict=False)
        ]
        return quantize_tensor(kernel(*reals, *values[count:middle]), values[-2], values[-1])

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
    """Quantize a variable."""
    return call(quantize_op, variable, to.scale, to.offset, dtype, location=location)


def dequantize(variable: Variable, location: SourceLocation = NOWHERE) -> Variable:
    """Dequantize a variable. Raises: OperatorError."""
    of = quantization_of(variable)
    return call(dequantize_op, variable, of.scale, of.offset, location=location)


def rescale(variable: Variable, to: Quantization, location: SourceLocation = NOWHERE) -> Variable:
    """Change scale and offset of a quantized tensor; returns it unchanged for the same. Raises: OperatorError."""
    of = quantization_of(variable)
    if of == to:
        return variable
    return call(rescale_op, variable, of.scale, of.offset, to.scale, to.offset, location=location)


def apply(
    target: OpOverload,
    inputs: Sequence[Variable],
    to: Quantization,
    location: SourceLocation = NOWHERE,
    **settings: Any,
) -> Variable:
    """Apply a quantized operator to quantized tensors, with the scales and offsets of their types.

    Raises: OperatorError if it is not a quantized operator, or does not accept the tensors or settings.
    """
    if target not in QUANTIZED:
        raise OperatorError(f"{target} is not a quantized operator; choose one of {', '.join(map(str, QUANTIZED))}")
    kind = QUANTIZED[target]
    values: dict[str, Any] = dict(zip(kind.tensors, inputs, strict=False))
    if "bias" in kind.tensors:
        values.setdefault("bias", None)
    scales: dict[str, Any] = {}
    for name, value in values.items():
        of = value.tensor_type.quantization if value is not None else None
        scales |= {f"{name}_scale": of and of.scale, f"{name}_offset": of and of.offset}
    return call(target, location=location, **values, **settings, **scales, out_scale=to.scale, out_offset=to.offset)


def reapply(node: Apply, inputs: Sequence[Variable], to: Quantization | None = None) -> Variable:
    """Apply the operator of a node of this file to other inputs, optionally with another scale of its result.

    Raises: OperatorError if it does not accept the inputs.
    """
    changes: dict[str, Any] = {}
    for name, variable in zip(node.op.input_names(), inputs, strict=True):
        of = variable.tensor_type.quantization
        if f"{name}_scale" in node.op.attributes:
            changes |= {f"{name}_scale": of and of.scale, f"{name}_offset": of and of.offset}
    if to is not None:
        changes |= {"out_scale": to.scale, "out_offset": to.offset}
    return apply_op(node.op.with_attributes(**changes), inputs, node.location).outputs[0]


def quantization_of(variable: Variable) -> Quantization:
    """Return scale and offset of a quantized tensor. Raises: OperatorError if it is not quantized."""
    found = variable.tensor_type.quantization
    if found is None:
        raise OperatorError(f"expected a quantized tensor; {variable} is a {variable.type}")
    return found


def is_quantized_in_8_bits(variable: Variable) -> bool:
    """Return whether a tensor is quantized in 8 bits, so that quantizing its dequantization restores it."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.quantization is not None and kind.dtype is torch.int8


def real_range(of: Quantization, dtype: torch.dtype = torch.int8) -> tuple[float, float]:
    """Return the minimum and maximum real number that integers with this scale and offset represent."""
    ends = dequantize_tensor(torch.tensor(RANGES[dtype], dtype=dtype), of.scale, of.offset)
    return ends[0].item(), ends[1].item()


def quantization_of_range(low: float, high: float) -> Quantization:
    """Choose scale and offset for 8 bits to represent the numbers from low to high, and 0 exactly.

    The range is extended to include 0. Raises: ValueRangeError if it is too narrow or too wide.
    """
    least, greatest = RANGES[torch.int8]
    low, high = min(low, 0.0), max(high, 0.0)
    scale = Quantization((high - low) / (greatest - least), 0).scale
    return Quantization(scale, min(max(round(least - low / scale), least), greatest))


def quantize_constant(variable: Constant, to: Quantization, dtype: torch.dtype = torch.int8) -> Constant:
    """Quantize a constant of real numbers."""
    data = quantize_tensor(variable.data.detach(), to.scale, to.offset, dtype)
    return Constant(data, variable.name, False, variable.tensor_type.layout, to)


def with_quantization(variable: Constant, to: Quantization) -> Constant:
    """Add scale and offset to a constant of integers."""
    return Constant(variable.data, variable.name, variable.trainable, variable.tensor_type.layout, to)


def name_quantization(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Set scales and offsets of unquantized inputs and constants by the arguments of an operator to be applied.

    PyTorch only has plain integers, so this restores the types of a graph that was exported. Raises: OperatorError for
    invalid arguments.
    """
    if target not in QUANTIZED and target not in (dequantize_op, rescale_op):
        return
    given = bind_arguments(target, args, kwargs)
    for name, value in given.items():
        scale = given.get(f"{name}_scale")
        if isinstance(value, Variable) and value.owner is None and scale is not None:
            kind = value.tensor_type
            if kind.quantization is None:
                value.type = replace(kind, quantization=Quantization(scale, given[f"{name}_offset"]))
