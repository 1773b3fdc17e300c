"""Copied Python runs in a fresh namespace and reproduces the trace, the matches and the applied rule."""

import contextlib
import io
from typing import Any

import pytest

import explorer
from explorer.app.circuits import load_circuit
from explorer.app.session.pattern_form import (
    ConditionForm,
    LayerForm,
    NodeForm,
    ParameterForm,
    PatternForm,
    apply_form,
    build_pattern,
    try_pattern,
)
from explorer.app.session.reproduce import as_python, python_of
from explorer.errors import FormError, UnknownNameError
from explorer.options import CompilerOptions
from explorer.templates import load_named
from explorer.trace.trace_files import trace_to_json

FORM = PatternForm(
    "WideProduct",
    (
        LayerForm("TorchSumLayer", (ConditionForm("arity", "=", "1"), ConditionForm("num_output_units", "≥", "2"))),
        LayerForm("TorchHadamardLayer", (ConditionForm("arity", "≤", "4"), ConditionForm("arity", "≠", "1"))),
    ),
)
SOFT = PatternForm(
    "Soft",
    (
        LayerForm(
            "TorchCategoricalLayer",
            (),
            (
                ("probs", ParameterForm((NodeForm("TorchSoftmaxParameter", (ConditionForm("shape", "=", "2, 2"),)),))),
                ("logits", ParameterForm((NodeForm("TorchParameterOp"), NodeForm("TorchTensorParameter")), False)),
            ),
        ),
    ),
    is_output=True,
)


def run(code):
    namespace: dict[str, Any] = {"__name__": "copied"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "copied.py", "exec"), namespace)
    return namespace, printed.getvalue()


def same(one, two):
    return trace_to_json(one, times=False) == trace_to_json(two, times=False)


def test_only_non_default_options_are_written():
    assert python_of("digits") == (
        "import explorer\n\n"
        "circuit = explorer.gallery.load_trained('digits')\n"
        "trace = explorer.record(circuit)\n"
        "print(trace)\n"
    )
    code = python_of("conflict", CompilerOptions(preset="handbook", skip=("fold/level 0",), fold=True, seed=2))
    assert "explorer.record(circuit, preset='handbook', skip=('fold/level 0',), seed=2)" in code


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("conflict", CompilerOptions()),
        ("conflict", CompilerOptions(preset="handbook", strategy="lowest-cost", disable=("Tucker",), max_rounds=2)),
        ("digits", CompilerOptions(semiring="sum-product", fold=False, levels="longest-distance", seed=4)),
        ("blackboard", CompilerOptions(skip=("Candecomp@12", "fold/level 0"))),
    ],
)
def test_the_code_makes_the_same_trace(name, options):
    made, printed = run(python_of(name, options, step=3))
    trace = explorer.record(load_circuit(name), **options.non_defaults())
    assert same(made["trace"], trace)
    assert trace.steps[3].summary in printed


def test_code_is_written_for_a_circuit_file_a_trace_file_and_data(tmp_path):
    circuit = load_named("blackboard")
    trace = explorer.record(circuit)
    circuit.save(tmp_path / "it's a circuit.json")
    trace.save(tmp_path / "b.trace.json.gz")
    for given, is_trace in (("it's a circuit.json", False), ("b.trace.json.gz", True)):
        assert same(run(python_of(str(tmp_path / given), is_trace=is_trace))[0]["trace"], trace)
    assert same(run(python_of(circuit.to_json()))[0]["trace"], trace)


@pytest.mark.parametrize("form", [FORM, SOFT])
def test_the_code_of_a_form_makes_its_pattern(form):
    pattern, wanted = run(as_python(form))[0]["PATTERN"], build_pattern(form)
    assert (pattern.name, pattern.entries, pattern.is_output) == (wanted.name, wanted.entries, wanted.is_output)
    for entry in range(len(wanted.entries)):
        assert repr(dict(pattern.config_of_entry(entry))) == repr(dict(wanted.config_of_entry(entry)))
        subs, wanted_subs = pattern.sub_patterns_of_entry(entry), wanted.sub_patterns_of_entry(entry)
        assert subs.keys() == wanted_subs.keys()
        for name, sub in subs.items():
            inner = wanted_subs[name]
            assert (sub.name, sub.entries, sub.is_output) == (inner.name, inner.entries, inner.is_output)
            configs = [[repr(dict(p.config_of_entry(i))) for i in range(len(p.entries))] for p in (sub, inner)]
            assert configs[0] == configs[1]


@pytest.mark.parametrize("after", [False, True])
def test_the_code_finds_the_matches_of_the_form(after):
    made, printed = run(python_of("digits", step="optimize/round 1/fuse", form=FORM, after=after))
    trial = try_pattern(made["trace"], "optimize/round 1/fuse", FORM, after)
    assert tuple(match.nodes for match in made["search"].matches) == trial.matches
    assert [r.reason for r in made["search"].refusals] == [r.reason for r in trial.refusals]
    assert f"{len(trial.matches)} matches, {len(trial.refusals)} near misses" in printed


@pytest.mark.parametrize("replacement", ["Candecomp", "one layer"])
def test_the_code_applies_the_form_like_the_page(replacement):
    options = CompilerOptions(seed=5, disable=("Candecomp",))
    made, _ = run(python_of("digits", options, form=FORM, replacement=replacement))
    applied = apply_form(made["trace"], FORM, replacement)
    assert str(made["applied"].graph_at(-1)) == str(applied.graph_at(-1))
    assert made["applied"].options == applied.options


def test_an_invalid_form_and_an_incompatible_replacement_are_refused():
    with pytest.raises(FormError):
        as_python(PatternForm("P"))
    with pytest.raises(UnknownNameError, match="no replacement named 'Tucker'"):
        python_of("digits", form=FORM, replacement="Tucker")
