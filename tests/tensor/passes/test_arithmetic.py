"""Arithmetic with constants and splats: neutral elements, the order of inputs, squares, parts and reshapes."""

import pytest
import torch

from explorer.tensor import TensorType
from explorer.tensor.facts import splat
from tests.tensor.passes.checking import (
    check_pass,
    check_reason,
    full,
    run,
)
from tests.tensor.text_form import rewrites

SHAPES = {"x": (3, 2), "y": (3, 2), "n": "i64[3]", "row": (1, 3)}


@pytest.mark.parametrize(("before", "after"), rewrites("""
    z = splat(0.0, 3, 2); relu(sub(add(add(div(z, x), add(z, x)), mul(z, x)), z)) -> relu(x)
    z = splat(0.0, 3, 2); mul(mul(z, x), mul(z, y)) -> full(0)
    relu(mul(x, splat(1.0))) -> relu(x)
    relu(mul(splat(1.0), x)) -> relu(x)
    relu(div(x, splat(1.0))) -> relu(x)
    relu(pow(x, 1)) -> relu(x)
    pow(x, 2) -> mul(x, x)
    add(n, splat(0.0)) -> add(n, 0)
    mul(row, splat(1.0, 4, 1)) -> mul(row, full(1))
"""))  # fmt: skip
def test_neutral_elements_vanish_unless_the_type_or_the_shape_changes(before, after, dtype):
    check_pass("OptimizeArithmeticNodes", before, after, SHAPES, dtype)


def test_a_splat_keeps_full_precision_and_the_memory_of_one_number(dtype):
    precise = torch.tensor(1 / 3, dtype=dtype).item()
    kind = TensorType(dtype, (1, 1, 500))
    made = splat(kind, precise)
    assert made.number == precise
    assert made.data.untyped_storage().nbytes() == dtype.itemsize
    assert made.signature == full(precise, 1, 1, 500, dtype=dtype).signature
    assert splat(TensorType(dtype, (1, 1)), precise).signature == full(precise, 1, 1, dtype=dtype).signature


@pytest.mark.parametrize(("before", "after"), rewrites("""
    c = splat(5.0, 3, 2); add(sub(c, add(c, x)), x) -> add(sub(full(5), add(x, full(5))), x)
    c = splat(5.0, 3, 2); [add(c, x), add(c, y)] -> add(x, full(5)), add(y, full(5))
"""))  # fmt: skip
def test_constants_move_to_the_right_of_commutative_operators(before, after, dtype):
    graph = check_pass("OptimizeArithmeticNodes", before, after, SHAPES, dtype)
    assert len(graph.constants) == 1
    assert not run(graph, "OptimizeArithmeticNodes")[0].changed


@pytest.mark.parametrize(("before", "after"), rewrites("""
    slice(full([4, 6], 3.0, dtype={dtype}), 0, 1, 3) -> full(3)
    clamp(full([4, 6], 3.0, dtype={dtype}), 0.0, 2.0) -> full(2)
    permute(full([4, 6], 3.0, dtype={dtype}), [1, 0]) -> full(3)
    expand(full([4, 6], 3.0, dtype={dtype}), [2, 4, 6]) -> full(3)
    view(ones([4, 6], dtype={dtype}), [24]) -> full(1)
"""))  # fmt: skip
def test_slices_of_a_splat_are_splats(before, after, dtype):
    check_pass("OptimizeSplat", before.format(dtype=dtype), after, SHAPES, dtype)


def test_a_splat_with_other_users_is_not_reshaped(dtype):
    check_reason("OptimizeSplat", "z = ones([4, 6]); [view(z, [24]), z]", "the tensor has other users", SHAPES, dtype)
