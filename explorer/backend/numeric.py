"""Number types, the logarithm, and random draws, which semirings, layers, operators and queries share."""

import math
from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn

from explorer.errors import ValueRangeError

DOUBLES = frozenset((torch.float64, torch.complex128))
"""The types of double precision."""


def log(x: Tensor) -> Tensor:
    """The logarithm, with gradient 0 where x is exactly 0.

    An inner unit may be zero, as in a logic circuit or under a weight that underflows; the gradient that reaches it is
    then 0, and the plain derivative 0 / 0 would turn the gradients of all parameters into NaN.
    """
    if torch.is_grad_enabled():
        # Both are identities whose derivative is selected to be 0 at 0; hardshrink is one operator.
        x = torch.where(x == 0, 0, x) if x.is_complex() else torch.nn.functional.hardshrink(x, 0.0)
    return torch.log(x)


def is_captured(x: Tensor) -> bool:
    """Whether operators on a tensor are recorded in a graph now, which cannot branch on values."""
    return torch.compiler.is_compiling() or (x.is_cuda and torch.cuda.is_current_stream_capturing())


def can_inspect(x: Tensor) -> bool:
    """Whether Python can read the values of a tensor.

    It cannot under torch.compile, torch.export or vmap, while a CUDA graph is captured, nor on meta.
    """
    if is_captured(x):
        return False
    try:
        return not bool(x[..., :0].any())
    except RuntimeError:
        return False


def smallest(x: Tensor) -> float | None:
    """The smallest value, or absolute value of a complex tensor; None if there is none, or `can_inspect` is false.

    To ask that first would cost as much again.
    """
    if is_captured(x) or not x.numel():
        return None
    try:
        return float((x.abs() if x.is_complex() else x).amin().item())
    except RuntimeError:
        return None


def smallest_part(x: Tensor) -> Tensor | None:
    """The smallest absolute value of all real and imaginary parts, a scalar tensor.

    None for integers and doubles, of an empty tensor, and in a graph that is being captured.
    """
    if x.dtype in DOUBLES or not (x.is_floating_point() or x.is_complex()) or not x.numel() or is_captured(x):
        return None
    x = x.detach()
    return (torch.view_as_real(x.resolve_conj()) if x.is_complex() else x).abs().amin()


def are_below_normal(values: Sequence[Tensor]) -> list[bool]:
    """Whether each of some scalars is smaller than all normal numbers of its type, such as zero; also NaN.

    All False where Python cannot read values (`can_inspect`). On a GPU this is one transfer.
    """
    if not values:
        return []
    try:
        found = [float(one) for one in torch.stack([value.double() for value in values]).tolist()]
    except RuntimeError:
        return [False] * len(values)
    return [not one >= torch.finfo(value.dtype).tiny for one, value in zip(found, values, strict=True)]


def as_complex(x: Tensor) -> Tensor:
    """The tensor as complex numbers of the same precision."""
    if x.is_complex():
        return x
    return x.to(torch.complex128 if x.dtype == torch.float64 else torch.complex64)


def in_double_precision(x: Tensor) -> Tensor:
    """The tensor in double precision: complex numbers stay complex, and integers become real numbers."""
    return x.to(torch.promote_types(x.dtype, torch.float64))


def in_single_precision(x: Tensor) -> Tensor:
    """The real or complex tensor in single precision."""
    return x.to(torch.complex64 if x.is_complex() else torch.float32)


def common_type(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The tensors in one type, complex or in double precision if one is: matrix products do not mix types."""
    types = {one.dtype for one in tensors}
    if len(types) == 1:
        return tensors
    common = reduce(torch.promote_types, types)
    return [one.to(common) for one in tensors]


def binomial_log_prob(count: Tensor, total_count: int, given: Tensor, *, is_logits: bool) -> Tensor:
    """Log C(n, x) + x log p + (n - x) log(1 - p), given p or its logit; p = 0 and p = 1 do no harm where they count 0.

    The three terms are of the size of n and cancel, so they are computed in double precision, whatever the type of
    `given` and of the result: for n = 100,000 single precision would be off by 0.03.
    """
    single, given, count = given.dtype, given.double(), count.double()
    if is_logits:
        log_success, log_failure = nn.functional.logsigmoid(given), nn.functional.logsigmoid(-given)
    else:
        log_success, log_failure = log(given), _log_of_complement(given)
    choose = math.lgamma(total_count + 1) - torch.lgamma(count + 1) - torch.lgamma(total_count - count + 1)
    failures = total_count - count
    successes = torch.where(count > 0, count * log_success, 0.0)
    missed = torch.where(failures > 0, failures * log_failure, 0.0)
    return (choose + successes + missed).to(single)


def _log_of_complement(p: Tensor) -> Tensor:
    """log(1 - p), exact for small p, and with gradient 0 at p = 1."""
    return torch.where(p < 0.5, torch.log1p(-p.clamp(max=0.5)), log(1 - p))


def uniform(shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
    """Numbers in [0, 1) in double precision; the same ones on every device."""
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def normal(shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
    """Standard normal numbers in double precision; the same ones on every device."""
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def cumulative_weights(logs: Tensor) -> Tensor:
    """Cumulative sums of exp(logs) along the last axis, scaled by the largest one, in double precision.

    Raises: ValueRangeError for NaN, the logarithm of a negative number.
    """
    logs = logs.double()
    if bool(torch.isnan(logs).any()):
        raise ValueRangeError("a unit has negative values, so it is not a distribution from which one can sample")
    largest = logs.amax(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).min)
    return torch.cumsum((logs - largest).exp(), -1)


def search(sums: Tensor, at: tuple[Tensor, ...], draws: Tensor) -> Tensor:
    """The index (P,) at which the cumulative sums `sums[at]` (P, T) first exceed `draws` (P,) of their total.

    A term of weight 0 is never chosen. It is a binary search, so that no tensor (P, T) is made.
    """
    last = sums.shape[-1] - 1
    total = sums[*at, last]
    target = torch.minimum(draws * total, torch.nextafter(total, torch.zeros_like(total)))
    low, high = torch.zeros_like(at[0]), torch.full_like(at[0], last)
    for _ in range(last.bit_length()):
        middle = (low + high) // 2
        is_right = sums[*at, middle] <= target
        low, high = torch.where(is_right, middle + 1, low), torch.where(is_right, high, middle)
    return low
