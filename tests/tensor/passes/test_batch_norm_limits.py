"""Batch norms at the limits of numbers: scales that are infinite or zero, and those that almost do nothing."""

import pytest
import torch

from explorer.rewrite import PassManager
from explorer.tensor import Constant, FunctionGraph, call, to_module
from explorer.tensor.passes import passes
from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE
from tests.tensor.passes.checking import assert_same_bits, constant, full, ops, optimize, reasons, results, tensor
from tests.tensor.passes.test_batch_norm import CHAIN, NORM, UNDER_CONV, aten, conv, norm

ENDS = {
    "over 0": lambda y: call(aten.div.Tensor, y, full(0.0)),
    "over 0, then less": lambda y: call(aten.mul.Tensor, call(aten.div.Tensor, y, full(0.0)), full(0.5)),
    "over too little": lambda y: call(aten.div.Tensor, y, full(1e-42)),
    "times infinity": lambda y: call(aten.mul.Tensor, y, full(float("inf"))),
    "plus infinity": lambda y: call(aten.add.Tensor, y, full(float("inf"))),
    "over infinity": lambda y: call(aten.div.Tensor, y, full(float("inf"))),
    "over 0 in one channel": lambda y: call(
        aten.div.Tensor, y, Constant(torch.tensor([1.0, 2.0, 0.0, 4.0]).reshape(4, 1, 1))
    ),
}


def scaled_and_shifted(x):
    return call(aten.add.Tensor, call(aten.mul.Tensor, conv(x, torch.float32), full(2.0)), full(1.0))


@pytest.mark.parametrize("end", ENDS)
def test_infinite_results_stay_infinite(end):
    x = tensor(2, 3, 5, 6)
    graph = FunctionGraph([x], [ENDS[end](scaled_and_shifted(x))])
    given = [torch.randn(2, 3, 5, 6)]
    wanted = results(graph, given)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    torch.testing.assert_close(to_module(graph)(*given), wanted[0], equal_nan=True)


def test_a_division_by_zero_stays_with_a_reason():
    x = tensor(2, 3, 5, 6)
    reason = "a scale or a shift would not be finite"
    assert reasons([x], ENDS["over 0"](conv(x, torch.float32)), UNDER_CONV) == [reason]
    assert reasons([x], ENDS["over 0"](norm(conv(x, torch.float32), 4, torch.float32)), CHAIN) == [reason]


def test_a_variance_of_zero_does_not_reach_the_convolution():
    x = tensor(2, 3, 5, 6)
    parts = [constant(4), constant(4), full(0.0, 4), full(0.0, 4)]
    declined = reasons([x], norm(conv(x, torch.float32), 4, torch.float32, parts, eps=0.0), "OptimizeBatchNorm")
    assert declined == ["weight or bias of the convolution would not be finite"]


def test_a_product_with_zero_keeps_nan():
    x = tensor(2, 3, 5, 6)
    graph = FunctionGraph([x], [call(aten.mul.Tensor, conv(x, torch.float32), full(0.0))])
    given = [torch.full((2, 3, 5, 6), float("inf"))]
    wanted = results(graph, given)
    passes[UNDER_CONV].run(graph)
    assert ops(graph) == ["conv2d", NORM]
    assert_same_bits(results(graph, given), wanted)


@pytest.mark.parametrize("bias", [1e-7, 1e-30])
def test_a_small_bias_stays(bias):
    x = tensor(2, 4, 5, 6)
    parts = [full(1.0, 4), full(bias, 4), full(0.0, 4), full(1.0, 4)]
    graph = optimize([x], call(aten.relu.default, norm(x, 4, torch.float32, parts, 0.0)), "OptimizeBatchNorm")
    assert ops(graph) == [NORM, "relu"]
    assert results(graph, [torch.zeros(2, 4, 5, 6)])[0].max() == torch.tensor(bias)


def test_a_bias_that_almost_equals_the_mean_stays():
    x = tensor(2, 4, 5, 6)
    parts = [full(1.0, 4), full(33.000004, 4), full(33.0, 4), full(1.0, 4)]
    graph = optimize([x], call(aten.relu.default, norm(x, 4, torch.float32, parts, 0.0)), "OptimizeBatchNorm")
    assert ops(graph) == [NORM, "relu"]
