"""Helpers for rules on quantized operators."""

from explorer.tensor.facts import PARTS, RESHAPES, TRANSPOSES
from explorer.tensor.ir import library, quantized as q
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import SourceLocation, Variable

PICKING = (*RESHAPES, *TRANSPOSES, *PARTS, *overloads("clone max_pool2d"), library.max_pool2d_nhwc)
"""Unary operators that select numbers of their input by position, or as the maximum of several."""


def quantized_clip(variable: Variable, low: float, high: float, to: Quantization, location: SourceLocation) -> Variable:
    """Clip a quantized tensor; returns a relu for the bounds 0 and inf."""
    if (low, high) == (0.0, float("inf")):
        return q.quantized(q.relu, [variable], to, location)
    return q.quantized(q.clip, [variable], to, location, min=low, max=high)
