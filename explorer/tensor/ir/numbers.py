"""Python numbers among the tensor arguments of an operator: `mul.Tensor(x, 2)`."""

from cmath import isfinite
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import OperatorError

NATURAL = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
"""The dtype in which PyTorch holds a number of each Python type."""


class PythonNumber(torch.Tensor):
    """A zero-dimensional tensor that represents a Python number, as `nn.Parameter` represents a weight.

    Its dtype is the one in which the number acts; `value` is the number itself. Operators that accept numbers receive
    `value`: kernels of short dtypes compute with all its digits, and an integer need not fit into the dtype. Results
    are plain tensors.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]
    value: Any

    @classmethod
    def of(cls, value: complex, dtype: torch.dtype) -> "PythonNumber":
        """Return a number that acts in a dtype. Raises: OperatorError for an integer that PyTorch cannot hold."""
        try:
            data = torch.tensor(value, dtype=NATURAL[type(value)]).to(dtype)
        except (OverflowError, ValueError) as error:
            raise OperatorError(f"{value} is too large for a tensor") from error
        number = torch.Tensor._make_subclass(cls, data)
        number.value = value
        return number

    @property
    def number(self) -> Any:
        """The number as the Python type of its dtype; inf where kernels of that dtype cannot hold it.

        Kernels of 16 bits hold numbers in 32 bits.
        """
        kind: Any = type(self.item())
        held = torch.tensor(self.value, dtype=NATURAL[type(self.value)])
        held = held.to(torch.promote_types(self.dtype, torch.float32)).item()
        return kind(self.value if isfinite(held) else held)

    @property
    def plain(self) -> torch.Tensor:
        """The tensor alone, rounded to its dtype."""
        return self.as_subclass(torch.Tensor)

    def detach(self) -> "PythonNumber":
        """Return the number itself: no gradient passes through it."""
        return self

    def __deepcopy__(self, memo: object) -> "PythonNumber":
        return self


@cache
def accepts_numbers(target: OpOverload) -> bool:
    """Return whether PyTorch accepts a Python number for a tensor argument of this operator."""
    return torch._C._should_allow_numbers_as_tensors(target._schema.name.rpartition("::")[2])


def operands(target: OpOverload, tensors: Sequence[Any]) -> list[Any]:
    """Return the operands of a kernel: next to a tensor a Python number is passed as that number, alone as a tensor."""
    alone = all(isinstance(tensor, PythonNumber) for tensor in tensors)
    if alone or not accepts_numbers(target):
        return list(tensors)
    return [tensor.value if isinstance(tensor, PythonNumber) else tensor for tensor in tensors]
