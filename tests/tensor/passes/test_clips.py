"""Clips, relus and leaky relus."""

import math

import pytest
import torch

from explorer.tensor import FunctionGraph
from tests.tensor.passes.checking import check_pass, check_reason, ops, optimize, read, run
from tests.tensor.text_form import rewrites

SHAPE = (20, 30)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    clamp(clamp(clamp(clamp(x, -4.0, 6.0), -3.0, 5.0), -2.0, 4.0), -1.0, 3.0) -> clamp(x, min=-1.0, max=3.0)
    clamp(relu(clamp(x, -4.0, 3.0)), -2.0, 2.0) -> clamp(x, min=0.0, max=2.0)
    relu(clip(relu6(x), max=2.0)) -> clamp(x, min=0.0, max=2.0)
    clamp(clamp(x, 3.0, 1.0), 0.0, 5.0) -> clamp(clamp(x, min=3.0, max=1.0), min=0.0, max=5.0)
"""))  # fmt: skip
def test_nested_clips_are_merged_if_their_bounds_are_in_order(before, after, dtype):
    check_pass("OptimizeClips RemoveIdentityClip", before, after, {"x": SHAPE}, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    clamp(hardtanh(x, -2.0, 3.0), 5.0, 9.0) -> clamp(x, min=5.0, max=5.0)
    clamp(hardtanh(x, -2.0, 3.0), -9.0, -5.0) -> clamp(x, min=-5.0, max=-5.0)
    clamp(hardtanh(x, -2.0, 3.0), None, 1.0) -> clamp(x, min=-2.0, max=1.0)
    clamp(hardtanh(x, -2.0, 3.0), 1.0, None) -> clamp(x, min=1.0, max=3.0)
    clamp(hardtanh(x, -2.0, 3.0), -inf, 0.5) -> clamp(x, min=-2.0, max=0.5)
"""))  # fmt: skip
def test_disjoint_clips_yield_the_bound_of_the_outer_one(before, after, dtype):
    given = torch.randn(SHAPE, dtype=dtype) * 5
    given[0, 0] = math.nan
    check_pass("OptimizeClips", before, after, {"x": SHAPE}, dtype, given=[given])


def test_a_clip_of_integers_by_fractions_stays():
    check_pass("OptimizeClips", "clamp(relu(n), 0.5, 2.5)", "clamp(relu(n), min=0.5, max=2.5)", {"n": "i64[4]"})


@pytest.mark.parametrize(("before", "after"), rewrites("""
    relu(relu(x)) -> relu(x)
    relu(sigmoid(x)) -> sigmoid(x)
    relu(abs(x)) -> abs(x)
    relu(exp(x)) -> exp(x)
    relu(view(relu6(x), [600])) -> view(relu6(x), size=[600])
    relu(cat(relu(x), clamp(x, 1.0, 2.0))) -> cat(relu(x), clamp(x, min=1.0, max=2.0))
"""))  # fmt: skip
def test_a_relu_of_a_nonnegative_value_is_removed(before, after, dtype):
    check_pass("RemoveIdentityRelu", before, after, {"x": SHAPE}, dtype)


def test_a_relu_of_bytes_is_removed():
    check_pass("RemoveIdentityRelu", "neg(relu(n))", "neg(n)", {"n": "u8[4]"})


def test_a_pass_that_removes_nothing_reports_no_change(dtype):
    """Glow's RemoveIdentityRelu and RemoveIdentityClip say that they changed something whenever they looked."""
    graph = FunctionGraph(*read("[relu(clamp(x, -1.0, 1.0)), clamp(x, -1.0, 1.0)]", {"x": SHAPE}, dtype))
    done = run(graph, "RemoveIdentityRelu", "RemoveIdentityClip", until_fixed_point=True)
    assert [(entry.changed, entry.rounds) for entry in done] == [(False, 1), (False, 1)]


