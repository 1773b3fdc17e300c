"""Rules on short, integer, complex and mixed dtypes: exact ones keep the bits, and kernels accept all results."""

import pytest
import torch

from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call, to_module
from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE
from explorer.tensor.recording.managed import ManagedPipeline
from explorer.tensor.rewriting import Declined, EquilibriumRewriter, LocalRewriter
from explorer.tensor.rules import canonicalize, clips, elementary, exp_log, fused, specialize, stabilize
from explorer.tensor.rules.optdb import optdb
from tests.tensor.rule_checks import aten, graph_of, same_bits, tensor, values

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
SHORT = (torch.float16, torch.bfloat16, torch.uint8, torch.int32)
ODD = (0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.5, -2.25, 3e-5, 200.0)
WHOLE = (0, 1, 2, 3, 100, 127, 128, 200, 255)


def odd_values(dtype):
    """Numbers at which rules go wrong, in a dtype."""
    return torch.tensor(ODD if dtype.is_floating_point else WHOLE).to(dtype)


def rewritten(database, inputs, expression, arguments):
    """The values of an expression before and after rewriting."""
    graph = graph_of(inputs, expression)
    (before,) = values(graph, arguments)
    database.rewrite(graph)
    graph.verify()
    (after,) = values(graph, arguments)
    return before, after


def exact_rules(*databases):
    """The local rules that promise the same bits."""
    found = [database.query("+exact", "-constant_evaluation").local for database in databases]
    return EquilibriumRewriter([rule for rules in found for rule in rules if isinstance(rule, LocalRewriter)])


EXACT = {
    "x * 1": lambda x: call(aten.mul.Tensor, x, 1),
    "1 * x": lambda x: call(aten.mul.Tensor, 1, x),
    "x / 1": lambda x: call(aten.div.Tensor, x, 1),
    "x - 0": lambda x: call(aten.sub.Tensor, x, 0),
    "x - -0": lambda x: call(aten.sub.Tensor, x, -0.0),
    "mul.Scalar": lambda x: call(aten.mul.Scalar, x, 2.3),
    "add.Scalar": lambda x: call(aten.add.Scalar, x, 300, 2),
    "rsub": lambda x: call(aten.rsub.Scalar, x, 3, 2),
    "multiply": lambda x: call(aten.multiply.Tensor, x, x),
    "square": lambda x: call(aten.square.default, x),
    "x ** 1": lambda x: call(aten.pow.Tensor_Scalar, x, 1),
    "x ** 0": lambda x: call(aten.pow.Tensor_Scalar, x, 0),
    "-(-x)": lambda x: call(aten.neg.default, call(aten.neg.default, x)),
    "relu twice": lambda x: call(aten.relu.default, call(aten.relu.default, x)),
    "abs twice": lambda x: call(aten.abs.default, call(aten.abs.default, x)),
    "sign twice": lambda x: call(aten.sign.default, call(aten.sign.default, x)),
    "clamps": lambda x: call(aten.clamp.default, call(aten.clamp.default, x, 1, 100), 2, 120),
    "clamp_min": lambda x: call(aten.clamp_min.default, x, 2),
    "clamp to NaN": lambda x: call(aten.clamp.default, call(aten.clamp.default, x, float("nan")), 0.0),
    "x == x": lambda x: call(aten.eq.Tensor, x, x),
    "casts": lambda x: call(aten.to.dtype, call(aten.to.dtype, x, torch.float64), x.tensor_type.dtype),
    "cast of cast": lambda x: call(aten.to.dtype, call(aten.to.dtype, x, torch.float16), torch.float32),
    "max": lambda x: call(aten.max.other, x, x),
    "shapes": lambda x: call(aten.t.default, call(aten.t.default, call(aten.reshape.default, x, [3, 3]))),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [*SHORT, torch.float32, torch.int8])
def test_exact_rules_keep_the_bits(dtype, name):
    given = odd_values(dtype)
    x = tensor("x", *given.shape, dtype=dtype)
    before, after = rewritten(exact_rules(canonicalize, stabilize, specialize), [x], EXACT[name](x), [given])
    assert same_bits(before, after), (before, after)


def exp(x):
    return call(aten.exp.default, x)


def log(x):
    return call(aten.log.default, x)


def total(x):
    return call(aten.sum.dim_IntList, x, [-1], True)


