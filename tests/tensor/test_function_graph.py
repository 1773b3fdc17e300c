"""Transactions of a graph: undoing changes, removing nodes for good, features that are attached once."""

import pytest
import torch
from torch import nn

from explorer.errors import CycleError, GraphError, InconsistencyError
from explorer.tensor import FunctionGraph, ReplaceValidate, call, doubles, from_module, to_nhwc
from explorer.tensor.ir.scalars import add, mul
from explorer.tensor.passes import passes

aten = torch.ops.aten
x, y = doubles("x y")


def graph_of_products():
    return FunctionGraph([x, y], [add(mul(x, y), x)])


def test_undo_reverts_the_names_of_axes():
    graph = from_module(nn.Conv2d(3, 4, 3), (torch.randn(1, 3, 8, 8),))
    before, mark = graph.text(), graph.checkpoint()
    to_nhwc(graph)
    assert "NCHW" in graph.text()
    graph.undo(mark)
    assert graph.text() == before
    graph.verify()


def test_the_names_of_axes_are_reverted_with_a_replacement_that_fails():
    image = from_module(nn.ReLU(), (torch.randn(1, 3, 8, 8),))
    (relu,) = image.toposort()
    given = image.inputs[0]
    above = call(aten.exp.default, relu.outputs[0])
    with pytest.raises(CycleError):
        image.replace_all_validate([(given, above)], layouts={given: "NCHW"})
    assert given.tensor_type.layout == ""
    assert image.checkpoint() == 0


def test_nodes_restored_by_undo_can_be_used_again():
    graph = graph_of_products()
    total = graph.outputs[0]
    mark = graph.checkpoint()
    graph.replace_all_validate([(total, graph.inputs[0])], "drop", remove=[total.owner])
    graph.undo(mark)
    graph.replace_validate(total, mul(graph.inputs[0], graph.inputs[1]))
    graph.replace_validate(graph.outputs[0], total)
    assert repr(graph) == "[add(mul(x, y), x)]"


def test_nodes_removed_before_the_mark_stay_removed():
    graph = graph_of_products()
    total = graph.outputs[0]
    graph.replace_all_validate([(total, graph.inputs[0])], "drop", remove=[total.owner])
    mark = graph.checkpoint()
    graph.replace_validate(graph.outputs[0], graph.inputs[1])
    graph.undo(mark)
    with pytest.raises(InconsistencyError, match="removed for good"):
        graph.replace_validate(graph.outputs[0], total)


def test_undo_to_a_mark_in_the_future_is_an_error():
    with pytest.raises(GraphError, match="there are 0 changes"):
        graph_of_products().undo(1)


def test_a_graph_has_as_many_features_after_many_passes_as_after_one():
    graph = graph_of_products()
    counts = []
    for name in ("CSE", "SinkCode", "Canonicalize", "CSE", "SinkCode", "Canonicalize"):
        passes[name].run(graph)
        graph.attach_feature(ReplaceValidate())
        counts.append(len(graph.features))
    assert counts == [counts[0]] * len(counts)
