"""Theano's tutorial on graph optimization, example by example, with the results that it states."""

import math
import re
import warnings

import pytest
import torch

from explorer.errors import LimitWarning, OperatorError, RuleError
from explorer.tensor import FunctionGraph, NodeFinder, ReplaceValidate, call, doubles, to_module
from explorer.tensor.ir.scalars import add, div, identity, mul
from explorer.tensor.rewriting import (
    EquilibriumRewriter,
    FailurePolicy,
    LocalRewriter,
    OpPattern,
    OpRemove,
    OpSub,
    PatternSub,
    Rewriter,
    RewriteWarning,
    TopoRewriter,
    merge_rewriter,
)

aten = torch.ops.aten
x, y, z = doubles("x y z")


def first_example():
    return FunctionGraph([x, y, z], [add(z, mul(div(mul(y, x), y), div(z, x)))])


def twice_the_same():
    return FunctionGraph([x, y, z], [div(mul(add(y, z), x), add(y, z))])


def value(graph, *numbers):
    return float(to_module(graph)(*(torch.tensor(n, dtype=torch.float64) for n in numbers)))


class Simplify(Rewriter):
    """(a * b) / a is b, written as a global rewriter, as the tutorial does."""

    def add_requirements(self, graph):
        graph.attach_feature(ReplaceValidate())

    def apply(self, graph):
        for node in graph.toposort():
            if node.op == div:
                below, y = node.inputs
                if below.owner and below.owner.op == mul:
                    a, b = below.owner.inputs
                    if y is a:
                        graph.replace_validate(node.outputs[0], b)
                    elif y is b:
                        graph.replace_validate(node.outputs[0], a)


class SimplifyFound(Simplify):
    """The same, by the nodes that a NodeFinder knows: the exercise of the tutorial."""

    def add_requirements(self, graph):
        graph.attach_feature(NodeFinder())

    def apply(self, graph):
        for node in graph.get_nodes(div):
            below, y = node.inputs
            if below.owner and below.owner.op == mul and y in below.owner.inputs:
                a, b = below.owner.inputs
                graph.replace_validate(node.outputs[0], b if y is a else a)


class LocalSimplify(LocalRewriter):
    """(a * b) / a is b."""

    def transform(self, node):
        if node.op == div:
            below, y = node.inputs
            if below.owner and below.owner.op == mul:
                a, b = below.owner.inputs
                if y is a:
                    return [b]
                if y is b:
                    return [a]
        return False

    def tracks(self):
        return [div]


def test_a_graph_reads_as_its_expression():
    assert repr(first_example()) == "[add(z, mul(div(mul(y, x), y), div(z, x)))]"


@pytest.mark.parametrize(
    "rewriter",
    [Simplify(), SimplifyFound(), TopoRewriter(LocalSimplify())],
    ids=lambda rewriter: type(rewriter).__name__,
)
def test_the_simplification_by_three_rewriters(rewriter):
    graph = first_example()
    before = value(graph, 2.0, 3.0, 5.0)
    rewriter.rewrite(graph)
    assert repr(graph) == "[add(z, mul(x, div(z, x)))]"
    assert math.isclose(value(graph, 2.0, 3.0, 5.0), before)
    graph.verify()


def test_the_navigator_counts_one_change_and_leaves_three_of_five_applications():
    graph = first_example()
    assert len(graph) == 5
    assert TopoRewriter(LocalSimplify()).rewrite(graph).applied == 1
    assert len(graph) == 3


@pytest.mark.parametrize("rewriter", [Simplify(), SimplifyFound()], ids=lambda rewriter: type(rewriter).__name__)
def test_equal_terms_are_simplified_only_after_they_were_merged(rewriter):
    graph = twice_the_same()
    rewriter.rewrite(graph)
    assert repr(graph) == "[div(mul(add(y, z), x), add(y, z))]"
    assert merge_rewriter.rewrite(graph).applied == 1
    assert repr(graph) == "[div(mul(*1 -> add(y, z), x), *1)]"
    rewriter.rewrite(graph)
    assert repr(graph) == "[x]"


def test_sums_in_a_different_order_are_not_merged():
    graph = FunctionGraph([x, y], [mul(add(x, y), add(y, x))])
    assert merge_rewriter.rewrite(graph).applied == 0
    assert repr(graph) == "[mul(add(x, y), add(y, x))]"


