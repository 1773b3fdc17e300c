"""The answers of a trace: lineage, why not, near misses, conflicts, folds."""

from dataclasses import replace
from math import isnan
from typing import Any

import pytest
import torch
from inline_snapshot import snapshot

import explorer
from explorer.errors import CircuitError, RuleError, ShapeError, UnknownNameError
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import CategoricalLayer, CircuitBuilder, Parameterization
from explorer.templates import CategoricalInput, gallery
from explorer.trace import Refusal, RefusalKind, Rewritten, RuleDescription, Step, StepPath


@pytest.fixture(scope="module")
def conflict():
    return explorer.record(gallery.load_named("conflict"))


@pytest.fixture(scope="module")
def blackboard():
    return explorer.record(gallery.load_named("blackboard"), preset="handbook")


def test_a_trace_prints_the_steps_that_changed_something(blackboard):
    *rows, rest = str(blackboard).splitlines()[2:]
    assert [line.split()[:2] for line in rows] == snapshot(
        [["0", "compile"], ["3", "optimize/round"], ["7", "fold/level"], ["8", "fold/level"]]
    )
    assert rest == "(7 steps changed nothing; all: trace.table(), or the option --steps of `show`)"
    assert repr(blackboard) == str(blackboard)


def test_the_table_of_a_trace_has_one_row_per_step(blackboard):
    rows = [line.split()[1:4] for line in blackboard.table().splitlines()[2:]]
    assert rows == snapshot(
        [
            ["compile", "13", "13"],
            ["optimize/round", "1/parameters", "13"],
            ["optimize/round", "1/shatter", "13"],
            ["optimize/round", "1/fuse", "9"],
            ["optimize/round", "2/parameters", "9"],
            ["optimize/round", "2/shatter", "9"],
            ["optimize/round", "2/fuse", "9"],
            ["fold/level", "0", "5"],
            ["fold/level", "1", "4"],
            ["fold/level", "2", "4"],
            ["fold/level", "3", "4"],
        ]
    )


def test_steps_are_found_by_number_and_by_path(blackboard):
    assert blackboard.step("optimize/round 1/fuse") is blackboard.step(3)
    assert blackboard.step(-1) is blackboard.steps[-1]
    with pytest.raises(UnknownNameError, match="no step named 'fuse'; known are: compile, "):
        blackboard.step("fuse")
    with pytest.raises(UnknownNameError, match="steps 0 to 10"):
        blackboard.step(99)


def test_lineage_maps_symbolic_layers_to_slices_and_back(blackboard):
    fused = blackboard.step(3).rewrites[0]
    top, product = fused.removed
    forward = blackboard.lineage(product)
    assert forward.became[0].before == (top, product)
    assert forward.last_step == 2
    assert forward.now == ()  # its value is not computed any more
    ((folded, slot),) = forward.inside
    assert blackboard.lineage(top).now == forward.inside
    assert f"  now part of {folded}, slice {slot}" in str(forward)
    backward = blackboard.lineage(folded)
    assert {top, product} <= set(backward.symbolic)
    group = next(g for g in blackboard.fold_groups() if g.node == folded)
    assert group.members[slot] == fused.added[-1]


def test_lineage_of_a_layer_that_only_folds_ends_in_a_slice(blackboard):
    assert blackboard.lineage(3).now == ((blackboard.fold_groups(0)[0].node, 3),)


def test_lineage_of_an_unknown_node_is_a_typed_error(blackboard):
    with pytest.raises(UnknownNameError, match="never a node 999"):
        blackboard.lineage(999)


def test_why_not_shows_the_matchers_questions_up_to_the_refusal(blackboard):
    answer = blackboard.why_not("SumCollapse", 7, step="optimize/round 1/fuse")
    assert str(answer) == snapshot("""\
SumCollapse at node 7 (step 3): node 5 is a Hadamard layer, not a Sum layer
  entry 1, node 7: is it a Sum layer? yes
  entry 1, node 7: does it read at most one node? yes
  entry 1, node 7: is arity 1? yes
  entry 1, node 7: does it read a node? yes
  entry 2, node 5: is it a Sum layer? no\
""")


