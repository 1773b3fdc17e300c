"""Linear algebra by structure, writes of parts, and stable sums of exponentials: structure and values."""

import pytest
import torch

from explorer.tensor import Constant
from explorer.tensor.rules import canonicalize, linalg, specialize, stability, stabilize, writes
from tests.tensor.rule_checks import check_declined, check_rewrite, graph_of, read, tensors, values
from tests.tensor.text_form import rewrites

MATRICES = tensors(
    torch.float64, p=(4, 4), q=(4, 4), n=(4, 2), a=(2, 2), b=(2, 4, 4), d=(2, 4, 3), u=(2, 4), v=(4,), w=(4,)
) | {
    "I": Constant(torch.eye(4, dtype=torch.float64), "I"),
    "O": Constant(torch.zeros(4, 4, dtype=torch.float64)),
    "W": Constant(torch.eye(4, dtype=torch.float64) * 2 + 1),
}


@pytest.mark.parametrize(("before", "after"), rewrites("""
    mm(linalg_inv(p), n) -> linalg_solve(p, n)
    mm(n, linalg_inv(a)) -> linalg_solve(a, n, left=False)
    bmm(linalg_inv(b), d) -> linalg_solve(b, d)
    matmul(linalg_inv(p), v) -> linalg_solve(p, v)
    matmul(linalg_inv(b), v) -> matmul(linalg_inv(b), v)
    j = linalg_inv(p); add(mm(j, q), j) -> add(mm(*1 -> linalg_inv(p), q), *1)
    mm(linalg_inv(W), q) -> mm(constant 365ba0d1, q)
    mm(inverse(p), n) -> linalg_solve(p, n)
    mm(diag(v), p) -> mul(reshape(v, shape=[4, 1]), p)
    mm(p, diag(v)) -> mul(p, reshape(v, shape=[1, 4]))
    mm(diag(v), diag(w)) -> diag(mul(v, w))
    matmul(diag(v), w) -> mul(v, w)
    bmm(diag_embed(u), b) -> mul(reshape(u, shape=[2, 4, 1]), b)
    bmm(b, diag_embed(u)) -> mul(b, reshape(u, shape=[2, 1, 4]))
    mm(diag(v, 1), diag(w, -1)) -> mm(diag(v, diagonal=1), diag(w, diagonal=-1))
    mm(p, O) -> full(0)
    mm(O, n) -> full(0)
    mm(linalg_inv(linalg_inv(p)), n) -> mm(p, n)
    linalg_inv(linalg_inv(p)) -> linalg_inv(linalg_inv(p))
    linalg_inv(diag(v)) -> diag(reciprocal(v))
    linalg_inv(diag_embed(u)) -> diag_embed(reciprocal(u))
    linalg_inv(kron(add(mm(p, t(p)), I), a)) ->
        kron(linalg_inv(add(mm(p, permute(p, dims=[1, 0])), I)), linalg_inv(a))
    linalg_inv(kron(n, u)) -> linalg_inv(kron(n, u))
    linalg_solve(diag(v), n) -> div(n, reshape(v, shape=[4, 1]))
    linalg_solve(diag(v), w) -> div(w, v)
    linalg_solve(diag(w), p, left=False) -> div(p, reshape(w, shape=[1, 4]))
    linalg_solve(diag_embed(u), d) -> div(d, reshape(u, shape=[2, 4, 1]))
    mm(linalg_solve(I, p), n) -> mm(p, n)
    linalg_det(diag(v)) -> prod(v, dim=-1)
    linalg_det(diag_embed(u)) -> prod(u, dim=-1)
    linalg_det(linalg_cholesky(add(mm(p, t(p)), I))) ->
        prod(diagonal(linalg_cholesky(add(mm(p, permute(p, dims=[1, 0])), I)), dim1=-2, dim2=-1), dim=-1)
    linalg_det(linalg_inv(p)) -> reciprocal(linalg_det(p))
    linalg_det(kron(p, a)) -> mul(pow(linalg_det(p), exponent=2), pow(linalg_det(a), exponent=4))
    det(diag(v)) -> prod(v, dim=-1)
    neg(diagonal(diag(v))) -> neg(v)
    diagonal(diag(v), 1) -> diagonal(diag(v), offset=1)
    diagonal(kron(p, a)) -> kron(diagonal(p), diagonal(a))
    trace(diag(v)) -> sum(v, dim=[0])
    trace(p) -> trace(p)
"""))  # fmt: skip
def test_linear_algebra_by_structure(before, after):
    check_rewrite(canonicalize, before, after, MATRICES)


