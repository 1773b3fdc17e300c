"""The type of a value on an edge: dtype, shape, and where they are explicit layout and quantization."""

import numbers
from dataclasses import dataclass, field
from math import prod

import torch

from explorer.errors import ValueRangeError

LETTERS = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "bool",
}


SCALES = (2.0**-100, 2.0**100)
"""Bounds of scales: products and quotients with them lose no digits in 32 bits."""

OFFSETS = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantization of a whole tensor: real = (stored - offset) * scale.

    Raises: ValueRangeError for a scale outside of `SCALES`, and for an offset that is not a 32-bit integer.
    """

    scale: float
    offset: int

    def __post_init__(self) -> None:
        if not SCALES[0] <= self.scale <= SCALES[1]:
            raise ValueRangeError(f"the scale {self.scale:g} is not between {SCALES[0]:.3g} and {SCALES[1]:.3g}")
        if not isinstance(self.offset, numbers.Integral) or isinstance(self.offset, bool):
            raise ValueRangeError(f"expected an integer as the offset, got {self.offset!r}")
        if not OFFSETS[0] <= self.offset <= OFFSETS[1]:
            raise ValueRangeError(f"the offset {self.offset} does not fit into 32 bits")

    def __str__(self) -> str:
        return f"s{self.scale:g}o{self.offset}"


@dataclass(frozen=True, slots=True)
class TensorType:
    """Dtype and shape of a tensor; `layout` names the order of its axes where that is explicit ("NHWC").

    Two types are equal if their values are interchangeable; the layout is only a name and is not compared.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    layout: str = field(default="", compare=False)
    quantization: Quantization | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """The size of its elements in bytes."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        name = LETTERS.get(self.dtype, str(self.dtype).removeprefix("torch."))
        more = "".join(f" {part}" for part in (self.layout, self.quantization) if part)
        return f"{name}[{','.join(map(str, self.shape))}]{more}"


@dataclass(frozen=True, slots=True)
class OtherType:
    """The type of a result that is not a tensor, such as the seed of an attention kernel; passes ignore it."""

    name: str

    def __str__(self) -> str:
        return self.name


ValueType = TensorType | OtherType


def type_of(value: object, layout: str = "", quantization: Quantization | None = None) -> ValueType:
    """Return the type of a tensor, real or fake, or of another result."""
    if isinstance(value, torch.Tensor):
        return TensorType(value.dtype, tuple(int(size) for size in value.shape), layout, quantization)
    return OtherType(type(value).__name__)
