"""The Triton kernels, on scaled values with a bound; see `explorer/runtime/README.md`, and `rows` for how they read.

Values of a width are in slots: (slots, B, width) float32, their scales (slots, B) float64, and bounds (slots, B)
float32. Tables have the same with a row for each state.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportAssignmentType=false, reportInvalidTypeForm=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

import triton
import triton.language as tl

from explorer.runtime.cuda.rows import (
    DROPPED,
    LOWEST,
    SMALLEST,
    exponential,
    place_of_weight,
    product_bound,
    product_of,
    product_scale,
    row_of,
    term_bound,
    tucker_scale_and_bound,
    write_block,
    write_rows,
)

STRIDES = (
    "values_apart", "scales_apart", "bounds_apart", "right_values_apart", "right_scales_apart", "right_bounds_apart",
    "gradients_apart", "right_gradients_apart",
)  # fmt: skip
"""Arguments that differ in each capture; Triton must not specialize on them."""


@triton.jit
def read_inputs(
    x, columns, num_values, states, points, flags, batch, num_columns, num_discrete, num_continuous,
    BLOCK_ROWS: tl.constexpr, BLOCK_BATCH: tl.constexpr,
):  # fmt: skip
    """Transpose x: the states of discrete variables, zeros, and the numbers of rows; then points of continuous ones.

    The first flag is set if a variable has a value that it cannot have; its state is 0 then.
    """
    b = tl.program_id(0) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    row = tl.program_id(1) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    in_batch = b < batch
    is_discrete = row < num_discrete
    is_continuous = (row >= num_discrete + 2) & (row < num_discrete + 2 + num_continuous)
    is_read = (is_discrete | is_continuous)[:, None] & in_batch[None, :]
    column = tl.load(columns + row, mask=is_discrete | is_continuous, other=0)
    found = tl.load(x + b.to(tl.int64)[None, :] * num_columns + column[:, None], mask=is_read, other=0)
    count = tl.load(num_values + row, mask=is_discrete, other=1)
    if found.dtype.is_floating():
        number = found.to(tl.float64)
        is_legal = (number >= 0) & (number < count.to(tl.float64)[:, None]) & (tl.floor(number) == number)
        is_legal = tl.where(is_discrete[:, None], is_legal, number == number)
    else:
        is_legal = tl.where(is_discrete[:, None], (found >= 0) & (found < count[:, None]), found == found)
    state = tl.where(is_legal & is_discrete[:, None], found, 0).to(tl.int64)
    state = tl.where((row == num_discrete + 1)[:, None], b[None, :].to(tl.int64), state)
    to = row.to(tl.int64)[:, None] * batch + b[None, :]
    tl.store(states + to, state, mask=(row < num_discrete + 2)[:, None] & in_batch[None, :])
    to = (row - num_discrete - 2).to(tl.int64)[:, None] * batch + b[None, :]
    tl.store(points + to, found.to(tl.float32), mask=is_continuous[:, None] & in_batch[None, :])
    is_wrong = tl.max(tl.max(tl.where(is_read & ~is_legal, 1, 0), axis=1), axis=0)
    tl.atomic_max(flags, is_wrong)


@triton.jit(do_not_specialize=STRIDES)
def sums(
    reads, states, weights, norms, values, scales, bounds,
    values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    slots, out_values, out_scales, out_bounds, out_factors, batch, batch_blocks, underflow,
    WIDTH: tl.constexpr, IN_WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr,
    SPLIT: tl.constexpr, KEEP: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y[o] = sum_h sum_i w[h, i, o] prod_c x_hc[i]; rows that are in several blocks are written as they are."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    o = tl.program_id(1) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, o < WIDTH
    first = call * (TERMS * FACTORS)
    top = product_scale(reads, first, states, batch, b, in_batch, scales, scales_apart, FACTORS)
    for h in range(1, TERMS):
        at = first + h * FACTORS
        top = tl.maximum(top, product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS))
    found = tl.zeros((BLOCK_BATCH, BLOCK_OUT), tl.float32)
    bound = tl.zeros((BLOCK_BATCH,), tl.float32)
    for h in range(TERMS):
        at = first + h * FACTORS
        by = tl.full((BLOCK_BATCH,), 1.0, tl.float32)
        if TERMS > 1:
            by = exponential(product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS) - top)
        one = product_bound(reads, at, states, batch, b, in_batch, bounds, bounds_apart, FACTORS)
        norm = tl.load(norms + call * TERMS + h)
        bound += term_bound(one, by, norm, underflow, 2.0**FACTORS, TERMS > 1)
        for start in range(0, IN_WIDTH, BLOCK_IN):
            i = start + tl.arange(0, BLOCK_IN)
            in_product = i < IN_WIDTH
            product = product_of(
                reads, at, states, batch, b, in_batch, i, in_product, values, values_apart, IN_WIDTH, FACTORS
            )  # fmt: skip
            if TERMS > 1:
                product *= by[:, None]
            at_weight = place_of_weight(call, h * IN_WIDTH + i, o, WIDTH, TERMS * IN_WIDTH, KEEP)
            mask = in_product[:, None] & in_width[None, :]
            weight = tl.load(weights + at_weight, mask=mask, other=0.0)
            found += tl.dot(product, weight, input_precision=PRECISION)
    write_block(
        found, top, bound, tl.load(slots + call), b, o, in_batch, in_width, out_values, out_scales, out_bounds,
        out_factors, batch, WIDTH, SPLIT, KEEP,
    )  # fmt: skip


@triton.jit
def rescale(
    slots, values, scales, bounds, factors, batch, batch_blocks,
    WIDTH: tl.constexpr, KEEP: tl.constexpr, BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """Divide rows that were written as they are by the power of two of their largest element."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    slot = tl.load(slots + call)
    row = slot * batch + b
    mask = in_batch[:, None] & in_width[None, :]
    found = tl.load(values + row[:, None] * WIDTH + k[None, :], mask=mask, other=0.0)
    scale = tl.load(scales + row, mask=in_batch, other=0.0)
    bound = tl.load(bounds + row, mask=in_batch, other=0.0)
    write_rows(found, scale, bound, slot, b, k, in_batch, in_width, values, scales, bounds, factors, batch, WIDTH, KEEP)


