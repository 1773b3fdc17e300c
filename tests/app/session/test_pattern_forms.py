"""A pattern as a form: its choices, its errors and their locations, its matches, and its application."""

import json
import re
from dataclasses import dataclass

import pytest
import torch

import explorer
from explorer.app.session.pattern_form import (
    ConditionForm,
    FieldChoice,
    LayerForm,
    NodeForm,
    ParameterForm,
    PatternForm,
    apply_form,
    build_pattern,
    explain_pattern,
    fields_of,
    layer_types,
    parameter_types,
    parameters_of_type,
    replacements,
    try_pattern,
)
from explorer.backend import TorchSumLayer
from explorer.errors import CircuitError, FormError, UnknownNameError
from explorer.templates import hmm, load_named
from explorer.trace import Trace
from explorer.trace.trace_files import trace_to_json
from explorer.views import TraceIndex, picture
from tests.counting import num_calls


def sums(*conditions: ConditionForm, name: str = "TwoSums") -> PatternForm:
    return PatternForm(name, (LayerForm("TorchSumLayer", conditions), LayerForm("TorchSumLayer")))


SOFTMAX = ParameterForm((NodeForm("TorchSoftmaxParameter", (ConditionForm("axis", "=", "-1"),)),))
CPT = PatternForm(
    "WideProduct",
    (
        LayerForm("TorchSumLayer", (ConditionForm("arity", "=", "1"), ConditionForm("num_output_units", "≥", 2))),
        LayerForm("TorchHadamardLayer", (ConditionForm("arity", "≤", "4"), ConditionForm("arity", "≠", "1"))),
    ),
)
CATEGORICAL = PatternForm("Soft", (LayerForm("TorchCategoricalLayer", (), (("probs", SOFTMAX),)),))


# ---- choices


def test_types_that_occur_in_the_graph_are_listed_before_families():
    names = list(layer_types())
    assert names[:3] == ["TorchBinomialLayer", "TorchCPTLayer", "TorchCategoricalLayer"]
    assert names[-5:] == [
        "TorchContinuousLayer",
        "TorchDiscreteLayer",
        "TorchInnerLayer",
        "TorchInputLayer",
        "TorchLayer",
    ]
    assert "TorchSoftmaxParameter" in parameter_types()


def test_a_layer_from_outside_is_offered_with_its_fields():
    @dataclass(frozen=True, eq=False, kw_only=True)
    class TorchClippedSumLayer(TorchSumLayer):
        """A sum below a bound."""

        bound: float

    names = list(layer_types())
    positions = [names.index(name) for name in ("TorchTuckerLayer", "TorchClippedSumLayer", "TorchContinuousLayer")]
    assert positions == sorted(positions)
    assert FieldChoice("bound", "number", ("=", "≠", "≥", "≤")) in fields_of("TorchClippedSumLayer")
    assert build_pattern(PatternForm("Mine", (LayerForm("TorchClippedSumLayer"),))).entries == (TorchClippedSumLayer,)


def test_a_field_has_the_operators_that_make_sense():
    every = ("=", "≠", "≥", "≤")
    assert fields_of("TorchSumLayer") == tuple(
        FieldChoice(name, "integer", every) for name in ("num_output_units", "num_input_units", "arity")
    )
    assert fields_of("TorchConstantValueLayer")[1] == FieldChoice("log_space", "true or false", ("=", "≠"))
    assert [f.kind for f in fields_of("TorchClampParameter")] == ["integers", "number", "number"]
    assert parameters_of_type("TorchGaussianLayer") == ("mean", "stddev", "log_partition")


# ---- the pattern