def test_two_patterns_are_needed_for_two_orders_and_one_if_products_commute():
    first = PatternSub((div, (mul, "x", "y"), "y"), "x")
    second = PatternSub((div, (mul, "x", "y"), "x"), "y")
    both = PatternSub((div, (mul, "x", "y"), "y"), "x", commutative=True)
    found = []
    for pattern in (first, second, both):
        graph = first_example()
        found.append((TopoRewriter(pattern).rewrite(graph).applied, repr(graph)))
    rewritten = "[add(z, mul(x, div(z, x)))]"
    assert found == [(0, repr(first_example())), (1, rewritten), (1, rewritten)]


def test_other_users_block_a_match_unless_allowed():
    product = mul(y, x)
    graph = FunctionGraph([x, y], [add(product, div(product, y))])
    assert repr(graph) == "[add(*1 -> mul(y, x), div(*1, y))]"
    TopoRewriter(PatternSub((div, (mul, "x", "y"), "x"), "y")).rewrite(graph)
    assert repr(graph) == "[add(*1 -> mul(y, x), div(*1, y))]"
    TopoRewriter(PatternSub((div, (mul, "x", "y"), "x"), "y", allow_multiple_clients=True)).rewrite(graph)
    assert repr(graph) == "[add(mul(y, x), x)]"


def test_op_sub_replaces_all_uses():
    graph = FunctionGraph([x, y, z], [add(add(x, y), mul(add(x, y), z))])
    assert TopoRewriter(OpSub(add, mul)).rewrite(graph).applied == 3
    assert repr(graph) == "[mul(mul(x, y), mul(mul(x, y), z))]"
    assert value(graph, 2.0, 3.0, 5.0) == 180.0


def test_op_remove_bypasses_an_operator():
    graph = FunctionGraph([x, y, z], [add(identity(x), mul(identity(identity(y)), z))])
    TopoRewriter(OpRemove(identity)).rewrite(graph)
    assert repr(graph) == "[add(x, mul(y, z))]"
    assert value(graph, 2.0, 3.0, 5.0) == 17.0


def test_op_remove_needs_as_many_results_as_inputs():
    graph = FunctionGraph([x, y], [add(x, y)])
    with pytest.raises(RuleError, match="2 inputs and 1 results"):
        TopoRewriter(OpRemove(add)).rewrite(graph)
    assert repr(graph) == "[add(x, y)]"


class Gives(LocalRewriter):
    """Returns its argument."""

    def __init__(self, give):
        self.give = give

    def transform(self, node):
        return self.give(node)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda node: [], "div has one result, and it returned 0 replacements"),
        (lambda node: True, "returned True"),
        (lambda node: [None], "returned None for a result of div that is used"),
        (lambda node: ["x"], "returned 'x' for"),
        (lambda node: [call(aten._to_copy.default, node.inputs[0], dtype=torch.float32)], "is a f32"),
        (lambda node: node.nothing, "AttributeError"),
    ],
)
def test_an_invalid_result_of_a_transform_is_an_error_and_changes_nothing(give, message):
    graph = FunctionGraph([x, y], [div(x, y)])
    with pytest.raises(RuleError, match=message):
        TopoRewriter(Gives(give)).rewrite(graph)
    assert repr(graph) == "[div(x, y)]"
    graph.verify()


def test_none_replaces_an_unused_result():
    inputs = call(aten.stack.default, [x, y])
    largest, _ = call(aten.max.dim, inputs, 0)
    graph = FunctionGraph([x, y], [largest])

    def give(node):
        return [call(aten.amax.default, node.inputs[0], [0]), None] if node.op.name == "max" else False

    TopoRewriter(Gives(give)).rewrite(graph)
    assert repr(graph) == "[amax(stack(x, y), dim=[0])]"
    assert value(graph, 2.0, 3.0) == 3.0


def test_a_mapping_may_replace_other_results_and_list_removals():
    quotient = div(mul(x, y), y)
    graph = FunctionGraph([x, y], [add(quotient, mul(quotient, y))])

    def give(node):
        if node.op != add:
            return False
        product = node.inputs[1]
        return {product: graph.inputs[0], "remove": [product.owner]}

    TopoRewriter(Gives(give), ignore_newtrees=True).rewrite(graph)
    assert repr(graph) == "[add(div(mul(x, y), y), x)]"


