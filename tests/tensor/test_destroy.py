"""Operators that overwrite their inputs: refusals of the destroy handler, its order, and exports."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from explorer.errors import InconsistencyError
from explorer.tensor import Constant, FunctionGraph, Op, call, from_module, to_fx, to_module
from explorer.tensor.graph.destroy import DestroyHandler, overlaps_itself
from explorer.tensor.ir.aliasing import destroyed_inputs, memory_roots, memory_views, shared_inputs
from explorer.tensor.ir.scalars import add, mul
from explorer.tensor.rewriting import AddDestroyHandler, Declined, OpSub, TopoRewriter, merge_rewriter
from explorer.tensor.rules import optdb
from explorer.tensor.rules.fused import WriteOverInput, inplace_overload
from tests.tensor.rule_checks import apply, aten, graph_of, tensor, values

x, y = tensor("x", 3, 3), tensor("y", 3, 3)


def exp(v):
    return call(aten.exp.default, v)


def add_(v, other):
    return call(aten.add_.Tensor, v, other)


def relu_(v):
    return call(aten.relu_.default, v)


def transpose(v):
    return call(aten.t.default, v)


def source(variable):
    """The first input of the owner of a variable."""
    return variable.owner.inputs[0]


def graph(inputs, *outputs):
    """A graph that is watched."""
    found = graph_of(inputs, *outputs)
    found.attach_feature(DestroyHandler())
    return found


def refusal_of(inputs, *outputs):
    """The reason why the handler refuses a graph."""
    with pytest.raises(InconsistencyError) as error:
        graph(inputs, *outputs).validate()
    return str(error.value)


# ---------------------------------------------------------------------- what operators say


@pytest.mark.parametrize(
    ("result", "shared", "destroyed"),
    [
        (exp(x), ((),), ()),
        (call(aten.view.default, x, [9]), ((0,),), ()),
        (call(aten._unsafe_view.default, x, [9]), ((0,),), ()),
        (call(aten.dropout.default, x, 0.5, False), ((0,),), ()),
        (call(aten.split.Tensor, x, 1)[0], ((0,),) * 3, ()),
        (add_(exp(x), y), ((0,),), (0,)),
        (relu_(exp(x)), ((0,),), (0,)),
        (call(aten.clone.default, x), ((),), ()),
    ],
    ids=lambda value: value.owner.op.name if hasattr(value, "owner") else "",
)
def test_operators_declare_aliases_and_overwritten_inputs(result, shared, destroyed):
    assert shared_inputs(result.owner) == shared
    assert destroyed_inputs(result.owner.op) == destroyed


def test_roots_and_views_of_memory():
    base = exp(x)
    view = transpose(call(aten.view.default, base, [3, 3]))
    new = relu_(view)
    held = graph_of([x], new, exp(base))
    new = held.outputs[0]
    view, base = source(new), source(held.outputs[1])
    assert list(memory_roots(view)) == [base]
    assert list(memory_roots(new)) == [new], "what an operator wrote is a value of its own"
    assert [str(v.owner and v.owner.op.name) for v in memory_views(base)] == ["exp", "view", "t"]


def test_the_type_of_a_result_that_is_written_over_an_input():
    assert str(add_(exp(x), y).type) == "f32[3,3]"
    with pytest.raises(Exception, match="PyTorch refuses"):
        add_(exp(tensor("small", 3)), x)


# ---------------------------------------------------------------------- what is refused


def test_neither_inputs_nor_constants_are_overwritten():
    assert "would overwrite the input x of the graph" in refusal_of([x], relu_(x))
    assert "would overwrite the input x" in refusal_of([x], relu_(transpose(x)))
    weight = Constant(torch.ones(3, 3), "weight")
    assert "would overwrite the constant weight" in refusal_of([x], add_(weight, x))


def test_an_output_of_the_graph_is_not_overwritten():
    base = exp(x)
    assert "an output of the graph, or a view" in refusal_of([x], base, relu_(base))
    assert "an output of the graph, or a view" in refusal_of([x], transpose(base), relu_(base))
    assert "an output of the graph, or a view" in refusal_of([x], base, relu_(transpose(base)))
    graph([x], relu_(base), exp(relu_(exp(x)))).validate()


def test_an_input_that_another_input_shares_is_not_overwritten():
    base = exp(x)
    assert "whose memory input 1 shares" in refusal_of([x], add_(base, base))
    assert "whose memory input 1 shares" in refusal_of([x], add_(base, transpose(base)))
    assert "whose memory input 1 shares" in refusal_of([x], add_(transpose(base), transpose(base)))
    graph([x], add_(base, transpose(exp(x)))).validate()


def test_nothing_is_overwritten_twice():
    base = exp(x)
    assert "would both overwrite" in refusal_of([x, y], add(add_(base, y), add_(base, x)))
    assert "would both overwrite" in refusal_of([x, y], add(add_(base, y), relu_(transpose(base))))
    graph([x, y], relu_(add_(base, y))).validate()


def test_a_user_of_the_overwritten_result_cannot_run_before_it():
    base = exp(x)
    new = relu_(base)
    assert "cannot run before it, because it needs its result" in refusal_of([x], add(new, mul(base, new)))
    assert "cannot run before it" in refusal_of([x], add(new, mul(transpose(base), new)))


def test_a_cycle_of_two_overwriting_operators_is_refused():
    a, b = exp(x), exp(y)
    first, second = add_(a, b), add_(b, a)
    assert "cannot all run before it is overwritten" in refusal_of([x, y], add(first, second))


def test_a_long_cycle_of_overwriting_operators_is_refused():
    bases = [exp(call(aten.mul.Tensor, x, float(i))) for i in range(2, 8)]
    around = [add_(base, following) for base, following in zip(bases, [*bases[1:], bases[0]], strict=True)]
    total = around[0]
    for value in around[1:]:
        total = add(total, value)
    assert "cannot all run before it is overwritten" in refusal_of([x], total)
    open_ = [add_(base, following) for base, following in pairwise(bases)]
    total = open_[0]
    for value in open_[1:]:
        total = add(total, value)
    found = graph([x], total)
    found.validate()
    assert torch.isfinite(values(found, [torch.ones(3, 3)])[0]).all()


def test_a_view_whose_elements_share_a_location_is_not_overwritten():
    small = tensor("row", 3)
    row = exp(small)
    wide = call(aten.expand.default, row, [3, 3])
    assert overlaps_itself(wide)
    assert not overlaps_itself(transpose(exp(x)))
    assert not overlaps_itself(call(aten.slice.Tensor, exp(x), 1, 0, 3, 2))
    assert "share a memory location" in refusal_of([small], relu_(wide))
    windows = call(aten.unfold.default, row, 0, 2, 1)
    assert overlaps_itself(windows)


def test_nothing_is_overwritten_where_parameters_are_trained():
    weight = Constant(nn.Parameter(torch.ones(3, 3)), "weight", trainable=True)
    assert "the gradient of weight may need" in refusal_of([x], relu_(mul(exp(x), weight)))


# ---------------------------------------------------------------------- the order


def test_all_users_of_a_value_run_before_it_is_overwritten():
    base = exp(x)
    outputs = [relu_(base), mul(base, y), mul(transpose(base), y)]
    found = graph([x, y], *outputs)
    found.validate()
    assert [node.op.name for node in found.toposort()] == ["exp", "mul", "t", "mul", "relu_"]
    plain = graph_of([x, y], call(aten.relu.default, base), *outputs[1:])
    arguments = [torch.randn(3, 3), torch.randn(3, 3)]
    for new, old in zip(values(found, arguments), values(plain, arguments), strict=True):
        assert torch.equal(new, old)


def test_an_exported_graph_keeps_the_order_without_the_handler():
    base = exp(x)
    unwatched = graph_of([x, y], call(aten.neg_.default, base), mul(base, y))
    assert [node.op.name for node in unwatched.toposort()] == ["exp", "neg_", "mul"]
    program = to_fx(unwatched)
    names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert names == ["aten.exp.default", "aten.mul.Tensor", "aten.neg_.default"]
    copy = unwatched.clone()
    given = torch.randn(3, 3)
    assert torch.equal(values(copy, [given, torch.ones(3, 3)])[1], given.exp())


def test_the_handler_is_attached_once():
    found = graph([x], exp(x))
    AddDestroyHandler().rewrite(found)
    assert sum(isinstance(feature, DestroyHandler) for feature in found.features) == 1


# ---------------------------------------------------------------------- replacements that are watched


def test_a_replacement_that_overwrites_a_value_read_later_is_reverted():
    base = exp(x)
    new = call(aten.relu.default, base)
    found = graph([x], add(new, mul(base, new)))
    text = repr(found)
    rule = TopoRewriter(OpSub(Op.of(aten.relu.default), Op.of(aten.relu_.default)))
    assert rule.rewrite(found).applied == 0
    assert repr(found) == text
    free = graph([x], call(aten.relu.default, exp(x)))
    assert rule.rewrite(free).applied == 1
    assert repr(free) == "[relu_(exp(x))]"


def test_the_second_of_two_conflicting_overwrites_is_refused():
    a, b = exp(x), exp(y)
    found = graph([x, y], mul(add(a, b), add(b, a)))
    rule = TopoRewriter(OpSub(add, Op.of(aten.add_.Tensor)))
    assert rule.rewrite(found).applied == 1
    assert [node.op.name for node in found.toposort()].count("add_") == 1
    found.validate()


def test_a_new_user_of_an_overwritten_value_is_ordered_or_refused():
    base = exp(x)
    found = graph([x, y], relu_(base), call(aten.neg.default, y))
    found.validate()
    base = source(found.outputs[0])
    found.replace_validate(found.outputs[1], call(aten.neg.default, base))
    assert [node.op.name for node in found.toposort()] == ["exp", "neg", "relu_"]
    with pytest.raises(InconsistencyError, match="output of the graph, or a view of one"):
        found.replace_validate(found.outputs[1], transpose(base))
    with pytest.raises(InconsistencyError, match="output of the graph, or a view of one"):
        found.replace_validate(found.outputs[1], base)
    with pytest.raises(InconsistencyError, match="cannot run before it"):
        found.replace_validate(found.outputs[1], mul(base, found.outputs[0]))
    assert [node.op.name for node in found.toposort()] == ["exp", "neg", "relu_"]
    found.validate()


def test_a_view_inserted_before_an_overwriting_operator_is_detected():
    a, b = exp(x), exp(y)
    view = transpose(a)
    found = graph([x, y], relu_(view), mul(b, y))
    found.validate()
    a, b = (next(n for n in found.nodes if n.op.name == "exp" and n.inputs[0].name == name) for name in "xy")
    view = next(n for n in found.nodes if n.op.name == "t")
    found.change_node_input(view, 0, b.outputs[0])
    found.validate()
    assert [node.op.name for node in found.toposort()] == ["exp", "t", "mul", "relu_"]
    found.change_node_input(view, 0, found.inputs[0])
    with pytest.raises(InconsistencyError, match="the input x"):
        found.validate()


@pytest.mark.parametrize("overwritten", [0, 1, 2])
def test_twins_are_merged_if_at_most_one_is_overwritten(overwritten):
    twins = [exp(x), exp(x)]
    results = [relu_(twin) if i < overwritten else mul(twin, y) for i, twin in enumerate(twins)]
    found = graph([x, y], *results)
    found.validate()
    merged = merge_rewriter.rewrite(found).applied
    assert merged == (2 if overwritten == 0 else 1 if overwritten == 1 else 0)
    found.validate()
    given = torch.randn(3, 3)
    wanted = [given.exp().relu() if i < overwritten else given.exp() * 2 for i in range(2)]
    for new, old in zip(values(found, [given, torch.full((3, 3), 2.0)]), wanted, strict=True):
        assert torch.equal(new, old)


# ---------------------------------------------------------------------- the rules


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (aten.relu.default, aten.relu_.default),
        (aten.add.Tensor, aten.add_.Tensor),
        (aten.clamp.default, aten.clamp_.default),
        (aten.relu_.default, None),
        (aten.softmax.int, None),
        (aten.t.default, None),
        (aten.cumsum.default, None),
        (aten.where.self, None),
    ],
)
def test_in_place_overloads_are_found(target, found):
    assert inplace_overload(target) is found


def test_the_pipeline_overwrites_dead_values():
    value = call(aten.relu.default, add(exp(x), y))
    found = apply(optdb.query("+inplace"), [x, y], value, exact=True)
    assert repr(found) == "[relu_(add_(exp(x), y))]"
    second = add(y, exp(x))
    assert repr(apply(optdb.query("+inplace"), [x, y], second, exact=True)) == "[add_(exp(x), y)]"


def test_the_reason_why_an_input_is_not_overwritten_is_recorded():
    rule = WriteOverInput()
    refused = rule.transform(exp(x).owner)
    assert isinstance(refused, Declined)
    assert refused.reason == "x is an input of the graph"
    small = call(aten.amax.default, exp(x), [1], True)
    refused = rule.transform(add(small, x).owner)
    assert isinstance(refused, Declined)
    assert "cannot overwrite" in refused.reason


def test_no_value_is_overwritten_that_a_module_still_needs():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            h = self.linear(x)
            a = torch.relu(h)
            return a + torch.exp(h) * h.t(), h.sum()

    module, data = Residual(), torch.randn(4, 4)
    found = from_module(module, (data,))
    optdb.query("+fast_run").rewrite(found)
    assert "_." in found.text()
    before = data.clone()
    for new, old in zip(to_module(found)(data), module(data), strict=True):
        torch.testing.assert_close(new, old, rtol=1e-5, atol=1e-6)
    assert torch.equal(before, data)


def test_a_trained_module_is_left_without_overwriting_and_can_be_trained():
    module, data = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Tanh()), torch.randn(2, 4)
    found = from_module(module, (data,), training=True)
    optdb.query("+fast_run").rewrite(found)
    assert "_." not in found.text()
    to_module(found)(data).sum().backward()


def test_the_handler_agrees_with_a_graph_without_overwriting():
    found = graph([x], exp(x))
    found.validate()
    assert found.feature(DestroyHandler).orderings(found) == {}
    assert isinstance(found, FunctionGraph)