def test_why_not_says_when_a_pattern_was_applied(blackboard):
    answer = blackboard.why_not("Candecomp", blackboard.step(3).matches[0].root)
    assert answer.applied
    assert answer.reason == "it matched and was applied"


def test_why_not_names_the_winner_of_a_lost_conflict(conflict):
    lost = conflict.conflicts()[0]
    answer = conflict.why_not("Candecomp", lost.loser.root, step=lost.step)
    assert answer.matched
    assert not answer.applied
    assert f"lost node {lost.node} to SumCollapse" in answer.reason


def test_why_not_at_a_node_of_a_different_type_names_both_types(blackboard):
    assert "is a Categorical layer" in blackboard.why_not("Tucker", 0).reason


def test_why_not_of_an_unknown_pattern_lists_the_known_ones(blackboard):
    with pytest.raises(UnknownNameError, match="known are: LogSoftmax, ReduceSumOuterProduct, DenseKronecker"):
        blackboard.why_not("Candycomp", 0)


def test_conflicts_name_winner_loser_and_reason(conflict):
    first = conflict.conflicts()[0]
    assert (first.winner.rule, first.loser.rule) == ("SumCollapse", "Candecomp")
    assert set(first.winner.nodes) & set(first.loser.nodes) == {first.node}
    assert "nearer to the outputs" in first.reason


def test_fold_groups_have_keys_and_index_tables(blackboard):
    group = blackboard.fold_groups(1)[0]
    assert group.key["num_output_units"] == "2"
    assert [len(row) for row in group.index] == [2] * len(group.members)
    assert group.read is not None


def test_why_not_folded_names_the_field_or_the_level(blackboard):
    at_fold = blackboard.step(6).snapshot.graph
    leaves, root = [n for n in at_fold.nodes if n < 5], at_fold.outputs[0]
    assert blackboard.why_not_folded(leaves[0], leaves[1]).together
    assert "type is TorchCategoricalLayer here and TorchCPTLayer there" in str(blackboard.why_not_folded(0, root))
    members = [group.members[0] for group in blackboard.fold_groups() if group.type == "TorchCPTLayer"]
    assert "equal keys, but level 1 here and level 2 there" in str(blackboard.why_not_folded(members[0], members[1]))
    assert str(blackboard.why_not_folded(members[1], members[2])) == (
        "Not folded together: num_output_units is 2 here and 1 there; weight.shape is (2, 2) here and (1, 2) there; "
        "level 2 here and level 3 there."
    )


def test_a_missed_fold_names_every_field_that_differs():
    builder, p = CircuitBuilder(), Parameterization()
    leaves = [
        builder.add(CategoricalLayer(scope=(v,), num_output_units=k, num_categories=2, probs=p((k, 2))))
        for v, k in ((0, 2), (1, 4))
    ]
    sums = [builder.sum(leaf, num_units=units) for leaf, units in zip(leaves, (3, 5), strict=True)]
    top = [builder.sum(one, num_units=2) for one in sums]
    trace = explorer.record(builder.build(builder.hadamard(*top)), optimize=False)
    reasons = {miss.nodes: miss.reason for miss in trace.missed_folds()}
    assert reasons[sums[0], sums[1]] == (
        "Sum layer on level 1: num_output_units is 3 and 5; num_input_units is 2 and 4; "
        "weight.shape is (3, 2) and (5, 4)"
    )
    differences = {miss.nodes: miss.differences for miss in trace.missed_folds()}
    assert differences[sums[0], sums[1]][0] == ("num_output_units", "3", "5")


