"""Dtypes: real, floating-point, short; the numbers that a dtype holds."""

from typing import Any

import torch

from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Variable


def is_real(variable: Variable) -> bool:
    """Whether its elements are real numbers in floating point."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.dtype.is_floating_point


def is_floating(variable: Variable) -> bool:
    """Whether its elements are floating-point or complex numbers, so that a quotient has their dtype."""
    kind = variable.type
    return isinstance(kind, TensorType) and (kind.dtype.is_floating_point or kind.dtype.is_complex)


def have_dtype_of(result: Variable, *variables: Variable) -> bool:
    """Whether variables have the dtype of a result, so that an operator on them computes in that dtype."""
    return all(v.tensor_type.dtype == result.tensor_type.dtype for v in variables)


def holds(dtype: torch.dtype, number: Any) -> bool:
    """Whether a number is 0 or a normal number of a floating-point dtype."""
    limits = torch.finfo(dtype)
    return not number or limits.smallest_normal <= abs(number) <= limits.max


def keeps_digits(dtype: torch.dtype, product: torch.Tensor, *factors: torch.Tensor) -> bool:
    """Whether a product in double precision is finite in a dtype, and normal where all its factors are.

    Without factors it only needs to be finite.
    """
    least = torch.finfo(dtype).smallest_normal
    small = [factor.abs() < least for factor in factors] or [torch.ones_like(product, dtype=torch.bool)]
    kept = (product.abs() >= least).logical_or(torch.stack(torch.broadcast_tensors(*small)).any(0))
    return bool((product.to(dtype).isfinite() & kept).all())


def rounds_exactly(dtype: torch.dtype, number: Any) -> bool:
    """Whether a dtype represents a Python number exactly, which some kernels convert to it and others do not."""
    if not isinstance(number, int | float) or number != number:
        return False
    try:
        return torch.tensor(number, dtype=dtype).item() == number
    except (OverflowError, RuntimeError):
        return False


def is_short(variable: Variable) -> bool:
    """Whether its elements are floating-point numbers of at most 16 bits; kernels compute on those in float32."""
    return is_real(variable) and variable.tensor_type.dtype.itemsize < torch.float32.itemsize
