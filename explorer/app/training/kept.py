"""The kept epochs of a run in the file of its checkpoint: plain numbers, and two tensors for each epoch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic import CODES, Circuit, LearnedEpoch, PackedValues, Shape

MAX_EPOCHS = 100
"""Maximum number of kept epochs that are read; a run of ten billion epochs has 50."""


def kept_content(kept: Sequence[LearnedEpoch]) -> dict[str, Any]:
    """Return the epochs as data for `torch.save`: codes of all leaves as bytes, in the order of their names."""
    return {
        "leaves": list(kept[0].packed.shapes),
        "epochs": [
            {
                "epoch": one.epoch,
                "train_bits": one.train_bits,
                "held_out_bits": one.held_out_bits,
                "bits": 8 * one.packed.codes.itemsize,
                "codes": torch.from_numpy(one.packed.codes.view(np.uint8).copy()),
                "grids": torch.from_numpy(one.packed.grids.copy()),
            }
            for one in kept
        ],
    }


def read_kept(content: Any, state: Mapping[str, Tensor], source: Callable[[], Circuit]) -> tuple[LearnedEpoch, ...]:
    """Return the epochs of a file; `state` are the values of all leaves, which have the same shapes.

    Raises: KeyError, TypeError for data of another form.
    """
    names, rows = content["leaves"], content["epochs"]
    if not isinstance(names, list) or not isinstance(rows, list) or len(rows) > MAX_EPOCHS:
        raise TypeError(f"its kept epochs are not a list of at most {MAX_EPOCHS}")
    shapes = {name: tuple(state[name].shape) for name in names}
    fixed = {name: value.detach().numpy() for name, value in state.items() if name not in shapes}
    return tuple(_read(row, shapes, fixed, source) for row in rows)


def _read(
    row: Any, shapes: Mapping[str, Shape], fixed: Mapping[str, NDArray[Any]], source: Callable[[], Circuit]
) -> LearnedEpoch:
    match row:
        case {
            "epoch": int(number),
            "train_bits": float(train_bits),
            "held_out_bits": float(held_out_bits),
            "bits": int(bits),
            "codes": Tensor(dtype=torch.uint8, ndim=1) as codes,
            "grids": Tensor(dtype=torch.float32, ndim=2) as grids,
        } if bits in CODES:
            try:
                packed = PackedValues(shapes, codes.numpy().view(CODES[bits]), grids.numpy())
            except (ShapeError, ValueRangeError, ValueError) as error:  # a ValueError if half a code is missing
                raise TypeError(f"the values of a kept epoch: {error}") from error
            return LearnedEpoch(number, train_bits, held_out_bits, packed, source, fixed)
        case _:
            raise TypeError("a kept epoch is not one of numbers, codes and grids")
