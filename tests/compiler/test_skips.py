"""Switching off a round, a pass, a level of folding or one match: the values stay, and the trace says what was off."""

import re

import pytest
import torch
from typer.testing import CliRunner

import explorer
from explorer.app.cli import app
from explorer.errors import DataTypeError, UnknownNameError, ValueRangeError
from explorer.optimize import SkipWarning, parse_skips
from explorer.symbolic import CategoricalLayer, LogParameter, SoftmaxParameter, TensorParameter
from explorer.templates import load_named
from explorer.trace import Trace
from explorer.trace.trace_files import trace_to_json

SKIPS = (
    ("conflict", "optimize/round 1"),
    ("conflict", "optimize/round 1/fuse"),
    ("conflict", "optimize/round 2"),
    ("conflict", "SumCollapse@9"),
    ("conflict", "fold/level 0"),
    ("kronecker", "optimize/round 1/shatter"),
    ("kronecker", "DenseKronecker@2"),
    ("levels", "fold/level 3"),
)


def rewrites(trace):
    return [f"{w.rule} {list(w.removed)}" for step in trace.steps for w in step.rewrites]


def log_of_a_softmax():
    """One categorical layer with the logarithm of a softmax as logits."""
    builder = explorer.CircuitBuilder()
    logits = LogParameter((SoftmaxParameter((TensorParameter((2, 3)),)),))
    return builder.build(builder.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, logits=logits)))


@pytest.mark.parametrize(("name", "skip"), SKIPS)
def test_skipping_changes_the_trace_but_no_value(name, skip):
    plain, trace = explorer.record(load_named(name)), explorer.record(load_named(name), skip=(skip,))
    assert [str(trace.graph_at(i)) for i in range(len(trace.steps))] != [
        str(plain.graph_at(i)) for i in range(len(plain.steps))
    ]
    x = torch.randint(2, (3, trace.compiled.num_variables))
    assert all(row.ok for row in trace.check(x))
    torch.testing.assert_close(trace.compiled(x), plain.compiled(x))


def test_one_match_that_is_switched_off_is_refused_and_the_others_are_not():
    plain = explorer.record(load_named("digits"))
    root = plain.step("optimize/round 1/fuse").rewrites[-1].removed[0]
    trace = explorer.record(load_named("digits"), skip=[f"Candecomp@{root}"])
    fuse = trace.step("optimize/round 1/fuse")
    assert len(fuse.rewrites) == len(plain.step("optimize/round 1/fuse").rewrites) - 1
    assert fuse.summary.endswith("; 1 switched off")
    answer = trace.why_not("Candecomp", root, fuse.index)
    assert (answer.matched, answer.applied, answer.reason) == (False, False, "it matched, and was switched off")
    assert answer.refusal is not None
    assert answer.refusal.kind.value == "declined"
    assert all(check.passed for check in answer.checks)


def test_a_skipped_round_is_the_last_one_and_records_what_it_skipped():
    """Each match of the round is switched off, so it changes nothing, and no round follows."""
    trace = explorer.record(load_named("conflict"), skip=["optimize/round 2"], preset="handbook")
    assert [step.path for step in trace.steps if step.path.startswith("optimize")] == [
        f"optimize/round {n}/{name}" for n in (1, 2) for name in ("parameters", "shatter", "fuse")
    ]
    assert trace.step("optimize/round 2/fuse").summary == "2 switched off (4 near misses)"
    assert trace.step("optimize/round 2/shatter").summary == "nothing changed (2 near misses)"
    assert not trace.step("optimize/round 2/fuse").changed


def test_rounds_continue_after_a_skipped_pass_if_a_different_pass_changed_something():
    trace = explorer.record(load_named("kronecker"), skip=["optimize/round 1/fuse"])
    assert trace.step("optimize/round 1/fuse").switched_off == 3
    assert len(trace.step("optimize/round 2/fuse").rewrites) == 3


def test_a_rule_on_parameters_is_switched_off_by_the_layer_that_holds_them():
    circuit = log_of_a_softmax()
    assert rewrites(explorer.record(circuit))[0].startswith("LogSoftmax")
    trace = explorer.record(circuit, skip=["LogSoftmax@0"])
    assert not [rule for rule in rewrites(trace) if rule.startswith("LogSoftmax")]
    assert trace.why_not("LogSoftmax", 0).reason == "in 0.logits: it matched, and was switched off"


