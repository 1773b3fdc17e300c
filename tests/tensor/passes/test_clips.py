"""Clips, relus and leaky relus."""

import math

import pytest
import torch

from explorer.tensor import FunctionGraph, call, to_module
from tests.tensor.passes.checking import aten, check_pass, full, ops, optimized, reasons, run, tensor
from tests.tensor.text_form import rewrites

SHAPE = (20, 30)


def clip(x, low, high):
    return call(aten.clamp.default, x, low, high)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    clamp(clamp(clamp(clamp(x, -4.0, 6.0), -3.0, 5.0), -2.0, 4.0), -1.0, 3.0) -> clamp(x, min=-1.0, max=3.0)
    clamp(relu(clamp(x, -4.0, 3.0)), -2.0, 2.0) -> clamp(x, min=0.0, max=2.0)
    relu(clip(relu6(x), max=2.0)) -> clamp(x, min=0.0, max=2.0)
    clamp(clamp(x, 3.0, 1.0), 0.0, 5.0) -> clamp(clamp(x, min=3.0, max=1.0), min=0.0, max=5.0)
"""))  # fmt: skip
def test_nested_clips_are_merged_if_their_bounds_are_in_order(before, after, dtype):
    check_pass("OptimizeClips RemoveIdentityClip", before, after, {"x": SHAPE}, dtype)


@pytest.mark.parametrize("outer", [(5.0, 9.0), (-9.0, -5.0), (None, 1.0), (1.0, None), (-math.inf, 0.5)])
def test_disjoint_clips_yield_the_bound_of_the_outer_one(outer, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    given = torch.randn(SHAPE, dtype=dtype) * 5
    given[0, 0] = math.nan
    graph = optimized([x], clip(call(aten.hardtanh.default, x, -2.0, 3.0), *outer), "OptimizeClips", given=[given])
    assert len(graph) == 1
    assert to_module(graph)(given).isnan().sum() == 1


def test_a_clip_of_integers_by_fractions_stays():
    x = tensor(4, dtype=torch.int64)
    graph = optimized([x], clip(call(aten.relu.default, x), 0.5, 2.5), "OptimizeClips")
    assert graph.outputs[0].tensor_type.dtype == torch.float32


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
    x = tensor(4, dtype=torch.uint8)
    assert len(optimized([x], call(aten.neg.default, call(aten.relu.default, x)), "RemoveIdentityRelu")) == 1


def test_a_pass_that_removes_nothing_reports_no_change(dtype):
    """Glow's RemoveIdentityRelu and RemoveIdentityClip say that they changed something whenever they looked."""
    x = tensor(*SHAPE, dtype=dtype)
    graph = FunctionGraph([x], [call(aten.relu.default, clip(x, -1.0, 1.0)), clip(x, -1.0, 1.0)])
    done = run(graph, "RemoveIdentityRelu", "RemoveIdentityClip", until_fixed_point=True)
    assert [(entry.changed, entry.rounds) for entry in done] == [(False, 1), (False, 1)]


@pytest.mark.parametrize(("before", "after"), rewrites("""
    clamp(sigmoid(x), 0.0, 1.0) -> sigmoid(x)
    clamp(sigmoid(x), 0.1, 1.0) -> clamp(sigmoid(x), min=0.1, max=1.0)
"""))  # fmt: skip
def test_a_clip_of_a_value_within_its_bounds_is_removed(before, after, dtype):
    check_pass("RemoveIdentityClip", before, after, {"x": SHAPE}, dtype)


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("min_first", [True, False])
def test_a_minimum_of_a_maximum_is_a_clip(min_first, swapped, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    bounds = [(aten.maximum.default, full(-1.5, dtype=dtype)), (aten.minimum.default, full(2.5, *SHAPE, dtype=dtype))]
    y = x
    for target, bound in reversed(bounds) if min_first else bounds:
        y = call(target, bound, y) if swapped else call(target, y, bound)
    given = torch.randn(SHAPE, dtype=dtype) * 3
    given[0, 0] = math.nan
    graph = optimized([x], y, "FoldMinMaxToClip", given=[given])
    assert ops(graph) == ["clamp"]


def test_equal_bounds_are_not_a_clip(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    y = call(aten.minimum.default, call(aten.maximum.default, x, full(3.0, dtype=dtype)), full(1.0, dtype=dtype))
    assert reasons([x], y, "FoldMinMaxToClip") == ["the lower bound 3 is above the upper bound 1"]


@pytest.mark.parametrize("slope", [0.3, 1.0, -0.5])
@pytest.mark.parametrize("swapped", [True, False])
def test_a_maximum_of_x_and_a_fraction_of_x_is_a_leaky_relu(slope, swapped, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    product = call(aten.mul.Tensor, full(slope, dtype=dtype), x)
    pair = (product, x) if swapped else (x, product)
    graph = optimized([x], call(aten.maximum.default, *pair), "FoldLeakyRelu")
    assert ops(graph) == ["leaky_relu"]


def test_a_maximum_of_two_tensors_is_not_a_leaky_relu(dtype):
    """Glow compares an operand with itself here, and loses the other tensor."""
    a, b = tensor(*SHAPE, dtype=dtype, name="a"), tensor(*SHAPE, dtype=dtype, name="b")
    y = call(aten.maximum.default, a, call(aten.mul.Tensor, b, full(0.5, dtype=dtype)))
    declined = reasons([a, b], y, "FoldLeakyRelu")
    assert declined == ["the product is of another tensor"]
    steep = call(aten.maximum.default, a, call(aten.mul.Tensor, a, full(1.5, dtype=dtype)))
    assert "the slope is 1.5" in reasons([a], steep, "FoldLeakyRelu")[0]


@pytest.mark.parametrize("second", [lambda y: clip(y, 0, 10), lambda y: call(aten.relu.default, y)])
def test_a_bound_outside_the_range_of_the_dtype_wraps_around_and_is_not_rewritten(second):
    x = tensor(4, dtype=torch.uint8)
    declined = reasons([x], second(clip(x, -5, 100)), "OptimizeClips")
    assert declined == ["a bound is NaN, -0 or beyond its dtype, or the lower one is above the upper one"]


@pytest.mark.parametrize("kind", [torch.uint8, torch.int32])
def test_bounds_in_floating_point_of_an_integer_are_not_a_clip(kind):
    x = tensor(4, dtype=kind)
    y = call(aten.maximum.default, call(aten.minimum.default, x, 1e30), 1.0)
    assert ops(optimized([x], y, "FoldMinMaxToClip")) == ["minimum", "maximum"]
