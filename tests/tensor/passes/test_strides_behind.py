"""Exact rules keep the bits of what reads their results, whatever the strides of these results."""

import pytest
import torch

from explorer.rewrite import Exactness
from explorer.tensor import Constant, FunctionGraph, Observer, call
from explorer.tensor.rewriting import SweepRewriter
from explorer.tensor.rules import canonicalize
from explorer.trace import AttemptsRefused
from tests.tensor.passes.checking import aten, graph_pass, ops, read, results, tensor

SHAPES = {"x": (2, 64, 33), "y": (2, 33, 64)}
REPEATED = "expand(slice(y, 1, 0, 1), [2, 33, 64])"
"""A slice repeated along its axis without a copy."""


@pytest.mark.parametrize("reader", [
    "sum(v, [-1])", "mean(v, [1])", "softmax(v, -1)", "matmul(v, transpose(v, 1, 2))", "sum(mul(v, v), [-1])",
])  # fmt: skip
@pytest.mark.parametrize(("name", "form"), [
    ("EliminateConcatSlice", "slice(cat(t, y, dim=1), 1, 0, 33)"),
    ("OptimizeArithmeticNodes", "mul(t, 1.0)"),
    ("OptimizeArithmeticNodes", f"mul({REPEATED}, 1.0)"),
    ("SinkCode", "cat(t, transpose(x, -1, -2))"),
    ("SinkCode", "constant_pad_nd(t, [0, 1])"),
    ("SinkCode", "repeat(t, [1, 1, 2])"),
    ("EliminateSliceConcat", "cat(slice(t, 1, 0, 9), slice(t, 1, 9, 30), dim=1)"),
])  # fmt: skip
def test_no_exact_rule_changes_the_bits_of_its_readers(name, form, reader):
    graph = FunctionGraph(*read(f"t = transpose(x, -1, -2); v = {form}; {reader}", SHAPES))
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(v.tensor_type.shape, generator=generator) * 3 for v in graph.inputs]
    (before,) = results(graph, given)
    exact = [rule for rule in graph_pass(name).rules if rule.exactness is Exactness.EXACT]
    SweepRewriter(exact).rewrite(graph)
    (after,) = results(graph, given)
    assert torch.equal(after, before)


@pytest.mark.parametrize(("before", "kept"), [
    ("softmax(neg(neg(v)), -1)", True),
    ("exp(neg(neg(v)))", True),  # vectorized functions round by position
    ("relu(neg(neg(v)))", False),
    ("exp(abs(neg(neg(v))))", False),  # abs returns dense tensors
])  # fmt: skip
def test_an_exact_rule_applies_where_no_reader_depends_on_strides(before, kept):
    graph = FunctionGraph(*read(f"v = {REPEATED}; {before}", SHAPES))
    canonicalize.query("+exact").rewrite(graph)
    assert ("neg" in ops(graph)) is kept


def test_the_reader_that_depends_on_strides_is_named():
    events = []
    graph = FunctionGraph(*read(f"softmax(neg(neg({REPEATED})), -1)", SHAPES), features=[Observer([events.append])])
    canonicalize.query("+exact").rewrite(graph)
    refusals = [refusal for event in events if isinstance(event, AttemptsRefused) for refusal in event.refusals]
    assert {(r.pattern, r.found) for r in refusals} == {
        ("drop_two_negations", "softmax would compute other bits: the strides of its input change")
    }


def test_equal_constants_with_different_strides_are_not_merged_below_a_product():
    data = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    constants = [Constant(data), Constant(data.t().contiguous().t())]
    x = tensor(64, 64)
    graph = FunctionGraph([x], [call(aten.mm.default, x, c) for c in constants])
    graph_pass("CSE").run(graph)
    assert ops(graph) == ["mm", "mm"]
    graph = FunctionGraph([x], [call(aten.add.Tensor, x, c) for c in constants])
    graph_pass("CSE").run(graph)
    assert ops(graph) == ["add"]


def test_a_product_with_one_stays_in_exact_mode_if_a_sum_would_read_expanded_memory():
    graph = FunctionGraph(*read("sum(mul(expand(slice(x, 0, 0, 1), [33, 64]), 1.0), [0])", {"x": (33, 64)}))
    canonicalize.query("+exact").rewrite(graph)
    assert ops(graph) == ["slice", "expand", "mul", "sum"]
