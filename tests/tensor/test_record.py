"""The trace of a rewriting: steps, matches, refusals and questions, as in the compilation of a circuit."""

import pytest
import torch
from torch import nn

from explorer.errors import CircuitError, RuleError, UnknownNameError
from explorer.rewrite import Exactness
from explorer.tensor import Feature, FunctionGraph, Observer, TensorType, Variable, call, doubles
from explorer.tensor.ir.scalars import add, div, mul
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.rewriting import (
    Declined,
    EquilibriumRewriter,
    FailurePolicy,
    LocalRewriter,
    PatternSub,
    TopoRewriter,
    merge_rewriter,
    node_rewriter,
)
from explorer.tensor.rules import canonicalize, optdb
from explorer.trace import Refusal, RefusalKind, Trace
from explorer.views import TraceIndex, details, picture, steps

aten = torch.ops.aten
x, y, z = doubles("x y z")
DATA = tuple(torch.tensor(n, dtype=torch.float64) for n in (2.0, 3.0, 5.0))
SIMPLIFY = PatternSub((div, (mul, "x", "y"), "x"), "y", name="Simplify")
OTHER = PatternSub((div, (mul, "x", "y"), "y"), "x", name="SimplifyOther")


def example():
    first = add(z, mul(div(mul(y, x), y), div(z, x)))
    return FunctionGraph([x, y, z], [first, div(mul(add(y, z), x), add(y, z))])


@pytest.fixture(scope="module")
def trace():
    return record_module(
        example(), DATA, [merge_rewriter, EquilibriumRewriter([SIMPLIFY, OTHER], name="canonicalize")], name="example"
    )


def test_steps_are_passes_and_rounds(trace):
    assert [(step.path, step.summary) for step in trace.steps] == [
        ("import", "changed"),
        ("merge", "1 of 1 matches applied: merge x1"),
        ("canonicalize/round 1", "2 of 2 matches applied: Simplify x2"),
        ("canonicalize/round 2", "nothing changed (2 near misses)"),
    ]
    assert [len(step.snapshot.graph) for step in trace.steps] == [12, 11, 6, 6]


def test_one_by_one_every_rewrite_is_a_step():
    pipeline = EquilibriumRewriter([SIMPLIFY, OTHER], name="canonicalize")
    trace = record_module(example(), DATA, [merge_rewriter, pipeline], one_by_one=True)
    paths = [step.path for step in trace.steps if step.rewrites]
    assert paths == ["merge", "canonicalize/round 1", "canonicalize/round 1, part 2"]


def test_log_of_softmax_by_hand_is_three_steps():
    v = Variable(TensorType(torch.float64, (2, 3)), name="v")
    exp, other = call(aten.exp.default, v), call(aten.exp.default, v)
    by_hand = call(aten.log.default, call(aten.div.Tensor, exp, call(aten.sum.dim_IntList, other, [1], True)))
    given = (torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, 3.0]], dtype=torch.float64),)
    pipeline = optdb.query("+fast_run", "-inplace")
    trace = record_module(FunctionGraph([v], [by_hand]), given, pipeline, one_by_one=True)
    done = [(step.path, [rewrite.rule for rewrite in step.rewrites]) for step in trace.steps if step.rewrites]
    assert done == [
        ("optdb/merge1", ["merge1"]),
        ("optdb/stabilize/round 1, part 2", ["exp_over_sum"]),
        ("optdb/stabilize/round 2", ["log_of_softmax"]),
    ]
    titles = [[n.title for n in trace.graph_at(path).nodes.values()] for path, _ in done]
    assert [len(names) for names in titles] == [5, 3, 2]
    assert titles[-1] == ["Input", "log_softmax"]
    assert [str(found) for found in trace.rule_interactions()] == ["exp_over_sum enabled log_of_softmax: once"]
    assert all(check.ok for check in trace.check())
    torch.testing.assert_close(trace.compiled(*given), torch.log_softmax(given[0], 1))