def test_a_form_becomes_a_pattern():
    pattern = build_pattern(CPT)
    assert [entry.__name__ for entry in pattern.entries] == ["TorchSumLayer", "TorchHadamardLayer"]
    assert str(pattern.config_patterns) == (
        "({'arity': 1, 'num_output_units': at least 2}, {'arity': at most 4 and other than 1})"
    )
    inner = build_pattern(CATEGORICAL).sub_patterns[0]["probs"]
    assert (inner.name, inner.is_output, inner.config_patterns) == ("SoftmaxOut", True, ({"axis": -1},))


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ("arity", " 3 ", 3),
        ("arity", 3, 3),
        ("log_space", "Yes", True),
        ("log_space", False, False),
        ("vmin", "0.5", 0.5),
        ("vmin", 2, 2.0),
        ("shape", "(2, 3)", (2, 3)),
        ("shape", "2×3", (2, 3)),
        ("shape", [4], (4,)),
    ],
)
def test_a_value_is_read_by_the_type_of_its_field(field, typed, value):
    from explorer.app.session.pattern_form import condition_value

    kind = {"arity": "TorchSumLayer", "log_space": "TorchConstantValueLayer"}.get(field, "TorchClampParameter")
    found = condition_value(kind, ConditionForm(field, "=", typed))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("form", [CPT, CATEGORICAL, PatternForm("Top", (LayerForm("TorchLayer"),), is_output=True)])
def test_a_form_survives_json(form):
    assert PatternForm.from_json(json.loads(json.dumps(form.to_json()))) == form


def layer(*conditions, kind="TorchSumLayer", parameters=()):
    return PatternForm("P", (LayerForm(kind, conditions, parameters),))


@pytest.mark.parametrize(
    ("form", "field", "message"),
    [
        (PatternForm("P"), "entries", "a pattern has 1 to 12 layers; found 0"),
        (PatternForm("two words", (LayerForm("TorchSumLayer"),)), "name", "letters and digits; found 'two words'"),
        (layer(kind="os.system"), "entries[0].type", "no type of layers named 'os.system'; known are: TorchBinomial"),
        (layer(ConditionForm("weight")), "entries[0].conditions[0].field", "known are: num_output_units, num_input"),
        (layer(ConditionForm("arity", "<", 1)), "entries[0].conditions[0].operator", "one of = ≠ ≥ ≤; found '<'"),
        (
            layer(ConditionForm("arity", "=", "__import__('os')")),
            "entries[0].conditions[0].value",
            "arity of TorchSumLayer must be of type integer; found \"__import__('os')\"",
        ),
        (layer(ConditionForm("arity", "=", True)), "entries[0].conditions[0].value", "found True"),
        (layer(ConditionForm("arity", "=", {"a": 1})), "entries[0].conditions[0].value", "found {'a': 1}"),  # type: ignore[arg-type]
        (
            layer(ConditionForm("vmin", "=", "nan"), kind="TorchSumLayer"),
            "entries[0].conditions[0].field",
            "no field of TorchSumLayer named 'vmin'",
        ),
        (layer(parameters=(("probs", SOFTMAX),)), "entries[0].parameters.probs", "it has weight"),
        (
            layer(parameters=(("weight", ParameterForm((NodeForm("TorchSumLayer"),))),)),
            "entries[0].parameters.weight.entries[0].type",
            "no type of parameter nodes named 'TorchSumLayer'",
        ),
        (layer(parameters=(("weight", SOFTMAX),) * 2), "entries[0].parameters", "one of them has two"),
    ],
)
def test_invalid_fields_are_refused_with_their_path_in_the_form(form, field, message):
    with pytest.raises(FormError, match=re.escape(message)) as caught:
        build_pattern(form)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "the form: found a list"),
        ({"name": 3}, "name: expected a string; found 3"),
        ({"name": "P", "entries": "TorchSumLayer"}, "entries: found a str, not a list"),
        ({"entries": [{}]}, "entries[0]: it has no type"),
        (
            {"entries": [{"type": "T", "parameters": [[3, {}]]}]},
            "entries[0].parameters[0][0]: expected a string; found 3",
        ),
        (
            {"entries": [{"type": "T", "parameters": [["weight"]]}]},
            "entries[0].parameters[0]: expected 2 items; found 1",
        ),
        ({"entries": [{"type": "T", "conditions": [None]}]}, "entries[0].conditions[0]: found a NoneType"),
    ],
)
def test_foreign_data_is_refused(data, message):
    with pytest.raises(FormError, match=re.escape(message)):
        PatternForm.from_json(data)


# ---- matching


