"""Rules on short, integer, complex and mixed dtypes: exact ones keep the bits, and kernels accept all results."""

from functools import cache

import pytest
import torch

from explorer.tensor import Constant, to_module
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.recording.record_module import ManagedPipeline
from explorer.tensor.rewriting import Declined, EquilibriumRewriter, LocalRewriter
from explorer.tensor.rules import canonicalize, casts, elementary, exp_log, fused, optdb, specialize, stabilize
from tests.tensor.rule_checks import graph_of, read, same_bits, tensor, tensors, values

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
SHORT = (torch.float16, torch.bfloat16, torch.uint8, torch.int32)
ODD = (0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.5, -2.25, 3e-5, 200.0)
WHOLE = (0, 1, 2, 3, 100, 127, 128, 200, 255)


def odd_values(dtype):
    """Numbers at which rules go wrong, in a dtype."""
    return torch.tensor(ODD if dtype.is_floating_point else WHOLE).to(dtype)


def rewrite(database, inputs, expression, arguments):
    """The values of an expression before and after rewriting."""
    (before,) = values(graph_of(inputs, expression), arguments)
    return before, value_after(database, inputs, expression, arguments)


def value_after(database, inputs, expression, arguments):
    """The value of an expression after rewriting."""
    graph = graph_of(inputs, expression)
    database.rewrite(graph)
    graph.verify()
    (after,) = values(graph, arguments)
    return after


@cache
def exact_rules(*databases):
    """The local rules that promise the same bits."""
    found = [database.query("+exact", "-constant_evaluation").local for database in databases]
    return EquilibriumRewriter([rule for rules in found for rule in rules if isinstance(rule, LocalRewriter)])


EXACT = (
    "mul(x, 1)", "mul(1, x)", "div(x, 1)", "sub(x, 0)", "sub(x, -0.0)",
    "mul.Scalar(x, 2.3)", "add.Scalar(x, 300, 2)", "rsub.Scalar(x, 3, 2)", "multiply(x, x)",
    "square(x)", "pow(x, 1)", "pow(x, 0)", "neg(neg(x))", "relu(relu(x))", "abs(abs(x))", "sign(sign(x))",
    "clamp(clamp(x, 1, 100), 2, 120)", "clamp_min(x, 2)", "clamp(clamp(x, nan), 0.0)",
    "eq(x, x)", "max.other(x, x)", "t(t(reshape(x, [3, 3])))",
    "to.dtype(to.dtype(x, torch.float64), {dtype})", "to.dtype(to.dtype(x, torch.float16), torch.float32)",
)  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
@pytest.mark.parametrize("dtype", [*SHORT, torch.float32, torch.int8])
def test_exact_rules_keep_the_bits(dtype, text):
    given = odd_values(dtype)
    inputs, expression = read(text.format(dtype=dtype), tensors(dtype, x=given.shape))
    before, after = rewrite(exact_rules(canonicalize, stabilize, specialize), inputs, expression, [given])
    assert same_bits(before, after), (before, after)


ONE = (
    "add(x, x)", "add(mul(x, 2), mul(x, 3))", "div(div(x, 2), 3)", "sub(1, sub(1, x))", "pow(x, 2)",
    "exp(log(exp(x)))", "sub(exp(x), 1)", "log(add(x, 1))", "log(add(x, one, alpha=2))", "log(add(exp(x), 1))",
    "log1p(exp(x))", "reciprocal(add(exp(neg(x)), 1))", "sub(1, sigmoid(x))", "sub(one, sigmoid(x), alpha=2)",
    "log(sigmoid(x))", "mul(x, sigmoid(x))", "div(exp(x), sum(exp(x), [-1], True))", "log(sum(exp(x), [-1], True))",
    "log(softmax(x, -1, torch.float32))",
)  # fmt: skip
TWO = (
    "div(mul(x, y), y)", "add(x, mul(y, 3))", "add(x, y, alpha=2)", "add(x, mul(x, y))", "addcmul(x, y, y, value=2)",
    "mul(exp(x), exp(y))", "div(x, sqrt(y))",
)  # fmt: skip
TOLERANCES = {
    torch.float16: 1e-2,
    torch.bfloat16: 8e-2,
    torch.float32: 1e-5,
    torch.float64: 1e-5,
    torch.complex64: 1e-5,
}
"""About ten units in the last place: one operator instead of some, or the other way round."""


