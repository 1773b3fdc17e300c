"""Exact rules keep the bits of what reads their results, whatever the strides of these results."""

import pytest
import torch

from explorer.rewrite import Exactness
from explorer.tensor import Constant, FunctionGraph, Observer, call
from explorer.tensor.rewriting import SweepRewriter
from explorer.tensor.rules import canonicalize
from explorer.trace import AttemptsRefused
from tests.tensor.passes.checking import aten, graph_pass, ops, results, tensor


def turned(x):
    """A transpose of the last two axes."""
    return call(aten.transpose.int, x, -1, -2)


def part(x, start, stop):
    return call(aten.slice.Tensor, x, 1, start, stop)


def cat(*parts):
    return call(aten.cat.default, list(parts), 1)


FORMS = {
    "slice of a concat": ("EliminateConcatSlice", lambda x, y: part(cat(turned(x), y), 0, 33)),
    "product with one": ("OptimizeArithmeticNodes", lambda x, y: call(aten.mul.Tensor, turned(x), 1.0)),
    "expanded": ("OptimizeArithmeticNodes", lambda x, y: call(aten.mul.Tensor, row(y), 1.0)),
    "transposes above a concat": ("SinkCode", lambda x, y: call(aten.cat.default, [turned(x), turned(x)], 0)),
    "padding": ("SinkCode", lambda x, y: call(aten.constant_pad_nd.default, turned(x), [0, 1])),
    "repetition": ("SinkCode", lambda x, y: call(aten.repeat.default, turned(x), [1, 1, 2])),
    "concat of slices": ("EliminateSliceConcat", lambda x, y: cat(part(turned(x), 0, 9), part(turned(x), 9, 30))),
}


def row(y):
    """A slice repeated along its axis without a copy."""
    return call(aten.expand.default, part(y, 0, 1), list(y.tensor_type.shape))


READERS = {
    "sum": lambda v: call(aten.sum.dim_IntList, v, [-1]),
    "mean of an axis": lambda v: call(aten.mean.dim, v, [1]),
    "softmax": lambda v: call(aten.softmax.int, v, -1),
    "product": lambda v: call(aten.matmul.default, v, call(aten.transpose.int, v, 1, 2)),
    "sum behind a square": lambda v: call(aten.sum.dim_IntList, call(aten.mul.Tensor, v, v), [-1]),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("form", FORMS)
def test_no_exact_rule_changes_the_bits_of_its_readers(form, reader):
    name, make = FORMS[form]
    x, y = tensor(2, 64, 33), tensor(2, 33, 64, name="y")
    graph = FunctionGraph([x, y], [READERS[reader](make(x, y))])
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(v.tensor_type.shape, generator=generator) * 3 for v in (x, y)]
    (before,) = results(graph, given)
    exact = [rule for rule in graph_pass(name).rules if rule.exactness is Exactness.EXACT]
    SweepRewriter(exact).rewrite(graph)
    (after,) = results(graph, given)
    assert torch.equal(after, before)


@pytest.mark.parametrize(("behind", "kept"), [
    (lambda v: call(aten.softmax.int, v, -1), True),
    (lambda v: call(aten.exp.default, v), True),  # vectorized functions round by position
    (lambda v: call(aten.relu.default, v), False),
    (lambda v: call(aten.exp.default, call(aten.abs.default, v)), False),  # abs returns dense tensors,
])  # fmt: skip
def test_an_exact_rule_applies_where_no_reader_depends_on_strides(behind, kept):
    y = tensor(2, 33, 64, name="y")
    twice = call(aten.neg.default, call(aten.neg.default, row(y)))
    graph = FunctionGraph([y], [behind(twice)])
    canonicalize.query("+exact").rewrite(graph)
    assert ("neg" in ops(graph)) is kept


def test_the_reader_that_depends_on_strides_is_named():
    y, told = tensor(2, 33, 64, name="y"), []
    twice = call(aten.neg.default, call(aten.neg.default, row(y)))
    graph = FunctionGraph([y], [call(aten.softmax.int, twice, -1)], features=[Observer([told.append])])
    canonicalize.query("+exact").rewrite(graph)
    refusals = [refusal for event in told if isinstance(event, AttemptsRefused) for refusal in event.refusals]
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
    x = tensor(33, 64)
    expanded = call(aten.expand.default, call(aten.slice.Tensor, x, 0, 0, 1), [33, 64])
    graph = FunctionGraph([x], [call(aten.sum.dim_IntList, call(aten.mul.Tensor, expanded, 1.0), [0])])
    canonicalize.query("+exact").rewrite(graph)
    assert ops(graph) == ["slice", "expand", "mul", "sum"]