def test_layers_of_a_level_that_is_switched_off_are_not_folded():
    trace = explorer.record(load_named("blackboard"), skip=["fold/level 0"])
    assert trace.step("fold/level 0").summary == "5 layers not folded"
    assert trace.step("fold/level 1").summary == "2 layers became 1"
    assert trace.why_not_folded(0, 1).reason == "Not folded together: equal keys, but level 0 was switched off."
    assert next(str(missed) for missed in trace.missed_folds()).endswith(
        "Categorical layer: equal keys, level 0 was switched off"
    )


def test_a_trace_keeps_what_was_skipped_and_reruns_with_it(tmp_path):
    skip = ["fold/level 0", "SumCollapse@9"]
    trace = explorer.record(load_named("conflict"), skip=skip)
    trace.save(tmp_path / "conflict.trace.json")
    loaded = Trace.load(tmp_path / "conflict.trace.json")
    assert loaded.options["skip"] == skip
    assert trace_to_json(explorer.rerun(loaded), times=False) == trace_to_json(trace, times=False)


def test_an_older_trace_has_nothing_switched_off():
    written = trace_to_json(explorer.record(load_named("blackboard")))
    del written["options"]["skip"]
    loaded = explorer.trace.trace_from_json(written)
    assert loaded.options["skip"] == []
    assert len(explorer.rerun(loaded).steps) == 11


def test_the_limit_ignores_skipped_matches(recwarn):
    trace = explorer.record(load_named("conflict"), max_rounds=1, skip=["Candecomp@16", "Candecomp@17"])
    assert [str(w.message) for w in recwarn if "limit" in str(w.message)] == []
    assert trace.steps[-1].path.startswith("fold/")


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ("optimize", ValueRangeError, "skip: expected optimize/round N"),
        ("optimize/round 0", ValueRangeError, "skip: expected"),
        ("optimize/round 1/fold", ValueRangeError, "skip: expected"),
        ("fold/level -1", ValueRangeError, "skip: expected"),
        ("SumCollapse@x", ValueRangeError, "skip: expected"),
        ("SumCollapse", ValueRangeError, "skip: expected"),
        (3, DataTypeError, "skip: expected strings, got [3]"),
    ],
)
def test_a_malformed_entry_is_refused_at_construction(entry, error, message):
    with pytest.raises(error, match=re.escape(message)):
        explorer.TorchCompiler(skip=[entry])


def test_a_match_of_a_rule_that_does_not_exist_is_refused():
    with pytest.raises(UnknownNameError, match="no rule named 'Collapse'; known are: LogSoftmax"):
        explorer.record(load_named("blackboard"), skip=["Collapse@3"])


def test_a_match_of_a_rule_that_is_disabled_may_be_switched_off_as_well():
    with pytest.warns(SkipWarning, match="Nothing to disable at Candecomp@12"):
        trace = explorer.record(load_named("blackboard"), disable=["Candecomp"], skip=["Candecomp@12"])
    assert rewrites(trace) == []


def test_unused_entries_are_reported():
    with pytest.warns(SkipWarning, match=r"^Nothing to disable at fold/level 90, SumCollapse@999\.$") as warned:
        explorer.record(load_named("blackboard"), skip=["SumCollapse@999", "optimize/round 1", "fold/level 90"])
    assert warned[0].filename == __file__


def test_one_string_is_one_entry():
    assert parse_skips("fold/level 1").entries == ("fold/level 1",)


def test_the_command_switches_off(tmp_path):
    path = tmp_path / "b.trace.json"
    result = CliRunner().invoke(
        app, ["trace", "blackboard", "--skip", "Candecomp@12", "--skip", "fold/level 0", "-o", str(path)]
    )
    assert result.exit_code == 0, result.output
    assert "3 of 3 matches applied: Candecomp x3; 1 switched off" in result.output
    assert Trace.load(path).options["skip"] == ["Candecomp@12", "fold/level 0"]
