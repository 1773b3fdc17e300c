"""Select before computing, and choices that are decided by their form: structure and values."""

import pytest
import torch

from explorer.tensor import Constant
from explorer.tensor.rules import canonicalize, choices, lifting
from tests.tensor.rule_checks import check_declined, check_rewrite, tensors
from tests.tensor.text_form import rewrites

VARIABLES = (
    tensors(x=(3, 4), y=(3, 4), t=(2, 3, 4), c=(3, 1), r=(1, 4), v=(4,), w=(4,), p=(4, 4), q=(4, 4), s=(), e=(0, 4))
    | tensors(b=(2, 3, 4), d=(2, 4, 5), n=(5, 4), o=(5,))
    | tensors(torch.float64, g=(4,), k=())
    | tensors(torch.int32, i=(3, 4), j=(3, 4))
    | tensors(torch.uint8, u=(3, 4))
    | tensors(torch.bool, m=(3, 4))
    | tensors(torch.float16, h=(3, 4))
    | tensors(torch.complex64, z=(3, 4))
    | {
        "ROWS": Constant(torch.tensor([2, 0]), "ROWS"),
        "EVEN": Constant(torch.tensor([0, 2]), "EVEN"),
        "LAST": Constant(torch.tensor([-1, 0]), "LAST"),
        "MANY": Constant(torch.tensor([0, 0, 1, 1]), "MANY"),
    }
)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    select(add(x, v), 0, 1) -> add(select(x, dim=0, index=1), v)
    select(add(x, v), 1, -1) -> add(select(x, dim=1, index=-1), select(v, dim=0, index=-1))
    select(add(x, c), 1, 2) -> add(select(x, dim=1, index=2), select(c, dim=1, index=0))
    select(add(x, c), 0, 2) -> add(select(x, dim=0, index=2), select(c, dim=0, index=2))
    select(add(t, c), 0, 1) -> add(select(t, dim=0, index=1), c)
    slice(mul(x, c), 1, 1, 3) -> mul(slice(x, dim=1, start=1, end=3), c)
    slice(mul(t, x), 0, 0, 1) -> mul(slice(t, start=0, end=1), x)
    slice(mul(x, 2.0), 0, 0, 9, 2) -> mul(slice(x, start=0, end=9, step=2), 2)
    index_select(add(x, v), 0, ROWS) -> add(index_select(x, ROWS, dim=0), v)
    index_select(add(x, v), 1, ROWS) -> add(index_select(x, ROWS, dim=1), index_select(v, ROWS, dim=0))
    index_select(exp(x), 0, MANY) -> index_select(exp(x), MANY, dim=0)
    narrow(exp(x), 1, 1, 2) -> exp(narrow(x, dim=1, start=1, length=2))
    select(where(m, x, v), 0, 1) -> where(select(m, dim=0, index=1), select(x, dim=0, index=1), v)
    select(_to_copy(x, dtype=torch.float64), 0, 1) -> _to_copy(select(x, dim=0, index=1), dtype=torch.float64)
    select(mul(v, g), 0, 1) -> select(mul(v, g), dim=0, index=1)
    select(add(c, v), 1, 0) -> add(select(c, dim=1, index=0), select(v, dim=0, index=0))
    select(add(c, v), 0, 0) -> add(select(c, dim=0, index=0), v)
    select(exp(tanh(x)), 0, 0) -> exp(tanh(select(x, dim=0, index=0)))
    p1 = exp(x); add(select(p1, 0, 0), select(p1, 0, 1)) ->
        add(select(*1 -> exp(x), dim=0, index=0), select(*1, dim=0, index=1))
    slice(exp(e), 1, 1, 3) -> slice(exp(e), dim=1, start=1, end=3)
    slice(exp(x), 0, 0, 3) -> exp(x)
    slice(exp(x), 0, 2, 2) -> slice(exp(x), start=2, end=2)
    select(bitwise_and(m, m), 0, 1) -> bitwise_and(*1 -> select(m, dim=0, index=1), *1)
    diagonal(add(p, q)) -> add(diagonal(p), diagonal(q))
    diagonal(exp(t), 0, 1, 2) -> exp(diagonal(t, dim1=1, dim2=2))
    diagonal(mul(p, 2.0)) -> mul(diagonal(p), 2)
    diagonal(mul(p, v)) -> diagonal(mul(p, v))
    select(sum(x, [1]), 0, 0) -> reshape(sum(slice(x, start=0, end=1), dim=[1]), shape=[])
    select(sum(x, [1], True), 0, 0) -> reshape(sum(slice(x, start=0, end=1), dim=[1], keepdim=True), shape=[1])
    select(sum(x, [1], True), 1, 0) -> select(sum(x, dim=[1], keepdim=True), dim=1, index=0)
    select(sum(t, [0]), 1, -1) -> reshape(sum(slice(t, dim=2, start=3, end=4), dim=[0]), shape=[3])
    slice(amax(t, [1]), 1, 1, 3) -> amax(slice(t, dim=2, start=1, end=3), dim=[1])
    index_select(mean.dim(t, [0, 2]), 0, ROWS) -> mean(index_select(t, ROWS, dim=1), dim=[0, 2])
    select(prod.dim_int(t, 1), 0, 1) -> reshape(prod(slice(t, start=1, end=2), dim=1), shape=[4])
    select(logsumexp(t, [1]), 1, 1) -> reshape(logsumexp(slice(t, dim=2, start=1, end=2), dim=[1]), shape=[2])
    select(softmax(x, 1), 0, 0) -> reshape(softmax(slice(x, start=0, end=1), dim=1), shape=[4])
    select(softmax(x, 1), 1, 0) -> select(softmax(x, dim=1), dim=1, index=0)
    slice(log_softmax(x, -1), 0, 0, 2) -> log_softmax(slice(x, start=0, end=2), dim=-1)
    select(cumsum(x, 0), 1, 0) -> reshape(cumsum(slice(x, dim=1, start=0, end=1), dim=0), shape=[3])
    select(cumsum(x, 0), 0, 1) -> select(cumsum(x, dim=0), dim=0, index=1)
    select(mm(x, p), 0, 0) -> reshape(mm(slice(x, start=0, end=1), p), shape=[4])
    select(mm(x, p), 1, 0) -> reshape(mm(x, slice(p, dim=1, start=0, end=1)), shape=[3])
    slice(mm(x, p), 0, 0, 2) -> mm(slice(x, start=0, end=2), p)
    select(slice(mm(x, p), 0, 1, 3), 1, 1) ->
        reshape(mm(slice(x, start=1, end=3), slice(p, dim=1, start=1, end=2)), shape=[2])
    select(bmm(b, d), 0, 1) -> reshape(bmm(slice(b, start=1, end=2), slice(d, start=1, end=2)), shape=[3, 5])
    select(bmm(b, d), 1, 1) -> reshape(bmm(slice(b, dim=1, start=1, end=2), d), shape=[2, 5])
    slice(bmm(b, d), 2, 1, 3) -> bmm(b, slice(d, dim=2, start=1, end=3))
    slice(linear(x, n, o), 1, 0, 2) -> linear(x, slice(n, start=0, end=2), slice(o, start=0, end=2))
    slice(linear(x, n, c), 1, 1, 3) -> slice(linear(x, n, c), dim=1, start=1, end=3)
    slice(linear(x, n, c), 0, 0, 1) -> slice(linear(x, n, c), start=0, end=1)
    slice(linear(x, n, o), 0, 0, 2) -> linear(slice(x, start=0, end=2), n, o)
    select(linear(x, n), 1, 0) -> reshape(linear(x, slice(n, start=0, end=1)), shape=[3])
    select(linear(t, n, o), 1, 0) -> reshape(linear(slice(t, dim=1, start=0, end=1), n, o), shape=[2, 5])
    index_select(mm(x, p), 1, ROWS) -> mm(x, index_select(p, ROWS, dim=1))
