"""Source locations of operators, also of those made by rules."""

import pytest
import torch
from torch import nn

from explorer.rewrite import PassManager
from explorer.tensor import Constant, FunctionGraph, Op, call, from_module
from explorer.tensor.ir.scalars import double
from explorer.tensor.ir.variables import NOWHERE, SourceLocation
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.rewriting import PatternSub, TopoRewriter
from tests.tensor.models import import_model, plain_kernels

aten = torch.ops.aten
neg = Op.of(aten.neg.default)
HERE, THERE, ELSEWHERE = (SourceLocation(module=name) for name in ("here", "there", "elsewhere"))


def nowhere(graph):
    """The applications without a source location."""
    return [node for node in graph.nodes if node.location == NOWHERE]


def small_net():
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)
    )
    return from_module(net.eval(), (torch.randn(1, 3, 8, 8),))


@pytest.mark.parametrize("name", ["small", "shufflenet_small", "transformer"])
def test_after_the_default_passes_every_node_has_a_location(name):
    with plain_kernels():
        graph = small_net() if name == "small" else import_model(name).clone()
        assert nowhere(graph) == []
        PassManager(DEFAULT_PIPELINE, passes).run(graph)
        assert graph.made_by
        assert nowhere(graph) == []


def two_places():
    x = double("x")
    below = call(aten.neg.default, x, location=THERE)
    return FunctionGraph([x], [call(aten.exp.default, below, location=HERE)])


def test_replacements_of_a_pattern_have_the_location_of_its_root():
    graph = two_places()
    rule = PatternSub(
        (aten.exp.default, (aten.neg.default, "a")), (aten.reciprocal.default, (aten.exp.default, "a")), name="Upside"
    )
    TopoRewriter(rule).rewrite(graph)
    assert [(node.op.name, node.location) for node in graph.toposort()] == [("exp", HERE), ("reciprocal", HERE)]


def test_an_explicit_location_is_kept_also_by_undo():
    graph = two_places()
    exp = graph.outputs[0]
    new = neg(call(aten.tanh.default, graph.toposort()[0].outputs[0], location=ELSEWHERE))
    graph.replace_validate(exp, new)
    wanted = [("neg", THERE), ("tanh", ELSEWHERE), ("neg", HERE)]
    assert [(node.op.name, node.location) for node in graph.toposort()] == wanted
    graph.undo(0)
    assert [node.location for node in graph.toposort()] == [THERE, HERE]
    graph.replace_validate(exp, new)
    assert [(node.op.name, node.location) for node in graph.toposort()] == wanted


def test_the_replacement_of_an_input_or_constant_has_the_location_of_its_user():
    graph = two_places()
    graph.replace_validate(graph.inputs[0], neg(graph.inputs[0]))
    assert [node.location for node in graph.toposort()] == [THERE, THERE, HERE]
    graph.replace_validate(graph.toposort()[1].outputs[0], Constant(torch.tensor(1.0).double()))
    assert [node.location for node in graph.toposort()] == [HERE]
