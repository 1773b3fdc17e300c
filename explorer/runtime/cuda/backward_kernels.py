"""The Triton kernels of the backward pass, with scales as constants; see `explorer/runtime/README.md`.

Gradients of values are in slots like the values, gradients of tables in rows of a table. A call that is the only one to
read another writes its gradient; others, and all that read tables, add to it.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportAssignmentType=false, reportInvalidTypeForm=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

import triton
import triton.language as tl

from explorer.runtime.cuda.kernels import STRIDES
from explorer.runtime.cuda.rows import (
    exponential,
    place_of_weight,
    product_of,
    product_scale,
    row_of,
)


@triton.jit
def _by_term(
    reads, call, h, states, batch, b, in_batch, scales, scales_apart, TERMS: tl.constexpr, FACTORS: tl.constexpr,
):  # fmt: skip
    """Return what the product of a term was multiplied by, so that all terms have one scale."""
    first = call * (TERMS * FACTORS)
    top = product_scale(reads, first, states, batch, b, in_batch, scales, scales_apart, FACTORS)
    for other in range(1, TERMS):
        at = first + other * FACTORS
        top = tl.maximum(top, product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS))
    at = first + h * FACTORS
    return exponential(product_scale(reads, at, states, batch, b, in_batch, scales, scales_apart, FACTORS) - top)


@triton.jit
def _of_outputs(call, slots, gradients, factors, certified, b, k, in_batch, in_width, batch, WIDTH: tl.constexpr):
    """The gradients of the elements k of a call before they were multiplied by a power of two; 0 if not certified."""
    row = tl.load(slots + call) * batch + b
    is_used = (tl.load(certified + b, mask=in_batch, other=0) != 0) & in_batch
    by = tl.load(factors + row, mask=is_used, other=0.0)
    mask = is_used[:, None] & in_width[None, :]
    return tl.load(gradients + row[:, None] * WIDTH + k[None, :], mask=mask, other=0.0) * by[:, None], is_used


@triton.jit
def _pass_on(
    reads, alone, at, states, batch, b, is_used, in_batch, i, in_width, found, gradients, gradients_apart,
    WIDTH: tl.constexpr,
):  # fmt: skip
    """Write or add the gradient of the elements i of what is read at `at`."""
    row, is_table = row_of(reads, at, states, batch, b, in_batch)
    to = gradients + is_table * gradients_apart + row[:, None] * WIDTH + i[None, :]
    if tl.load(alone + at) != 0:
        found = tl.where(is_used[:, None], found, 0.0)
        tl.store(to, found, mask=in_batch[:, None] & in_width[None, :])
    else:
        tl.atomic_add(to, found, mask=is_used[:, None] & in_width[None, :], sem="relaxed")


@triton.jit
def _pass_on_product(
    reads, alone, at, states, batch, b, is_used, in_batch, i, in_product, found, values, values_apart,
    gradients, gradients_apart, WIDTH: tl.constexpr, FACTORS: tl.constexpr,
):  # fmt: skip
    """The gradient of each factor of a product: the gradient of the product times the other factors."""
    mask = is_used[:, None] & in_product[None, :]
    for f in tl.static_range(FACTORS):
        one = found
        for other in tl.static_range(FACTORS):
            if other != f:
                row, is_table = row_of(reads, at + other, states, batch, b, in_batch)
                place = values + is_table * values_apart + row[:, None] * WIDTH + i[None, :]
                one *= tl.load(place, mask=mask, other=0.0)
        _pass_on(
            reads, alone, at + f, states, batch, b, is_used, in_batch, i, in_product, one, gradients, gradients_apart,
            WIDTH,
        )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def sums_back(
    reads, alone, states, weights, values, scales,
    values_apart: tl.int64, scales_apart: tl.int64, gradients, gradients_apart: tl.int64,
    slots, out_gradients, out_factors, certified, batch, batch_blocks,
    WIDTH: tl.constexpr, IN_WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, IN_BLOCKS: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradients of what sums read."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    h = tl.program_id(1) // IN_BLOCKS
    i = (tl.program_id(1) % IN_BLOCKS) * BLOCK_IN + tl.arange(0, BLOCK_IN)
    in_batch, in_product = b < batch, i < IN_WIDTH
    found = tl.zeros((BLOCK_BATCH, BLOCK_IN), tl.float32)
    is_used = in_batch
    for start in range(0, WIDTH, BLOCK_OUT):
        o = start + tl.arange(0, BLOCK_OUT)
        in_width = o < WIDTH
        of_outputs, is_used = _of_outputs(
            call, slots, out_gradients, out_factors, certified, b, o, in_batch, in_width, batch, WIDTH
        )  # fmt: skip
        place = place_of_weight(call, h * IN_WIDTH + i, o, WIDTH, TERMS * IN_WIDTH, True)
        weight = tl.load(weights + place, mask=in_product[:, None] & in_width[None, :], other=0.0)
        found += tl.dot(of_outputs, tl.trans(weight), input_precision=PRECISION)
    if TERMS > 1:
        found *= _by_term(
            reads, call, h, states, batch, b, in_batch, scales, scales_apart, TERMS, FACTORS
        )[:, None]  # fmt: skip
    at = call * (TERMS * FACTORS) + h * FACTORS
    _pass_on_product(
        reads, alone, at, states, batch, b, is_used, in_batch, i, in_product, found, values, values_apart,
        gradients, gradients_apart, IN_WIDTH, FACTORS,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def weights_of_sums_back(
    reads, states, values, scales, values_apart: tl.int64, scales_apart: tl.int64,
    slots, out_gradients, out_factors, certified, found_weights, scale, batch,
    WIDTH: tl.constexpr, IN_WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, IN_BLOCKS: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradients of the weights of sums: a program adds the rows of the batch in their order."""
    blocks: tl.constexpr = TERMS * IN_BLOCKS
    call = (tl.program_id(0) // blocks).to(tl.int64)
    h = (tl.program_id(0) % blocks) // IN_BLOCKS
    i = (tl.program_id(0) % IN_BLOCKS) * BLOCK_IN + tl.arange(0, BLOCK_IN)
    o = tl.program_id(1) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    in_product, in_width = i < IN_WIDTH, o < WIDTH
    at = call * (TERMS * FACTORS) + h * FACTORS
    found = tl.zeros((BLOCK_IN, BLOCK_OUT), tl.float32)
    for start in range(0, batch, BLOCK_BATCH):
        b = start + tl.arange(0, BLOCK_BATCH)
        in_batch = b < batch
        of_outputs, is_used = _of_outputs(
            call, slots, out_gradients, out_factors, certified, b, o, in_batch, in_width, batch, WIDTH
        )  # fmt: skip
        product = product_of(
            reads, at, states, batch, b, is_used, i, in_product, values, values_apart, IN_WIDTH, FACTORS
        )  # fmt: skip
        if TERMS > 1:
            by = _by_term(reads, call, h, states, batch, b, in_batch, scales, scales_apart, TERMS, FACTORS)
            product *= tl.where(is_used, by, 0.0)[:, None]
        found += tl.dot(tl.trans(product), of_outputs, input_precision=PRECISION)
    place = place_of_weight(call, h * IN_WIDTH + i, o, WIDTH, TERMS * IN_WIDTH, True)
    tl.store(found_weights + place, found * tl.load(scale), mask=in_product[:, None] & in_width[None, :])


@triton.jit(do_not_specialize=STRIDES)
def mixtures_back(
    reads, alone, states, weights, values, scales,
    values_apart: tl.int64, scales_apart: tl.int64, gradients, gradients_apart: tl.int64,
    slots, out_gradients, out_factors, certified, batch, batch_blocks,
    WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr, WEIGHTED: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """The gradients of what mixtures, or products, read."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    h = tl.program_id(1)
    k = tl.arange(0, BLOCK_OUT)
    in_batch, in_width = b < batch, k < WIDTH
    found, is_used = _of_outputs(
        call, slots, out_gradients, out_factors, certified, b, k, in_batch, in_width, batch, WIDTH
    )  # fmt: skip
    if WEIGHTED:
        weight = tl.load(weights + call * (TERMS * WIDTH) + k * TERMS + h, mask=in_width, other=0.0)
        found *= weight[None, :]
        if TERMS > 1:
            by = _by_term(reads, call, h, states, batch, b, in_batch, scales, scales_apart, TERMS, FACTORS)
            found *= tl.where(is_used, by, 0.0)[:, None]
    at = call * (TERMS * FACTORS) + h * FACTORS
    _pass_on_product(
        reads, alone, at, states, batch, b, is_used, in_batch, k, in_width, found, values, values_apart,
        gradients, gradients_apart, WIDTH, FACTORS,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def weights_of_mixtures_back(
    reads, states, values, scales, values_apart: tl.int64, scales_apart: tl.int64,
    slots, out_gradients, out_factors, certified, found_weights, scale, batch,
    WIDTH: tl.constexpr, TERMS: tl.constexpr, FACTORS: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    """The gradients of the weights of mixtures: a program adds the rows of the batch in their order."""
    call, h = (tl.program_id(0) // TERMS).to(tl.int64), tl.program_id(0) % TERMS
    k = tl.program_id(1) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    in_width = k < WIDTH
    at = call * (TERMS * FACTORS) + h * FACTORS
    found = tl.zeros((BLOCK_OUT,), tl.float32)
    for start in range(0, batch, BLOCK_BATCH):
        b = start + tl.arange(0, BLOCK_BATCH)
        in_batch = b < batch
        of_outputs, is_used = _of_outputs(
            call, slots, out_gradients, out_factors, certified, b, k, in_batch, in_width, batch, WIDTH
        )  # fmt: skip
        product = product_of(
            reads, at, states, batch, b, is_used, k, in_width, values, values_apart, WIDTH, FACTORS
        )  # fmt: skip
        if TERMS > 1:
            by = _by_term(reads, call, h, states, batch, b, in_batch, scales, scales_apart, TERMS, FACTORS)
            product *= tl.where(is_used, by, 0.0)[:, None]
        found += tl.sum(product * of_outputs, axis=0)
    tl.store(found_weights + call * (TERMS * WIDTH) + k * TERMS + h, found * tl.load(scale), mask=in_width)


@triton.jit(do_not_specialize=STRIDES)
def tuckers_back(
    reads, alone, states, weights, values, values_apart: tl.int64, gradients, gradients_apart: tl.int64,
    right_values, right_values_apart: tl.int64, right_gradients, right_gradients_apart: tl.int64,
    slots, out_gradients, out_factors, certified, batch, batch_blocks,
    WIDTH: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradients of what Tucker products read."""
    call = (tl.program_id(0) // batch_blocks).to(tl.int64)
    b = (tl.program_id(0) % batch_blocks) * BLOCK_BATCH + tl.arange(0, BLOCK_BATCH)
    j, o = tl.arange(0, BLOCK_IN), tl.arange(0, BLOCK_OUT)
    in_batch, in_right, in_width = b < batch, j < RIGHT, o < WIDTH
    of_outputs, is_used = _of_outputs(
        call, slots, out_gradients, out_factors, certified, b, o, in_batch, in_width, batch, WIDTH
    )  # fmt: skip
    row, is_table = row_of(reads, call * 2, states, batch, b, in_batch)
    right_row, right_is_table = row_of(reads, call * 2 + 1, states, batch, b, in_batch)
    left = values + is_table * values_apart + row * LEFT
    right = right_values + right_is_table * right_values_apart + right_row * RIGHT
    left_to = gradients + is_table * gradients_apart + row * LEFT
    y = tl.load(right[:, None] + j[None, :], mask=is_used[:, None] & in_right[None, :], other=0.0)
    is_alone = tl.load(alone + call * 2)
    found = tl.zeros((BLOCK_BATCH, BLOCK_IN), tl.float32)
    for i in range(LEFT):
        place = place_of_weight(call, i * RIGHT + j, o, WIDTH, LEFT * RIGHT, True)
        weight = tl.load(weights + place, mask=in_right[:, None] & in_width[None, :], other=0.0)
        of_product = tl.dot(of_outputs, tl.trans(weight), input_precision=PRECISION)
        x = tl.load(left + i, mask=is_used, other=0.0)
        found += of_product * x[:, None]
        of_left = tl.sum(of_product * y, axis=1)
        if is_alone != 0:
            tl.store(left_to + i, tl.where(is_used, of_left, 0.0), mask=in_batch)
        else:
            tl.atomic_add(left_to + i, of_left, mask=is_used, sem="relaxed")
    _pass_on(
        reads, alone, call * 2 + 1, states, batch, b, is_used, in_batch, j, in_right, found,
        right_gradients, right_gradients_apart, RIGHT,
    )  # fmt: skip


@triton.jit(do_not_specialize=STRIDES)
def weights_of_tuckers_back(
    reads, states, values, values_apart: tl.int64, right_values, right_values_apart: tl.int64,
    slots, out_gradients, out_factors, certified, found_weights, scale, batch,
    WIDTH: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    BLOCK_BATCH: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradients of the weights of Tucker products: a program adds the rows of the batch in their order."""
    call, i = (tl.program_id(0) // LEFT).to(tl.int64), tl.program_id(0) % LEFT
    j = tl.program_id(1) * BLOCK_IN + tl.arange(0, BLOCK_IN)
    o = tl.program_id(2) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    in_right, in_width = j < RIGHT, o < WIDTH
    found = tl.zeros((BLOCK_IN, BLOCK_OUT), tl.float32)
    for start in range(0, batch, BLOCK_BATCH):
        b = start + tl.arange(0, BLOCK_BATCH)
        in_batch = b < batch
        of_outputs, is_used = _of_outputs(
            call, slots, out_gradients, out_factors, certified, b, o, in_batch, in_width, batch, WIDTH
        )  # fmt: skip
        row, is_table = row_of(reads, call * 2, states, batch, b, in_batch)
        right_row, right_is_table = row_of(reads, call * 2 + 1, states, batch, b, in_batch)
        x = tl.load(values + is_table * values_apart + row * LEFT + i, mask=is_used, other=0.0)
        right = right_values + right_is_table * right_values_apart + right_row * RIGHT
        y = tl.load(right[:, None] + j[None, :], mask=is_used[:, None] & in_right[None, :], other=0.0)
        found += tl.dot(tl.trans(y * x[:, None]), of_outputs, input_precision=PRECISION)
    place = place_of_weight(call, i * RIGHT + j, o, WIDTH, LEFT * RIGHT, True)
    tl.store(found_weights + place, found * tl.load(scale), mask=in_right[:, None] & in_width[None, :])