def test_a_mapping_that_fails_to_remove_its_list_is_reverted_as_a_failure():
    graph = FunctionGraph([x, y], [add(mul(x, y), mul(x, y))])
    one, other = graph.toposort()[-1].inputs

    def give(node):
        return {one: graph.inputs[0], "remove": [other.owner]} if node.op == add else False

    with pytest.raises(RuleError, match="did not remove"):
        TopoRewriter(Gives(give)).rewrite(graph)
    with pytest.warns(RewriteWarning, match="did not remove"):
        TopoRewriter(Gives(give), policy=FailurePolicy.WARN).rewrite(graph)
    TopoRewriter(Gives(give), policy=FailurePolicy.REVERT).rewrite(graph)
    assert repr(graph) == "[add(mul(x, y), mul(x, y))]"


def test_nodes_are_found_by_operator_only():
    graph = first_example()
    graph.attach_feature(NodeFinder())
    assert [repr(node) for node in graph.get_nodes(div)] == ["div(mul(y, x), y)", "div(z, x)"]
    with pytest.raises(OperatorError, match="expected an operator, got"):
        graph.get_nodes("div")
    TopoRewriter(LocalSimplify()).rewrite(graph)
    assert [repr(node) for node in graph.get_nodes(div)] == ["div(z, x)"]


def test_an_empty_tracks_list_is_an_error():
    class Nothing(LocalSimplify):
        def tracks(self):
            return []

    with pytest.raises(RuleError, match="would never be tried"):
        TopoRewriter(Nothing()).rewrite(first_example())


@pytest.mark.parametrize("ignore_newtrees", [True, False])
def test_two_rules_that_undo_each_other_end_with_a_warning(ignore_newtrees):
    forth, back = PatternSub((add, "x", "y"), (mul, "x", "y")), PatternSub((mul, "x", "y"), (add, "x", "y"))
    graph = FunctionGraph([x, y], [add(x, y)])
    with pytest.warns(LimitWarning, match=r"add\(x, y\) -> mul\(x, y\) at the limit of 8 rewrites"):
        profile = EquilibriumRewriter([forth, back], ignore_newtrees=ignore_newtrees).rewrite(graph)
    assert profile.enabled[forth.label, back.label] >= 8
    graph.verify()


def test_a_navigator_stops_an_endless_rule_with_a_warning():
    graph = FunctionGraph([x, y], [add(x, y)])
    grow = PatternSub((add, "x", "y"), (add, "y", "x"))
    with pytest.warns(LimitWarning, match="at the limit of 8 rewrites"):
        TopoRewriter(grow, ignore_newtrees=False).rewrite(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TopoRewriter(grow, ignore_newtrees=True).rewrite(graph).applied == 1


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ((add, "x"), "add accepts 2 inputs; got 1 in add(x)"),
        ((mul, (torch.ops.aten.relu.default, "x", "y"), "z"), "relu accepts 1 inputs; got 2 in relu(x, y)"),
        ((torch.ops.aten.linear.default, "x"), "linear accepts 2 to 3 inputs; got 1 in linear(x)"),
    ],
)
def test_each_operator_of_a_pattern_needs_as_many_inputs_as_it_accepts(pattern, says):
    with pytest.raises(RuleError, match=re.escape(says)):
        PatternSub(pattern, "x")


@pytest.mark.parametrize(
    ("replacement", "says"),
    [
        ((torch.ops.aten.abs, "x"), "expected one overload in a replacement, got aten.abs; choose one of aten.abs.d"),
        ((mul, "x", (torch.ops.aten.abs, "x")), "expected one overload in a replacement, got aten.abs; choose one of"),
        ((OpPattern(torch.ops.aten.abs), "x"), "expected one overload in a replacement, got aten.abs; choose one of"),
        ((torch.ops.aten.sum.dim_IntList, "x"), "needs the argument 'dim'"),
        ((torch.ops.aten.linear.default, "x", "y", "x"), "linear accepts 2 inputs; got 3 in linear(x, y, x)"),
        ({"pattern": "x", "constraint": bool}, "a replacement cannot have a constraint; put it into the pattern"),
    ],
)
def test_a_replacement_that_cannot_be_built_is_refused_at_construction(replacement, says):
    with pytest.raises(RuleError, match=re.escape(says)):
        PatternSub((mul, "x", "y"), replacement)
