"""Gradients: passes keep them, also for equal numbers and on bounds."""

from functools import partial

import pytest
import torch

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import Constant, FunctionGraph, call, from_module, to_module
from explorer.tensor.passes import passes
from tests.fuzzing import seeded
from tests.tensor.passes.checking import GLOW_PIPELINE, aten, check_pass, full, graph_pass, ops, run, tensor
from tests.tensor.passes.random_programs import random_graph
from tests.tensor.text_form import expression

DOUBLE = torch.float64
ROUNDING = 1e-9


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
    return {n: g for n, g in zip(names, found, strict=True) if g is not None and not bool((g.abs() < ROUNDING).all())}


def assert_same_gradients(found, wanted):
    """None and zeros are the same; the rest agrees but for rounding."""
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[name], rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


@seeded(16, also=(20292798,))  # a gradient of 8e-18 that is exactly 0 after the passes: the sum of a softmax
def test_random_programs_keep_their_gradients_where_numbers_are_equal(seed):
    torch.manual_seed(seed)
    graph = random_graph(seed, DOUBLE, length=5 + seed % 8, requires_grad=True)
    given = [torch.randint(-2, 3, v.tensor_type.shape).to(DOUBLE) for v in graph.inputs]
    wanted = gradients(graph, given)
    PassManager(GLOW_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert_same_gradients(gradients(graph, given), wanted)


def kept(before, *names, values=(-1.0, 0.0, 0.5, 1.0, 6.0)):
    """The graph of an expression of a parameter w after passes, which keep the gradient at its numbers."""
    w = parameter(values=[values, values])
    x = tensor(2, len(values), dtype=DOUBLE)
    number = partial(full, dtype=DOUBLE)
    known = {"w": call(aten.mul.Tensor, w, number(1.0)), "x": x, "splat": number}
    graph = FunctionGraph([x], [expression(f"mul({before}, x)", known)])
    given = [torch.ones(2, len(values), dtype=DOUBLE)]
    wanted = gradients(graph, given)
    run(graph, *names)
    assert_same_gradients(gradients(graph, given), wanted)
    return graph


def test_values_detached_from_a_parameter_stay_detached():
    assert "detach" in ops(kept("add(w, detach(w))", "EliminateNoop"))
    check_pass("EliminateNoop", "relu(detach(x))", "relu(x)", {"x": (3,)})


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


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_gradient_of_amax_goes_to_one_of_equal_elements(name):
    graph = kept(f"{name}.dim(cat(w, w, dim=1), 1, True)[0]", "DCE", "EliminateIndices")
    assert ops(graph)[2] == name


@pytest.mark.parametrize("before", [
    "relu(clamp(w, 0.0, 1.0))",
    "hardtanh(clamp(w, -1.0, 6.0), -1.0, 6.0)",
    "clamp(hardtanh(w, -1.0, 1.0), 0.0, 2.0)",
    "relu(relu6(w))",
    "relu(hardtanh(w, 0.5, 1.0))",
    "relu(hardtanh(w, -1.0, 6.0))",
    "relu(sqrt(relu(w)))",
    "relu(abs(w))",
])  # fmt: skip
@pytest.mark.parametrize("name", ["OptimizeClips", "RemoveIdentityRelu", "RemoveIdentityClip", "SinkCode"])
def test_clips_preserve_the_gradient_at_their_bounds(name, before):
    kept(before, name)


def test_a_relu_of_a_relu_is_removed_in_training_too():
    assert ops(kept("relu(relu(w))", "RemoveIdentityRelu")).count("relu") == 1
    assert "clamp" not in ops(kept("clamp(sigmoid(w), 0.0, 1.0)", "RemoveIdentityClip"))


def test_maximum_splits_the_gradient_at_ties():
    assert "clamp" not in ops(kept("minimum(maximum(w, splat(0.0)), splat(6.0))", "FoldMinMaxToClip"))
    assert "leaky_relu" not in ops(kept("maximum(w, mul(w, splat(0.5)))", "FoldLeakyRelu"))


@pytest.mark.parametrize("clip", ["relu(w)", "relu6(w)", "clamp(w, 0.0, 6.0)"])
@pytest.mark.parametrize("pooled", [
    "reshape(max_pool2d(reshape({clip}, [1, 1, 2, 5]), [2, 1], [1, 1]), [1, 5])",
    "reshape(max_pool2d(reshape({clip}, [1, 1, 2, 5]), [1, 5]), [2, 1])",
])  # fmt: skip
def test_pooling_of_clips_keeps_the_gradient(pooled, clip):
    before = pooled.format(clip=clip)
    kept(before, "SinkReshapes", "OptimizePool")
    kept(before, "SinkReshapes", "OptimizePool", values=(0.0, -0.5, -1.0, 0.0, -3.0))


def test_passes_that_drop_indices_are_for_inference_only():
    (entry,) = [config for config in GLOW_PIPELINE if config.pass_id == "EliminateIndices"]
    assert entry.modes == {CompilationMode.INFER}
    assert graph_pass("DCE").exactness.value == "exact"