def test_a_replacement_is_one_step_regardless_of_the_number_of_users():
    """PyTensor's history has a step for each reader."""
    product = mul(x, y)
    output = add(add(product, product), add(product, product))
    turn = PatternSub((mul, "a", "b"), (mul, "b", "a"), name="Turn")
    trace = record_module(FunctionGraph([x, y], [output]), DATA[:2], TopoRewriter(turn, ignore_newtrees=True))
    assert [(step.path, len(step.rewrites)) for step in trace.steps] == [("import", 0), ("Turn", 1)]
    (rewrite,) = trace.steps[-1].rewrites
    assert rewrite.rule == "Turn"
    assert [check.max_difference for check in trace.check()] == [0.0, 0.0]
    graph = FunctionGraph([x, y], [output])
    mark, before = graph.checkpoint(), graph.text()
    TopoRewriter(turn, ignore_newtrees=True).rewrite(graph)
    assert repr(graph) == "[add(add(*1 -> mul(y, x), *1), add(*1, *1))]"
    graph.undo(mark)
    assert graph.text() == before


def test_rewriting_a_new_node_begins_a_new_step():
    """x + x becomes 2x, which becomes x * 4 * 0.5: the second rule matches the result of the first."""
    twice = PatternSub((add, "a", "a"), (mul, "a", 2.0), name="Twice")
    halves = PatternSub((mul, "a", 2.0), (div, (mul, "a", 4.0), 2.0), name="Halves")
    trace = record_module(
        FunctionGraph([x, y], [add(x, x), add(y, y)]),
        DATA[:2],
        EquilibriumRewriter([twice, halves], ignore_newtrees=False, name="both"),
    )
    done = [(step.path, [rewrite.rule for rewrite in step.rewrites]) for step in trace.steps if step.rewrites]
    assert done == [
        ("both/round 1", ["Twice"]),
        ("both/round 1, part 2", ["Halves", "Twice"]),
        ("both/round 1, part 3", ["Halves"]),
    ]
    assert all(check.ok for check in trace.check())


def test_every_step_has_the_same_values(trace):
    assert [(check.max_difference, check.ok) for check in trace.check()] == [(0.0, True)] * 4
    assert [float(v) for v in trace.circuit_at(1)(*DATA)] == [float(v) for v in trace.compiled(*DATA)]


def test_why_not_asks_the_pattern_again(trace):
    answer = trace.why_not("Simplify", 5)
    assert [str(check) for check in answer.checks] == [
        "entry 1, node 5: is it div? yes",
        "entry 1, node 5: does it have 2 inputs? yes",
        "entry 2, node 5: is it mul? no",
    ]
    assert answer.reason == "node 5 has input z, wanted mul"
    assert trace.why_not("Simplify", 7).reason == "node 7 is add, not div"
    assert trace.why_not("Simplify", 4).reason == "it matched and was applied"
    with pytest.raises(CircuitError, match="never tried while node 10 existed"):
        trace.why_not("Simplify", 10)


def test_lineage_names_the_nodes_before_and_now(trace):
    assert str(trace.lineage(4)).splitlines() == [
        "node 4: exists from step 0 to step 1",
        "  imported as: 4",
        "  became step 2 (canonicalize/round 1): Simplify: 4, 3 -> 0",
        "  now 0",
    ]


def test_rule_statistics_and_near_misses(trace):
    stats = {rule.rule: (rule.matched, rule.applied, rule.nodes_removed) for rule in trace.rule_stats()}
    assert stats == {"Simplify": (2, 2, 5), "SimplifyOther": (0, 0, 0), "merge": (1, 1, 1)}
    assert trace.near_misses("SimplifyOther")[0].blocked == 2
    assert all("test_record.py" in rule.source for rule in trace.rules if rule.name != "merge")