DTYPES = (torch.float16, torch.uint8, torch.float32, torch.float64, torch.complex64)
MIXED = ((torch.float32, torch.uint8), (torch.uint8, torch.float32), (torch.float64, torch.float32))
ALIKE = (torch.bfloat16, torch.int32, torch.int64)
MIXED_ALIKE = ((torch.int64, torch.int32), (torch.float32, torch.bfloat16))
"""Dtypes for which rules decide as for those above, so that `make fuzz` is enough."""


def typed(plain, alike):
    """Cases for dtypes, and those for `make fuzz`."""
    return [*plain, *(pytest.param(dtypes, marks=pytest.mark.fuzz) for dtypes in alike)]


@pytest.mark.parametrize("text", ONE)
@pytest.mark.parametrize("dtype", typed(DTYPES, ALIKE))
def test_rules_keep_the_values_and_find_kernels(dtype, text):
    assert_values_kept(text, [dtype])


@pytest.mark.parametrize("text", TWO)
@pytest.mark.parametrize(
    "dtypes", typed([*zip(DTYPES, DTYPES, strict=True), *MIXED], [*zip(ALIKE, ALIKE, strict=True), *MIXED_ALIKE])
)
def test_rules_keep_the_values_of_two_and_find_kernels(dtypes, text):
    assert_values_kept(text, dtypes)


def assert_values_kept(text, dtypes):
    """Rewrite an expression of variables of these dtypes with each of the databases."""
    torch.manual_seed(0)
    known = {name: tensor(name, 2, 3, dtype=dtype) for name, dtype in zip("xy", dtypes, strict=False)}
    inputs, expression = read(text, {**known, "one": Constant(torch.ones(()))})
    given = [small_values(dtype) for dtype in dtypes]
    (wanted,) = values(graph_of(inputs, expression), given)
    for database in (canonicalize, stabilize, specialize, optdb):
        found = value_after(database.query("+fast_run"), inputs, expression, given)
        assert found.dtype == wanted.dtype
        finite = wanted.isfinite()  # a stabilized operator is finite elsewhere too
        tolerance = max(TOLERANCES.get(dtype, 0) for dtype in (*dtypes, wanted.dtype))
        torch.testing.assert_close(found[finite], wanted[finite], rtol=tolerance, atol=tolerance)


def small_values(dtype):
    """Positive numbers; where they are whole, such that products wrap around."""
    if dtype.is_floating_point:
        return (torch.rand(2, 3) + 0.5).to(dtype)
    if dtype.is_complex:
        return torch.complex(torch.rand(2, 3) + 0.5, 4 * torch.rand(2, 3)).to(dtype)
    return torch.tensor([[0, 1, 3], [90, 200, 255]]).to(dtype)


MIXTURE = {
    **tensors(f=(3,), g=(3,)),
    **tensors(torch.float64, d=(3,)),
    **tensors(torch.uint8, u=(3,), v=(3,)),
    **tensors(torch.complex64, z=(3,)),
}


@pytest.mark.parametrize(("rule", "text", "reason"), [
    (elementary.alpha_to_mul, "add(f, u, alpha=2)", "another dtype than the sum"),
    (elementary.addcmul_to_add, "addcmul(f, u, v)", "another dtype than the sum"),
    (fused.mul_into_alpha, "add(d, mul(f, 3.0))", "the dtypes differ"),
    (fused.mul_into_alpha, "add(f, mul(g, 1e300))", "a sum cannot have the factor inf"),
    (fused.mul_of_exps, "mul(exp(f), exp(d))", "the dtypes differ"),
    (casts.merge_clips, "clamp(clamp(f, nan), 0.0)", "a bound is NaN"),
    (exp_log.exp_of_log, "exp(log(softplus(f, -1)))", "the number may be negative"),
    (exp_log.exp_of_log, "exp(log(div(abs(u), 2)))", "the number may be negative"),
])  # fmt: skip
def test_a_rule_reports_why_a_dtype_or_number_is_unsuitable(rule, text, reason):
    assert reason in refusal(rule, *read(text, MIXTURE))


