"""Which numbers a tensor holds: real, in floating point, of the dtype of a result."""

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
