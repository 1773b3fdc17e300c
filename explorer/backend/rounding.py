"""Rounding: whether a parameter that was computed in double precision loses digits that count in another type."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from explorer.backend.numeric import can_inspect
from explorer.backend.semiring import Semiring

WELL_CONDITIONED = ("weight", "rows", "table", "value", "constant", "logits", "stddev")
"""Values whose last digits change a result no more than their own, unless terms cancel: not coefficients, nor
probabilities near 1."""

SIGN_FREE = ("mean", "stddev", "constant", "logits")
"""Values that may be negative in layers whose units are positive."""

MAX_ROUNDING = 1e-6
"""Largest rounding error of a mean that is accepted, in standard deviations."""


def may_cancel(key: str, value: Tensor, semiring: Semiring) -> bool:
    """Whether a value of a layer shows that terms of the circuit may cancel: numbers below zero, or complex ones.

    All digits of all values then count, as in the square of a circuit with negative weights where it is near zero.
    Polynomials may be negative anywhere.
    """
    name = key.rpartition(".")[2]
    if name == "coeff":
        return True
    if value.is_complex() and bool(value.imag.any()):
        return True
    is_logarithm = semiring.is_logarithmic and name in ("rows", "table", "value")
    if is_logarithm or name in SIGN_FREE or not (value.is_floating_point() or value.is_complex()):
        return False
    return bool((value.real < 0).any())


def loses_digits(key: str, rounded: Tensor, values: Mapping[str, Tensor]) -> bool:
    """Whether a value of a layer has lost digits that count when it was rounded.

    That is so if an entry underflows or overflows, and if another one differs and the value is not in
    `WELL_CONDITIONED`; of a mean, where its density is narrow. Logarithms near zero are rounded, and nothing is lost.
    """
    exact = values[key]
    if key == "mean" and "stddev" in values:
        if bool(((rounded - exact).abs() > MAX_ROUNDING * values["stddev"]).any()):
            return True
    elif key.rpartition(".")[2] not in WELL_CONDITIONED and bool((rounded != exact).any()):
        return True
    if not rounded.numel():
        return False
    low, high = torch.aminmax(rounded.abs())
    tiny = torch.finfo(rounded.dtype).tiny
    if low >= tiny and high < math.inf:  # all are normal numbers, as most parameters are
        return False
    return bool((((rounded.abs() < tiny) & (exact.real > 0)) | (rounded.isinf() & ~exact.isinf())).any())


def underflows(rounded: Tensor, exact: Tensor) -> bool:
    """Whether a real or imaginary part that is not zero has become smaller than all normal numbers.

    Logarithms and means are judged like weights: few are so near to zero, and then double precision does no harm.
    """
    if rounded.dtype == exact.dtype or not can_inspect(rounded):
        return False
    rounded, exact = (torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in (rounded, exact))
    return bool(((rounded.abs() < torch.finfo(rounded.dtype).tiny) & (exact != 0)).any())