PARTS = (
    tensors(x=(3, 4), y=(3, 4), r=(2, 4), o=(1, 4), v=(4,), l=(3, 2), m=(3, 2), e=(0, 4))
    | tensors(torch.float64, g=(3, 4))
)  # fmt: skip


@pytest.mark.parametrize(("before", "after"), rewrites("""
    neg(slice_scatter(x, y, 0, 0, 3)) -> neg(y)
    slice_scatter(x, y, 0, 0, 9) -> slice_scatter(x, y, start=0, end=9)
    neg(slice_scatter(g, y, 0, 0, 3)) -> neg(slice_scatter(g, y, start=0, end=3))
    neg(select_scatter(o, v, 0, 0)) -> neg(reshape(v, shape=[1, 4]))
    neg(slice_scatter(x, slice(x, 0, 1, 3), 0, 1, 3)) -> neg(x)
    neg(slice_scatter(x, slice(x, 0, 0, 2), 0, 1, 3)) ->
        neg(slice_scatter(x, slice(x, start=0, end=2), start=1, end=3))
    neg(slice_scatter(x, slice(y, 0, 1, 3), 0, 1, 3)) ->
        neg(slice_scatter(x, slice(y, start=1, end=3), start=1, end=3))
    slice_scatter(slice_scatter(x, r, 0, 1, 3), r, 0, 1, 3) -> slice_scatter(x, r, start=1, end=3)
    slice_scatter(slice_scatter(x, o, 0, 1, 2), r, 0, 1, 3) -> slice_scatter(x, r, start=1, end=3)
    slice_scatter(slice_scatter(x, o, 0, -2, -1), r, 0, 1, 9) -> slice_scatter(x, r, start=1, end=3)
    slice_scatter(slice_scatter(x, r, 0, 0, 2), r, 0, 1, 3) ->
        slice_scatter(slice_scatter(x, r, start=0, end=2), r, start=1, end=3)
    select_scatter(select_scatter(x, v, 0, -1), v, 0, 2) ->
        slice_scatter(x, reshape(v, shape=[1, 4]), start=2, end=3)
    slice_scatter(select_scatter(x, v, 0, 1), r, 0, 1, 3) -> slice_scatter(x, r, start=1, end=3)
    slice_scatter(slice_scatter(x, r, 0, 0, 3, 2), r, 0, 0, 3, 2) ->
        slice_scatter(slice_scatter(x, r, start=0, end=3, step=2), r, start=0, end=3, step=2)
    neg(slice(slice_scatter(x, r, 0, 1, 3), 0, 1, 3)) -> neg(r)
    neg(slice(slice_scatter(x, r, 0, 1, 3), 0, 2, 3)) -> neg(slice(r, start=1, end=2))
    neg(slice(slice_scatter(x, r, 0, 1, 3), 0, 0, 1)) -> neg(slice(x, start=0, end=1))
    neg(slice(slice_scatter(x, r, 0, 1, 3), 0, 0, 2)) ->
        neg(slice(slice_scatter(x, r, start=1, end=3), start=0, end=2))
    neg(select(slice_scatter(x, r, 0, 1, 3), 0, -1)) -> neg(reshape(slice(r, start=1, end=2), shape=[4]))
    neg(select(slice_scatter(x, r, 0, 1, 3), 0, 0)) -> neg(reshape(slice(x, start=0, end=1), shape=[4]))
    neg(select(select_scatter(x, v, 0, 1), 0, 1)) -> neg(v)
    neg(slice(slice_scatter(x, r, 0, 1, 3), 1, 0, 2)) ->
        neg(slice(slice_scatter(x, r, start=1, end=3), dim=1, start=0, end=2))
    neg(slice(slice_scatter(x, r, 0, 1, 3), 0, 2, 2)) -> neg(slice(r, start=1, end=1))
    slice_scatter(slice_scatter(x, l, 1, 0, 2), m, 1, 2, 4) -> cat(l, m, dim=1)
    slice_scatter(slice_scatter(x, m, 1, 2, 4), l, 1, 0, 2) -> cat(l, m, dim=1)
    slice_scatter(slice_scatter(zeros([3, 4]), o, 0, 0, 1), r, 0, 1, 3) -> cat(o, r)
    select_scatter(select_scatter(select_scatter(x, v, 0, 0), select(y, 0, 0), 0, 1), select(y, 0, 1), 0, 2) ->
        cat(reshape(v, shape=[1, 4]), reshape(select(y, dim=0, index=0), shape=[1, 4]),
        reshape(select(y, dim=0, index=1), shape=[1, 4]))
    s = slice_scatter(x, l, 1, 0, 2); add(slice_scatter(s, m, 1, 2, 4), s) ->
        add(slice_scatter(*1 -> slice_scatter(x, l, dim=1, start=0, end=2), m, dim=1, start=2, end=4), *1)
    slice_scatter(slice_scatter(x, o, 0, 0, 1), l, 1, 2, 4) ->
        slice_scatter(slice_scatter(x, o, start=0, end=1), l, dim=1, start=2, end=4)
    slice_scatter(e, slice(e, 1, 0, 2), 1, 0, 2) ->
        slice_scatter(e, slice(e, dim=1, start=0, end=2), dim=1, start=0, end=2)
    slice_scatter(slice_scatter(x, o, 0, 0, 1), o, 0, 2, 3) ->
        slice_scatter(slice_scatter(x, o, start=0, end=1), o, start=2, end=3)
"""))  # fmt: skip
def test_writes_of_parts(before, after):
    check_rewrite(canonicalize, before, after, PARTS)


