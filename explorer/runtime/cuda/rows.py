"""The common part of Triton kernels: how a kernel call reads rows of other calls and of tables, and writes its own.

A read of a call is a `ReadRecord`. The last row of `states` has the number of each row of the batch, so that reads of
slots and of tables are alike. Tables are in memory of their own: `*_apart` is how many numbers lie between the two.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportAssignmentType=false, reportInvalidTypeForm=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

import triton
import triton.language as tl

from explorer.runtime.cuda.launches import ReadRecord
from explorer.runtime.grouped import kernels as operators
from explorer.runtime.kernel_types import SINGLE

SMALLEST = tl.constexpr(SINGLE.smallest)
DROPPED = tl.constexpr(SINGLE.dropped)
LOWEST = tl.constexpr(SINGLE.lowest)
LN2 = tl.constexpr(operators.LN2)
EXPONENT = tl.constexpr(operators.EXPONENT)
ONE, TWICE_BIAS = tl.constexpr(operators.ONE), tl.constexpr(254 << 23)
READ = tl.constexpr(len(ReadRecord._fields))
START, VARIABLE, IS_TABLE = (tl.constexpr(ReadRecord._fields.index(name)) for name in ("start", "variable", "is_table"))


@triton.jit
def row_of(reads, at, states, batch, b, in_batch):
    """The row that a read has for each row of the batch, and whether it is of a table."""
    start, variable = tl.load(reads + at * READ + START), tl.load(reads + at * READ + VARIABLE)
    is_table = tl.load(reads + at * READ + IS_TABLE)
    state = tl.load(states + variable * batch + b, mask=in_batch, other=0)
    return start * tl.where(is_table != 0, 1, batch) + state, is_table


@triton.jit
def product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS: tl.constexpr):
    """The sum of the scales of the factors from `at` on."""
    row, is_table = row_of(reads, at, states, batch, b, in_batch)
    found = tl.load(scales + is_table * scales_apart + row, mask=in_batch, other=0.0)
    for f in tl.static_range(1, FACTORS):
        row, is_table = row_of(reads, at + f, states, batch, b, in_batch)
        found += tl.load(scales + is_table * scales_apart + row, mask=in_batch, other=0.0)
    return found


@triton.jit
def _bound_of(reads, at, states, batch, b, in_batch, bounds, bounds_apart):
    """The bound of a read, and the largest value that its rows may have."""
    row, is_table = row_of(reads, at, states, batch, b, in_batch)
    return tl.load(bounds + is_table * bounds_apart + row, mask=in_batch, other=0.0), tl.where(is_table != 0, 1.0, 2.0)


@triton.jit
def product_bound(reads, at, states, batch, b, in_batch, bounds, bounds_apart, FACTORS: tl.constexpr):
    """|x y - x' y'| <= Y e_x + X e_y + e_x e_y for x <= X, y <= Y, and what underflows."""
    found, most = _bound_of(reads, at, states, batch, b, in_batch, bounds, bounds_apart)
    for f in tl.static_range(1, FACTORS):
        one, largest = _bound_of(reads, at + f, states, batch, b, in_batch, bounds, bounds_apart)
        found = found * (largest + one) + (one * most + SMALLEST)
        most *= largest
    return found


@triton.jit
def product_of(
    reads, at, states, batch, b, in_batch, k, in_width, values, values_apart,
    WIDTH: tl.constexpr, FACTORS: tl.constexpr,
):  # fmt: skip
    """The elements k of the product of the factors from `at` on."""
    mask = in_batch[:, None] & in_width[None, :]
    row, is_table = row_of(reads, at, states, batch, b, in_batch)
    found = tl.load(values + is_table * values_apart + row[:, None] * WIDTH + k[None, :], mask=mask, other=0.0)
    for f in tl.static_range(1, FACTORS):
        row, is_table = row_of(reads, at + f, states, batch, b, in_batch)
        found *= tl.load(values + is_table * values_apart + row[:, None] * WIDTH + k[None, :], mask=mask, other=0.0)
    return found


@triton.jit
def exponential(difference):
    """Exp in single precision of a difference in double precision; 0 for what may not be a normal number."""
    return tl.where(difference < LOWEST, 0.0, tl.exp(difference)).to(tl.float32)


@triton.jit
def term_bound(bound, by, norm, underflow, MOST: tl.constexpr, SCALED: tl.constexpr):
    """The bound of a term of a sum, from the bound of its product."""
    if SCALED:
        bound = tl.where(by == 0, (bound + MOST) * DROPPED, bound * by)
    return norm * (bound + MOST * SMALLEST) + underflow


@triton.jit
def power_of_two(top, scale, bound, KEEP: tl.constexpr):
    """Return the divisor of a row with the largest element `top`, and its new scale and bound.

    Rows that are zero or too small are divided by 1; in training (KEEP) they have no bound, as their gradients are not
    known.
    """
    bits = top.to(tl.int32, bitcast=True) & EXPONENT
    if not KEEP:
        bits = tl.where(top < SMALLEST, ONE, bits)
    by = (bits * -1 + TWICE_BIAS).to(tl.float32, bitcast=True)  # a tensor first, for the interpreter
    is_legal = bits < TWICE_BIAS
    if KEEP:
        is_legal = is_legal & (top >= SMALLEST)
    scale += ((bits >> 23) - 127).to(tl.float64) * LN2
    return by, scale, tl.where(is_legal, bound * by + SMALLEST, float("inf"))


@triton.jit
def write_rows(
    found, scale, bound, slot, b, k, in_batch, in_width, values, scales, bounds, factors, batch,
    WIDTH: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Multiply each row by a power of two, so that its largest element is in [1, 2); for training keep the factor."""
    by, scale, bound = power_of_two(tl.max(found, axis=1), scale, bound, KEEP)
    row = slot * batch + b
    if KEEP:
        tl.store(factors + row, by, mask=in_batch)
    to = values + row[:, None] * WIDTH + k[None, :]
    tl.store(to, found * by[:, None], mask=in_batch[:, None] & in_width[None, :])
    tl.store(scales + row, scale, mask=in_batch)
    tl.store(bounds + row, bound, mask=in_batch)