@pytest.mark.parametrize("name", ["hclt", "kronecker"])
def test_the_ids_of_missed_folds_are_those_of_the_last_graph_and_of_questions(name):
    trace = explorer.record(gallery.load_named(name))
    last = str(trace.graph_at(-1))
    assert trace.missed_folds()
    for missed in trace.missed_folds():
        answer = trace.why_not_folded(*missed.nodes)
        assert not answer
        for node in missed.nodes:
            assert f"%{node} = " in last
        members = [next(g.members[-1] for g in trace.fold_groups() if g.node == node) for node in missed.nodes]
        assert str(answer) == str(trace.why_not_folded(*members))


def test_a_folded_layer_is_folded_together_with_its_slices(blackboard):
    (group, *_) = blackboard.fold_groups()
    assert str(blackboard.why_not_folded(group.members[1], group.node)) == f"Folded together: slice 1 of {group.node}."
    assert str(blackboard.why_not_folded(group.node, group.node)) == f"Folded together: all slices of {group.node}."


def test_why_not_folded_of_a_removed_layer_is_a_typed_error(blackboard):
    with pytest.raises(UnknownNameError, match="was not there when folding began"):
        blackboard.why_not_folded(5, 0)


def test_why_not_folded_without_folding_says_that_nothing_was_folded():
    trace = explorer.record(small_circuit(), fold=False)
    with pytest.raises(UnknownNameError, match=r"nothing was folded in this trace.*: record with fold=True"):
        trace.why_not_folded(0, 1)


def test_missed_folds_report_equal_keys_on_two_levels():
    missed = explorer.record(gallery.load_named("levels"), preset="handbook").missed_folds()
    assert any("equal keys, levels 1 and 2" in fold.reason for fold in missed)


def test_groups_that_read_each_other_are_not_missed_folds(blackboard):
    assert not any("equal keys" in fold.reason for fold in blackboard.missed_folds())


def test_equal_groups_of_which_each_depends_on_the_one_before_are_a_chain():
    trace = explorer.record(gallery.load_named("hmm"))
    (chain,) = trace.fold_chains()
    assert chain.levels == tuple(range(2, 12))
    assert str(chain).endswith("10 x CPT layer: equal keys, each depends on the one before")
    ends = {node for miss in trace.missed_folds() for node in miss.nodes}
    assert ends.isdisjoint(chain.nodes)


def test_why_not_in_a_step_that_did_not_try_the_pattern_is_a_typed_error(blackboard):
    with pytest.raises(CircuitError, match=r"SumCollapse was not tried in step 8 \(fold/level 1\); it is a fuse rule"):
        blackboard.why_not("SumCollapse", 7, step=8)


def test_a_better_schedule_misses_fewer_folds():
    circuit = gallery.load_named("levels")
    handbook = explorer.record(circuit, preset="handbook").missed_folds()
    assert len(explorer.record(circuit).missed_folds()) < len(handbook)


def test_rule_stats_add_up(conflict):
    stats = {row.rule: row for row in conflict.rule_stats()}
    assert stats["Candecomp"].matched == stats["Candecomp"].applied + stats["Candecomp"].lost
    assert stats["SumCollapse"].nodes_removed == 2 * stats["SumCollapse"].applied
    assert stats["SumCollapse"].source.startswith("explorer/optimize/default_rules.py:")


def test_stats_follow_the_graph(blackboard):
    first, last = blackboard.stats(0), blackboard.stats(-1)
    assert (first["layers"], last["layers"]) == (13, 4)
    assert first["parameters"] == last["parameters"]


def test_a_step_without_matches_reports_its_near_misses(blackboard):
    assert blackboard.step(2).summary == "nothing changed (4 near misses)"


def small_circuit():
    builder = CircuitBuilder()
    leaf = Parameterization("softmax")((2, 2))
    coin = builder.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=leaf))
    return builder.build(builder.sum(coin, num_units=1))


