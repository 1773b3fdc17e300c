"""Walks of rewriters through graphs of abstract operators, and equilibria."""

import itertools

import pytest
import torch

from explorer.errors import CycleError, LimitWarning
from explorer.tensor import FunctionGraph, call, doubles
from explorer.tensor.rewriting import (
    Asterisk,
    EquilibriumRewriter,
    LocalRewriterGroup,
    MergeRewriter,
    PatternSub,
    Rewriter,
    TopoRewriter,
    merge_rewriter,
    node_rewriter,
    processing,
)
from explorer.tensor.rewriting.navigators import ORDERS
from tests.tensor.abstract_operators import op1, op2, op3, op4, op5, op6, variables

aten = torch.ops.aten

x, y, z = variables("x y z")
A, B, C, D, E, F = (op.target for op in (op1, op2, op3, op4, op5, op6))


def rewrite(pattern, replacement, inputs, output, lead=TopoRewriter, **options):
    graph = FunctionGraph(inputs, [output])
    lead(PatternSub(pattern, replacement), **options).rewrite(graph)
    graph.verify()
    return repr(graph)


def chain(length, value=x):
    for _ in range(length):
        value = op1(value)
    return value


# ---------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "replacement", "output", "expected"),
    [
        ((A, (B, "1", "2"), "3"), (D, "3", "2"), op1(op2(x, y), z), "[op4(z, y)]"),
        ((B, "1", "2"), (A, "2", "1"), op1(op2(x, y), z), "[op1(op1(y, x), z)]"),
        ((B, (C, "1"), "2"), (D, "1", "2"), op1(op2(op3(x), y), op2(y, z)), "[op1(op4(x, y), op2(y, z))]"),
        ((A, "1", "1"), "1", op1(x, x), "[x]"),
        ((A, "1", "1"), "1", op1(x, y), "[op1(x, y)]"),
        ((A, "1", "2", "3"), (F, "1", "2", "3"), op1(x, y, z), "[op6(x, y, z)]"),
        ((A, "1", Asterisk("more")), (B, Asterisk("more")), op1(x, y, z), "[op2(y, z)]"),
    ],
)
def test_a_pattern_is_replaced(pattern, replacement, output, expected):
    if isinstance(pattern[-1], Asterisk):
        found = FunctionGraph([x, y, z], [output])
        rule = PatternSub(pattern, lambda node, seen: op2(*seen["more"]))
        TopoRewriter(rule, ignore_newtrees=True).rewrite(found)
        assert repr(found) == expected
        return
    inputs = [v for v in (x, y, z) if v.name in repr(FunctionGraph([x, y, z], [output]))]
    assert rewrite(ops(pattern), ops(replacement), inputs, output, ignore_newtrees=True) == expected


def ops(pattern):
    """A pattern with operators that accept as many inputs as are written."""
    if not isinstance(pattern, tuple):
        return pattern
    operator = {op.target: op for op in (op1, op2, op3, op4, op5, op6)}[pattern[0]]
    return (operator.of(len(pattern) - 1), *map(ops, pattern[1:]))


@pytest.mark.parametrize(("length", "expected"), [(4, "[x]"), (5, "[op1(x)]")])
@pytest.mark.parametrize("order", ORDERS)
def test_pairs_of_an_involution_cancel(length, expected, order):
    assert rewrite(ops((A, (A, "1"))), "1", [x], chain(length), order=order) == expected


def test_new_nodes_are_rewritten_only_if_visited():
    output = op1(op1(op1(x)))
    grow = PatternSub(ops((A, "1")), ops((B, (A, "1"))))
    graph = FunctionGraph([x], [output])
    TopoRewriter(grow, ignore_newtrees=True).rewrite(graph)
    assert repr(graph) == "[op2(op1(op2(op1(op2(op1(x))))))]"
    graph = FunctionGraph([x], [output])
    with pytest.warns(LimitWarning, match="at the limit of 24 rewrites") as warned:
        TopoRewriter(grow, ignore_newtrees=False).rewrite(graph)
    assert warned[0].filename == __file__


def test_an_ambiguous_pattern_keeps_one_operator():
    assert rewrite(ops((A, (A, "1"))), ops((A, "1")), [x], chain(5)) == "[op1(x)]"


