"""Questions that rules ask about quantized operators, and how they make new ones."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch._ops import OpOverload

from explorer.tensor.facts import PARTS, RESHAPES, TRANSPOSES, owned_by, read_once
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir import library, quantized as q
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import Apply, SourceLocation, Variable

aten = torch.ops.aten

PICKING = (
    *RESHAPES,
    *TRANSPOSES,
    *PARTS,
    aten.clone.default,
    aten.max_pool2d.default,
    library.max_pool2d_nhwc,
)
"""One tensor in, one out, not larger: numbers of the input, picked by place or as the greatest of several."""


def read_once_from(variable: Variable, targets: Sequence[OpOverload]) -> "Apply | Declined | Literal[False]":
    """The application of one of these operators that gives a variable, if only one place reads it; or why not."""
    above = owned_by(variable, *targets)
    if above is None:
        return False
    return above if read_once(variable) else Declined(f"what {above.op.name} gives is read elsewhere too", above)


def quantized_clip(variable: Variable, low: float, high: float, to: Quantization, location: SourceLocation) -> Variable:
    """A quantized tensor between two bounds; a relu if that is all."""
    if (low, high) == (0.0, float("inf")):
        return q.quantized(q.relu, [variable], to, location)
    return q.quantized(q.clip, [variable], to, location, min=low, max=high)
