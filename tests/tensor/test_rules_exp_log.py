"""exp and log: structure, values, and that the stabilized form is finite where the written one is not."""

import pytest
import torch

from explorer.tensor import call
from explorer.tensor.ir.scalars import add, div, mul, sub
from explorer.tensor.rules import exp_log, stabilize
from explorer.tensor.rules.optdb import optdb
from tests.tensor.rule_checks import apply, aten, canonical, declined, graph_of, stable, tensor, values

x, y = tensor("x", 3, 4), tensor("y", 3, 4)
column = tensor("c", 3, 1)


def exp(v):
    return call(aten.exp.default, v)


def log(v):
    return call(aten.log.default, v)


def neg(v):
    return call(aten.neg.default, v)


def total(v, *dims, keepdim=False):
    return call(aten.sum.dim_IntList, v, list(dims), keepdim)


def softmax(v, dim=-1):
    return call(aten.softmax.int, v, dim)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (log(exp(x)), "[x]"),
        (exp(log(exp(y))), "[exp(y)]"),
        (exp(log(softmax(x))), "[softmax(x, dim=-1)]"),
        (exp(log(total(mul(exp(x), exp(x)), 1))), "[sum(mul(exp(x), exp(x)), dim=[1])]"),
        (exp(log(x)), "[exp(log(x))]"),
        (call(aten._softmax.default, x, 1, False), "[softmax(x, dim=1)]"),
        (call(aten._log_softmax.default, x, 1, False), "[log_softmax(x, dim=1)]"),
    ],
)
def test_exp_and_log_undo_each_other(expression, expected):
    assert canonical([x, y], expression) == expected


def test_exp_of_a_log_that_may_be_nan_is_declined():
    assert declined(exp_log.exp_of_log, [x], exp(log(x))) == "the number may be negative, and its log NaN"


powers = exp(x)
shifted = sub(x, call(aten.amax.default, x, [1], True))
largest = shifted.owner.inputs[1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (log(softmax(x)), "[log_softmax(x, dim=-1)]"),
        (exp(call(aten.log_softmax.int, x, 1)), "[softmax(x, dim=1)]"),
        (log(total(exp(x), 1)), "[logsumexp(x, dim=[1])]"),
        (log(total(exp(x), -1, keepdim=True)), "[logsumexp(x, dim=[1], keepdim=True)]"),
        (log(total(exp(x), 0, 1)), "[logsumexp(x, dim=[0, 1])]"),
        (log(call(aten.sum.default, exp(x))), "[logsumexp(x, dim=[0, 1])]"),
        (div(powers, total(powers, 1, keepdim=True)), "[softmax(x, dim=1)]"),
        (log(div(powers, total(powers, 1, keepdim=True))), "[log_softmax(x, dim=1)]"),
        (sub(x, call(aten.logsumexp.default, x, [1], True)), "[log_softmax(x, dim=1)]"),
        (softmax(shifted), "[softmax(x, dim=-1)]"),
        (add(log(total(exp(shifted), 1, keepdim=True)), largest), "[logsumexp(x, dim=[1], keepdim=True)]"),
        (
            add(call(aten.squeeze.dim, largest, 1), log(total(exp(shifted), 1))),
            "[logsumexp(x, dim=[1])]",
        ),
        (log(add(x, 1.0)), "[log1p(x)]"),
        (log(add(1.0, x)), "[log1p(x)]"),
        (sub(exp(x), 1.0), "[expm1(x)]"),
        (add(exp(x), -1.0), "[expm1(x)]"),
        (log(add(exp(x), 1.0)), "[softplus(x, threshold=40)]"),
        (div(1.0, add(1.0, exp(neg(x)))), "[sigmoid(x)]"),
        (sub(1.0, call(aten.sigmoid.default, x)), "[sigmoid(neg(x))]"),
        (log(call(aten.sigmoid.default, x)), "[log_sigmoid(x)]"),
    ],
)
def test_stabilized_operators(expression, expected):
    assert stable([x], expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (add(log(total(exp(sub(x, column)), 1, keepdim=True)), column), "[logsumexp(x, dim=[1], keepdim=True)]"),
        (
            add(log(total(exp(sub(x, column)), 0, keepdim=True)), column),
            "[add(logsumexp(sub(x, c), dim=[0], keepdim=True), c)]",
        ),
        (
            add(log(total(exp(sub(x, column)), 1, keepdim=True)), neg(column)),
            "[add(logsumexp(sub(x, c), dim=[1], keepdim=True), neg(c))]",
        ),
        (softmax(add(x, column)), "[softmax(x, dim=-1)]"),
        (softmax(add(x, column), 0), "[softmax(add(x, c), dim=0)]"),
        (div(exp(x), total(exp(x), 0, 1, keepdim=True)), "[div(exp(x), sum(exp(x), dim=[0, 1], keepdim=True))]"),
    ],
)
def test_what_is_taken_out_must_be_one_number_along_the_axis(expression, expected):
    assert stable([x, column], expression) == expected


def test_a_sum_without_its_axis_is_no_softmax():
    square = tensor("s", 3, 3)
    powers = exp(square)
    assert stable([square], div(powers, total(powers, 1))) == "[div(*1 -> exp(s), sum(*1, dim=[1]))]"


LARGE = torch.tensor([[1000.0, 1000.0, 999.0, -1000.0], [-2000.0] * 4, [0.0, 1e-9, -1e-9, 200.0]])


@pytest.mark.parametrize(
    "expression",
    [
        log(softmax(x)),
        log(total(exp(x), 1)),
        log(add(exp(x), 1.0)),
        log(call(aten.sigmoid.default, x)),
        div(powers, total(powers, 1, keepdim=True)),
    ],
)
def test_a_stabilized_operator_is_finite_where_the_written_one_is_not(expression):
    graph = graph_of([x], expression)
    assert not torch.isfinite(values(graph, [LARGE])[0]).all()
    stabilize.query("+fast_run").rewrite(graph)
    found = values(graph, [LARGE])[0]
    assert torch.isfinite(found).all()
    assert torch.isfinite(values(graph, [LARGE.double().float()])[0]).all()


def test_softplus_is_exact_in_double_precision_too():
    v = tensor("v", 4, dtype=torch.float64)
    graph = graph_of([v], log(add(exp(v), 1.0)))
    stabilize.query("+fast_run").rewrite(graph)
    given = torch.tensor([21.0, 30.0, 39.0, 41.0], dtype=torch.float64)
    torch.testing.assert_close(values(graph, [given])[0], torch.log1p(given.exp()), rtol=1e-15, atol=0)


def test_the_three_steps_of_log_softmax_written_by_hand():
    by_hand = log(div(exp(x), total(exp(x), 1, keepdim=True)))
    graph = apply(optdb.query("+fast_run", "-inplace"), [x], by_hand)
    assert repr(graph) == "[log_softmax(x, dim=1)]"
