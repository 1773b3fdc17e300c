"""Products and sums in one form, elementary operators: structure and values."""

import pytest
import torch

from explorer.tensor import Constant, call, doubles
from explorer.tensor.facts import number_of
from explorer.tensor.ir.scalars import add, div, mul, sub
from explorer.tensor.rewriting import EquilibriumRewriter
from explorer.tensor.rules import algebra, canonicalize, specialize
from tests.tensor.rule_checks import (
    aten,
    check_declined,
    check_rewrite,
    graph_of,
    read,
    same_bits,
    special,
    tensor,
    tensors,
    values,
)
from tests.tensor.text_form import rewrites

a, b, c, d, x, y, z = doubles("a b c d x y z")
SCALARS = dict(zip("abcdxyz", (a, b, c, d, x, y, z), strict=True))
VECTORS = {
    **tensors(f=(3,), g=(3,)),
    **tensors(torch.float64, double=(3,)),
    **tensors(torch.int64, i=(3,), j=(3,)),
    **tensors(torch.bool, b=(3,), c=(3,)),
    "TRUE": Constant(torch.ones(3, dtype=torch.bool)),
    "FALSE": Constant(torch.zeros(3, dtype=torch.bool)),
    "weight": Constant(torch.nn.Parameter(torch.full((3,), 2.0)), "weight", trainable=True),
}
MATRICES = tensors(
    row=(4,), column=(3, 1), m=(2, 3), n=(3, 4), w=(4, 3), ms=(5, 2, 3), ns=(5, 3, 4), bs=(5, 1, 4), wide=(2, 5, 2, 4)
)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    div(div(x, y), z) -> div(x, mul(y, z))
    div(x, div(y, z)) -> div(mul(x, z), y)
    mul(mul(div(a, b), div(b, c)), div(c, d)) -> div(a, d)
    div(mul(2.0, x), mul(4.0, y)) -> div(mul(0.5, x), y)
    div(mul(2.0, x), 2.0) -> x
    div(mul(y, x), y) -> x
    mul(x, x) -> pow(x, exponent=2)
    mul(mul(x, x), x) -> pow(x, exponent=3)
    div(pow(x, 3), x) -> pow(x, exponent=2)
    div(x, mul(x, x)) -> reciprocal(x)
    div(x, x) -> 1
    div(1.0, x) -> reciprocal(x)
    div(div(1.0, x), y) -> reciprocal(mul(x, y))
    mul(mul(mul(x, 2.0), y), 3.0) -> mul(mul(6, x), y)
    mul(neg(x), neg(y)) -> mul(x, y)
    mul(x, 0.0) -> 0
    add(mul(x, 0.0), y) -> y
    div(x, 3.0) -> div(x, 3)
    mul(x, y) -> mul(x, y)
    add(z, mul(div(mul(y, x), y), div(z, x))) -> mul(2, z)
"""))  # fmt: skip
def test_products(before, after):
    check_rewrite(canonicalize, before, after, SCALARS)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    sub(add(x, y), y) -> x
    sub(x, x) -> 0
    add(x, x) -> mul(2, x)
    add(mul(x, 2.0), mul(x, 3.0)) -> mul(5, x)
    add(add(x, 2.0), 3.0) -> add(x, 5)
    sub(x, neg(y)) -> add(x, y)
    neg(sub(x, y)) -> sub(y, x)
    add(neg(x), y) -> sub(y, x)
    sub(0.0, x) -> neg(x)
    add(x, 0.0) -> x
    sub(3.0, sub(1.0, x)) -> add(x, 2)
    sub(sub(x, y), z) -> sub(sub(x, y), z)
    add(x, y, alpha=3) -> add(x, mul(y, 3))
    neg(neg(add(x, y))) -> add(x, y)
    mul(2.0, add(x, x)) -> mul(4, x)
"""))  # fmt: skip
def test_sums(before, after):
    check_rewrite(canonicalize, before, after, SCALARS)


def test_a_result_keeps_its_shape():
    check_rewrite(canonicalize, "div(mul(row, column), column)", "expand(row, size=[3, 4])", MATRICES)
    check_rewrite(canonicalize, "sub(add(row, column), row)", "expand(column, size=[3, 4])", MATRICES)


