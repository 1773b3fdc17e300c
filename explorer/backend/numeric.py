"""Number types and the logarithm that semirings, layers and operators share."""

from collections.abc import Sequence

import torch
from torch import Tensor


def log(x: Tensor) -> Tensor:
    """The logarithm whose gradient is 0 where x is exactly 0.

    An inner unit may be zero, as in a logic circuit or under a weight that underflows; the gradient that reaches it is
    then 0, and the plain derivative 0 / 0 would turn the gradients of all parameters into NaN.
    """
    if torch.is_grad_enabled():
        # Both are identities whose derivative is selected to be 0 at 0; hardshrink is one operator.
        x = torch.where(x == 0, 0, x) if x.is_complex() else torch.nn.functional.hardshrink(x, 0.0)
    return torch.log(x)


def as_complex(x: Tensor) -> Tensor:
    """The tensor as complex numbers of the same precision."""
    if x.is_complex():
        return x
    return x.to(torch.complex128 if x.dtype == torch.float64 else torch.complex64)


def common_type(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The tensors, all complex if one is: matrix products do not mix real and complex numbers."""
    if any(t.is_complex() for t in tensors) and not all(t.is_complex() for t in tensors):
        return [as_complex(t) for t in tensors]
    return tensors
