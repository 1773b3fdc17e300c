"""Global rewriters in a record, and replacements that are refused."""

import pytest
import torch
from torch import nn

from explorer.errors import InconsistencyError, RuleError
from explorer.rewrite import Exactness, FunctionPassPipeline
from explorer.tensor import Feature, FunctionGraph, TensorType, Variable, call, doubles
from explorer.tensor.ir.scalars import add, div, mul
from explorer.tensor.passes.base import describe_rules
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.rewriting import (
    AddDestroyHandler,
    EquilibriumRewriter,
    FailurePolicy,
    LocalRewriter,
    PatternSub,
    Rewriter,
    RewriteWarning,
    SequenceRewriter,
    SweepRewriter,
    TopoRewriter,
    graph_rewriter,
    merge_rewriter,
    node_rewriter,
)
from explorer.tensor.rules import optdb
from explorer.trace import Trace

aten = torch.ops.aten
x, y = doubles("x y")
DATA = tuple(torch.tensor(n, dtype=torch.float64) for n in (2.0, 3.0))
SIMPLIFY = PatternSub((div, (mul, "x", "y"), "y"), "x", name="Simplify")


class Heads(nn.Module):
    """Two products with one left factor."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(7, 3), nn.Linear(7, 5)

    def forward(self, given):
        return self.one(given), self.other(given)


def test_global_rewriters_are_recorded_with_exactness_and_location():
    torch.manual_seed(0)
    trace = record_module(Heads(), (torch.randn(4, 7),), FunctionPassPipeline.of("MergeMatMulOnLHS", "CSE"))
    found = {rule.name: rule for rule in trace.rules}
    product, merge = found["merge products with the same left factor"], found["merge"]
    assert (product.exactness, merge.exactness) == ("real", "exact")
    assert product.doc.startswith("Merges products that share their left (or right) factor")
    assert merge.doc == "Merges equal constants, and applications of one operator to the same inputs."
    assert "matmul.py:" in product.source
    assert "simple_rewriters.py:" in merge.source
    assert [(row.exactness, row.ok) for row in trace.check()] == [("real", True), ("real", True), ("exact", True)]


def test_a_rewriter_made_of_a_function_is_described_by_it():
    @graph_rewriter(exactness=Exactness.LOSSY)
    def forget(graph):
        """Forgets nothing."""

    inner = EquilibriumRewriter([SIMPLIFY], final=[forget], cleanup=[merge_rewriter])
    sequence = SequenceRewriter(AddDestroyHandler(), inner, TopoRewriter(SIMPLIFY), SweepRewriter([]))
    rules = {rule.name: (rule.exactness, rule.doc) for rule in describe_rules([sequence])}
    assert rules == {
        "Simplify": ("real", SIMPLIFY.doc),
        "add_destroy_handler": ("exact", AddDestroyHandler().doc),
        "forget": ("lossy", "Forgets nothing."),
        "merge": ("exact", merge_rewriter.doc),
    }


def test_everything_that_optdb_may_record_has_a_doc_and_a_location():
    assert [rule.name for rule in describe_rules([optdb.query("+fast_run")]) if not (rule.doc and rule.source)] == []


class Careful(Rewriter):
    """Leaves everything alone, and says so."""

    def apply(self, graph):
        for node in graph.toposort():
            self.decline(graph, node, f"{node.op.name} is fine as it is")


def test_a_global_rewriter_records_why_it_declines():
    trace = record_module(FunctionGraph([x, y], [add(x, y)]), DATA, Careful())
    node = next(n for n, value in trace.graph_at(0).nodes.items() if value.title == "add")
    assert trace.why_not("Careful", node).reason == "the rule declined: add is fine as it is"


def test_products_that_are_not_merged_have_a_reason():
    class Chain(nn.Module):
        """Two products with one right factor, the second computed from the first, and two that fit no other."""

        def forward(self, given, weight):
            first = given @ weight
            return first @ weight, first @ given, given[0] @ weight

    trace = record_module(Chain(), (torch.randn(3, 3), torch.randn(3, 3)), FunctionPassPipeline.of("MergeMatMulOnRHS"))
    reasons = [miss.refusal.reason for step in trace.steps for miss in step.refusals]
    assert sorted(reasons) == [
        "the rule declined: it depends on another product with the same factor",
        "the rule declined: its shapes or settings do not allow merging it",
        "the rule declined: no other product shares a factor with it and fits",
    ]


class Objects(Feature):
    """Has something against every change."""

    def on_validate(self, graph):
        raise InconsistencyError("no change, please")


class Replaces(Rewriter):
    """Replaces the first output."""

    def __init__(self, new):
        self.new = new

    def apply(self, graph):
        self.replace_all(graph, [(graph.outputs[0], self.new)])


def test_merging_skips_only_replacements_that_a_feature_refuses(monkeypatch):
    twice = FunctionGraph([x, y], [div(add(x, y), add(x, y))], features=[Objects()])
    assert merge_rewriter.rewrite(twice).applied == 0
    broken = FunctionGraph([x, y], [div(add(x, y), add(x, y))])

    def fails(*_, **__):
        from explorer.errors import GraphError

        raise GraphError("torn")

    monkeypatch.setattr(broken, "replace_all_validate", fails)
    with pytest.raises(RuleError, match=r"the rule merge \(.*simple_rewriters.py:\d+\) failed: torn"):
        merge_rewriter.rewrite(broken)


def test_a_global_rewriter_that_returns_another_type_ends_the_record_with_its_name():
    wrong = Variable(TensorType(torch.float32, ()), name="wrong")
    with pytest.raises(RuleError, match=r"the rule Replaces .* cannot replace") as error:
        record_module(FunctionGraph([x, y], [add(x, y)]), DATA, Replaces(call(aten.neg.default, wrong)))
    kept = error.value.trace
    assert isinstance(kept, Trace)
    assert "cannot replace" in str(kept.steps[-1].error)


class Circular(LocalRewriter):
    """Returns a variable that depends on the replaced one, wrong on purpose."""

    def transform(self, node):
        if node.op != mul:
            return False
        (reader,) = (client for client, _ in node.outputs[0].clients)
        return {node.inputs[0]: reader.outputs[0]}


def graph_of_two():
    return FunctionGraph([x, y], [add(mul(x, y), y)])


def test_a_rule_that_would_create_a_cycle_fails_according_to_the_policy():
    with pytest.raises(RuleError, match=r"the rule Circular .*: a cycle"):
        TopoRewriter(Circular()).rewrite(graph_of_two())
    graph = graph_of_two()
    with pytest.warns(RewriteWarning, match="a cycle"):
        TopoRewriter(Circular(), policy=FailurePolicy.WARN).rewrite(graph)
    assert repr(graph) == "[add(mul(x, y), y)]"
    trace = record_module(graph, DATA, TopoRewriter(Circular(), policy=FailurePolicy.REVERT))
    (miss,) = trace.steps[-1].refusals
    assert "a cycle" in miss.refusal.reason


@pytest.mark.parametrize("policy", FailurePolicy)
def test_a_replacement_refused_by_a_feature_is_not_a_failure_under_any_policy(policy):
    @node_rewriter([add], requirements=[Objects], name="Products")
    def products(node):
        """Is refused."""
        return [mul(*node.inputs)]

    graph = FunctionGraph([x, y], [add(x, y)])
    assert TopoRewriter(products, policy=policy).rewrite(graph).applied == 0
    assert repr(graph) == "[add(x, y)]"