def test_nodes_with_other_users_are_not_computed_twice():
    """The quotient needs one operator instead of two."""
    check_rewrite(canonicalize, "p = mul(x, y); [p, div(div(p, z), y)]", "mul(x, y), div(x, z)", SCALARS)
    check_rewrite(canonicalize, "p = mul(x, y); [p, mul(p, z)]", "*1 -> mul(x, y), mul(*1, z)", SCALARS)


def test_integers_are_not_rewritten():
    check_rewrite(canonicalize, "sub(add(i, j), j)", "sub(add(i, j), j)", VECTORS)
    check_rewrite(canonicalize, "mul(i, 1)", "i", VECTORS)


def test_numbers_whose_product_overflows_are_declined():
    check_declined(algebra.canonical_product, "mul(mul(x, 1e200), 1e200)", "too large or too small", SCALARS)
    check_declined(algebra.canonical_product, "mul(div(x, 0.0), 2.0)", "divides by zero", SCALARS)


@pytest.mark.parametrize("exponent", ["inf", "nan", "-inf", "0.5"])
def test_non_integer_powers_are_not_decomposed(exponent):
    check_rewrite(canonicalize, f"mul(pow(x, {exponent}), 2.0)", f"mul(pow(x, exponent={exponent}), 2)", SCALARS)


def test_high_powers_are_products_of_lower_ones():
    after = "mul(mul(pow(x, exponent=8), pow(x, exponent=8)), pow(x, exponent=4))"
    check_rewrite(canonicalize, "mul(" * 19 + "x" + ", x)" * 19, after, SCALARS)


def visited(monkeypatch, target, count):
    """Count the visits of a rule on sums and products to variables of a left-deep chain of operators."""
    variables = [tensor(f"x{i}", 2) for i in range(count + 1)]
    chain = variables[0]
    for variable in variables[1:]:
        chain = call(target, chain, variable)
    looked = 0

    def counted(variable):
        nonlocal looked
        looked += 1
        return number_of(variable)

    graph = graph_of(variables, chain)
    monkeypatch.setattr(algebra, "number_of", counted)
    EquilibriumRewriter([algebra.canonical_sum, algebra.canonical_product]).rewrite(graph)
    assert len(graph) == count
    return looked


@pytest.mark.parametrize("target", [aten.add.Tensor, aten.mul.Tensor])
def test_a_chain_is_visited_once_regardless_of_its_length(monkeypatch, target):
    short, long = visited(monkeypatch, target, 300), visited(monkeypatch, target, 3000)
    assert long < 10.1 * short


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (add, "[add(add(mul(1001, c), mul(1000, a)), mul(1000, b))]"),
        (sub, "[sub(sub(mul(-999, c), mul(1000, a)), mul(1000, b))]"),
    ],
)
def test_a_long_chain_of_sums_is_the_sum_of_its_terms(target, expected):
    total = c
    for _ in range(1000):
        for term in (a, b, c):
            total = target(total, term)
    graph = graph_of([a, b, c], total)
    canonicalize.query("+fast_run").rewrite(graph)
    assert repr(graph) == expected


def test_a_long_chain_of_quotients_cancels():
    quotient = x
    for _ in range(1500):
        quotient = mul(div(quotient, y), y)
    graph = graph_of([x, y], quotient)
    canonicalize.query("+fast_run").rewrite(graph)
    assert repr(graph) == "[x]"


def test_a_chain_ends_at_a_different_dtype():
    check_rewrite(canonicalize, "mul(div(mul(f, g), g), i)", "mul(f, i)", VECTORS)
    check_rewrite(canonicalize, "div(mul(f, double), double)", "div(mul(f, double), double)", VECTORS)


