"""exp and log: structure, values, and that the stabilized form is finite where the written one is not."""

import pytest
import torch

from explorer.tensor.rules import canonicalize, exp_log, optdb, stabilize
from tests.tensor.rule_checks import apply, check_declined, check_rewrite, graph_of, read, tensors, values
from tests.tensor.text_form import rewrites

VARIABLES = tensors(x=(3, 4), y=(3, 4), c=(3, 1), s=(3, 3))


@pytest.mark.parametrize(("before", "after"), rewrites("""
    log(exp(x)) -> x
    exp(log(exp(y))) -> exp(y)
    exp(log(softmax(x, dim=-1))) -> softmax(x, dim=-1)
    exp(log(sum(mul(exp(x), exp(x)), dim=[1]))) -> sum(mul(exp(x), exp(x)), dim=[1])
    exp(log(x)) -> exp(log(x))
    _softmax(x, dim=1, half_to_float=False) -> softmax(x, dim=1)
    _log_softmax(x, dim=1, half_to_float=False) -> log_softmax(x, dim=1)
"""))  # fmt: skip
def test_exp_and_log_undo_each_other(before, after):
    check_rewrite(canonicalize, before, after, VARIABLES)


def test_exp_of_a_log_that_may_be_nan_is_declined():
    check_declined(exp_log.exp_of_log, "exp(log(x))", "the number may be negative, and its log NaN", VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    log(softmax(x, dim=-1)) -> log_softmax(x, dim=-1)
    exp(log_softmax(x, dim=1)) -> softmax(x, dim=1)
    log(sum(exp(x), dim=[1])) -> logsumexp(x, dim=[1])
    log(sum(exp(x), dim=[-1], keepdim=True)) -> logsumexp(x, dim=[1], keepdim=True)
    log(sum(exp(x), dim=[0, 1])) -> logsumexp(x, dim=[0, 1])
    log(sum(exp(x))) -> logsumexp(x, dim=[0, 1])
    e = exp(x); div(e, sum(e, [1], True)) -> softmax(x, dim=1)
    e = exp(x); log(div(e, sum(e, [1], True))) -> log_softmax(x, dim=1)
    sub(x, logsumexp(x, dim=[1], keepdim=True)) -> log_softmax(x, dim=1)
    softmax(sub(x, amax(x, [1], True)), -1) -> softmax(x, dim=-1)
    m = amax(x, [1], True); add(log(sum(exp(sub(x, m)), [1], True)), m) -> logsumexp(x, dim=[1], keepdim=True)
    m = amax(x, [1], True); add(squeeze(m, 1), log(sum(exp(sub(x, m)), [1]))) -> logsumexp(x, dim=[1])
    log(add(x, 1.0)) -> log1p(x)
    log(add(1.0, x)) -> log1p(x)
    sub(exp(x), 1.0) -> expm1(x)
    add(exp(x), -1.0) -> expm1(x)
    log(add(exp(x), 1.0)) -> softplus(x, threshold=40)
    div(1.0, add(1.0, exp(neg(x)))) -> sigmoid(x)
    sub(1.0, sigmoid(x)) -> sigmoid(neg(x))
    log(sigmoid(x)) -> log_sigmoid(x)
"""))  # fmt: skip
def test_stabilized_operators(before, after):
    check_rewrite(stabilize, before, after, VARIABLES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(log(sum(exp(sub(x, c)), [1], True)), c) -> logsumexp(x, dim=[1], keepdim=True)
    add(log(sum(exp(sub(x, c)), [0], True)), c) -> add(logsumexp(sub(x, c), dim=[0], keepdim=True), c)
    add(log(sum(exp(sub(x, c)), [1], True)), neg(c)) -> add(logsumexp(sub(x, c), dim=[1], keepdim=True), neg(c))
    softmax(add(x, c), dim=-1) -> softmax(x, dim=-1)
    softmax(add(x, c), dim=0) -> softmax(add(x, c), dim=0)
    div(exp(x), sum(exp(x), dim=[0, 1], keepdim=True)) -> div(exp(x), sum(exp(x), dim=[0, 1], keepdim=True))
    e = exp(s); div(e, sum(e, [1])) -> div(*1 -> exp(s), sum(*1, dim=[1]))
"""))  # fmt: skip
def test_the_shift_is_constant_along_the_axis_and_the_sum_keeps_it(before, after):
    check_rewrite(stabilize, before, after, VARIABLES)


LARGE = torch.tensor([[1000.0, 1000.0, 999.0, -1000.0], [-2000.0] * 4, [0.0, 1e-9, -1e-9, 200.0]])


@pytest.mark.parametrize("before", [
    "log(softmax(x, -1))",
    "log(sum(exp(x), [1]))",
    "log(add(exp(x), 1.0))",
    "log(sigmoid(x))",
    "e = exp(x); div(e, sum(e, [1], True))",
])  # fmt: skip
def test_a_stabilized_operator_is_finite_where_the_original_is_not(before):
    graph = graph_of(*read(before, {"x": VARIABLES["x"]}))
    assert not torch.isfinite(values(graph, [LARGE])[0]).all()
    stabilize.query("+fast_run").rewrite(graph)
    found = values(graph, [LARGE])[0]
    assert torch.isfinite(found).all()
    assert torch.isfinite(values(graph, [LARGE.double().float()])[0]).all()


def test_softplus_is_exact_in_double_precision_too():
    graph = graph_of(*read("log(add(exp(v), 1.0))", tensors(torch.float64, v=(4,))))
    stabilize.query("+fast_run").rewrite(graph)
    given = torch.tensor([21.0, 30.0, 39.0, 41.0], dtype=torch.float64)
    torch.testing.assert_close(values(graph, [given])[0], torch.log1p(given.exp()), rtol=1e-15, atol=0)


def test_the_three_steps_of_log_softmax_written_by_hand():
    inputs, by_hand = read("e = exp(x); log(div(e, sum(e, [1], True)))", VARIABLES)
    graph = apply(optdb.query("+fast_run", "-inplace"), inputs, by_hand)
    assert repr(graph) == "[log_softmax(x, dim=1)]"
