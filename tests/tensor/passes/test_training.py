"""Gradients: passes keep those of everything that is trained, also where numbers are equal or lie on a bound."""

import pytest
import torch

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import Constant, FunctionGraph, call, from_module, to_module
from explorer.tensor.passes import passes
from explorer.tensor.passes.pipelines import GLOW_PIPELINE
from tests.fuzzing import seeded
from tests.tensor.passes.checking import aten, full, graph_pass, ops, run, tensor
from tests.tensor.passes.random_programs import random_graph

DOUBLE = torch.float64


def parameter(*shape, values=None):
    """A constant that is trained; its numbers are whole or halves, so that many are equal."""
    data = torch.randint(-2, 3, shape).to(DOUBLE) if values is None else torch.tensor(values, dtype=DOUBLE)
    return Constant(torch.nn.Parameter(data), "w", trainable=True)


def gradients(graph, given):
    """The gradients of the sum of all results for each parameter, by name."""
    module = to_module(graph)
    found = module(*given)
    total = sum(result.sum() for result in (found if isinstance(found, tuple) else [found]))
    names, parameters = zip(*module.named_parameters(), strict=True) if list(module.parameters()) else ((), ())
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return {}
    found = torch.autograd.grad(total, parameters, allow_unused=True)
    return {n: g for n, g in zip(names, found, strict=True) if g is not None and bool((g != 0).any())}


def assert_same_gradients(found, wanted):
    """None and zeros are the same; the rest agrees but for rounding."""
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-9, atol=1e-9, equal_nan=True)


@seeded(16)
def test_random_programs_keep_their_gradients_where_numbers_are_equal(seed):
    torch.manual_seed(seed)
    graph = random_graph(seed, DOUBLE, length=5 + seed % 8, requires_grad=True)
    given = [torch.randint(-2, 3, v.tensor_type.shape).to(DOUBLE) for v in graph.inputs]
    wanted = gradients(graph, given)
    PassManager(GLOW_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert_same_gradients(gradients(graph, given), wanted)


def kept(make, *names, values=(-1.0, 0.0, 0.5, 1.0, 6.0)):
    """The graph of a function of a parameter after passes, which keep the gradient at its numbers."""
    w = parameter(values=[values, values])
    x = tensor(2, len(values), dtype=DOUBLE)
    graph = FunctionGraph([x], [call(aten.mul.Tensor, make(call(aten.mul.Tensor, w, full(1.0, dtype=DOUBLE))), x)])
    given = [torch.ones(2, len(values), dtype=DOUBLE)]
    wanted = gradients(graph, given)
    run(graph, *names)
    assert_same_gradients(gradients(graph, given), wanted)
    return graph


def test_values_detached_from_a_parameter_stay_detached():
    graph = kept(lambda w: call(aten.add.Tensor, w, call(aten.detach.default, w)), "EliminateNoop")
    assert "detach" in ops(graph)
    x = tensor(3)
    free = FunctionGraph([x], [call(aten.relu.default, call(aten.detach.default, x))])
    run(free, "EliminateNoop")
    assert ops(free) == ["relu"]


def test_a_module_that_detaches_trains_as_before():
    class Detaching(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return (self.w * x).detach() * self.w

    graph = from_module(Detaching(), (torch.ones(3),), training=True)
    PassManager(GLOW_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    module = to_module(graph)
    module(torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    (found,) = module.parameters()
    assert found.grad is not None
    assert found.grad.tolist() == [1, 2, 3]


def greatest(w):
    return call(aten.max.dim, call(aten.cat.default, [w, w], 1), 1, True)[0]


def least(w):
    return call(aten.min.dim, call(aten.cat.default, [w, w], 1), 1, True)[0]


@pytest.mark.parametrize("make", [greatest, least])
def test_the_gradient_of_amax_goes_to_one_of_equal_elements(make):
    graph = kept(make, "DCE", "EliminateIndices")
    assert ops(graph)[2] == make(parameter(2, 3)).owner.op.name


@pytest.mark.parametrize("make", [
    lambda w: call(aten.relu.default, call(aten.clamp.default, w, 0.0, 1.0)),
    lambda w: call(aten.hardtanh.default, call(aten.clamp.default, w, -1.0, 6.0), -1.0, 6.0),
    lambda w: call(aten.clamp.default, call(aten.hardtanh.default, w, -1.0, 1.0), 0.0, 2.0),
    lambda w: call(aten.relu.default, call(aten.relu6.default, w)),
    lambda w: call(aten.relu.default, call(aten.hardtanh.default, w, 0.5, 1.0)),
    lambda w: call(aten.relu.default, call(aten.hardtanh.default, w, -1.0, 6.0)),
    lambda w: call(aten.relu.default, call(aten.sqrt.default, call(aten.relu.default, w))),
    lambda w: call(aten.relu.default, call(aten.abs.default, w)),
])  # fmt: skip
@pytest.mark.parametrize("name", ["OptimizeClips", "RemoveIdentityRelu", "RemoveIdentityClip", "SinkCode"])
def test_clips_preserve_the_gradient_at_their_bounds(name, make):
    kept(make, name)


def test_a_relu_of_a_relu_is_removed_in_training_too():
    graph = kept(lambda w: call(aten.relu.default, call(aten.relu.default, w)), "RemoveIdentityRelu")
    assert ops(graph).count("relu") == 1
    graph = kept(lambda w: call(aten.clamp.default, call(aten.sigmoid.default, w), 0.0, 1.0), "RemoveIdentityClip")
    assert "clamp" not in ops(graph)


def test_maximum_splits_the_gradient_at_ties():
    def clipped(w):
        return call(
            aten.minimum.default, call(aten.maximum.default, w, full(0.0, dtype=DOUBLE)), full(6.0, dtype=DOUBLE)
        )

    def leaky(w):
        return call(aten.maximum.default, w, call(aten.mul.Tensor, w, full(0.5, dtype=DOUBLE)))

    assert "clamp" not in ops(kept(clipped, "FoldMinMaxToClip"))
    assert "leaky_relu" not in ops(kept(leaky, "FoldLeakyRelu"))


@pytest.mark.parametrize("make", [
    lambda w: call(aten.relu.default, w),
    lambda w: call(aten.relu6.default, w),
    lambda w: call(aten.clamp.default, w, 0.0, 6.0),
])  # fmt: skip
def test_pooling_of_clips_keeps_the_gradient(make):
    def pooled(w):
        four = call(aten.reshape.default, make(w), [1, 1, 2, 5])
        return call(aten.reshape.default, call(aten.max_pool2d.default, four, [2, 1], [1, 1]), [1, 5])

    def pooled_in_rows(w):
        four = call(aten.reshape.default, make(w), [1, 1, 2, 5])
        return call(aten.reshape.default, call(aten.max_pool2d.default, four, [1, 5]), [2, 1])

    for function in (pooled, pooled_in_rows):
        kept(function, "SinkReshapes", "OptimizePool")
        kept(function, "SinkReshapes", "OptimizePool", values=(0.0, -0.5, -1.0, 0.0, -3.0))


def test_passes_that_drop_indices_are_for_inference_only():
    (entry,) = [config for config in GLOW_PIPELINE if config.pass_id == "EliminateIndices"]
    assert entry.modes == {CompilationMode.INFER}
    assert graph_pass("DCE").exactness.value == "exact"
