"""Which numbers a tensor holds: real, in floating point, of the dtype of a result."""

from typing import Any

import torch

from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Variable


def is_real(variable: Variable) -> bool:
    """Whether its elements are real numbers in floating point: nothing wraps around, and all functions have kernels."""
    kind = variable.type
    return isinstance(kind, TensorType) and kind.dtype.is_floating_point


def is_floating(variable: Variable) -> bool:
    """Whether its elements are real or complex numbers, so that a division stays in their type."""
    kind = variable.type
    return isinstance(kind, TensorType) and (kind.dtype.is_floating_point or kind.dtype.is_complex)


def have_dtype_of(result: Variable, *variables: Variable) -> bool:
    """Whether variables are of the dtype of a result, so that an operator on them calculates in that dtype."""
    return all(v.tensor_type.dtype == result.tensor_type.dtype for v in variables)


def holds(dtype: torch.dtype, number: Any) -> bool:
    """Whether a floating dtype holds a number with all its digits: 0, or neither too large nor too small."""
    limits = torch.finfo(dtype)
    return not number or limits.smallest_normal <= abs(number) <= limits.max


def keeps_digits(dtype: torch.dtype, product: torch.Tensor, *factors: torch.Tensor) -> bool:
    """Whether a product in double precision can be stored in a dtype: finite, and with all its digits.

    Without factors it need not have all digits; what a factor lacks already does not count.
    """
    least = torch.finfo(dtype).smallest_normal
    small = [factor.abs() < least for factor in factors] or [torch.ones_like(product, dtype=torch.bool)]
    kept = (product.abs() >= least).logical_or(torch.stack(torch.broadcast_tensors(*small)).any(0))
    return bool((product.to(dtype).isfinite() & kept).all())


def rounds_exactly(dtype: torch.dtype, number: Any) -> bool:
    """Whether a number of Python is one of a dtype: some kernels convert it first, others compute with all of it."""
    if not isinstance(number, int | float) or number != number:
        return False
    try:
        return torch.tensor(number, dtype=dtype).item() == number
    except (OverflowError, RuntimeError):
        return False


def is_short(variable: Variable) -> bool:
    """Whether its elements have 16 bits or fewer in floating point; kernels compute on those in float32."""
    return is_real(variable) and variable.tensor_type.dtype.itemsize < torch.float32.itemsize