def test_a_trial_finds_the_matches_of_the_rule_with_the_same_pattern():
    trace = explorer.record(load_named("conflict"))
    fuse = trace.step("optimize/round 1/fuse")
    trial = try_pattern(trace, fuse.index, sums(ConditionForm("arity", "=", "1")))
    assert trial.matches == tuple(m.nodes for m in fuse.matches if m.rule == "SumCollapse")
    theirs = [r.refusal for r in fuse.refusals if r.refusal.pattern == "SumCollapse"]
    assert [r.reason for r in trial.refusals] == [r.reason for r in theirs]
    assert trial.text == (
        "TwoSums matches 2 times. Tried on 12 layers; 5 of them have the type TorchSumLayer. Closest: 3 times blocked "
        "at its 2nd layer because that layer has a different type."
    )


def test_matches_that_overlap_are_counted():
    trace = explorer.record(load_named("sum-chain"))
    text = try_pattern(trace, 3, sums()).text
    assert text.startswith("TwoSums matches 39 times. 20 can be applied together; the rest share a layer with those.")


def test_after_a_step_different_layers_are_matched():
    trace = explorer.record(load_named("conflict"))
    assert len(try_pattern(trace, 3, sums()).matches) == 2
    assert try_pattern(trace, 3, sums(), after=True).matches == ()


def test_the_matcher_explains_each_question():
    trace = explorer.record(load_named("near-misses"))
    checks, answer = explain_pattern(trace, 3, sums(), 8)
    assert [str(check) for check in checks] == [
        "entry 1, node 8: is it a Sum layer? yes",
        "entry 1, node 8: does it read at most one node? no",
    ]
    assert answer == "node 8 reads 2 nodes; only the last entry may read more than one"
    match = try_pattern(trace, 3, sums()).matches[0]
    assert explain_pattern(trace, 3, sums(), match[0])[1] == f"it matches {list(match)}"
    with pytest.raises(UnknownNameError, match="there is no layer 999 before step 3"):
        explain_pattern(trace, 3, sums(), 999)


def test_a_trace_from_a_file_says_that_it_must_be_compiled_again(tmp_path):
    explorer.record(load_named("blackboard")).save(tmp_path / "b.json")
    loaded = Trace.load(tmp_path / "b.json")
    for use in (lambda: try_pattern(loaded, 3, CPT), lambda: apply_form(loaded, CPT, "Candecomp")):
        with pytest.raises(CircuitError, match=r"loaded from a file.*explorer\.rerun\(trace\)"):
            use()


def test_the_work_of_a_trial_is_in_proportion_to_the_layers():
    def work(length):
        trace = explorer.record(hmm(range(length), num_latent_states=2, num_categories=2))
        try_pattern(trace, 3, CPT)  # the first one prepares the trace
        return num_calls(lambda: try_pattern(trace, 3, CPT))

    few, more, most = map(work, (20, 40, 80))
    assert (most - more) / (more - few) < 2.3  # with quadratic growth it is 4


def test_the_picture_shows_the_trial_instead_of_the_matches_of_the_step():
    trace = explorer.record(load_named("conflict"))
    index = TraceIndex(trace)
    view = picture(index, 3, group_by="none", trial=try_pattern(trace, 3, sums())).view
    shown = [(hull["kind"], hull["label"], hull["nodes"]) for hull in view["hulls"]]
    assert shown[:2] == [("match", "TwoSums", ["n6", "n5"]), ("match", "TwoSums", ["n9", "n8"])]
    assert {kind for kind, _, _ in shown[2:]} == {"near-miss"}
    assert [node["id"] for node in view["nodes"] if node["matched"]] == ["n5", "n8", "n6", "n9"]
    assert view["message"].startswith("TwoSums matches 2 times.")
    texts = [item["text"] for item in view["legend"] if item["channel"] == "hull"]
    assert texts == ["match of the pattern that is tried", "near miss"]


def test_a_box_with_some_matching_layers_is_labelled():
    trace = explorer.record(load_named("blackboard"))
    form = PatternForm("Top", (LayerForm("TorchSumLayer", (ConditionForm("num_output_units", "=", 2),)),))
    (hull,) = picture(TraceIndex(trace), 0, group_by="scope", trial=try_pattern(trace, 0, form)).view["hulls"][:1]
    assert (hull["label"], hull["reason"]) == ("Top", "1 of the 2 layers in these boxes")