NUMBERS = (
    tensors(x=(3, 4), y=(3, 4), v=(4,), p=(4, 4))
    | tensors(torch.float16, h=(3, 4))
    | tensors(torch.float64, g=(3, 4))
    | tensors(torch.complex64, z=(3, 4), Z=(4, 4))
    | tensors(torch.int32, i=(3, 4))
)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    log(add(exp(x), exp(y))) -> logaddexp(x, y)
    log(add(exp(x), exp(y))) -> logaddexp(x, y)
    log(add(add(exp(x), exp(y)), exp(x))) -> logaddexp(logaddexp(x, y), x)
    log(add(add(exp(x), exp(y)), add(exp(x), exp(y)))) -> logaddexp(logaddexp(logaddexp(x, y), x), y)
    log(add(add(add(exp(x), exp(y)), add(exp(x), exp(y))), exp(y))) ->
        log(add(add(add(exp(x), exp(y)), add(exp(x), exp(y))), exp(y)))
    log(add(exp(x), exp(y), alpha=2)) -> log(add(exp(x), exp(y), alpha=2))
    log(add(exp(x), y)) -> log(add(exp(x), y))
    log(add(exp(z), exp(z))) -> log(add(exp(z), exp(z)))
    log(add(exp(x), exp(g))) -> log(add(exp(x), exp(g)))
    log(add(exp(i), exp(i))) -> log(add(exp(i), exp(i)))
    log(abs(linalg_det(p))) -> linalg_slogdet(p)::1
    log(abs(linalg_det(Z))) -> log(abs(linalg_det(Z)))
    log(linalg_det(p)) -> log(linalg_det(p))
    log(erfc(x)) -> add(special_log_ndtr(mul(x, -1.4142135623730951)), 0.6931471805599453)
    log(erfc(h)) -> log(erfc(h))
    sub(1.0, exp(x)) -> neg(expm1(x))
    log(sub(1.0, exp(neg(x)))) -> log(neg(expm1(neg(x))))
    log1p(neg(sigmoid(x))) -> log_sigmoid(neg(x))
    sub(1.0, erf(x)) -> erfc(x)
    sub(1.0, erfc(x)) -> erf(x)
    e1 = exp(x); div(e1, add(1.0, e1)) -> sigmoid(x)
    e1 = exp(x); div(e1, add(e1, 1.0)) -> sigmoid(x)
    e1 = exp(neg(x)); div(e1, add(e1, 1.0)) -> sigmoid(neg(x))
    div(1.0, add(1.0, exp(x))) -> sigmoid(neg(x))
    div(y, add(1.0, exp(neg(x)))) -> mul(y, sigmoid(x))
    div(v, add(1.0, exp(x))) -> mul(v, sigmoid(neg(x)))
    e1 = exp(z); div(e1, add(1.0, e1)) -> div(*1 -> exp(z), add((1+0j), *1))
    e1 = exp(x); div(exp(y), add(1.0, e1)) -> mul(exp(y), sigmoid(neg(x)))
    d1 = add(1.0, exp(x)); mul(div(y, d1), d1) -> mul(div(y, *1 -> add(1, exp(x))), *1)
    mul(sigmoid(x), exp(neg(x))) -> sigmoid(neg(x))
    mul(exp(x), sigmoid(neg(x))) -> sigmoid(x)
    mul(sigmoid(x), exp(x)) -> mul(sigmoid(x), exp(x))