def test_trained_factors_are_cancelled_as_variables_but_never_as_numbers():
    check_rewrite(canonicalize, "div(mul(f, weight), weight)", "f", VECTORS)
    check_rewrite(canonicalize, "mul(mul(f, weight), weight)", "mul(f, pow(weight, exponent=2))", VECTORS)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    multiply(f, g) -> mul(f, g)
    mul.Scalar(f, 3) -> mul(f, 3)
    rsub.Scalar(f, 3) -> sub(3, f)
    square(f) -> pow(f, exponent=2)
    hardtanh(f, 0) -> clamp(f, min=0, max=1)
    relu6(f) -> clamp(f, min=0, max=6)
    clamp_min(f, min=1) -> clamp(f, min=1)
    clamp(clamp(f, min=0, max=1), min=0.5, max=3) -> clamp(f, min=0.5, max=1)
    clamp(clamp(f, 2, 3), 0, 1) -> clamp(f, min=1, max=1)
    max(f, g) -> maximum(f, g)
    relu(relu(f)) -> relu(f)
    pow(f, 1) -> f
    pow(f, 0) -> full(1)
    eq(i, i) -> full(True)
    ne(i, i) -> full(False)
    eq(f, f) -> eq(f, f)
    __and__(b, c) -> bitwise_and(b, c)
    bitwise_and(b, TRUE) -> b
    bitwise_and(FALSE, b) -> full(False)
    logical_or(b, TRUE) -> full(True)
    logical_or(b, FALSE) -> b
    logical_not(logical_not(b)) -> b
    addcmul(f, g, f) -> add(f, mul(g, f))
    addcdiv(f, g, f, value=2) -> add(f, mul(div(g, f), 2))
"""))  # fmt: skip
def test_elementary_operators(before, after):
    check_rewrite(canonicalize, before, after, VECTORS)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    matmul(m, n) -> mm(m, n)
    matmul(ms, ns) -> bmm(ms, ns)
    matmul(ms, n) -> matmul(ms, n)
"""))  # fmt: skip
def test_products_of_matrices_by_their_number_of_axes(before, after):
    check_rewrite(canonicalize, before, after, MATRICES)


@pytest.mark.parametrize("before", [
    "pow(v, 0)", "pow(v, 1)", "clamp(clamp(v, 0, 1), -1, 0.5)", "neg(neg(v))", "mul(v, 1.0)", "sub(v, 0.0)",
    "relu(relu(v))", "square(v)", "hardtanh(v)",
])  # fmt: skip
def test_nan_and_negative_zero_where_a_rule_calls_itself_exact(before):
    odd = torch.tensor([float("nan"), float("inf"), -0.0, 0.0, -1.5])
    graph = graph_of(*read(before, tensors(v=(5,))))
    wanted = values(graph, [odd])[0]
    EquilibriumRewriter(canonicalize.query("+exact", "-constant_evaluation").local).rewrite(graph)
    assert same_bits(values(graph, [odd])[0], wanted)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    pow(f, 2) -> mul(f, f)
    pow(f, 0.5) -> sqrt(f)
    pow(f, -1) -> reciprocal(f)
    pow(f, -0.5) -> rsqrt(f)
    pow(f, 3) -> pow(f, exponent=3)
    div(f, sqrt(g)) -> mul(f, rsqrt(g))
    reciprocal(sqrt(f)) -> rsqrt(f)
    mul(f, sigmoid(f)) -> silu(f)
    mul(exp(f), exp(g)) -> exp(add(f, g))
    add(f, mul(g, 3.0)) -> add(f, g, alpha=3.0)
    sub(f, mul(3.0, g)) -> sub(f, g, alpha=3.0)
    add(f, mul(g, f)) -> addcmul(f, g, f)
    add(div(g, f), f) -> addcdiv(f, g, f)
    add(i, mul(i, i)) -> add(i, mul(i, i))
"""))  # fmt: skip
def test_specialized_operators(before, after):
    check_rewrite(specialize, before, after, VECTORS)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(mm(m, n), row) -> addmm(row, m, n)
    add(row, mm(m, n)) -> addmm(row, m, n)
    add(bmm(ms, ns), bs) -> baddbmm(bs, ms, ns)
    add(bmm(ms, ns), wide) -> add(bmm(ms, ns), wide)
    add(linear(m, w), row) -> linear(m, w, row)
    add(linear(m, w), linear(m, w)) -> add(linear(m, w), linear(m, w))
"""))  # fmt: skip
def test_sums_are_fused_into_matrix_products(before, after):
    check_rewrite(specialize, before, after, MATRICES)


def test_the_sum_of_all_slices_is_a_sum():
    source = tensor("source", 5, 4, 3)

    def chain(indices, dim=1):
        total = call(aten.select.int, source, dim, indices[0])
        for index in indices[1:]:
            total = add(total, call(aten.select.int, source, dim, index))
        return total

    assert special([source], chain([0, 1, 2, 3])) == "[sum(source, dim=[1])]"
    assert special([source], chain([2, 0, -1, 1])) == "[sum(source, dim=[1])]"
    for some in ([0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 3, 3]):
        assert special([source], chain(some)).startswith("[add(add("), some