def refusal(rule, inputs, expression):
    """The reason why a rule leaves the owner of the result alone."""
    found = rule.transform(graph_of(inputs, expression).outputs[0].owner)
    assert isinstance(found, Declined)
    return found.reason


def test_a_bias_of_another_dtype_stays_outside_of_the_linear():
    known = {**tensors(torch.float16, x=(2, 3), w=(4, 3)), **tensors(torch.int32, bias=(4,))}
    inputs, expression = read("add(linear(x, w), bias)", known)
    assert refusal(fused.add_to_linear, inputs, expression) == "the dtypes differ"
    arguments = [torch.ones(2, 3).half(), torch.ones(4, 3).half(), torch.arange(4, dtype=torch.int32)]
    before, after = rewrite(optdb.query("+fast_run"), inputs, expression, arguments)
    assert same_bits(before, after)


@pytest.mark.parametrize("text", ["log(exp(z))", "log1p(exp(z))", "log(sigmoid(z))", "mul(z, sigmoid(z))"])
def test_rules_on_real_functions_ignore_complex_numbers(text):
    graph = graph_of(*read(text, MIXTURE))
    before = repr(graph)
    for database in (canonicalize, stabilize, specialize):
        database.query("+fast_run").rewrite(graph)
    assert repr(graph) == before


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or"])
def test_true_is_one_next_to_integers(name):
    graph = graph_of(*read(f"{name}(n, true)", {**tensors(torch.int64, n=(4,)), "true": Constant(torch.tensor(True))}))
    canonicalize.query("+fast_run").rewrite(graph)
    given = torch.tensor([1, 2, 3, 4])
    assert torch.equal(to_module(graph)(given), getattr(torch, name)(given, torch.tensor(True)))


# ---------------------------------------------------------------------- numbers beyond 16 bits


@pytest.mark.parametrize(("text", "value"), [
    ("add(add(x, 6e4), 6e4)", -6e4),
    ("mul(mul(x, 300.0), 300.0)", 0.1),
    ("mul(mul(x, 1e-3), 1e-3)", 6e4),
    ("div(div(x, neg(x)), x)", 300.0),
    ("mul(mul(x, 1e-3), x)", 300.0),
    ("add(neg(x), x, alpha=2)", 4e4),
    ("addcmul(mul(x, -200.0), x, x)", 300.0),
    ("add(x, mul(exp(x), 7e4))", -5.0),
    ("mul(7e4, x)", 1e-4),
    ("mul(mul(mul(layer_norm(x, [4]), 1e-4), 1e-3), 1e4)", 1.0),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_finite_16_bit_results_stay_finite_and_precise(dtype, text, value):
    given = torch.tensor([1.0, 1.01, 0.99, 1.02], dtype=torch.float64).mul(value).to(dtype)
    inputs, expression = read(text, tensors(dtype, x=(4,)))
    (wanted,) = values(graph_of(inputs, expression), [given])
    for pipeline in (ManagedPipeline(DEFAULT_PIPELINE), optdb.query("+fast_run", "-inplace")):
        graph = graph_of(inputs, expression)
        pipeline.rewrite(graph)
        (found,) = values(graph, [given])
        torch.testing.assert_close(found, wanted, rtol=TOLERANCES[dtype], atol=0)


def test_numbers_are_merged_in_bfloat16_whose_range_is_that_of_float32():
    graph = graph_of(*read("mul(mul(x, 300.0), 300.0)", tensors(torch.bfloat16, x=(4,))))
    canonicalize.query("+fast_run").rewrite(graph)
    assert repr(graph) == "[mul(90000, x)]"
