"""Batch norms at the limits of numbers: scales that are infinite or zero, and those that almost do nothing."""

import pytest
import torch

from explorer.rewrite import PassManager
from explorer.tensor import Constant, FunctionGraph, to_module
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from tests.tensor.passes.checking import (
    assert_same_bits,
    check_reason,
    ops,
    optimize,
    read,
    results,
)
from tests.tensor.passes.test_batch_norm import CHAIN, NORM, UNDER_CONV

CONV = "conv2d(x, FILTER, BIAS)"
SHAPES = {
    "x": (2, 3, 5, 6), "y": (2, 4, 5, 6), "FILTER": (4, 3, 3, 3), "BIAS": (4,), "A": (4,), "B": (4,),
    "ONE_ZERO": Constant(torch.tensor([1.0, 2.0, 0.0, 4.0]).reshape(4, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("end", [
    "div(v, splat(0.0))",
    "mul(div(v, splat(0.0)), splat(0.5))",
    "div(v, splat(1e-42))",
    "mul(v, splat(inf))",
    "add(v, splat(inf))",
    "div(v, splat(inf))",
    "div(v, ONE_ZERO)",
])  # fmt: skip
def test_infinite_results_stay_infinite(end):
    graph = FunctionGraph(*read(f"v = add(mul({CONV}, splat(2.0)), splat(1.0)); {end}", SHAPES))
    given = [torch.randn(2, 3, 5, 6)]
    wanted = results(graph, given)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    torch.testing.assert_close(to_module(graph)(*given), wanted[0], equal_nan=True)


def test_a_division_by_zero_stays_with_a_reason():
    reason = "a scale or a shift would not be finite"
    check_reason(UNDER_CONV, f"div({CONV}, splat(0.0))", reason, SHAPES)
    check_reason(CHAIN, f"div(norm({CONV}), splat(0.0))", reason, SHAPES)


def test_a_variance_of_zero_does_not_reach_the_convolution():
    before = f"norm({CONV}, A, B, splat(0.0, 4), splat(0.0, 4), eps=0.0)"
    check_reason("OptimizeBatchNorm", before, "weight or bias of the convolution would not be finite", SHAPES)


def test_a_product_with_zero_keeps_nan():
    graph = FunctionGraph(*read(f"mul({CONV}, splat(0.0))", SHAPES))
    given = [torch.full((2, 3, 5, 6), float("inf"))]
    wanted = results(graph, given)
    passes[UNDER_CONV].run(graph)
    assert ops(graph) == ["conv2d", NORM]
    assert_same_bits(results(graph, given), wanted)


@pytest.mark.parametrize("bias", [1e-7, 1e-30])
def test_a_small_bias_stays(bias):
    before = f"relu(norm(y, splat(1.0, 4), splat({bias}, 4), splat(0.0, 4), splat(1.0, 4), eps=0.0))"
    graph = optimize(*read(before, SHAPES), "OptimizeBatchNorm")
    assert ops(graph) == [NORM, "relu"]
    assert results(graph, [torch.zeros(2, 4, 5, 6)])[0].max() == torch.tensor(bias)


def test_a_bias_that_almost_equals_the_mean_stays():
    before = "relu(norm(y, splat(1.0, 4), splat(33.000004, 4), splat(33.0, 4), splat(1.0, 4), eps=0.0))"
    assert ops(optimize(*read(before, SHAPES), "OptimizeBatchNorm")) == [NORM, "relu"]