@pytest.mark.parametrize(("before", "after"), rewrites("""
    clamp(sigmoid(x), 0.0, 1.0) -> sigmoid(x)
    clamp(sigmoid(x), 0.1, 1.0) -> clamp(sigmoid(x), min=0.1, max=1.0)
"""))  # fmt: skip
def test_a_clip_of_a_value_within_its_bounds_is_removed(before, after, dtype):
    check_pass("RemoveIdentityClip", before, after, {"x": SHAPE}, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    minimum(maximum(x, splat(-1.5)), splat(2.5, 20, 30)) -> clamp(x, min=-1.5, max=2.5)
    minimum(splat(2.5, 20, 30), maximum(splat(-1.5), x)) -> clamp(x, min=-1.5, max=2.5)
    maximum(minimum(x, splat(2.5, 20, 30)), splat(-1.5)) -> clamp(x, min=-1.5, max=2.5)
    maximum(splat(-1.5), minimum(splat(2.5, 20, 30), x)) -> clamp(x, min=-1.5, max=2.5)
"""))  # fmt: skip
def test_a_minimum_of_a_maximum_is_a_clip(before, after, dtype):
    given = torch.randn(SHAPE, dtype=dtype) * 3
    given[0, 0] = math.nan
    check_pass("FoldMinMaxToClip", before, after, {"x": SHAPE}, dtype, given=[given])


@pytest.mark.parametrize(("before", "after"), rewrites("""
    maximum(mul(splat(0.3), x), x) -> leaky_relu(x, negative_slope={slope})
    maximum(x, mul(splat(0.3), x)) -> leaky_relu(x, negative_slope={slope})
    maximum(mul(splat(1.0), x), x) -> leaky_relu(x, negative_slope=1.0)
    maximum(x, mul(splat(1.0), x)) -> leaky_relu(x, negative_slope=1.0)
    maximum(mul(splat(-0.5), x), x) -> leaky_relu(x, negative_slope=-0.5)
    maximum(x, mul(splat(-0.5), x)) -> leaky_relu(x, negative_slope=-0.5)
"""))  # fmt: skip
def test_a_maximum_of_x_and_a_fraction_of_x_is_a_leaky_relu(before, after, dtype):
    slope = torch.tensor(0.3, dtype=dtype).item()
    check_pass("FoldLeakyRelu", before, after.format(slope=slope), {"x": SHAPE}, dtype)


BOUNDS = "a bound is NaN, -0 or beyond its dtype, or the lower one is above the upper one"


@pytest.mark.parametrize(("names", "before", "reason"), [
    ("FoldMinMaxToClip", "minimum(maximum(x, splat(3.0)), splat(1.0))", "the lower bound 3 is above the upper bound 1"),
    ("FoldLeakyRelu", "maximum(x, mul(y, splat(0.5)))", "the product is of another tensor"),
    (
        "FoldLeakyRelu",
        "maximum(x, mul(x, splat(1.5)))",
        "the slope is 1.5; a leaky relu needs one that is at most 1, and not 0",
    ),
    ("OptimizeClips", "clamp(clamp(bytes, -5, 100), 0, 10)", BOUNDS),
    ("OptimizeClips", "relu(clamp(bytes, -5, 100))", BOUNDS),
])  # fmt: skip
def test_clips_that_stay_have_a_reason(names, before, reason, dtype):
    """Of a maximum of two tensors Glow compares an operand with itself, and loses the other tensor.

    A bound that a dtype does not hold wraps around.
    """
    check_reason(names, before, reason, {"x": SHAPE, "y": SHAPE, "bytes": "u8[4]"}, dtype)


@pytest.mark.parametrize("kind", ["u8[4]", "i32[4]"])
def test_bounds_in_floating_point_of_an_integer_are_not_a_clip(kind):
    graph = optimize(*read("maximum(minimum(n, 1e30), 1.0)", {"n": kind}), "FoldMinMaxToClip")
    assert ops(graph) == ["minimum", "maximum"]