@triton.jit(do_not_specialize=STRIDES)
def tuckers(
    reads, states, weights, norms,
    values, scales, bounds, values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    right_values, right_scales, right_bounds,
    right_values_apart: tl.int64, right_scales_apart: tl.int64, right_bounds_apart: tl.int64,
    slots, out_values, out_scales, out_bounds, out_factors, batch, batch_blocks, underflow,
    WIDTH: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr, SPLIT: tl.constexpr, KEEP: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y[o] = sum_ij w[i, j, o] x_0[i] x_1[j]; rows that are in several blocks are written as they are."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    o = tl.program_id(1) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, o < WIDTH
    row, is_table = row_of(reads, call * 2, states, batch, b, in_batch)
    right_row, right_is_table = row_of(reads, call * 2 + 1, states, batch, b, in_batch)
    left = values + is_table * values_apart + row * LEFT
    right = right_values + right_is_table * right_values_apart + right_row * RIGHT
    found = tl.zeros((BLOCK_BATCH, BLOCK_OUT), tl.float32)
    for start in range(0, RIGHT, BLOCK_IN):
        j = start + tl.arange(0, BLOCK_IN)
        in_right = j < RIGHT
        y = tl.load(right[:, None] + j[None, :], mask=in_batch[:, None] & in_right[None, :], other=0.0)
        mask = in_right[:, None] & in_width[None, :]
        for i in range(LEFT):
            x = tl.load(left + i, mask=in_batch, other=0.0)
            at = place_of_weight(call, i * RIGHT + j, o, WIDTH, LEFT * RIGHT, KEEP)
            weight = tl.load(weights + at, mask=mask, other=0.0)
            found += tl.dot(y * x[:, None], weight, input_precision=PRECISION)
    scale, bound = tucker_scale_and_bound(
        row, is_table, right_row, right_is_table, in_batch, scales, bounds, scales_apart, bounds_apart,
        right_scales, right_bounds, right_scales_apart, right_bounds_apart,
    )  # fmt: skip
    by = tl.full((BLOCK_BATCH,), 1.0, tl.float32)
    bound = term_bound(bound, by, tl.load(norms + call), underflow, 4.0, False)
    write_block(
        found, scale, bound, tl.load(slots + call), b, o, in_batch, in_width, out_values, out_scales, out_bounds,
        out_factors, batch, WIDTH, SPLIT, KEEP,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def kroneckers(
    reads, states,
    values, scales, bounds, values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    right_values, right_scales, right_bounds,
    right_values_apart: tl.int64, right_scales_apart: tl.int64, right_bounds_apart: tl.int64,
    slots, out_values, out_scales, out_bounds, batch, batch_blocks,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """y[i*J + j] = x_0[i] x_1[j]."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < LEFT * RIGHT
    row, is_table = row_of(reads, call * 2, states, batch, b, in_batch)
    right_row, right_is_table = row_of(reads, call * 2 + 1, states, batch, b, in_batch)
    left = values + is_table * values_apart + row * LEFT
    right = right_values + right_is_table * right_values_apart + right_row * RIGHT
    mask = in_batch[:, None] & in_width[None, :]
    found = tl.load(left[:, None] + (k // RIGHT)[None, :], mask=mask, other=0.0)
    found *= tl.load(right[:, None] + (k % RIGHT)[None, :], mask=mask, other=0.0)
    scale, bound = tucker_scale_and_bound(
        row, is_table, right_row, right_is_table, in_batch, scales, bounds, scales_apart, bounds_apart,
        right_scales, right_bounds, right_scales_apart, right_bounds_apart,
    )  # fmt: skip
    slot = tl.load(slots + call)
    write_rows(
        found, scale, bound, slot, b, k, in_batch, in_width, out_values, out_scales, out_bounds, out_bounds, batch,
        LEFT * RIGHT, False,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def rearrangements(
    reads, states, units_read, values, scales, bounds,
    values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    slots, out_values, out_scales, out_bounds, batch, batch_blocks,
    WIDTH: tl.constexpr, IN_WIDTH: tl.constexpr, BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """y[o] = x[i_o]."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    position = tl.load(units_read + k, mask=in_width, other=0)
    found = product_of(
        reads, call, states, batch, b, in_batch, position, in_width, values, values_apart, IN_WIDTH, 1
    )  # fmt: skip
    scale = product_scale(reads, call, states, batch, b, in_batch, scales, scales_apart, 1)
    bound = product_bound(reads, call, states, batch, b, in_batch, bounds, bounds_apart, 1)
    slot = tl.load(slots + call)
    write_rows(
        found, scale, bound, slot, b, k, in_batch, in_width, out_values, out_scales, out_bounds, out_bounds, batch,
        WIDTH, False,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def mixtures(
    reads, states, weights, norms, values, scales, bounds,
    values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    slots, out_values, out_scales, out_bounds, out_factors, batch, batch_blocks, underflow,
    WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr, WEIGHTED: tl.constexpr, KEEP: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """y[k] = sum_h w[h, k] prod_c x_hc[k], or prod_c x_c[k] without weights."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    first = call * (TERMS * FACTORS)
    top = product_scale(reads, first, states, batch, b, in_batch, scales, scales_apart, FACTORS)
    for h in range(1, TERMS):
        at = first + h * FACTORS
        top = tl.maximum(top, product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS))
    found = tl.zeros((BLOCK_BATCH, BLOCK_OUT), tl.float32)
    bound = tl.zeros((BLOCK_BATCH,), tl.float32)
    for h in range(TERMS):
        at = first + h * FACTORS
        product = product_of(reads, at, states, batch, b, in_batch, k, in_width, values, values_apart, WIDTH, FACTORS)
        one = product_bound(reads, at, states, batch, b, in_batch, bounds, bounds_apart, FACTORS)
        if WEIGHTED:
            by = tl.full((BLOCK_BATCH,), 1.0, tl.float32)
            if TERMS > 1:
                by = exponential(
                    product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS) - top
                )  # fmt: skip
                product *= by[:, None]
            norm = tl.load(norms + call * TERMS + h)
            bound += term_bound(one, by, norm, underflow, 2.0**FACTORS, TERMS > 1)
            at_weight = call * (TERMS * WIDTH) + (k * TERMS + h if KEEP else h * WIDTH + k)
            weight = tl.load(weights + at_weight, mask=in_width, other=0.0)
            found += product * weight[None, :]
        else:
            found, bound = product, one
    slot = tl.load(slots + call)
    write_rows(
        found, top, bound, slot, b, k, in_batch, in_width, out_values, out_scales, out_bounds, out_factors, batch,
            WIDTH, KEEP,
    )  # fmt: skip


@triton.jit
def gaussians(
    variables, points, means, factors, constants, slots, out_values, out_scales, out_bounds, calls, batch, batch_blocks,
    WIDTH: tl.constexpr, COUNT: tl.constexpr, MANY: tl.constexpr, BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """sum_c constant_c - (factor_c (x_c - mean_c))^2, the largest one in a row is its scale."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    found = tl.load(constants + call * WIDTH + k, mask=in_width, other=-float("inf"))[None, :]
    found = found + tl.zeros((BLOCK_BATCH, BLOCK_OUT), tl.float32)
    if MANY:
        found = found.to(tl.float64)
    for c in range(COUNT):
        variable = tl.load(variables + call * COUNT + c)
        x = tl.load(points + variable * batch + b, mask=in_batch, other=0.0)
        at = (c * calls + call) * WIDTH + k
        z = x[:, None] - tl.load(means + at, mask=in_width, other=0.0)[None, :]
        z *= tl.load(factors + at, mask=in_width, other=0.0)[None, :]
        if MANY:
            found -= z.to(tl.float64) * z.to(tl.float64)
        else:
            found -= z * z
    found = found.to(tl.float32)
    top = tl.max(found, axis=1)
    below = found - top[:, None]
    value = tl.where(below < LOWEST, 0.0, tl.exp(below))
    bound = tl.where(tl.abs(top) < float("inf"), DROPPED, float("inf"))
    row = tl.load(slots + call) * batch + b
    tl.store(out_values + row[:, None] * WIDTH + k[None, :], value, mask=in_batch[:, None] & in_width[None, :])
    tl.store(out_scales + row, top.to(tl.float64), mask=in_batch)
    tl.store(out_bounds + row, bound, mask=in_batch)


@triton.jit(do_not_specialize=STRIDES)
def write_outputs(
    reads, states, values, scales, bounds, values_apart: tl.int64, scales_apart: tl.int64, bounds_apart: tl.int64,
    outputs, certified, flags, batch, num_outputs, tolerance,
    WIDTH: tl.constexpr, BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """Logarithms (B, outputs, classes), and which rows are certified; the second flag is set if one is not."""
    b = tl.program_id(0) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    mask = in_batch[:, None] & in_width[None, :]
    uncertified = tl.zeros((BLOCK_BATCH,), tl.int32)
    for output in range(num_outputs):
        row, is_table = row_of(reads, output, states, batch, b, in_batch)
        value = tl.load(values + is_table * values_apart + row[:, None] * WIDTH + k[None, :], mask=mask, other=1.0)
        scale = tl.load(scales + is_table * scales_apart + row, mask=in_batch, other=0.0)
        bound = tl.load(bounds + is_table * bounds_apart + row, mask=in_batch, other=0.0)
        found = (tl.log(value.to(tl.float64)) + scale[:, None]).to(tl.float32)
        is_certified = (bound[:, None] < tolerance * value) & (tl.abs(found) < float("inf"))
        uncertified = tl.maximum(uncertified, tl.max(tl.where(is_certified | ~mask, 0, 1), axis=1))
        to = (b.to(tl.int64) * num_outputs + output) * WIDTH
        tl.store(outputs + to[:, None] + k[None, :], found, mask=mask)
    tl.store(certified + b, (1 - uncertified).to(tl.int8), mask=in_batch)
    tl.atomic_max(flags + 1, tl.max(uncertified, axis=0))


@triton.jit
def bound_weights(
    weights, norms, has_bad, margin, WIDTH: tl.constexpr, COUNT: tl.constexpr, TERMS: tl.constexpr,
    BLOCK_OUT: tl.constexpr, BLOCK_IN: tl.constexpr,
):  # fmt: skip
    """For each term the largest sum of the weights of an output, rounded up; and whether one is negative or NaN."""
    call, h = (tl.program_id(0) // TERMS).to(tl.int64), tl.program_id(0) % TERMS
    largest = tl.zeros((BLOCK_OUT,), tl.float64)
    is_bad = tl.zeros((BLOCK_OUT,), tl.int32)
    for first in range(0, WIDTH, BLOCK_OUT):
        o = first + tl.arange(0, BLOCK_OUT)
        total = tl.zeros((BLOCK_OUT,), tl.float64)
        for start in range(0, COUNT, BLOCK_IN):
            i = start + tl.arange(0, BLOCK_IN)
            at = (call * WIDTH + o[:, None]) * (TERMS * COUNT) + h * COUNT + i[None, :]
            weight = tl.load(weights + at, mask=(o < WIDTH)[:, None] & (i < COUNT)[None, :], other=0.0)
            total += tl.sum(weight.to(tl.float64), axis=1)
            is_bad = tl.maximum(is_bad, tl.max(tl.where(weight >= 0, 0, 1), axis=1))
        largest = tl.maximum(largest, total)
    norm = (tl.max(largest, axis=0) * margin).to(tl.float32)
    tl.store(norms + call * TERMS + h, tl.maximum(norm, SMALLEST))
    tl.atomic_max(has_bad, tl.max(is_bad, axis=0))
