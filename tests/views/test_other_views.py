"""Steps, folds, costs, recordings and static pictures."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib import import_module

import pytest
import torch
from inline_snapshot import snapshot

import explorer
from explorer.backend import TorchSumLayer
from explorer.compiler import TorchCompiler, record_with
from explorer.errors import RuleError, UnknownNameError
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import CategoricalLayer, CircuitBuilder, Parameterization
from explorer.templates import gallery
from explorer.timings import Estimate, Timing
from explorer.trace import Recorder
from explorer.views import (
    TraceIndex,
    cost_strip,
    details,
    fold_level,
    fold_levels,
    match_details,
    missed_folds,
    picture,
    recording,
    stat_bars,
    stat_change_bars,
    static_svg,
    steps,
)
from explorer.views.bars import bar, bars_view
from explorer.views.index import cached
from tests.views.showing import every_step, index_of

# ---------------------------------------------------------------------- steps


def test_the_slider_says_what_a_step_did():
    assert [view["title"] for view in steps(index_of("conflict")) if view["changed"]] == snapshot(
        [
            "Step 0 of 12: compile",
            "Step 3 of 12: fuse, round 1, 7 of 9 matches",
            "Step 6 of 12: fuse, round 2, 2 of 2 matches",
            "Step 10 of 12: fold, level 0, 4 layers became 1",
            "Step 11 of 12: fold, level 1, 2 layers became 1",
        ]
    )


def test_steps_carry_the_checks_of_their_values():
    index = index_of("blackboard")
    checks = {check.step: check for check in index.trace.check(torch.zeros(1, 5, dtype=torch.long))}
    assert {view["ok"] for view in steps(index, checks)} == {True}
    assert {view["ok"] for view in steps(index)} == {None}


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: details(index, 3, [999]),
        lambda index: details(index, 3, []),
        lambda index: match_details(index, 3, 99),
        lambda index: fold_level(index, 99),
        lambda index: stat_change_bars(index, "beauty"),
    ],
)
def test_unknown_names_raise_typed_errors(ask):
    with pytest.raises(UnknownNameError):
        ask(index_of("blackboard"))


# ---------------------------------------------------------------------- folds


def test_a_fold_level_shows_where_each_slice_reads():
    assert fold_level(index_of("conflict"), 1) == snapshot(
        {
            "version": 1,
            "level": 1,
            "title": "Level 1: 2 layers in 1 group",
            "groups": [
                {
                    "node": 22,
                    "title": "CPT x2",
                    "members": [19, 20],
                    "key": [
                        ["num_output_units", "4"],
                        ["num_input_units", "4"],
                        ["arity", "2"],
                        ["weight.shape", "(4, 4)"],
                    ],
                    "read": "view",
                    "reason": "all slices are read in place, in order; nothing is copied",
                    "copied_bytes": 0,
                    "index": [[[21, 0], [21, 1]], [[21, 2], [21, 3]]],
                    "table": {
                        "columns": ["slice", "layer", "input 1", "input 2"],
                        "rows": [
                            ["0", "19", "node 21, slice 0", "node 21, slice 1"],
                            ["1", "20", "node 21, slice 2", "node 21, slice 3"],
                        ],
                    },
                }
            ],
            "missed": {"columns": ["node", "other node", "layers", "why not folded together"], "rows": []},
        }
    )


def test_every_fold_group_has_a_table_with_a_row_per_slice():
    for name in ("levels", "hmm", "digits"):
        index = index_of(name)
        for level in fold_levels(index):
            for group in fold_level(index, level)["groups"]:
                assert len(group["table"]["rows"]) == len(group["members"])
                assert all(len(row) == len(group["table"]["columns"]) for row in group["table"]["rows"])


def test_missed_folds_have_their_reason():
    assert missed_folds(index_of("levels", levels="longest-distance")) == snapshot(
        {
            "columns": ["node", "other node", "layers", "why not folded together"],
            "rows": [
                ["28", "46", "3", "CPT layer on level 1: arity is 2 and 3"],
                ["28", "34", "2", "CPT layer: equal keys, levels 1 and 2"],
                ["34", "41", "2", "CPT layer on level 2: arity is 2 and 3"],
                ["34", "43", "2", "CPT layer: equal keys, levels 2 and 3"],
            ],
        }
    )


def test_why_two_layers_were_not_folded_together():
    assert index_of("conflict").trace.why_not_folded(12, 18).reason == snapshot(
        "Not folded together: type is TorchCategoricalLayer here and TorchCPTLayer there; "
        "level 0 here and level 2 there."
    )


# ---------------------------------------------------------------------- costs


@pytest.mark.parametrize(
    ("values", "log", "ends", "ticks"),
    [
        ((0.003, 740.0), True, (0.002, 1000.0), ["0.01", "0.1", "1", "10", "100", "1,000"]),
        ((0.0, 3.0), True, (2.0, 5.0), ["2", "5"]),
        ((), True, (0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ((-3.0, 9.0), False, (-5.0, 10.0), ["-5", "0", "5", "10"]),
        ((1e-5, 2e6), False, (0.0, 2e6), ["0", "500,000", "1e6", "1.5e6", "2e6"]),
    ],
)
def test_the_axis_of_bars_has_room_for_all_values(values, log, ends, ticks):
    axis = bars_view("t", "ms", ["a"], [bar("b", value, "a") for value in values], "", [], [], log=log)["axis"]
    assert (axis["low"], axis["high"]) == pytest.approx(ends)
    assert [text for _, text in axis["ticks"]] == ticks


def test_the_waterfall_adds_up():
    for stat in ("layers", "flops", "copied_bytes"):
        for levels in (False, True):
            bars = stat_change_bars(index_of("digits"), stat, fold_levels=levels)
            first, last = (index_of("digits").trace.stats(step)[stat] for step in (0, -1))
            assert sum(bar["value"] or 0 for bar in bars["bars"]) == last - first
    assert stat_change_bars(index_of("conflict"), "layers")["table"] == snapshot(
        {
            "columns": ["step", "before", "after", "change"],
            "rows": [
                ["compile", "12", "12", "0"],
                ["fuse, round 1", "12", "9", "−3"],
                ["fuse, round 2", "9", "7", "−2"],
                ["fold", "7", "3", "−4"],
            ],
        }
    )


def test_a_statistic_over_the_steps():
    bars = stat_bars(index_of("conflict"), "activation_bytes")
    assert [(bar["label"], bar["value"]) for bar in bars["bars"]] == snapshot(
        [("compile", 180.0), ("fuse, round 1", 132.0), ("fuse, round 2", 100.0), ("fold", 100.0)]
    )


def test_the_cost_strip_says_what_changed_and_what_was_not_measured():
    measured = Timing("fuse", "cpu", 256, Estimate(0.12, 0.11, 0.13, 0.11, 0.13, 20, 0.96))
    strip = cost_strip(index_of("conflict"), 3, {3: {"cpu": measured}}, None, {"cuda": "no CUDA device"})
    assert strip["rows"] == snapshot(
        [
            ["calls", "9 (−3)"],
            ["parameters", "100"],
            ["operations", "100 (−64)"],
            ["activations", "132 B (−48 B)"],
            ["copied by reads", "96 B"],
            ["CPU", "120 µs ± 10 µs"],
            ["CUDA", "no CUDA device"],
            ["difference of the outputs", "not checked"],
        ]
    )


# ---------------------------------------------------------------------- recordings, files, errors


def test_a_recording_of_the_digits_is_small_and_complete():
    index = index_of("digits")
    made = recording(index, "digits")
    assert len(json.dumps(made)) < 1_000_000
    assert (
        list(made["pictures"])
        == [f"{step}/diff/change/plates" for step in every_step("digits")]
        == list(made["coordinates"])
    )
    for view in made["pictures"].values():
        assert all(f"{view['step']}/{node['id']}" in made["details"] for node in view["nodes"])


def test_steps_that_did_nothing_are_recorded_as_the_step_before_shows_them(monkeypatch: pytest.MonkeyPatch):
    index = TraceIndex(explorer.record(gallery.load_named("near-misses"), level="tensor"))
    made = recording(index, "", modes=("diff", "before", "after"))
    views = list(made["pictures"].values())
    assert len({id(view["nodes"]) for view in views}) < len(views) / 2
    monkeypatch.setattr(import_module("explorer.views.recording"), "_repeats", lambda *_: False)
    assert recording(index, "", modes=("diff", "before", "after")) == made


def saved_and_shown(path: str) -> list[str]:
    """Save a trace; return what is shown of it and of the file."""
    trace = explorer.record(gallery.load_named("near-misses"))
    trace.save(path, times=False)
    lines = []
    for index in (TraceIndex(explorer.Trace.load(path)), TraceIndex(trace)):
        made = recording(index, "", modes=("diff", "side"))
        for step in made["steps"]:
            step["seconds"] = 0
        lines.append(json.dumps(made))
    return lines


def test_files_and_views_have_the_same_bytes_under_any_hash_seed(tmp_path):
    """One test for files without times and for views, so that one more process, with another seed, is enough."""
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    code = f"import sys; from {__name__} import saved_and_shown; print(*saved_and_shown(sys.argv[1]), sep='\\n')"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "77",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-c", code, str(there)]
    shown = subprocess.run(command, check=True, capture_output=True, env=environment, text=True).stdout.splitlines()
    one, other = saved_and_shown(str(here))
    assert one == other
    assert shown == [one, other]
    assert here.read_bytes() == there.read_bytes()


def test_a_compilation_that_failed_shows_its_last_step_and_the_error():
    builder = CircuitBuilder()
    leaf = Parameterization("softmax")((2, 2))
    coin = builder.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=leaf))
    circuit, recorder = builder.build(builder.sum(coin, num_units=1)), Recorder()
    compiler = TorchCompiler(listeners=[recorder])

    @compiler.rules.fuse.rule(LayerOptPattern("Broken", (TorchSumLayer,)))
    def broken(compiler, match):
        """Always fails."""
        raise ZeroDivisionError("no luck")

    with pytest.raises(RuleError) as caught:
        record_with(compiler, recorder, circuit)
    assert isinstance(caught.value.trace, explorer.Trace)
    index = TraceIndex(caught.value.trace)
    last = picture(index, -1).view
    assert "no luck" in last["message"]
    assert {node["change"] for node in last["nodes"]} == {"kept"}
    assert steps(index)[-1]["error"]
    assert steps(index)[-1]["title"].endswith("failed")
    for view in steps(index):
        static_svg(picture(index, view["index"], "side"))


def test_import_of_the_views_loads_neither_torch_nor_a_user_interface():
    code = (
        "import sys, explorer.views; print([m for m in ('torch', 'panel', 'bokeh', 'ipywidgets') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


# ---------------------------------------------------------------------- static pictures


@pytest.mark.parametrize("mode", ["diff", "side"])
@pytest.mark.parametrize("colour_by", ["change", "kind", "memory", "time", "fold"])
def test_a_static_picture_is_well_formed_and_complete(mode, colour_by):
    made = picture(index_of("near-misses"), 3, mode, colour_by, near_misses="Candecomp")
    root = ElementTree.fromstring(static_svg(made))
    text = "".join(root.itertext())
    for view in (made.view, made.view.get("other", made.view)):
        assert view["caption"] in text
        for node in view["nodes"]:
            assert node["detail"] in text
            assert all(badge["text"] in text for badge in node["badges"])
        assert all(item["text"] in text for item in view["legend"])
    assert "http" not in static_svg(made).replace("http://www.w3.org/2000/svg", "")


def test_a_static_picture_escapes_text():
    made = picture(index_of("blackboard"), 0)
    made.view["nodes"][0]["title"] = "<script>alert(1)</script>"
    made.view["title"] = 'a " & b'
    svg = static_svg(made)
    assert "<script>" not in svg
    ElementTree.fromstring(svg)


def test_a_static_picture_supports_light_and_dark():
    assert "prefers-color-scheme:dark" in static_svg(picture(index_of("blackboard"), 0))
    assert static_svg(picture(index_of("blackboard"), 3)) == static_svg(picture(index_of("blackboard"), 3))


def test_a_gallery_name_is_enough():
    index = TraceIndex(explorer.record(gallery.load_named("hmm")))
    assert picture(index, "compile").view["step"] == 0


def test_a_view_is_computed_once_for_each_set_of_arguments_also_by_keyword():
    counted = []

    @cached
    def view(index, step, *, wide=False):
        counted.append((step, wide))
        return len(counted)

    index = index_of("conflict")
    assert [view(index, 1), view(index, 1, wide=True), view(index, 1), view(index, 1, wide=True)] == [1, 2, 1, 2]
    assert counted == [(1, False), (1, True)]
