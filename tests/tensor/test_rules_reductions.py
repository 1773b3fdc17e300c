"""Reductions of reductions, of one, of pairs and of multiples: structure and values, for all dtypes and shapes."""

import pytest
import torch

from explorer.tensor.rules import canonicalize, reductions, specialize
from tests.tensor.rule_checks import check_declined, check_rewrite, tensors
from tests.tensor.text_form import rewrites

VARIABLES = (
    tensors(x=(3, 4), y=(3, 4), t=(2, 3, 4), c=(3, 1), r=(1, 4), v=(4,), w=(4,), k=(), e=(3, 0), f=(0, 4))
    | tensors(torch.float16, h=(3, 4))
    | tensors(torch.bfloat16, b=(3, 4))
    | tensors(torch.int32, i=(3, 4), j=(3, 4))
    | tensors(torch.bool, m=(3, 4))
    | tensors(torch.complex64, z=(3, 4))
)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    sum(sum(x, [1]), [0]) -> sum(x, dim=[0, 1])
    sum(sum(t, [-1]), [0]) -> sum(t, dim=[0, 2])
    sum(sum(t, [0]), [1], True) -> reshape(sum(t, dim=[0, 2]), shape=[3, 1])
    sum(sum(t, [0], True), [2]) -> reshape(sum(t, dim=[0, 2]), shape=[1, 3])
    sum(sum(t, [1], True), [0, 1], True) -> reshape(sum(t, dim=[0, 1]), shape=[1, 1, 4])
    sum(sum(x, [1])) -> sum(x, dim=[0, 1])
    sum(sum(i, [1]), [0]) -> sum(i, dim=[0, 1], dtype=torch.int64)
    sum(sum(m, [1]), [0]) -> sum(m, dim=[0, 1], dtype=torch.int64)
    sum(sum(h, [1], False, dtype=torch.float32), [0]) -> sum(h, dim=[0, 1], dtype=torch.float32)
    sum(sum(h, [1]), [0], False, dtype=torch.float32) -> sum(sum(h, dim=[1]), dim=[0], dtype=torch.float32)
    sum(sum(h, [1]), [0]) -> sum(h, dim=[0, 1])
    sum(sum(z, [1]), [0]) -> sum(z, dim=[0, 1])
    sum(sum(e, [1]), [0]) -> sum(e, dim=[0, 1])
    sum(sum(f, [0]), [0]) -> sum(f, dim=[0, 1])
    s = sum(x, [1]); add(sum(s, [0]), s) -> add(sum(*1 -> sum(x, dim=[1]), dim=[0]), *1)
    mean.dim(mean.dim(t, [2]), [1]) -> mean(t, dim=[1, 2])
    mean.dim(sum(x, [1]), [0]) -> mean(sum(x, dim=[1]), dim=[0])
    amax(amax(t, [2]), [0]) -> amax(t, dim=[0, 2])
    amin(amin(t, [2], True), [1]) -> reshape(amin(t, dim=[1, 2]), shape=[2, 1])
    amax(amin(x, [1]), [0]) -> amax(amin(x, dim=[1]), dim=[0])
    prod.dim_int(prod.dim_int(t, 2), 1) -> prod(reshape(t, shape=[2, 12]), dim=1)
    prod.dim_int(prod.dim_int(t, 0), 1) -> prod(prod(t, dim=0), dim=1)
    prod.dim_int(prod.dim_int(t, -1, True), 1, True) ->
        reshape(prod(reshape(t, shape=[2, 12]), dim=1), shape=[2, 1, 1])
    prod(prod.dim_int(x, 1)) -> prod(reshape(x, shape=[12]), dim=0)