ONE = {
    "x + x": lambda x: call(aten.add.Tensor, x, x),
    "2x + 3x": lambda x: call(aten.add.Tensor, call(aten.mul.Tensor, x, 2), call(aten.mul.Tensor, x, 3)),
    "x / 2 / 3": lambda x: call(aten.div.Tensor, call(aten.div.Tensor, x, 2), 3),
    "1 - (1 - x)": lambda x: call(aten.sub.Tensor, 1, call(aten.sub.Tensor, 1, x)),
    "x ** 2": lambda x: call(aten.pow.Tensor_Scalar, x, 2),
    "exp(log)": lambda x: exp(log(exp(x))),
    "exp - 1": lambda x: call(aten.sub.Tensor, exp(x), 1),
    "log(1 + x)": lambda x: log(call(aten.add.Tensor, x, 1)),
    "log(1 + 2)": lambda x: log(call(aten.add.Tensor, x, Constant(torch.ones(())), alpha=2)),
    "softplus": lambda x: log(call(aten.add.Tensor, exp(x), 1)),
    "log1p(exp)": lambda x: call(aten.log1p.default, exp(x)),
    "sigmoid": lambda x: call(aten.reciprocal.default, call(aten.add.Tensor, exp(call(aten.neg.default, x)), 1)),
    "1 - sigmoid": lambda x: call(aten.sub.Tensor, 1, call(aten.sigmoid.default, x)),
    "1 - 2 sigmoid": lambda x: call(aten.sub.Tensor, Constant(torch.ones(())), call(aten.sigmoid.default, x), alpha=2),
    "log(sigmoid)": lambda x: log(call(aten.sigmoid.default, x)),
    "silu": lambda x: call(aten.mul.Tensor, x, call(aten.sigmoid.default, x)),
    "softmax": lambda x: call(aten.div.Tensor, exp(x), total(exp(x))),
    "logsumexp": lambda x: log(total(exp(x))),
    "log(softmax)": lambda x: log(call(aten.softmax.int, x, -1, torch.float32)),
}
TWO = {
    "xy / y": lambda x, y: call(aten.div.Tensor, call(aten.mul.Tensor, x, y), y),
    "x + 3y": lambda x, y: call(aten.add.Tensor, x, call(aten.mul.Tensor, y, 3)),
    "alpha": lambda x, y: call(aten.add.Tensor, x, y, alpha=2),
    "x + xy": lambda x, y: call(aten.add.Tensor, x, call(aten.mul.Tensor, x, y)),
    "addcmul": lambda x, y: call(aten.addcmul.default, x, y, y, value=2),
    "exp * exp": lambda x, y: call(aten.mul.Tensor, exp(x), exp(y)),
    "x / sqrt(y)": lambda x, y: call(aten.div.Tensor, x, call(aten.sqrt.default, y)),
}
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


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", typed(DTYPES, ALIKE))
def test_rules_keep_the_values_and_find_kernels(dtype, name):
    assert_values_kept(ONE[name], [dtype])


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(
    "dtypes", typed([*zip(DTYPES, DTYPES, strict=True), *MIXED], [*zip(ALIKE, ALIKE, strict=True), *MIXED_ALIKE])
)
def test_rules_keep_the_values_of_two_and_find_kernels(dtypes, name):
    assert_values_kept(TWO[name], dtypes)


def assert_values_kept(make, dtypes):
    """Rewrite an expression of variables of these dtypes with each of the databases."""
    torch.manual_seed(0)
    inputs = [tensor(label, 2, 3, dtype=dtype) for label, dtype in zip("xy", dtypes, strict=False)]
    given = [small_values(dtype) for dtype in dtypes]
    expression = make(*inputs)
    (wanted,) = values(graph_of(inputs, expression), given)
    for database in (canonicalize, stabilize, specialize, optdb):
        _, found = rewritten(database.query("+fast_run"), inputs, expression, given)
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


f, g = tensor("f", 3), tensor("g", 3)
d = tensor("d", 3, dtype=torch.float64)
u, v = tensor("u", 3, dtype=torch.uint8), tensor("v", 3, dtype=torch.uint8)
z = tensor("z", 3, dtype=torch.complex64)


@pytest.mark.parametrize(
    ("rule", "inputs", "expression", "reason"),
    [
        (elementary.alpha_to_mul, [f, u], call(aten.add.Tensor, f, u, alpha=2), "another dtype than the sum"),
        (elementary.addcmul_to_add, [f, u, v], call(aten.addcmul.default, f, u, v), "another dtype than the sum"),
        (
            fused.mul_into_alpha,
            [d, f],
            call(aten.add.Tensor, d, call(aten.mul.Tensor, f, 3.0)),
            "the dtypes differ",
        ),
        (
            fused.mul_into_alpha,
            [f, g],
            call(aten.add.Tensor, f, call(aten.mul.Tensor, g, 1e300)),
            "a sum cannot have the factor inf",
        ),
        (fused.mul_of_exps, [f, d], call(aten.mul.Tensor, exp(f), exp(d)), "the dtypes differ"),
        (
            clips.merge_clips,
            [f],
            call(aten.clamp.default, call(aten.clamp.default, f, float("nan")), 0.0),
            "a bound is NaN",
        ),
        (
            exp_log.exp_of_log,
            [f],
            exp(log(call(aten.softplus.default, f, -1))),
            "the number may be negative",
        ),
        (
            exp_log.exp_of_log,
            [u],
            exp(log(call(aten.div.Tensor, call(aten.abs.default, u), 2))),
            "the number may be negative",
        ),
    ],
)
def test_a_rule_says_why_a_dtype_or_number_does_not_fit(rule, inputs, expression, reason):
    assert reason in refusal(rule, inputs, expression)


