"""`why_not` finds the right node and step, and never states a false reason."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

import explorer
from explorer.backend import TorchSumLayer
from explorer.compiler import TorchCompiler, record_with
from explorer.errors import CircuitError, RuleError, UnknownNameError
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import CategoricalLayer, CircuitBuilder, Parameterization
from explorer.templates import gallery
from explorer.trace import KeptNearMisses, MatchFound, MatchRefused, Recorder, Refusal, RefusalKind, Rewritten, Trace
from explorer.views import TraceIndex
from explorer.views.details import match_details

PARAMETERS, FUSE, LAST_FUSE = 1, 3, 6


@pytest.fixture(scope="module")
def blackboard():
    return explorer.record(gallery.load_named("blackboard"), preset="handbook")


def as_loaded(trace, changes):
    """The trace as if read from a file, without a matcher, with different content in some steps."""
    steps = tuple(replace(step, **changes.get(step.index, {})) for step in trace.steps)
    return Trace(trace.subject, None, trace.options, trace.rules, steps)


def refusal_event(pattern, root, parameter_path="", kind=RefusalKind.SEVERAL_USERS):
    return MatchRefused(Refusal(pattern, root, 1, root, kind, 3), parameter_path)


def refused(*events, over: Mapping[str, int] = MappingProxyType({})):
    return {"near_misses": lambda: KeptNearMisses(events, over)}


def test_refusal_in_a_parameter_belongs_to_its_layer_not_to_the_layer_of_its_id(blackboard):
    trace = as_loaded(blackboard, {PARAMETERS: refused(refusal_event("LogSoftmax", 0, "7.weight"))})
    assert trace.why_not("LogSoftmax", 7, PARAMETERS).reason.startswith("in 7.weight: node 0 is read by 3 nodes")
    answer = trace.why_not("LogSoftmax", 0, PARAMETERS)
    assert answer.refusal is None
    assert answer.reason == "no parameter of node 0 holds a Log parameter"


def test_match_in_a_parameter_belongs_to_its_layer_not_to_the_layer_of_its_id(blackboard):
    found = MatchFound(0, "LogSoftmax", 3, (3, 2), "7.layer.weight")
    done = Rewritten(0, "LogSoftmax", (3, 2), (4,), 0.0, "7.layer.weight")
    trace = as_loaded(blackboard, {PARAMETERS: {"matches": (found,), "rewrites": (done,)}})
    assert trace.why_not("LogSoftmax", 7, PARAMETERS).applied
    assert not trace.why_not("LogSoftmax", 3, PARAMETERS).matched


def test_the_last_step_that_tried_the_pattern_answers(blackboard):
    changes = {
        FUSE: refused(refusal_event("Tucker", 0)),
        LAST_FUSE: refused(refusal_event("Tucker", 0, kind=RefusalKind.INTERIOR_OUTPUT)),
    }
    answer = as_loaded(blackboard, changes).why_not("Tucker", 0)
    assert answer.step == LAST_FUSE
    assert answer.reason == "node 0 is an output and would be lost inside the match"


def test_a_reason_over_the_limit_is_reported_as_not_kept(blackboard):
    trace = as_loaded(blackboard, {FUSE: refused(over={"SumCollapse": 4})})
    assert trace.why_not("SumCollapse", 7, FUSE).reason == (
        "it was refused; the reason was not kept (limit 2000 per pattern, step and reason)"
    )
    assert trace.why_not("SumCollapse", 0, FUSE).reason == "it was not tried here, or its reason was not kept"


def test_a_node_of_a_different_type_is_named_only_if_every_near_miss_was_kept(blackboard):
    trace = as_loaded(blackboard, {FUSE: refused()})
    begins = "node 0 is a Categorical layer; SumCollapse begins with a Sum layer"
    assert trace.why_not("SumCollapse", 0, FUSE).reason == begins
    assert trace.why_not("SumCollapse", 7, FUSE).reason == "it was not tried here, or its reason was not kept"


def test_a_node_that_did_not_exist_is_a_typed_error(blackboard):
    with pytest.raises(UnknownNameError, match=r"never a node \[3\] in this trace; a node is named by its id"):
        blackboard.why_not("SumCollapse", [3], step=FUSE)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnknownNameError, match="never a node 999"):
        blackboard.why_not("SumCollapse", 999, step=FUSE)
    gone = blackboard.step(FUSE).rewrites[0].removed[0]
    with pytest.raises(CircuitError, match=rf"node {gone} did not exist in step 6 \(optimize/round 2/fuse\)"):
        blackboard.why_not("SumCollapse", gone, step=LAST_FUSE)
    later = blackboard.step(-1).folds[0].node
    with pytest.raises(CircuitError, match=rf"node {later} did not exist in step 3 "):
        blackboard.why_not("SumCollapse", later, step=FUSE)


def test_a_match_on_which_a_rule_raised_is_neither_applied_nor_lost():
    recorder = Recorder()
    compiler = TorchCompiler(listeners=[recorder])

    @compiler.rules.fuse.rule(LayerOptPattern("Broken", (TorchSumLayer,)))
    def broken(compiler, match):
        """Always fails."""
        raise ZeroDivisionError("no luck")

    with pytest.raises(RuleError) as caught:
        record_with(compiler, recorder, gallery.load_named("near-misses"))
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    row = next(row for row in trace.rule_stats() if row.rule == "Broken")
    losses = [x for x in trace.conflicts() if x.loser.rule == "Broken"]
    assert (row.lost, row.applied) == (len(losses), 0)
    assert row.matched > row.lost
    lost = {x.loser.number for x in losses}
    found = next(m for m in trace.steps[-1].matches if m.rule == "Broken" and m.number not in lost)
    answer = trace.why_not("Broken", found.root)
    assert (answer.matched, answer.applied) == (True, False)
    assert answer.reason == "it matched, but the step ended before it was applied"


def test_rewrites_of_a_step_that_failed_are_not_counted_as_applied():
    """`Copy` rewrites the lower sum, then `Broken` raises at the top, so the graph stays as it was."""
    compiler = TorchCompiler(disable=("SumCollapse", "CategoricalLogSoftmax"))

    @compiler.rules.fuse.rule(LayerOptPattern("Broken", (TorchSumLayer,), is_output=True))
    def broken(compiler, match):
        """Always fails."""
        raise ZeroDivisionError("no luck")

    @compiler.rules.fuse.rule(LayerOptPattern("Copy", (TorchSumLayer,), config_patterns=({"num_output_units": 2},)))
    def copy(compiler, match):
        """A copy computes the same."""
        return (replace(match.entries[0]),)

    builder = CircuitBuilder()
    probs = Parameterization()((2, 2))
    coin = builder.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs))
    lower = builder.sum(coin, num_units=2)
    with pytest.raises(RuleError) as caught:
        explorer.record(builder.build(builder.sum(lower, num_units=1)), compiler)
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert [rewrite.rule for rewrite in trace.steps[-1].rewrites] == ["Copy"]
    stats = {row.rule: (row.matched, row.applied) for row in trace.rule_stats()}
    assert (stats["Broken"], stats["Copy"]) == ((1, 0), (1, 0))
    (number,) = (match.number for match in trace.steps[-1].matches if match.rule == "Copy")
    rows = dict(match_details(TraceIndex(trace), -1, number)["sections"][1]["rows"])
    assert rows["applied"] == "no"