def test_a_trial_of_the_state_after_a_step_is_drawn_on_that_state():
    trace = explorer.record(load_named("conflict"))
    index = TraceIndex(trace)
    form = PatternForm("Any", (LayerForm("TorchCPTLayer"),))
    trial = try_pattern(trace, 3, form, after=True)
    assert [hull["nodes"] for hull in picture(index, 3, "after", trial=trial).view["hulls"]] == [["n18"]]
    assert picture(index, 3, "before", trial=trial).view["hulls"] == []


# ---- applying


def test_the_replacements_depend_on_the_layers():
    plain = ParameterForm((NodeForm("TorchSoftmaxParameter"),))
    expected = (
        (CPT, ("Candecomp", "one layer")),
        (sums(), ("SumCollapse", "one layer")),
        (layer(), ("DenseKronecker", "Mixing")),
        (layer(parameters=(("weight", SOFTMAX),)), ()),
        (CATEGORICAL, ()),
        (layer(kind="TorchCategoricalLayer", parameters=(("probs", plain),)), ("CategoricalLogSoftmax",)),
    )
    known = {name for _, names in expected for name in names}  # a rule that is added later may fit, too
    for form, names in expected:
        assert tuple(name for name in replacements(form) if name in known) == names


@pytest.mark.parametrize(
    ("name", "form", "replacement", "count"),
    [
        ("digits", CPT, "Candecomp", 20),
        ("digits", CPT, "one layer", 20),
        ("sum-chain", sums(), "one layer", 20),
        ("conflict", sums(), "SumCollapse", 2),
        ("kronecker", layer(), "DenseKronecker", 2),
        ("near-misses", PatternForm("Pair", (LayerForm("TorchInnerLayer"),) * 2), "one layer", 2),
    ],
)
def test_an_applied_form_records_a_new_trace_with_the_same_values(name, form, replacement, count):
    trace = explorer.record(load_named(name))
    applied = apply_form(trace, form, replacement)
    assert sum(rewrite.rule == form.name for step in applied.steps for rewrite in step.rewrites) == count
    kind = "shatter" if replacement == "DenseKronecker" else "fuse"
    assert next(rule.name for rule in applied.rules if rule.kind == kind) == form.name
    assert len(applied.rules) == len(trace.rules) + 1
    x = torch.randint(2, (3, trace.compiled.num_variables))
    assert all(row.ok for row in applied.check(x))
    torch.testing.assert_close(applied.compiled(x), trace.compiled(x))


def test_applying_keeps_the_options_and_does_not_touch_the_trace():
    trace = explorer.record(
        load_named("digits"), seed=3, fold=False, disable=["Candecomp"], skip=["optimize/round 1/fuse"]
    )
    before = trace_to_json(trace, times=False)
    applied = apply_form(trace, CPT, "Candecomp")
    assert applied.options == before["options"]
    assert trace_to_json(trace, times=False) == before
    assert applied.subject is trace.subject


def test_a_name_that_a_rule_has_is_refused():
    trace = explorer.record(load_named("conflict"))
    with pytest.raises(FormError, match="there is already a rule named 'SumCollapse'") as caught:
        apply_form(trace, sums(name="SumCollapse"), "SumCollapse")
    assert caught.value.field == "name"


def test_a_replacement_that_does_not_fit_is_refused():
    trace = explorer.record(load_named("conflict"))
    with pytest.raises(UnknownNameError, match="no replacement named 'Tucker'; known are: SumCollapse, one layer"):
        apply_form(trace, sums(), "Tucker")


def test_an_applied_trace_is_saved_and_read_with_its_chains(tmp_path):
    applied = apply_form(explorer.record(load_named("conflict")), CPT, "one layer")
    applied.save(tmp_path / "a.json")
    loaded = Trace.load(tmp_path / "a.json")
    last = [str(node.describe()) for node in loaded.graph_at(-1).nodes.values()]
    assert any(text.startswith("Chain") and "below=Hadamard" in text and "above=Sum" in text for text in last)
    assert str(loaded.graph_at(-1)) == str(applied.graph_at(-1))
    assert picture(TraceIndex(loaded), len(loaded.steps) - 1).view["nodes"]