def refusal(rule, inputs, expression):
    """The reason why a rule leaves the owner of the result alone."""
    found = rule.transform(graph_of(inputs, expression).outputs[0].owner)
    assert isinstance(found, Declined)
    return found.reason


def test_a_bias_of_another_dtype_stays_outside_of_the_linear():
    x, w = tensor("x", 2, 3, dtype=torch.float16), tensor("w", 4, 3, dtype=torch.float16)
    bias = tensor("bias", 4, dtype=torch.int32)
    expression = call(aten.add.Tensor, call(aten.linear.default, x, w), bias)
    assert refusal(fused.add_to_linear, [x, w, bias], expression) == "the dtypes differ"
    arguments = [torch.ones(2, 3).half(), torch.ones(4, 3).half(), torch.arange(4, dtype=torch.int32)]
    before, after = rewritten(optdb.query("+fast_run"), [x, w, bias], expression, arguments)
    assert same_bits(before, after)


@pytest.mark.parametrize(
    "expression",
    [
        log(exp(z)),
        call(aten.log1p.default, exp(z)),
        log(call(aten.sigmoid.default, z)),
        call(aten.mul.Tensor, z, call(aten.sigmoid.default, z)),
    ],
)
def test_rules_on_real_functions_ignore_complex_numbers(expression):
    graph = graph_of([z], expression)
    text = repr(graph)
    for database in (canonicalize, stabilize, specialize):
        database.query("+fast_run").rewrite(graph)
    assert repr(graph) == text


@pytest.mark.parametrize("combine", [aten.bitwise_and.Tensor, aten.bitwise_or.Tensor])
def test_true_is_one_next_to_integers(combine):
    whole = Variable(TensorType(torch.int64, (4,)), name="n")
    graph = FunctionGraph([whole], [call(combine, whole, Constant(torch.tensor(True)))])
    canonicalize.query("+fast_run").rewrite(graph)
    given = torch.tensor([1, 2, 3, 4])
    assert torch.equal(to_module(graph)(given), combine(given, torch.tensor(True)))


# ---------------------------------------------------------------------- numbers beyond 16 bits

SHORT_RANGE = {
    "sum of numbers": (lambda x: call(aten.add.Tensor, call(aten.add.Tensor, x, 6e4), 6e4), -6e4),
    "product of numbers": (lambda x: call(aten.mul.Tensor, call(aten.mul.Tensor, x, 300.0), 300.0), 0.1),
    "small numbers": (lambda x: call(aten.mul.Tensor, call(aten.mul.Tensor, x, 1e-3), 1e-3), 6e4),
    "quotients": (lambda x: call(aten.div.Tensor, call(aten.div.Tensor, x, call(aten.neg.default, x)), x), 300.0),
    "squares": (lambda x: call(aten.mul.Tensor, call(aten.mul.Tensor, x, 1e-3), x), 300.0),
    "multiple": (lambda x: call(aten.add.Tensor, call(aten.neg.default, x), x, alpha=2), 4e4),
    "product before sum": (
        lambda x: call(aten.addcmul.default, call(aten.mul.Tensor, x, -200.0), x, x),
        300.0,
    ),
    "factor of a summand": (
        lambda x: call(aten.add.Tensor, x, call(aten.mul.Tensor, call(aten.exp.default, x), 7e4)),
        -5.0,
    ),
    "number on the left": (lambda x: call(aten.mul.Tensor, 7e4, x), 1e-4),
    "layer norm": (
        lambda x: call(
            aten.mul.Tensor,
            call(aten.mul.Tensor, call(aten.mul.Tensor, call(aten.layer_norm.default, x, [4]), 1e-4), 1e-3), 1e4
        ),
        1.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT_RANGE)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_finite_16_bit_results_stay_finite_and_precise(dtype, name):
    make, value = SHORT_RANGE[name]
    given = torch.tensor([1.0, 1.01, 0.99, 1.02], dtype=torch.float64).mul(value).to(dtype)
    x = tensor("x", 4, dtype=dtype)
    graph = graph_of([x], make(x))
    (wanted,) = values(graph, [given])
    for pipeline in (ManagedPipeline(DEFAULT_PIPELINE), optdb.query("+fast_run", "-inplace")):
        graph = graph_of([x], make(x))
        pipeline.rewrite(graph)
        (found,) = values(graph, [given])
        torch.testing.assert_close(found, wanted, rtol=TOLERANCES[dtype], atol=0)


def test_numbers_are_merged_in_bfloat16_whose_range_is_that_of_float32():
    x = tensor("x", 4, dtype=torch.bfloat16)
    graph = graph_of([x], call(aten.mul.Tensor, call(aten.mul.Tensor, x, 300.0), 300.0))
    canonicalize.query("+fast_run").rewrite(graph)
    assert repr(graph) == "[mul(90000, x)]"