def test_a_rule_that_raises_ends_the_compilation_and_keeps_the_trace_up_to_there():
    from explorer.backend import TorchSumLayer
    from explorer.compiler import TorchCompiler, record_with
    from explorer.trace import Recorder

    recorder = Recorder()
    compiler = TorchCompiler(listeners=[recorder])

    @compiler.rules.fuse.rule(LayerOptPattern("Broken", (TorchSumLayer,)))
    def broken(compiler, match):
        """Always fails."""
        raise ZeroDivisionError("no luck")

    with pytest.raises(RuleError, match=r"the rule Broken \(tests/trace/.*\) failed on the match .*no luck") as caught:
        record_with(compiler, recorder, small_circuit())
    trace = caught.value.trace
    assert isinstance(trace, explorer.Trace)
    assert trace.steps[-1].path == "optimize/round 1/fuse"
    assert "no luck" in str(trace.steps[-1].error)
    assert [step.error for step in trace.steps[:-1]] == [None] * 3
    assert len(trace.graph_at(-1)) == 2


def test_a_limit_that_is_reached_is_recorded():
    from explorer.errors import LimitWarning

    with pytest.warns(
        LimitWarning, match="Stopped optimizing at the limit of 2 rounds; more rewrites were possible"
    ) as warned:
        trace = explorer.record(gallery.load_named("sum-chain"), max_rounds=2)
    assert warned[0].filename == __file__
    assert "! Stopped optimizing at the limit of 2 rounds" in str(trace)


def test_the_steps_as_text_have_calls_and_layers_as_the_page_has_them():
    head, _, *rows = explorer.record(gallery.load_named("conflict")).table().splitlines()
    assert head.split()[:4] == ["step", "path", "calls", "layers"]
    assert rows[0].split()[:4] == ["0", "compile", "12", "12"]
    assert rows[-1].split()[:5] == ["12", "fold/level", "2", "3", "7"]


def test_recording_with_a_compiler_that_knows_the_circuit_is_a_typed_error():
    from explorer.compiler import TorchCompiler, record_with
    from explorer.trace import Recorder

    circuit, recorder = small_circuit(), Recorder()
    compiler = TorchCompiler()
    compiler.compile(circuit)
    compiler.listeners = (recorder,)
    with pytest.raises(CircuitError, match="has compiled the circuit before"):
        record_with(compiler, recorder, circuit)


def test_recording_a_compiled_circuit_does_not_return_the_trace_of_another_one():
    from explorer.compiler import TorchCompiler, record_with
    from explorer.trace import Recorder

    one, other, recorder = small_circuit(), small_circuit(), Recorder()
    compiler = TorchCompiler(listeners=[recorder])
    compiler.compile(one)
    compiler.compile(other)
    with pytest.raises(CircuitError, match="has compiled the circuit before"):
        record_with(compiler, recorder, one)
    assert recorder.subject is other


def test_recording_with_a_recorder_that_receives_no_events_is_a_typed_error():
    from explorer.compiler import TorchCompiler, record_with
    from explorer.trace import Recorder

    with pytest.raises(CircuitError, match="the recorder received no events"):
        record_with(TorchCompiler(), Recorder(), small_circuit())


def test_a_check_without_rows_is_a_typed_error(blackboard):
    with pytest.raises(ShapeError, match="check needs at least one row"):
        blackboard.check(torch.zeros(0, 5, dtype=torch.long))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_check_in_half_precision_allows_coarse_rounding(blackboard, dtype):
    class Half:
        def results(self, x):
            return (x,)

    steps = tuple(replace(step, snapshot=Half()) for step in blackboard.steps)
    trace = explorer.Trace(None, None, blackboard.options, blackboard.rules, steps)
    last = trace.check(torch.ones(2, 1, dtype=dtype))[-1]
    assert (last.tolerance, last.ok) == (1e-2, True)


