"""GatherToSlice: gathers at consecutive constant indices are slices."""

import pytest
import torch

from explorer.rewrite import PassManager
from explorer.tensor import Constant, FunctionGraph, call
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from tests.tensor.passes.checking import aten, check_pass, check_reason, ops, read, reasons, run, tensor

SHAPES = {"x": (6, 4), "v": (5,), "i": "i64[2]"}


def rows(*numbers):
    """A constant with indices."""
    return Constant(torch.tensor(numbers), "I")


@pytest.fixture(params=[torch.float32, torch.float64, torch.int32], ids=["f32", "f64", "i32"])
def dtype(request):
    return request.param


@pytest.mark.parametrize(("indices", "before", "after"), [
    ((1, 2, 3), "neg(index_select(x, 0, I))", "neg(slice(x, start=1, end=4))"),
    ((1, 2, 3), "neg(index_select(x, -1, I))", "neg(slice(x, dim=1, start=1, end=4))"),
    ((2,), "neg(index_select(x, 0, I))", "neg(slice(x, start=2, end=3))"),
    ((0, 1, 2, 3, 4), "neg(index_select(v, 0, I))", "neg(slice(v, start=0, end=5))"),
    ((1, 2), "neg(index(x, [I]))", "neg(slice(x, start=1, end=3))"),
    ((1, 2), "neg(index(x, [None, I]))", "neg(slice(x, dim=1, start=1, end=3))"),
    ((-2, -1), "neg(index(x, [None, I]))", "neg(slice(x, dim=1, start=2, end=4))"),
    ((3, -1), "neg(index(v, [I]))", "neg(slice(v, start=3, end=5))"),
])  # fmt: skip
def test_consecutive_rows_are_a_slice(indices, before, after, dtype):
    check_pass("GatherToSlice", before, after, SHAPES | {"I": rows(*indices)}, dtype)


@pytest.mark.parametrize("indices", [(0, 2), (2, 1), (1, 1), (-1, 0)])
def test_other_rows_are_gathered(indices):
    shapes = SHAPES | {"I": rows(*indices)}
    check_reason("GatherToSlice", "neg(index(x, [I]))", "the indices are not consecutive", shapes)


@pytest.mark.parametrize("before", [
    "neg(index_select(x, 0, i))",  # the indices are an input
    "neg(index(x, [I, I]))",  # elements 1 and 2 of the diagonal
    "neg(index(x, [S]))",  # rows in two dimensions
    "neg(index_select(x, 0, E))",  # no rows
])  # fmt: skip
def test_gathers_of_another_form_are_left_alone(before):
    square = Constant(torch.tensor([[0, 1], [2, 3]]), "S")
    empty = Constant(torch.zeros(0, dtype=torch.int64), "E")
    inputs, outputs = read(before, SHAPES | {"I": rows(1, 2), "S": square, "E": empty})
    assert reasons(inputs, outputs, "GatherToSlice") == []


def test_a_result_that_is_returned_stays_a_copy_of_the_input():
    """A slice would be a view of the input of the caller."""
    reason = "an output of the graph would share its memory with x"
    check_reason("GatherToSlice", "index_select(x, 0, I)", reason, SHAPES | {"I": rows(1, 2)})


def test_a_sum_that_would_read_gaps_keeps_its_copy():
    """Rows of columns lie apart: a sum of them may add in another order."""
    x = tensor(6, 4)
    picked = call(aten.index_select.default, x, 1, rows(1, 2))
    graph = FunctionGraph([x], [call(aten.sum.default, picked)])
    run(graph, "GatherToSlice")
    assert ops(graph) == ["index_select", "sum"]


def test_a_gather_becomes_a_slice_in_the_default_pipeline():
    x = tensor(6, 4)
    graph = FunctionGraph([x], [call(aten.relu.default, call(aten.index_select.default, x, 0, rows(2, 3, 4)))])
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert ops(graph) == ["slice", "relu"]
