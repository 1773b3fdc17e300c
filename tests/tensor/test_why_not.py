"""`why_not` answers for rules and for passes, with the node at which a precondition failed."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import CircuitError, UnknownNameError
from explorer.rewrite import FunctionPassPipeline, PassRegistry
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import GraphPass
from explorer.tensor.recording.record_module import ManagedPipeline, record_module
from explorer.tensor.rewriting import Declined, PatternSub, node_rewriter
from explorer.trace import Trace

aten = torch.ops.aten
X = torch.randn(2, 3)


@node_rewriter([aten.relu.default], name="says_why")
def says_why(node):
    """A relu that declines."""
    return Declined("it is not wanted", node)


@node_rewriter([aten.relu.default, aten.neg.default], name="silent")
def silent(node):
    """Never applies."""
    return False


TWICE = PatternSub((aten.neg.default, (aten.neg.default, "x")), "x", name="Twice")


class Program(nn.Module):
    def forward(self, x):
        return (-x.relu()).exp()


@pytest.fixture(scope="module")
def trace():
    made = GraphPass("Odd", "Rules of a test.", rules=[silent, TWICE, says_why])
    registry = PassRegistry({"Odd": made, "DCE": passes["DCE"]})
    return record_module(Program(), (X,), ManagedPipeline(FunctionPassPipeline.of("Odd", "DCE"), passes=registry))


def test_near_misses_of_a_pass_are_those_of_its_rules(trace):
    assert {found.pattern for found in trace.near_misses("Odd")} == {"silent", "Twice", "says_why"}
    (step,) = (step.index for step in trace.steps if step.path == "Odd")
    assert [str(found) for found in trace.near_misses("Odd", step=step)] == [
        str(found) for found in trace.near_misses("Odd")
    ]
    with pytest.raises(UnknownNameError, match="Oddly"):
        trace.near_misses("Oddly")


def node_of(trace, title):
    return next(node for node, record in trace.graph_at(0).nodes.items() if record.title == title)


def test_the_closest_rule_of_a_pass_answers(trace):
    relu, neg = node_of(trace, "relu"), node_of(trace, "neg")
    answer = trace.why_not("Odd", relu)
    assert (answer.pattern, answer.applied) == ("says_why", False)
    assert answer.reason == "the closest of 3 rules of Odd: the rule declined: it is not wanted"
    answer = trace.why_not("Odd", neg)
    assert answer.reason == f"the closest of 3 rules of Odd: node {relu} is relu, not neg"
    assert answer.pattern == "Twice"
    assert [check.passed for check in answer.checks][-1] is False


def test_a_pass_lists_its_operators_where_no_rule_is_tried(trace):
    exp, neg = node_of(trace, "exp"), node_of(trace, "neg")
    assert trace.why_not("Odd", exp).reason == (
        f"the rules of Odd are tried at relu or neg, and node {exp} is exp, which reads node {neg} (neg)"
    )


def test_a_rule_without_a_reason_names_the_expected_and_the_actual_operator(trace):
    relu = node_of(trace, "relu")
    assert trace.why_not("silent", relu).reason == (
        f"it does not apply here, and reports no reason: it is tried at relu or neg, and node {relu} is relu, "
        "which reads node 0 (Input); its purpose: Never applies."
    )


def test_a_pass_without_reasons_describes_its_rules():
    made = GraphPass("Quiet", "Rules of a test.", rules=[silent])
    pipeline = ManagedPipeline(FunctionPassPipeline.of("Quiet"), passes=PassRegistry({"Quiet": made}))
    trace = record_module(Program(), (X,), pipeline)
    relu = node_of(trace, "relu")
    answer = trace.why_not("Quiet", relu)
    assert answer.reason == (
        f"no rule of Quiet applies here, and none reported a reason: node {relu} is relu, which reads node 0 (Input). "
        "Their purposes: silent: Never applies."
    )


def test_a_loaded_trace_answers_for_a_pass_too(trace, tmp_path):
    trace.save(tmp_path / "t.json")
    loaded = Trace.load(tmp_path / "t.json")
    relu = node_of(trace, "relu")
    assert loaded.why_not("Odd", relu).reason == trace.why_not("Odd", relu).reason


def test_names_of_neither_rules_nor_passes_are_unknown(trace):
    with pytest.raises(UnknownNameError, match=r"no rule or pass named 'Even'; known are: .*says_why.*, Odd, DCE"):
        trace.why_not("Even", 0)
    with pytest.raises(UnknownNameError, match="never a node 99"):
        trace.why_not("Odd", 99)


def test_why_not_of_a_pass_needs_a_step_that_ran_it(trace):
    relu = node_of(trace, "relu")
    (step,) = (s.index for s in trace.steps if s.path == "Odd")
    assert trace.why_not("Odd", relu, step).step == step
    with pytest.raises(CircuitError, match=f"Odd was never run in step 0 while node {relu} existed"):
        trace.why_not("Odd", relu, 0)


def test_passes_of_the_default_pipeline_answer_at_every_node():
    layers = [nn.Conv2d(3, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.MaxPool2d(2)]
    trace = explorer.record(nn.Sequential(*layers).eval(), (torch.randn(1, 3, 8, 8),))
    for name in ("OptimizeBatchNorm", "SinkCode", "CSE", "DCE", "Canonicalize"):
        for node in trace.graph_at(-1).nodes:
            assert trace.why_not(name, node).reason


def test_the_text_of_a_state_contains_node_ids(trace):
    relu, neg = node_of(trace, "relu"), node_of(trace, "neg")
    text = trace.steps[0].snapshot.state.function_graph().text(ids=True)
    assert f"%{neg} = neg.default(%{relu})" in text
    assert f"%{neg} = neg" in str(trace.graph_at(0))
