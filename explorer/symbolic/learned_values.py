"""The epochs of a training that are kept, with the values of their leaves in one or two bytes each.

A leaf has a grid of its own: value = low + step * code. Logits are stored as they are: subtracting the logarithm of
their sum, or a grid for each row, changes the likelihood of held-out rows less than 8 bits do (8e-5 bits per pixel of
handwritten digits).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic.builder import with_values
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.parameters import Shape

CODES = {8: np.dtype(np.uint8), 16: np.dtype("<u2")}
"""The type of a code, by its number of bits."""


@dataclass(frozen=True, eq=False)
class PackedValues:
    """Values of leaves, rounded: `shapes` by name of the leaf, `codes` (N,) of all leaves, `grids` (L, 2): low, step.

    Raises: ShapeError if codes and grids do not fit the shapes; ValueRangeError for a grid that is not finite.
    """

    shapes: Mapping[str, Shape]
    codes: NDArray[np.uint8 | np.uint16]
    grids: NDArray[np.float32]

    def __post_init__(self) -> None:
        count = sum(map(prod, self.shapes.values()))
        if self.codes.shape != (count,) or self.grids.shape != (len(self.shapes), 2):
            raise ShapeError(
                f"expected {count:,} codes and {len(self.shapes):,} grids of 2 numbers; found arrays of shape "
                f"{self.codes.shape} and {self.grids.shape}"
            )
        if not np.isfinite(self.grids).all():
            raise ValueRangeError("expected finite grids; found infinity or NaN")

    @property
    def num_bytes(self) -> int:
        """The bytes of codes and grids."""
        return self.codes.nbytes + self.grids.nbytes

    def unpack(self) -> dict[str, NDArray[np.float32]]:
        """Return the rounded values by name of the leaf."""
        found: dict[str, NDArray[np.float32]] = {}
        start = 0
        for (name, shape), (low, step) in zip(self.shapes.items(), self.grids.astype(np.float64), strict=True):
            codes = self.codes[start : start + prod(shape)]
            found[name] = (low + step * codes).astype(np.float32).reshape(shape)
            start += len(codes)
        return found


def pack_values(values: Mapping[str, NDArray[np.floating]], bits: int = 8) -> PackedValues:
    """Round values by name of the leaf to 2^`bits` equal steps from the smallest to the largest value of each leaf.

    Raises: ValueRangeError for values that are not finite.

    >>> packed = pack_values({"weight": np.array([[0.0, 1.0], [2.0, 255.0]])})
    >>> packed.codes.tolist(), packed.unpack()["weight"].tolist()
    ([0, 1, 2, 255], [[0.0, 1.0], [2.0, 255.0]])
    """
    codes: list[NDArray[np.uint8 | np.uint16]] = []
    grids = np.zeros((len(values), 2), np.float32)
    most, dtype = 2**bits - 1, CODES[bits]
    for grid, (name, value) in zip(grids, values.items(), strict=True):
        flat = value.astype(np.float64).ravel()
        if not np.isfinite(flat).all():
            raise ValueRangeError(f"expected finite values; leaf {name} has infinity or NaN")
        if flat.size:
            grid[:] = flat.min(), np.ptp(flat) / most
        low, step = map(float, grid)
        codes.append(np.rint((flat - low) / (step or 1.0)).clip(0, most).astype(dtype))
    shapes = {name: value.shape for name, value in values.items()}
    return PackedValues(shapes, np.concatenate(codes) if codes else np.zeros(0, dtype), grids)


@dataclass(frozen=True, eq=False)
class LearnedEpoch:
    """An epoch of a training: -log2 p(x) / D of training and held-out rows, and the values with which it ended.

    Epoch 0 is before the training. Bits are those of the full precision. `source` makes the circuit, and `fixed` has
    its leaves that are not learned.
    """

    epoch: int
    train_bits: float
    held_out_bits: float
    packed: PackedValues
    source: Callable[[], Circuit]
    fixed: Mapping[str, NDArray[np.generic]] = field(default_factory=dict[str, NDArray[np.generic]])

    def values(self) -> dict[str, NDArray[np.generic]]:
        """The rounded values by name of the leaf."""
        return {**self.fixed, **self.packed.unpack()}

    def circuit(self) -> Circuit:
        """The symbolic circuit; its leaves begin with these values."""
        return with_values(self.source(), self.values())
