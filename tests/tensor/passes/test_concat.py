"""Concats and slices."""

import pytest
import torch

from explorer.tensor import FunctionGraph
from tests.tensor.passes.checking import check_pass, check_reason, ops, run, tensor
from tests.tensor.text_form import expression, rewrites

SHAPES = {
    "a": (2, 4), "b": (2, 2), "x": (2, 3, 4), "y": (2, 5, 4),
    "p": (1, 2, 4), "q": (1, 2, 4), "r": (1, 1, 2),
    "u": (3, 7, 4), "v": (3, 2, 4), "w": (3, 7, 4),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), rewrites("""
    cat(p, cat(q, cat(q, p, dim=1), dim=1), dim=1) -> cat(p, q, q, p, dim=1)
    cat(p, cat(q, q, dim=1), cat(r, r, dim=2), dim=1) -> cat(p, q, q, cat(r, r, dim=2), dim=1)
    cat(a, cat(b, b, dim=1), a) -> cat(a, cat(b, b, dim=1), a)
    relu(cat(a, dim=1)) -> relu(a)
    cat(view(x, [2, 3, 2, 2]), view(y, [2, 5, 2, 2]), dim=1) -> reshape(cat(x, y, dim=1), shape=[2, 8, 2, 2])
"""))  # fmt: skip
def test_nested_concats_along_one_axis_are_flattened(before, after, dtype):
    check_pass("OptimizeConcatNodes", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    relu(cat(slice(x, 0, 0, 1), slice(x, 0, 1, 2))) -> relu(x)
    relu(cat(slice(x, 1, 0, 1), slice(x, 1, 1, 3), dim=1)) -> relu(x)
    relu(cat(slice(x, 2, 0, 1), slice(x, 2, 1, 2), slice(x, 2, 2, 4), dim=2)) -> relu(x)
    s = split(a, 3, 1); relu(cat(s[0], s[1], dim=1)) -> relu(a)
    s = chunk(a, 2, 1); relu(cat(s[0], s[1], dim=1)) -> relu(a)
"""))  # fmt: skip
def test_a_concat_of_all_slices_in_order_is_the_tensor(before, after, dtype):
    check_pass("OptimizeConcatNodes", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    c = cat(x, x); [relu(slice(c, 0, 0, 2)), relu(slice(c, 0, 2, 4))] -> relu(x), relu(x)
    c = cat(x, y, dim=1); [relu(slice(c, 1, 0, 3)), relu(slice(c, 1, 3, 8))] -> relu(x), relu(y)
    c = cat(a, b, dim=1); [relu(slice(c, 1, 0, 4)), relu(slice(c, 1, 4, 6))] -> relu(a), relu(b)
    s = split_with_sizes(cat(x, y, dim=1), [3, 5], 1); [relu(s[0]), relu(s[1])] -> relu(x), relu(y)
"""))  # fmt: skip
def test_slices_that_split_a_concat_again_are_removed_with_it(before, after, dtype):
    check_pass("EliminateConcatSlice", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    cat(slice(u, 1, 0, 2), slice(u, 1, 2, 5), v, dim=1) -> cat(slice(u, dim=1, start=0, end=5), v, dim=1)
    cat(slice(u, 1, 1, 2), slice(u, 1, 2, 3), slice(w, 1, 3, 4), slice(w, 1, 4, 6), dim=1)
        -> cat(slice(u, dim=1, start=1, end=3), slice(w, dim=1, start=3, end=6), dim=1)
    cat(slice(u, 1, 0, 2), w, slice(u, 1, 2, 5), dim=1)
        -> cat(slice(u, dim=1, start=0, end=2), w, slice(u, dim=1, start=2, end=5), dim=1)
    relu(cat(slice(u, 1, 0, 1), slice(u, 1, 1, 2), slice(u, 1, 2, 3), dim=2))
        -> relu(reshape(slice(u, dim=1, start=0, end=3), shape=[3, 1, 12]))
    relu(cat(slice(u, 1, 2, 3), slice(u, 1, 3, 4), slice(u, 1, 4, 5), slice(u, 1, 5, 6)))
        -> relu(reshape(permute(slice(u, dim=1, start=2, end=6), dims=[1, 0, 2]), shape=[12, 1, 4]))
"""))  # fmt: skip
def test_adjacent_slices_are_merged(before, after, dtype):
    """Those of a neighbouring axis are reshaped, if there are more than two."""
    check_pass("EliminateSliceConcat", before, after, SHAPES, dtype)


def test_only_adjacent_slices_of_one_tensor_are_merged(dtype):
    """A slice that several concats read stays one."""
    before = """
f = slice(u, 1, 0, 1); g = slice(w, 1, 0, 2); h = slice(u, 1, 3, 7)
[cat(f, slice(u, 1, 1, 3), g, dim=1), cat(g, h, slice(w, 1, 2, 5), dim=1), cat(h, g, dim=1)]
"""
    after = (
        "cat(slice(u, dim=1, start=0, end=3), *1 -> slice(w, dim=1, start=0, end=2), dim=1), "
        "cat(*1, *2 -> slice(u, dim=1, start=3, end=7), slice(w, dim=1, start=2, end=5), dim=1), "
        "cat(*2, *1, dim=1)"
    )
    check_pass("EliminateSliceConcat", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("names", "before", "reason"), [
    ("OptimizeConcatNodes", "c = cat(a, a); [cat(a, c), relu(c)]", "the inner concat has other users"),
    (
        "OptimizeConcatNodes",
        "cat(slice(x, 0, 1, 2), slice(x, 0, 0, 1))",
        "the slices do not cover the tensor in order",
    ),
    (
        "OptimizeConcatNodes",
        "cat(view(x, [-1, 2]), view(y, [-1, 2]))",
        "no axis of the reshaped tensors corresponds to the concatenated one",
    ),
    ("EliminateConcatSlice", "slice(cat(a, b, dim=1), 1, 3, 5)", "it spans several inputs of the concat"),
    (
        "EliminateSliceConcat",
        "cat(slice(u, 1, 0, 1), slice(u, 1, 1, 2), dim=2)",
        "only 2 slices; it is cheaper for more than 2",
    ),
])  # fmt: skip
def test_concats_that_stay_have_a_reason(names, before, reason, dtype):
    check_reason(names, before, reason, SHAPES, dtype)


def test_a_concat_that_converts_its_inputs_is_not_split(dtype):
    x, n = tensor(2, 2, dtype=dtype), tensor(2, 2, dtype=torch.int64, name="n")
    graph = FunctionGraph([x, n], [expression("slice(cat(x, n), 0, 2, 4)", {"x": x, "n": n})])
    run(graph, "EliminateConcatSlice")
    assert ops(graph) == ["cat", "slice"]


@pytest.mark.parametrize(("before", "after"), rewrites("""
    cat(tanh(x), tanh(y), dim=1) -> tanh(cat(x, y, dim=1))
    cat(sigmoid(p), sigmoid(q), sigmoid(p)) -> sigmoid(cat(p, q, p))
    cat(sigmoid(p), tanh(q)) -> cat(sigmoid(p), tanh(q))
    cat(exp(p), exp(q)) -> cat(exp(p), exp(q))
    cat(_to_copy(p, dtype=torch.float16), _to_copy(q, dtype=torch.float16)) -> _to_copy(cat(p, q), dtype=torch.float16)
    cat(_to_copy(p, dtype=torch.float16), _to_copy(i, dtype=torch.float16))
        -> cat(_to_copy(p, dtype=torch.float16), _to_copy(i, dtype=torch.float16))
    cat(relu(p), relu(q)) -> relu(cat(p, q))
"""))  # fmt: skip
def test_equal_functions_and_casts_move_below_a_concat(before, after):
    check_pass("SinkCode", before, after, SHAPES | {"i": "i32[1, 2, 4]".replace(" ", "")})


@pytest.mark.parametrize(("before", "after"), rewrites("""
    exp(cat(slice(x, 1, 0, 1), slice(x, 1, 1, 3), dim=1)) -> exp(x)
    tanh(cat(slice(x, 2, 0, 1), slice(x, 2, 1, 4), dim=2)) -> tanh(x)
"""))  # fmt: skip
def test_a_concat_of_all_slices_of_an_input_is_removed_before_functions(before, after, dtype):
    check_pass("OptimizeConcatNodes", before, after, SHAPES, dtype)