def test_a_file_holds_all_but_the_tensors(trace, tmp_path):
    path = tmp_path / "example.trace.json.gz"
    trace.save(path)
    read = Trace.load(path)
    assert read.level.name == "tensor"
    for step in range(len(trace.steps)):
        assert str(read.graph_at(step)) == str(trace.graph_at(step))
        assert read.step(step).rules == trace.step(step).rules
        assert read.step(step).rewrites == trace.step(step).rewrites
        assert picture(TraceIndex(read), step).view == picture(TraceIndex(trace), step).view
    assert str(read.lineage(4)) == str(trace.lineage(4))
    assert read.why_not("Simplify", 5).reason == trace.why_not("Simplify", 5).reason
    with pytest.raises(CircuitError, match="holds no tensors"):
        read.check(DATA)


def test_tensor_level_views_say_nodes(trace):
    index = TraceIndex(trace)
    assert [picture(index, step).view["caption"] for step in range(4)] == [
        "12 nodes imported",
        "1 node removed",
        "5 nodes removed",
        "Nothing changed",
    ]
    assert "2 patterns were tried on 6 nodes" in picture(index, 3).view["message"]
    assert [view.get("label") for view in steps(index)] == ["import", "merge", "round 1: Simplify", "round 2"]
    node = dict(details(index, 0, (5,))["sections"][0]["rows"])
    assert (node["type"], node["results"], node["written"]) == ("aten.div.Tensor", "f64[]", "8 B")


def test_constants_are_parameters_of_the_operators_that_read_them():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    trace = record_module(module, (torch.randn(1, 3, 8, 8),), ())
    graph = trace.graph_at(0)
    assert [node.title for node in graph.nodes.values()] == ["Input", "conv2d", "relu"]
    convolution = next(node for node in graph.nodes.values() if node.title == "conv2d")
    shapes = {name: (p.shape, p.nodes[0].leaves) for name, p in convolution.parameters.items()}
    assert shapes == {"weight": ((4, 3, 3, 3), ("0.weight",)), "bias": ((4,), ("0.bias",))}
    assert convolution.about["module"] == "0"
    assert dict(trace.stats(0)) == {
        "operators": 2,
        "constants": 2,
        "parameters": 112,
        "activation_bytes": 2 * 4 * 36 * 4,
    }


class Objects(Feature):
    """Has something against products."""

    def on_validate(self, graph):
        from explorer.errors import InconsistencyError

        if any(node.op == mul for node in graph.nodes):
            raise InconsistencyError("no products, please")


def test_a_replacement_that_a_feature_refuses_is_reverted_and_recorded():
    @node_rewriter([add], requirements=[Objects], name="Products")
    def products(node):
        """Wrong on purpose."""
        return [mul(*node.inputs)]

    trace = record_module(FunctionGraph([x, y], [add(x, y)]), DATA[:2], TopoRewriter(products))
    miss = trace.steps[-1].refusals[0].refusal
    assert (miss.kind, miss.reason) == (
        RefusalKind.REVERTED,
        "it matched, and was reverted: no products, please",
    )
    assert not trace.steps[-1].changed
    assert str(trace.graph_at(-1)) == str(trace.graph_at(0))


def test_a_declining_rule_reports_the_reason_and_node():
    @node_rewriter([add], name="Careful")
    def careful(node):
        """Never applies."""
        return Declined("the right side is no constant", node)

    trace = record_module(FunctionGraph([x, y], [add(x, y)]), DATA[:2], TopoRewriter(careful))
    node = next(n for n, value in trace.graph_at(0).nodes.items() if value.title == "add")
    assert trace.why_not("Careful", node).reason == "the rule declined: the right side is no constant"


def test_a_rule_that_raises_ends_the_record_and_keeps_it_up_to_there():
    class Broken(LocalRewriter):
        """Raises."""

        def transform(self, node):
            raise ZeroDivisionError("by zero")

    with pytest.raises(
        RuleError, match=r"the rule Broken .*test_record.py.* failed at node \d+ \(add\): ZeroDivisionError"
    ) as error:
        record_module(FunctionGraph([x, y], [add(x, y)]), DATA[:2], [merge_rewriter, TopoRewriter(Broken())])
    kept = error.value.trace
    assert isinstance(kept, Trace)
    assert [step.path for step in kept.steps] == ["import", "merge", "Broken"]
    assert "by zero" in str(kept.steps[-1].error)