def test_nodes_with_other_users_are_not_matched_inside_a_pattern():
    inner = op2(x, y)
    output = op5(op1(inner, z), inner)
    pattern, replacement = ops((A, (B, "1", "2"), "3")), ops((D, "3", "2"))
    assert rewrite(pattern, replacement, [x, y, z], output) == "[op5(op1(*1 -> op2(x, y), z), *1)]"
    graph = FunctionGraph([x, y, z], [output])
    TopoRewriter(PatternSub(pattern, replacement, allow_multiple_clients=True)).rewrite(graph)
    assert repr(graph) == "[op5(op4(z, y), op2(x, y))]"


def test_constraints_of_a_pattern():
    rule = PatternSub(
        (
            ops((A, "1", "2"))[0],
            {"pattern": ops((B, "1", "2")), "constraint": lambda v: v.owner.inputs[0].name == "x"},
            "3",
        ),
        ops((D, "3", "2")),
    )
    for output, expected in ((op1(op2(x, y), z), "[op4(z, y)]"), (op1(op2(y, x), z), "[op1(op2(y, x), z)]")):
        graph = FunctionGraph([x, y, z], [output])
        TopoRewriter(rule).rewrite(graph)
        assert repr(graph) == expected


# ---------------------------------------------------------------------- merging


def test_merging_of_abstract_operators():
    graph = FunctionGraph([x, y, z], [op1(op3(x, y), op3(x, y), op2(op3(x, y), z))])
    assert merge_rewriter.rewrite(graph).applied == 2
    assert repr(graph) == "[op1(*1 -> op3(x, y), *1, op2(*1, z))]"


def test_merging_starts_from_the_inputs():
    graph = FunctionGraph([x, y], [op1(op3(op2(x, y)), op3(op2(x, y)))])
    assert merge_rewriter.rewrite(graph).applied == 2
    assert repr(graph) == "[op1(*1 -> op3(op2(x, y)), *1)]"


# ---------------------------------------------------------------------- equilibrium


def rule(pattern, replacement, **options):
    return PatternSub(ops(pattern), ops(replacement), **options)


def test_an_equilibrium_of_two_rules():
    graph = FunctionGraph([x, y], [op3(op4(x, y))])
    EquilibriumRewriter(
        [
            rule((A, "x", "y"), (B, "x", "y")),
            rule((D, "x", "y"), (A, "x", "y")),
            rule((C, (B, "x", "y")), (D, "x", "y")),
        ]
    ).rewrite(graph)
    assert repr(graph) == "[op2(x, y)]"


def test_an_equilibrium_runs_as_many_rounds_as_it_needs():
    graph = FunctionGraph([x, y, z], [op1(op1(op3(x, y)))])
    rules = [
        rule((A, (B, "x", "y")), (D, "x", "y")),
        rule((C, "x", "y"), (D, "x", "y")),
        rule((D, "x", "y"), (E, "x", "y")),
        rule((E, "x", "y"), (F, "x", "y")),
        rule((F, "x", "y"), (B, "x", "y")),
    ]
    profile = EquilibriumRewriter(rules).rewrite(graph)
    assert repr(graph) == "[op2(x, y)]"
    assert profile.rounds > 1


def test_a_low_limit_ends_an_equilibrium_before_it_is_reached():
    graph = FunctionGraph([x, y], [op3(op4(x, y))])
    rules = [
        rule((A, "x", "y"), (B, "x", "y")),
        rule((D, "x", "y"), (A, "x", "y")),
        rule((C, (B, "x", "y")), (D, "x", "y")),
    ]
    with pytest.warns(LimitWarning, match="at the limit of 1 rewrites"):
        EquilibriumRewriter(rules, max_use_ratio=1.0 / len(graph)).rewrite(graph)
    assert repr(graph) == "[op1(x, y)]"


def test_rewriters_are_tried_by_how_exactly_they_name_the_operator():
    """Theano's order, 4 5 3 2 1: those that name its class, the class above, the operator with its attributes, all.

    An overload stands for the operator's class, and the packet of all overloads for the class above.
    """
    tried = []

    def noting(name, tracks):
        @node_rewriter(tracks, name=name)
        def note(node):
            tried.append(name)
            return False

        return note

    graph = FunctionGraph([x], [op1(x)])
    rewriters = [
        noting("1 all", None),
        noting("2 this operator", [op1.of(1)]),
        noting("3 packet", [A.overloadpacket]),
        noting("4 overload", [A]),
        noting("5 overload", [A]),
        noting("6 another", [B]),
    ]
    EquilibriumRewriter(rewriters).rewrite(graph)
    assert tried == ["4 overload", "5 overload", "3 packet", "2 this operator", "1 all"]