"""))  # fmt: skip
def test_a_reduction_of_a_reduction_is_one(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    exp(sum(c, [1])) -> exp(reshape(c, shape=[3]))
    exp(sum(c, [1], True)) -> exp(c)
    exp(amax(c, [1])) -> exp(reshape(c, shape=[3]))
    exp(prod.dim_int(c, 1)) -> exp(reshape(c, shape=[3]))
    exp(mean.dim(c, [-1])) -> exp(reshape(c, shape=[3]))
    sum(c, [1]) -> sum(c, dim=[1])
    neg(sum(reshape(i, [3, 1, 4]), [1])) -> neg(sum(reshape(i, shape=[3, 1, 4]), dim=[1]))
    exp(sum(k)) -> exp(k)
    amax(neg(x), [1]) -> neg(amin(x, dim=[1]))
    neg(amin(neg(x), [0, 1], True)) -> amax(x, dim=[0, 1], keepdim=True)
    amax(neg(i), [1]) -> amax(neg(i), dim=[1])
    sum(stack([v, w]), [0]) -> add(v, w)
    sum(stack([v, w], 1), [-1], True) -> reshape(add(v, w), shape=[4, 1])
    sum(stack([v, w]), [1]) -> sum(stack(v, w), dim=[1])
    sum(stack([i, j]), [0]) -> sum(stack(i, j), dim=[0])
    amax(stack([i, j]), [0]) -> maximum(i, j)
    amin(stack([x, y]), [0]) -> minimum(x, y)
    sum(stack([v, w, v]), [0]) -> sum(stack(v, w, v), dim=[0])
    log(prod.dim_int(exp(x), 1)) -> sum(x, dim=[1])
    log(prod.dim_int(exp(x), 1, True)) -> sum(x, dim=[1], keepdim=True)
    log(prod(abs(x))) -> sum(log(abs(x)), dim=[0, 1])
    log(prod.dim_int(x, 1)) -> log(prod(x, dim=1))
    sum(zeros_like(x), [1]) -> full(0)
    add(x, full_like(y, 2.0)) -> add(x, full(2))
"""))  # fmt: skip
def test_reductions_of_one_of_pairs_and_of_negatives(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    sum(mul(x, 2.0), [1]) -> reshape(mul(sum(x, dim=[1], keepdim=True), 2), shape=[3])
    sum(mul(k, x), [0, 1]) -> reshape(mul(sum(x, dim=[0, 1], keepdim=True), k), shape=[])
    sum(div(x, k), [1], True) -> div(sum(x, dim=[1], keepdim=True), k)
    sum(mul(x, c), [1]) -> reshape(mul(sum(x, dim=[1], keepdim=True), c), shape=[3])
    sum(mul(x, c), [0]) -> sum(mul(x, c), dim=[0])
    sum(mul(c, r), [1]) -> reshape(mul(sum(r, dim=[1], keepdim=True), c), shape=[3])
    sum(mul(c, r), [0]) -> reshape(mul(sum(c, dim=[0], keepdim=True), r), shape=[4])
    sum(mul(x, v), [0]) -> reshape(mul(sum(x, dim=[0], keepdim=True), v), shape=[4])
    sum(mul(x, y), [0]) -> sum(mul(x, y), dim=[0])
    sum(div(c, x), [1]) -> sum(div(c, x), dim=[1])
    sum(mul(h, 2.0), [1]) -> sum(mul(h, 2), dim=[1])
    sum(mul(b, 2.0), [1]) -> reshape(mul(sum(b, dim=[1], keepdim=True), 2), shape=[3])
    sum(mul(i, 2), [1]) -> sum(mul(i, 2), dim=[1])
    sum(mul(z, 2.0), [1]) -> reshape(mul(sum(z, dim=[1], keepdim=True), (2+0j)), shape=[3])
    sum(mul(e, 2.0), [1]) -> sum(mul(e, 2), dim=[1])
    sum(mul(f, 2.0), [0]) -> sum(mul(f, 2), dim=[0])
    sum(neg(x), [1]) -> neg(sum(x, dim=[1]))
    sum(neg(i), [1]) -> sum(neg(i), dim=[1])
    sum(neg(x), [1], True) -> neg(sum(x, dim=[1], keepdim=True))
    n = neg(x); add(sum(n, [1], True), n) -> add(sum(*1 -> neg(x), dim=[1], keepdim=True), *1)
"""))  # fmt: skip
def test_factors_leave_sums(before, after):
    check_rewrite(specialize, before, after, VARIABLES)


@pytest.mark.parametrize(("rule", "before", "reason"), [
    (reductions.merge_reductions, "s = sum(x, [1]); add(sum(s, [0]), s)", "the inner one has other users"),
    (reductions.merge_reductions, "sum(sum(h, [1]), [0], False, dtype=torch.float32)", "the two have different dtypes"),
    (reductions.merge_reductions, "prod.dim_int(prod.dim_int(t, 0), 1)", "a product is along one axis"),
    (reductions.extremum_of_negative, "amax(neg(i), [1])", "the least integer has no negative"),
    (reductions.log_of_product, "log(prod.dim_int(x, 1))", "a factor may be negative, and its log NaN"),
    (reductions.factor_out_of_sum, "sum(mul(h, 2.0), [1])", "float16 ends at 65504"),
])  # fmt: skip
def test_reductions_say_why_not(rule, before, reason):
    check_declined(rule, before, reason, VARIABLES)