"""))  # fmt: skip
def test_stable_exponentials_and_logs(before, after):
    check_rewrite(stabilize, before, after, NUMBERS)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    p1 = exp(x); mul(pow.Tensor_Tensor(p1, x), pow.Tensor_Tensor(p1, y)) -> pow(exp(x), add(x, y))
    p1 = exp(x); div(pow.Tensor_Tensor(p1, x), pow.Tensor_Tensor(p1, y)) -> pow(exp(x), sub(x, y))
    mul(pow.Tensor_Tensor(x, y), pow.Tensor_Tensor(x, x)) -> mul(pow(x, y), pow(x, x))
    div(exp(x), exp(y)) -> exp(sub(x, y))
    div(exp(x), exp(y)) -> exp(sub(x, y))
"""))  # fmt: skip
def test_powers_and_quotients_of_exponentials(before, after):
    check_rewrite(specialize, before, after, NUMBERS)


@pytest.mark.parametrize(("before", "at", "wanted"), [
    ("log(add(exp(x), exp(y)))", 1000.0, 1000.6931),
    ("a = exp(x); div(a, add(a, 1.0))", 1000.0, 1.0),
    ("mul(sigmoid(x), exp(neg(x)))", -1000.0, 1.0),
    ("log(sub(1.0, exp(neg(x))))", 1e-20, -46.0517),
    ("log1p(neg(sigmoid(x)))", 1000.0, -1000.0),
    ("log(erfc(x))", 40.0, -1604.2616),
])  # fmt: skip
def test_a_stable_operator_is_right_where_the_original_is_not_finite(before, at, wanted):
    graph = graph_of(*read(before, tensors(x=(3, 4), y=(3, 4))))
    given = [torch.full((3, 4), at)] * 2
    assert not torch.isfinite(values(graph, given)[0]).any()
    stabilize.query("+fast_run").rewrite(graph)
    torch.testing.assert_close(values(graph, given)[0], torch.full((3, 4), wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rule", "before", "reason", "variables"), [
    (linalg.inverse_of_kronecker, "linalg_inv(kron(n, u))", "the factors are not square matrices", MATRICES),
    (stability.log_of_determinant, "log(linalg_det(p))", "the determinant may be negative", NUMBERS),
    (stability.log_of_erfc, "log(erfc(h))", "in single and double precision only", NUMBERS),
    (stability.product_of_powers, "mul(pow.Tensor_Tensor(x, y), pow.Tensor_Tensor(x, x))", "may be negative", NUMBERS),
    (writes.write_over_write, "slice_scatter(slice_scatter(x, r, 0, 0, 2), r, 0, 1, 3)", "leaves a part", PARTS),
    (writes.read_of_write, "slice(slice_scatter(x, r, 0, 1, 3), 0, 0, 2)", "reads written positions", PARTS),
    (writes.writes_fill, "slice_scatter(slice_scatter(x, o, 0, 0, 1), o, 0, 2, 3)", "do not fill the tensor", PARTS),
])  # fmt: skip
def test_linear_algebra_exponentials_and_writes_say_why_not(rule, before, reason, variables):
    check_declined(rule, before, reason, variables)