class Counting(Rewriter):
    """Counts how often it ran."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def apply(self, graph):
        self.log.append((self.name, repr(graph)))


def test_the_parts_of_a_round_in_their_order():
    log = []
    graph = FunctionGraph([x], [op1(op1(x))])
    EquilibriumRewriter(
        [rule((A, "x"), (B, "x")), Counting("global", log)],
        final=[Counting("final", log)],
        cleanup=[Counting("cleanup", log)],
    ).rewrite(graph)
    start, half, end = "[op1(op1(x))]", "[op2(op1(x))]", "[op2(op2(x))]"
    first = [
        ("global", start),
        ("cleanup", start),
        ("cleanup", half),
        ("cleanup", end),
        ("final", end),
        ("cleanup", end),
    ]
    assert log == [*first, ("global", end), ("cleanup", end), ("final", end), ("cleanup", end)]


def test_a_cleanup_runs_after_every_change():
    graph = FunctionGraph([x, y], [op3(op1(x), op2(x))])
    EquilibriumRewriter([rule((A, "x"), (B, "x"))], cleanup=[MergeRewriter()]).rewrite(graph)
    assert repr(graph) == "[op3(*1 -> op2(x), *1)]"


def test_a_group_applies_the_first_rule_that_matches_or_all_in_turn():
    rules = [rule((A, "x"), (B, "x")), rule((B, "x"), (C, "x")), rule((A, "x"), (D, "x"))]
    for apply_all, expected in ((False, "[op2(x)]"), (True, "[op3(x)]")):
        graph = FunctionGraph([x], [op1(x)])
        TopoRewriter(LocalRewriterGroup(*rules, apply_all=apply_all), ignore_newtrees=True).rewrite(graph)
        assert repr(graph) == expected


def test_a_group_goes_on_after_a_rule_that_refuses_below_the_root():
    rules = [rule((A, (B, "x")), (C, "x")), rule((A, "x"), (D, "x"))]
    graph = FunctionGraph([x], [op1(x)])
    TopoRewriter(LocalRewriterGroup(*rules), ignore_newtrees=True).rewrite(graph)
    assert repr(graph) == "[op4(x)]"


def test_the_times_of_a_group_are_those_of_its_rules_and_never_negative(monkeypatch):
    """PyTensor subtracts the end from the beginning there."""
    clock = itertools.count()
    monkeypatch.setattr(processing, "perf_counter", lambda: float(next(clock)))
    rules = [rule((A, "x"), (B, "x")), rule((B, "x"), (C, "x"))]
    for group in (LocalRewriterGroup(*rules, apply_all=apply_all) for apply_all in (False, True)):
        profile = TopoRewriter(group, ignore_newtrees=True).rewrite(FunctionGraph([x], [op1(op1(x))]))
        assert profile.applied >= 2
        assert all(counts.seconds >= counts.tried for counts in profile.rules.values())


# ---------------------------------------------------------------------- cycles


def test_a_replacement_that_would_create_a_cycle_is_refused():
    inner = op1(x)
    graph = FunctionGraph([x], [op2(op3(inner))], clone=False)
    with pytest.raises(CycleError, match="a cycle"):
        graph.replace_validate(inner, graph.outputs[0])
    assert repr(graph) == "[op2(op3(op1(x)))]"
    assert len(graph.toposort()) == 3
    graph.verify()


def test_a_variable_may_be_replaced_by_its_user():
    inner = op1(x)
    graph = FunctionGraph([x], [op2(inner)], clone=False)
    graph.replace_validate(inner, op3(inner))
    assert repr(graph) == "[op2(op3(op1(x)))]"


def test_a_rule_that_grows_the_graph_forever_is_stopped():
    x, _ = doubles("x y")
    negated = (aten.neg.default, (aten.neg.default, "a"))
    wrap = PatternSub((aten.relu.default, "a"), (aten.relu.default, negated), name="wrap")
    graph = FunctionGraph([x], [call(aten.relu.default, x)])
    with pytest.warns(LimitWarning, match="wrap at the limit of 8 rewrites"):
        EquilibriumRewriter([wrap], name="grow").rewrite(graph)
    graph.verify()
