"""Helpers for rules on quantized operators."""

from collections.abc import Sequence
from typing import Literal

from torch._ops import OpOverload

from explorer.tensor.facts import PARTS, RESHAPES, TRANSPOSES, owned_by, read_once
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir import library, quantized as q
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import Apply, SourceLocation, Variable

PICKING = (*RESHAPES, *TRANSPOSES, *PARTS, *overloads("clone max_pool2d"), library.max_pool2d_nhwc)
"""Unary operators that select numbers of their input by position, or as the maximum of several."""


def read_once_from(variable: Variable, targets: Sequence[OpOverload]) -> "Apply | Declined | Literal[False]":
    """The owner of a variable if it is one of these operators and has no other users; Declined if it has others."""
    above = owned_by(variable, *targets)
    if above is None:
        return False
    return above if read_once(variable) else Declined(f"the result of {above.op.name} has other users", above)


def quantized_clip(variable: Variable, low: float, high: float, to: Quantization, location: SourceLocation) -> Variable:
    """Clip a quantized tensor; returns a relu for the bounds 0 and inf."""
    if (low, high) == (0.0, float("inf")):
        return q.quantized(q.relu, [variable], to, location)
    return q.quantized(q.clip, [variable], to, location, min=low, max=high)