@pytest.mark.parametrize("give", [lambda node: [], lambda node: [node.inputs[0], None], lambda node: node.nothing])
def test_an_invalid_result_of_a_rule_is_recorded_where_it_is_ignored(give):
    @node_rewriter([add], name="Wrong")
    def wrong(node):
        """Returns an invalid result."""
        return give(node)

    graph = FunctionGraph([x, y], [add(x, y)])
    trace = record_module(graph, DATA[:2], TopoRewriter(wrong, policy=FailurePolicy.REVERT))
    (miss,) = trace.steps[-1].refusals
    assert (miss.refusal.kind, miss.refusal.pattern) == (RefusalKind.REVERTED, "Wrong")
    assert "it failed" in miss.refusal.reason
    assert str(trace.graph_at(-1)) == str(trace.graph_at(0))


def test_an_unknown_mode_is_an_error():
    with pytest.raises(UnknownNameError, match="infer, train"):
        record_module(example(), DATA, (), mode="test")


def test_a_match_names_its_rule_and_nodes():
    graph = FunctionGraph([x, y], [div(mul(x, y), x)])
    found = SIMPLIFY.match(graph.toposort()[-1])
    assert not isinstance(found, Refusal)
    assert list(found.bindings) == ["x", "y"]
    assert [node.op.name for node in found.nodes] == ["div", "mul"]


def test_undo_is_a_step_and_restores_the_text():
    events = []
    graph = FunctionGraph([x, y, z], [div(mul(x, y), x)], features=[Observer([events.append])])
    before, mark = graph.text(), graph.checkpoint()
    with graph.observer.scope("by hand"):
        SIMPLIFY.match(graph.toposort()[-1])
        graph.replace_validate(graph.outputs[0], graph.inputs[1], "by hand")
        assert graph.text() != before
        graph.undo(mark)
    assert graph.text() == before
    graph.verify()
    assert [type(event).__name__ for event in events if type(event).__name__ == "Rewritten"] == ["Rewritten"] * 2


def test_a_graph_reads_a_list_of_tensors():
    graph = FunctionGraph([x, y], [call(aten.stack.default, [x, y])])
    assert repr(graph) == "[stack(x, y)]"


def test_why_not_of_a_rule_at_an_operator_that_it_does_not_track():
    """The rule is not asked: it would look for settings that the operator does not have."""
    matrix = Variable(TensorType(torch.float64, (2, 3)), name="m")
    output = call(aten.rsub.Scalar, call(aten.relu.default, matrix), 1)
    trace = record_module(
        FunctionGraph([matrix], [output]), (torch.ones(2, 3, dtype=torch.float64),), canonicalize.query("+fast_run")
    )
    (relu,) = (i for i, node in trace.graph_at("import").nodes.items() if node.title == "relu")
    for rule in trace.rules:
        assert trace.why_not(rule.pattern, relu).reason, rule.pattern
    assert trace.why_not("rsub_to_sub", relu).reason == (
        f"node {relu} is relu; rsub_to_sub is tried at rsub.Scalar or rsub.Tensor"
    )


def test_a_difference_in_the_sign_of_zero_is_reported_in_words():
    minus = PatternSub((add, "a", 0.0), "a", name="DropZero", exactness=Exactness.EXACT)
    given = (torch.tensor(-0.0, dtype=torch.float64),)
    trace = record_module(FunctionGraph([x], [add(x, 0.0)]), given, TopoRewriter(minus))
    (_, check) = trace.check()
    assert str(check) == "step 1 DropZero: 0, but other bits in 1 (exact: DIFFERS)"
