"""A replacement that PyTorch refuses is a reason why a rule does not apply, and no failure of the rule."""

import logging

import pytest
import torch
from torch import nn

from explorer.errors import OperatorError, RuleError
from explorer.tensor import FunctionGraph, TensorType, Variable, call
from explorer.tensor.ir.result_types import LOGGER
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.rewriting import (
    EquilibriumRewriter,
    FailurePolicy,
    LocalRewriterGroup,
    PatternSub,
    TopoRewriter,
    node_rewriter,
)
from explorer.trace import RefusalKind

aten = torch.ops.aten
FLAGS = Variable(TensorType(torch.bool, (2, 3)), name="flags")
GIVEN = (torch.ones(2, 3, dtype=torch.bool),)


@node_rewriter([aten.logical_not.default])
def as_difference(node):
    """Not a is a - a: PyTorch does not subtract flags."""
    return [call(aten.sub.Tensor, node.inputs[0], node.inputs[0])]


def double_negation():
    return FunctionGraph([FLAGS], [call(aten.logical_not.default, call(aten.logical_not.default, FLAGS))])


@pytest.mark.parametrize("policy", FailurePolicy)
def test_a_refused_replacement_is_recorded_as_declined_under_any_policy(policy):
    trace = record_module(double_negation(), GIVEN, TopoRewriter(as_difference, policy=policy))
    (misses,) = trace.near_misses("as_difference")
    assert [refusal.kind for refusal in misses.refusals] == [RefusalKind.DECLINED] * 2
    assert misses.refusals[0].reason.startswith(
        "the rule declined: the replacement cannot be made: PyTorch refuses sub(bool[2,3], bool[2,3]): Subtraction"
    )
    assert all(check.ok for check in trace.check())
    answer = trace.why_not("as_difference", misses.refusals[0].root)
    assert "PyTorch refuses sub" in answer.reason


def test_the_replacement_function_of_a_pattern_may_be_refused_too():
    pattern = PatternSub(
        (aten.logical_not.default, "a"), lambda root, found: call(aten.sub.Tensor, found["a"], found["a"]), name="Minus"
    )
    trace = record_module(double_negation(), GIVEN, EquilibriumRewriter([pattern]))
    assert "PyTorch refuses sub" in trace.near_misses("Minus")[0].refusals[0].reason


def test_a_group_tries_the_next_rule_and_reports_the_reason_if_none_applies():
    twice = PatternSub((aten.logical_not.default, (aten.logical_not.default, "a")), "a", name="Twice")
    group = LocalRewriterGroup(as_difference, twice, name="group")
    trace = record_module(double_negation(), GIVEN, TopoRewriter(group))
    assert len(trace.graph_at(-1)) == 1
    assert torch.equal(trace.compiled(*GIVEN), GIVEN[0])
    alone = record_module(double_negation(), GIVEN, TopoRewriter(LocalRewriterGroup(as_difference, name="alone")))
    assert "PyTorch refuses sub" in alone.near_misses("alone")[0].refusals[0].reason


def test_any_other_error_of_a_rule_still_ends_the_recording():
    @node_rewriter([aten.logical_not.default])
    def broken(node):
        raise ZeroDivisionError("no luck")

    with pytest.raises(RuleError, match=r"broken .* failed at node \d+ \(logical_not\): ZeroDivisionError: no luck"):
        record_module(double_negation(), GIVEN, TopoRewriter(broken))


def test_errors_of_pytorch_are_not_logged():
    lines = []

    class Kept(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    kept = Kept()
    LOGGER.addHandler(kept)
    try:
        with pytest.raises(OperatorError, match="PyTorch refuses mm"):
            call(aten.mm.default, *[Variable(TensorType(torch.float64, (5, 7)), name="odd")] * 2)
    finally:
        LOGGER.removeHandler(kept)
    assert lines == []
    assert LOGGER.filters == []


def test_a_module_whose_flags_become_numbers_is_recorded():
    class Flags(nn.Module):
        def forward(self, x):
            return torch.log_softmax(x + 1.0, -1)

    trace = record_module(Flags(), GIVEN)
    torch.testing.assert_close(trace.compiled(*GIVEN), Flags()(*GIVEN))
