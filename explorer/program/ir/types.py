"""The type of a value in memory: dtype, shape, strides and device."""

from dataclasses import dataclass, field
from math import prod

import torch

from explorer.tensor.graph.interface import same_strides
from explorer.tensor.ir.types import LETTERS

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class BufferType:
    """Dtype and layout of a tensor in memory; strides count elements."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: torch.device = CPU
    size: int = field(init=False, repr=False, compare=False)
    """The number of its elements."""
    extent: int = field(init=False, repr=False, compare=False)
    """The number of elements from its first to its last one in memory, both included; 0 if it has none."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.dtype, self.shape, self.strides, self.device)))
        last = sum([(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)])
        object.__setattr__(self, "size", prod(self.shape))
        object.__setattr__(self, "extent", 0 if 0 in self.shape else 1 + last)

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, tensor: torch.Tensor, device: torch.device | None = None) -> "BufferType":
        """Return the type of a tensor, real or fake."""
        shape, strides = tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))
        return cls(tensor.dtype, shape, strides, device or tensor.device)

    @classmethod
    def contiguous(cls, dtype: torch.dtype, shape: tuple[int, ...], device: torch.device = CPU) -> "BufferType":
        """Return the type of a contiguous tensor."""
        return cls(dtype, shape, contiguous_strides(shape), device)

    @property
    def size_bytes(self) -> int:
        """The bytes from its first to its last element."""
        return self.extent * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements are in the order of its axes, without gaps."""
        return same_strides(self.shape, self.strides, contiguous_strides(self.shape))

    @property
    def is_dense(self) -> bool:
        """Whether its elements have no gaps and overlaps, in any order of the axes."""
        return self.extent == self.size

    @property
    def may_overlap(self) -> bool:
        """Whether several elements may share memory, as in an expanded tensor."""
        reach = 1
        for stride, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size > 1 and stride < reach:
                return self.size > 0
            reach += (size - 1) * stride
        return False

    def is_same(self, other: "BufferType") -> bool:
        """Return whether both have the same layout; strides of axes of size 1 do not matter."""
        if self is other:
            return True
        alike = (self.dtype, self.shape, self.device) == (other.dtype, other.shape, other.device)
        return alike and same_strides(self.shape, self.strides, other.strides)

    def __str__(self) -> str:
        name = LETTERS.get(self.dtype, str(self.dtype).removeprefix("torch."))
        usual = self.strides == contiguous_strides(self.shape)
        strides = "" if usual else f"{{{','.join(map(str, self.strides))}}}"
        device = "" if self.device == CPU else f" @{self.device}"
        return f"{name}[{','.join(map(str, self.shape))}]{strides}{device}"


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides without gaps, the last axis running fastest."""
    found: list[int] = []
    step = 1
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))