@triton.jit
def write_block(
    found, scale, bound, slot, b, k, in_batch, in_width, values, scales, bounds, factors, batch,
    WIDTH: tl.constexpr, SPLIT: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Write some columns of each row of a call: as they are if programs share the row (SPLIT), for `rescale`."""
    if SPLIT:
        row = slot * batch + b
        to = values + row[:, None] * WIDTH + k[None, :]
        tl.store(to, found, mask=in_batch[:, None] & in_width[None, :])
        if tl.program_id(1) == 0:
            tl.store(scales + row, scale, mask=in_batch)
            tl.store(bounds + row, bound, mask=in_batch)
    else:
        write_rows(
            found, scale, bound, slot, b, k, in_batch, in_width, values, scales, bounds, factors, batch, WIDTH, KEEP
        )


@triton.jit
def place_of_weight(call, i, o, WIDTH: tl.constexpr, COUNT: tl.constexpr, BY_OUTPUT: tl.constexpr):
    """The places of the weights [i, o] of a call: packed as (COUNT, WIDTH), or (WIDTH, COUNT) as in layers."""
    of_input: tl.constexpr = 1 if BY_OUTPUT else WIDTH
    of_output: tl.constexpr = COUNT if BY_OUTPUT else 1
    return call * (COUNT * WIDTH) + i[:, None].to(tl.int64) * of_input + o[None, :].to(tl.int64) * of_output


@triton.jit
def tucker_scale_and_bound(
    row, is_table, right_row, right_is_table, in_batch, scales, bounds, scales_apart, bounds_apart,
    right_scales, right_bounds, right_scales_apart, right_bounds_apart,
):  # fmt: skip
    """The scale of a product of two rows, and its bound."""
    scale = tl.load(scales + is_table * scales_apart + row, mask=in_batch, other=0.0)
    scale += tl.load(right_scales + right_is_table * right_scales_apart + right_row, mask=in_batch, other=0.0)
    left = tl.load(bounds + is_table * bounds_apart + row, mask=in_batch, other=0.0)
    right = tl.load(right_bounds + right_is_table * right_bounds_apart + right_row, mask=in_batch, other=0.0)
    most = tl.where(right_is_table != 0, 1.0, 2.0)
    return scale, left * (most + right) + (right * tl.where(is_table != 0, 1.0, 2.0) + SMALLEST)