"""))  # fmt: skip
def test_a_part_is_computed_from_parts(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    neg(select(flip(x, [0]), 0, 0)) -> neg(select(x, dim=0, index=2))
    select(flip(x, [0, 1]), 1, 1) -> flip(select(x, dim=1, index=2), dims=[0])
    select(flip(x, [1]), 0, -1) -> flip(select(x, dim=0, index=2), dims=[0])
    select(flip(x, [0]), 0, 0) -> select(flip(x, dims=[0]), dim=0, index=0)
    slice(flip(x, [0]), 0, 0, 1) -> slice(flip(x, dims=[0]), start=0, end=1)
    neg(flip(flip(x, [0]), [-2])) -> neg(x)
    flip(flip(x, [0, 1]), [1]) -> flip(x, dims=[0])
    neg(stack([x], 1)) -> neg(reshape(x, shape=[3, 1, 4]))
    neg(index.Tensor(x, [ROWS])) -> neg(index_select(x, ROWS, dim=0))
    neg(index.Tensor(x, [LAST])) -> neg(index_select(x, LAST, dim=0))
    neg(index_select(x, 0, EVEN)) -> neg(slice(x, start=0, end=3, step=2))
    outer(v, w) -> mul(reshape(v, shape=[4, 1]), w)
    select(outer(v, w), 0, 1) -> mul(select(reshape(v, shape=[4, 1]), dim=0, index=1), w)
    outer(v, g) -> mul(reshape(v, shape=[4, 1]), g)
"""))  # fmt: skip
def test_reversed_stacked_and_indexed_tensors(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    lt(x, x) -> full(False)
    gt(i, i) -> full(False)
    le(x, x) -> le(x, x)
    le(i, i) -> full(True)
    ge(m, m) -> full(True)
    ne(x, x) -> ne(x, x)
    ne(i, i) -> full(False)
    neg(maximum(x, x)) -> neg(x)
    maximum(x, x) -> maximum(x, x)
    neg(fmin(x, x)) -> neg(x)
    logical_not(logical_and(m, m)) -> logical_not(m)
    logical_and(x, x) -> logical_and(x, x)
    neg(bitwise_or(i, i)) -> neg(i)
    bitwise_xor(i, i) -> full(0)
    logical_xor(x, x) -> full(False)
    neg(where(m, x, x)) -> neg(x)
    where(m, x, x) -> where(m, x, x)
    where(m, v, v) -> where(m, v, v)
    abs(neg(x)) -> abs(x)
    abs(neg(i)) -> abs(i)
    abs(neg(u)) -> abs(neg(u))
    abs(neg(z)) -> abs(z)
    mul(abs(x), abs(y)) -> abs(mul(x, y))
    div(abs(x), abs(y)) -> abs(div(x, y))
    mul(abs(x), abs(v)) -> mul(abs(x), abs(v))
    mul(abs(i), abs(j)) -> mul(abs(i), abs(j))
    a = abs(x); add(mul(a, abs(y)), a) -> add(mul(*1 -> abs(x), abs(y)), *1)
    sqrt(mul(x, x)) -> abs(x)
    sqrt(pow(x, 2)) -> abs(x)
    pow(square(x), 0.5) -> abs(x)
    sqrt(mul(i, i)) -> sqrt(mul(i, i))
    sqrt(mul(z, z)) -> sqrt(pow(z, exponent=2))
    sqrt(mul(x, y)) -> sqrt(mul(x, y))
    sqrt(pow(h, 2)) -> abs(h)
"""))  # fmt: skip
def test_comparisons_and_choices_of_equals(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(x, expand(v, [3, 4])) -> add(x, v)
    add(x, tile(r, [3, 1])) -> add(x, r)
    mul(repeat(v, [3, 1]), x) -> mul(v, x)
    lt(x, expand(v, [3, 4])) -> lt(x, v)
    add(expand(r, [3, 4]), expand(c, [3, 4])) -> add(r, c)
    add(tile(r, [3, 1]), tile(r, [3, 1])) -> add(tile(r, dims=[3, 1]), tile(r, dims=[3, 1]))
    add(x, tile(s, [3, 4])) -> add(x, tile(s, dims=[3, 4]))
    mul(expand(v, [3, 4]), g) -> mul(expand(v, size=[3, 4]), g)
    mm(exp(expand(v, [3, 4])), p) -> mm(expand(exp(v), size=[3, 4]), p)
    exp(repeat(v, [3, 2])) -> repeat(exp(v), repeats=[3, 2])
    _to_copy(tile(c, [1, 4]), dtype=torch.float64) -> tile(_to_copy(c, dtype=torch.float64), dims=[1, 4])
    add(exp(expand(v, [3, 4])), x) -> add(exp(v), x)
    e1 = expand(v, [3, 4]); mul(exp(e1), sum(e1)) -> mul(exp(*1 -> expand(v, size=[3, 4])), sum(*1))
    s = chunk(x, 2, 1); mul(tanh(s[0]), tanh(s[1])) ->
        mul(slice(*1 -> tanh(x), dim=1, start=0, end=2), slice(*1, dim=1, start=2, end=4))
    mul(tanh(slice(x, 0, 1, 3)), tanh(slice(x, 0, 0, 1))) ->
        mul(slice(*1 -> tanh(x), start=1, end=3), slice(*1, start=0, end=1))
    s = chunk(x, 4, 1); mul(mul(sigmoid(s[0]), sigmoid(s[1])), mul(tanh(s[2]), exp(s[3]))) ->
        mul(mul(slice(*1 -> sigmoid(slice(x, dim=1, start=0, end=2)), dim=1, start=0, end=1),
        slice(*1, dim=1, start=1, end=2)), mul(tanh(*2::2 -> chunk(x, chunks=4, dim=1)), exp(*2::3)))
    mul(tanh(slice(x, 0, 0, 2)), tanh(slice(x, 0, 1, 3))) ->
        mul(tanh(slice(x, start=0, end=2)), tanh(slice(x, start=1, end=3)))
    s = chunk(x, 2, 1); mul(mul(tanh(s[0]), tanh(s[1])), s[0]) ->
        mul(mul(tanh(*1::0 -> chunk(x, chunks=2, dim=1)), tanh(*1::1)), *1::0)
"""))  # fmt: skip
def test_repeated_tensors_are_broadcast_and_gates_are_computed_together(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


@pytest.mark.parametrize(("rule", "before", "reason"), [
    (lifting.select_before_function, "a = exp(x); add(select(a, 0, 0), select(a, 0, 1))", "has other users"),
    (lifting.select_before_function, "select(lt(v, k), 0, 1)", "would not decide in which dtype"),
    (lifting.select_before_reduction, "select(softmax(x, 1), 1, 0)", "along an axis that the operator works along"),
    (lifting.diagonal_before_function, "diagonal(mul(p, v))", "one of the inputs is broadcast"),
    (choices.compare_with_itself, "le(x, x)", "it tests for NaN"),
    (choices.abs_of_negative, "abs(neg(u))", "the negative of an unsigned integer is another positive one"),
])  # fmt: skip
def test_parts_and_choices_say_why_not(rule, before, reason):
    check_declined(rule, before, reason, VARIABLES)
