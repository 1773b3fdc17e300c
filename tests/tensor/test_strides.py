"""Stride-sensitive operators: a transaction checks only those below its changes again."""

import pytest
import torch

from explorer.errors import InconsistencyError
from explorer.tensor import Feature, FunctionGraph, call
from explorer.tensor.graph.strides import KeepStrides
from tests.tensor.passes.checking import aten, graph_pass, tensor


@pytest.fixture
def looked_at(monkeypatch):
    """The sensitive operators with checked inputs, once per check."""
    nodes = []
    found = KeepStrides._strides_of_inputs
    monkeypatch.setattr(
        KeepStrides, "_strides_of_inputs", lambda keep, node: (nodes.append(node), found(keep, node))[1]
    )
    return nodes


def group_norms(count):
    """Group norms side by side, each behind two relus; one is enough."""
    x = tensor(1, 4, 2, 2)
    outputs = []
    for i in range(count):
        above = call(aten.relu.default, call(aten.relu.default, call(aten.mul.Tensor, x, 1.0 + i)))
        outputs.append(call(aten.native_group_norm.default, above, None, None, 1, 4, 4, 2, 1e-5)[0])
    return FunctionGraph([x], outputs)


def transposed_graph():
    """A matrix that is turned, copied and looked at through strides."""
    x = tensor(3, 4)
    copied = call(aten.clone.default, call(aten.t.default, x), memory_format=torch.contiguous_format)
    return FunctionGraph([x], [call(aten.as_strided.default, copied, [2, 2], [1, 2])])


def owner(variable):
    """The owner of a variable."""
    assert variable.owner is not None
    return variable.owner


def without_copy(graph):
    """A replacement that the operator at the end would see: the matrix without the copy."""
    copied = owner(graph.outputs[0]).inputs[0]
    return copied, owner(copied).inputs[0]


def test_a_rewrite_recomputes_only_strides_below_it(looked_at):
    counts = []
    for count in (10, 20, 40):
        looked_at.clear()
        graph = group_norms(count)
        assert graph_pass("RemoveIdentityRelu").run(graph).applied == count
        counts.append(len(looked_at))
    assert counts == [20, 40, 80]  # once as they came, once as a relu went


def test_the_feature_is_attached_once(looked_at):
    graph = group_norms(3)
    keep = KeepStrides()
    graph.attach_feature(keep)
    graph.attach_feature(KeepStrides())
    assert [f for f in graph.features if isinstance(f, KeepStrides)] == [keep]
    assert len(looked_at) == 3


def test_changed_strides_are_refused_every_time():
    graph = transposed_graph()
    graph.attach_feature(KeepStrides())
    before = graph.text()
    for _ in range(3):
        with pytest.raises(InconsistencyError, match="as_strided depends on the strides of its inputs"):
            graph.replace_validate(*without_copy(graph))
        assert graph.text() == before
    copied, _ = without_copy(graph)
    graph.replace_validate(copied, call(aten.mul.Tensor, copied, 1.0))


def test_strides_above_are_known_after_undo_and_refusals():
    class Refuses(Feature):
        armed = False

        def on_validate(self, graph):
            if self.armed:
                raise InconsistencyError("no")

    graph, refuses = transposed_graph(), Refuses()
    graph.attach_feature(KeepStrides())
    graph.attach_feature(refuses)
    copied, turned = without_copy(graph)
    refuses.armed = True
    with pytest.raises(InconsistencyError, match="no"):
        graph.replace_validate(copied, call(aten.clone.default, copied))
    refuses.armed = False
    with pytest.raises(InconsistencyError, match="as_strided"):
        graph.replace_validate(*without_copy(graph))
    graph.replace_validate(copied, call(aten.clone.default, copied))
    graph.undo(0)
    with pytest.raises(InconsistencyError, match="as_strided"):
        graph.replace_validate(copied, turned)


def test_restored_nodes_still_require_their_strides():
    """It leaves as its input changes, and comes back before that is reverted: it is not checked then."""
    graph = transposed_graph()
    graph.attach_feature(KeepStrides())
    copied, turned = without_copy(graph)
    end = graph.outputs[0]
    other = call(aten.reshape.default, call(aten.slice.Tensor, call(aten.neg.default, turned), 0, 0, 1), [-1])
    graph.replace_all_validate([(copied, turned), (end, call(aten.as_strided.default, other, [2, 2], [1, 2]))])
    assert owner(end) not in graph
    graph.undo(0)
    graph.replace_validate(copied, call(aten.mul.Tensor, copied, 1.0))
    with pytest.raises(InconsistencyError, match="as_strided"):
        graph.replace_validate(copied, turned)


def test_strides_of_removed_nodes_are_dropped():
    graph = group_norms(4)
    keep = KeepStrides()
    graph.attach_feature(keep)
    for i, output in enumerate(tuple(graph.outputs)):
        made = call(aten.native_group_norm.default, graph.inputs[0], None, None, 1, 4, 4, 2, 1e-5 + i)[0]
        mark = graph.checkpoint()
        graph.replace_validate(output, made)
        if i % 2:
            graph.undo(mark)
    graph.validate()
    assert not keep._suspects
    for strides in keep._strides:
        assert strides._kept
        assert set(strides._kept) <= set(graph.nodes)
