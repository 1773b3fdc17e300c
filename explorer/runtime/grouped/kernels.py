"""The operators of PyTorch for each kind of group, and the form of scaled values that they accept and return.

Shapes: values (G, B, K) float, scales (G, B) double, bounds (G, B) float. Everything is a function of its arguments, so
that it can be captured as a CUDA graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor

from explorer.runtime.kernel_types import SINGLE

LN2 = log(2)
MAX_PARTS = 32
"""More parts of a sum than that are added in double precision."""
MAX_SUMMANDS = 1024
"""Maximum number of summands in one part of a sum."""
STEP_NUMBERS = 1 << 19
"""The numbers of the products of a step of one thread on a CPU: two mebibytes stay in its cache."""
EXPONENT, ONE = 0x7F800000, 127 << 23
"""The bits of the exponent of a float32, and those of 1."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a group."""

    values: Tensor
    scales: Tensor
    bounds: Tensor


def step_for(like: Tensor, batch: int) -> int:
    """Return how many numbers of a row a step has for a batch on the device of a tensor; 0 for no limit."""
    return max(1, STEP_NUMBERS * torch.get_num_threads() // batch) if like.device.type == "cpu" else 0


def put(out: Tensor | None, found: Tensor) -> Tensor:
    """The values in `out`, if it is given and they are not there."""
    if out is None:
        return found.float()
    return found if found.data_ptr() == out.data_ptr() else out.copy_(found)


def exponential(difference: Tensor) -> Tensor:
    """The exponential in single precision; 0 below `SINGLE.lowest`."""
    return torch.where(difference < SINGLE.lowest, 0.0, torch.exp(difference)).float()


def from_logarithms(logarithms: Tensor, out: Tensor | None = None) -> Values:
    """Values with a maximum of 1, from logarithms (G, B, K), in `out` if it is given, which may be the logarithms."""
    top = logarithms.detach().amax(dim=2, keepdim=True)  # scales are constants of a backward pass
    shift = torch.where(torch.isfinite(top), top, 0.0)  # not NaN: its gradients are NaN
    divided = torch.sub(logarithms, shift, out=out).float()
    below = torch.nn.functional.threshold(divided, SINGLE.lowest, -torch.inf, inplace=out is not None)
    bounds = torch.where(torch.isfinite(top), SINGLE.dropped, torch.inf).float().squeeze(2)
    return Values(torch.exp(below, out=out), top.double().squeeze(2), bounds)


def rescale(values: Tensor, scales: Tensor, bounds: Tensor, out: Tensor | None) -> Values:
    """Divide each row by the power of two of its largest element, in `out` if it is given; rows of zeros by 1."""
    top = values.amax(dim=2)
    bits = torch.where(top < SINGLE.smallest, ONE, top.view(torch.int32) & EXPONENT)
    by = ((254 << 23) - bits).view(torch.float32)
    legal = bits < (254 << 23)
    scales = scales + ((bits >> 23) - 127).double() * LN2
    return Values(
        torch.mul(values, by.unsqueeze(2), out=out),
        scales,
        torch.where(legal, bounds * by + SINGLE.smallest, torch.inf),
    )


def multiply(factors: Sequence[Tensor], by: Tensor | None, out: Tensor | None) -> Tensor:
    """The product of factors (G, B, K) and of `by` (G, B, 1) if it is given."""
    found = factors[0] if by is None else torch.mul(factors[0], by, out=out)
    for one in factors[1:]:
        found = torch.mul(found, one, out=out)
    return found


def kronecker(left: Tensor, right: Tensor, out: Tensor | None) -> Tensor:
    """y[i J + j] = left[i] right[j]."""
    expanded = None if out is None else out.unflatten(2, (left.shape[2], right.shape[2]))
    return torch.mul(left.unsqueeze(3), right.unsqueeze(2), out=expanded).flatten(2)


def weighted_sum(
    terms: Sequence[Sequence[Tensor]],
    by: Sequence[Tensor] | None,
    weight: Tensor,
    scratch: Tensor | None,
    out: Tensor | None,
) -> Tensor:
    """y[o] = sum_{h,i} by[h] x[h,i] weight[h I + i, o], where x[h] is the product of the factors of a term."""
    width, sum_of = terms[0][0].shape[2], _Sum(len(terms) * -(-terms[0][0].shape[2] // MAX_SUMMANDS), out)
    for h, factors in enumerate(terms):
        product = multiply(factors, None if by is None else by[h], scratch)
        for start in range(0, width, MAX_SUMMANDS):
            stop = min(start + MAX_SUMMANDS, width)
            sum_of.add(product[:, :, start:stop], weight[:, h * width + start : h * width + stop])
    return sum_of.total()


def tucker(left: Tensor, right: Tensor, weight: Tensor, scratch: Tensor | None, out: Tensor | None) -> Tensor:
    """y[o] = sum_{i,j} left[i] right[j] weight[i J + j, o]."""
    count, width = left.shape[2], right.shape[2]
    rows = max(1, MAX_SUMMANDS // width)
    sum_of = _Sum(-(-count // rows), out)
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        some = None if scratch is None or rows < count else scratch
        sum_of.add(kronecker(left[:, :, start:stop], right, some), weight[:, start * width : stop * width])
    return sum_of.total()


def mixing(
    terms: Sequence[Sequence[Tensor]],
    by: Sequence[Tensor] | None,
    weight: Tensor,
    scratch: Tensor | None,
    out: Tensor | None,
) -> Tensor:
    """y[k] = sum_h by[h] x[h,k] weight[h,k], where x[h] is the product of the factors of a term."""
    many = len(terms) > MAX_PARTS
    total: Tensor | None = None
    for h, factors in enumerate(terms):
        product, numbers = multiply(factors, None if by is None else by[h], scratch), weight[:, h : h + 1]
        if many:
            one = (product * numbers).double()
            total = one if total is None else total + one
        elif total is None:
            total = torch.mul(product, numbers, out=out)
        else:
            total = torch.addcmul(total, product, numbers, out=out)
    assert total is not None
    return put(out, total)


def tensor_dot(x: Tensor, weight: Tensor, out: Tensor | None) -> Tensor:
    """y[q P + p] = sum_j w[j, p] x[j Q + q]."""
    calls, batch, width = x.shape
    rows = weight.shape[1]
    transposed = x.view(calls, batch, rows, width // rows).transpose(2, 3).reshape(calls, -1, rows)
    return put(out, torch.bmm(transposed, weight).view(calls, batch, -1))


class _Sum:
    """A sum of matrix products; of many, in double precision."""

    def __init__(self, parts: int, out: Tensor | None) -> None:
        self.many = parts > MAX_PARTS
        self.out = out
        self.found: Tensor | None = None

    def add(self, x: Tensor, weight: Tensor) -> None:
        if self.many:
            one = torch.bmm(x, weight).double()
            self.found = one if self.found is None else self.found + one
        elif self.found is None:
            self.found = torch.bmm(x, weight) if self.out is None else torch.bmm(x, weight, out=self.out)
        else:
            self.found = torch.baddbmm(self.found, x, weight) if self.out is None else self.found.baddbmm_(x, weight)

    def total(self) -> Tensor:
        assert self.found is not None
        return put(self.out, self.found)