def check_values(values, promises):
    """Check a trace with steps that return these values, each by a rule of the given exactness."""

    class Gives:
        def __init__(self, value):
            self.value = value

        def results(self, x):
            return (self.value,)

    def after(value) -> Any:
        return Gives(value)

    rules = tuple(RuleDescription(name, name, ("any",), "tensor", name, "", "") for name in ("exact", "real", "lossy"))
    steps = [Step(0, StepPath.of("import"), "tensor", True, 0.0, after(values[0]))]
    for i, (value, promise) in enumerate(zip(values[1:], promises, strict=True), start=1):
        done = (Rewritten(0, promise, (), (), 0.0),)
        steps.append(Step(i, StepPath.of(f"step {i}"), "tensor", True, 0.0, after(value), rewrites=done))
    return explorer.Trace(None, None, {"level": "tensor"}, rules, tuple(steps)).check(())


def test_each_step_is_checked_against_the_previous_one_by_its_own_exactness():
    ones = torch.ones(2)
    rows = check_values(
        [ones, ones + 1e-6, ones + 1e-6, ones + 2e-6, ones * 3, ones * 3 + 1], ["real", "exact"] * 2 + ["real"]
    )
    assert [row.ok for row in rows] == [True, True, True, True, False, False]
    rows = check_values([ones, ones * 3, ones * 3, ones * 4], ["lossy", "exact", "exact"])
    assert [(row.exactness, row.ok) for row in rows[1:]] == [("lossy", True), ("exact", True), ("exact", False)]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (torch.tensor([0.0, 1.0]), torch.tensor([-0.0, 1.0]), False),
        (torch.tensor([torch.nan]), torch.tensor([7.0]), False),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), False),
        (torch.tensor([1, 2]), torch.tensor([1, 2]), True),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([complex(0.0, 0.0)]), torch.tensor([complex(0.0, -0.0)]), False),
        (torch.tensor([-0.0], dtype=torch.bfloat16), torch.tensor([-0.0], dtype=torch.bfloat16), True),
    ],
)
def test_an_exact_step_preserves_every_bit(before, after, same):
    row = check_values([before, after], ["exact"])[-1]
    assert row.ok is same
    assert ("DIFFERS" in str(row)) is not same


def test_outputs_that_are_nan_before_and_after_are_no_value_and_not_the_same():
    nans = torch.tensor([torch.nan, -torch.inf])
    row = check_values([nans, nans.clone()], ["exact"])[-1]
    assert (row.ok, row.undefined, row.has_no_value) == (False, 1, True)
    assert isnan(row.max_difference)
    assert isnan(row.from_original)
    assert str(row).endswith("no value (1 outputs are NaN before and after)")
    changed = check_values([nans, torch.tensor([torch.nan, 1.0])], ["exact"])[-1]
    assert not changed.has_no_value
    assert "DIFFERS" in str(changed)


def test_types_have_the_article_of_their_first_letter():
    refusal = Refusal("P", 7, 1, 5, RefusalKind.WRONG_TYPE, found="TorchEmbeddingLayer", wanted="TorchInputLayer")
    assert refusal.reason == "node 5 is an Embedding layer, not an Input layer"
    assert RefusalKind.WRONG_TYPE.ask("TorchExpParameter").text == "is it an Exp parameter?"
    assert RefusalKind.WRONG_TYPE.ask("TorchSumLayer").text == "is it a Sum layer?"


def test_a_layer_on_which_no_output_depends_is_not_nearly_folded():
    b = CircuitBuilder()
    coins = [b.add(CategoricalInput(2)(v, 2)) for v in range(4)]
    b.sum(b.hadamard(coins[2], coins[3]), num_units=3)
    trace = explorer.record(b.build(b.sum(b.hadamard(coins[0], coins[1]), num_units=1)))
    assert list(trace.missed_folds()) == []


def test_pairs_are_asked_about_only_where_pairs_are_fused():
    trace = explorer.record(gallery.load_named("conflict"))
    with pytest.raises(CircuitError, match=r"by rules: ask why_not\(RULE, 5\); why_not_folded\(5, 4\)"):
        trace.why_not_fused(5, 4)
