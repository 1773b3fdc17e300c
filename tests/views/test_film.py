"""The film: which steps have a frame, how many calls each leaves, and what its sentence says."""

import sys
from textwrap import wrap

import pytest
import torch
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.timings import Estimate, PartTime, Timing, estimate
from explorer.views import TraceIndex, calls_of, film, sentence_of
from tests.views.showing import SMALL, every_step, index_of


def lines_of(index, count=None):
    shown = film(index)[:count]
    frames = [f"{frame['step']} {frame['label']} {frame['calls']}: {frame['sentence']}" for frame in shown]
    return [line for frame in frames for line in wrap(frame, 100, subsequent_indent="  ")]


def test_fusing_and_folding_say_what_became_what_and_how_many_calls_are_left():
    assert lines_of(index_of("conflict")) == snapshot(
        [
            "0 compile 12: 12 layers compiled, each a call: 5 Sum, 4 Categorical, 3 Hadamard.",
            "3 fuse, round 1 9: Categorical is rewritten 4 times (CategoricalLogSoftmax); 2 × Sum becomes Sum 2",
            "  times (SumCollapse); Hadamard + Sum becomes CPT (Candecomp); 2 matches lost a conflict: 12 calls →",
            "  9.",
            "6 fuse, round 2 7: Hadamard + Sum becomes CPT 2 times (Candecomp): 9 calls → 7.",
            "10 fold, level 0 4: 4 equal Categorical layers of level 0 become one: 7 calls → 4, 96 B → 32 B",
            "  copied.",
            "11 fold, level 1 3: 2 equal CPT layers of level 1 become one: 4 calls → 3, 32 B → 0 B copied.",
        ]
    )


def test_a_shattered_layer_and_levels_on_which_little_is_equal():
    assert lines_of(index_of("kronecker")) == snapshot(
        [
            "0 compile 6: 6 layers compiled, each a call: 3 Sum, 2 Categorical, 1 Hadamard.",
            "2 shatter, round 1 8: Sum becomes 2 × TensorDot 2 times (DenseKronecker): 6 calls → 8.",
            "3 fuse, round 1 7: Categorical is rewritten 2 times (CategoricalLogSoftmax); Hadamard + Sum becomes",
            "  CPT (Candecomp): 8 calls → 7.",
            "7 fold, level 0 6: 2 equal Categorical layers of level 0 become one: 7 calls → 6.",
        ]
    )
    assert sentence_of(index_of("near-misses"), 11) == snapshot("2 layers of level 1 have no equal: still 9 calls.")


def test_a_step_that_changed_nothing_says_what_came_closest():
    assert wrap(sentence_of(index_of("conflict"), 9), 100) == snapshot(
        [
            "No pattern matched. 5 patterns were tried on 7 layers. Closest: CategoricalLogSoftmax, 4 times",
            "blocked at its 1st layer because its parameter probs does not match.",
        ]
    )


def test_operators_are_counted_at_the_tensor_level(monkeypatch):
    circuit = explorer.TorchCompiler().compile(gallery.load_named("conflict"))
    index = TraceIndex(explorer.record(circuit, (torch.zeros(4, 4, dtype=torch.long),)))
    assert lines_of(index, 3) == snapshot(
        [
            "0 import 70: 70 operators imported, each a call: 14 view, 12 squeeze, 4 transpose, 4 select, 4 add,",
            "  3 clamp and 19 more kinds.",
            "3 evaluate_constant 40: evaluate_constant 29 times: 70 calls → 40.",
            "6 to_permute 40: transpose becomes permute (to_permute): still 40 calls.",
        ]
    )
    for frame in film(index):
        assert sum(plate["calls"] for plate in frame.get("plates", ())) == frame["calls"]
    monkeypatch.setattr(sys.modules[film.__module__], "MAX_OPERATORS", 100)
    assert not any("plates" in frame for frame in film(index))
    assert film(index)[0].get("undrawn") == snapshot(
        "No small drawings: 9 steps with 369 operators in all; at most 100 are drawn."
    )


@pytest.mark.parametrize("name", SMALL)
def test_calls_are_the_layers_of_every_step(name):
    index = index_of(name)
    assert [calls_of(index, step) for step in every_step(name)] == [
        len(index.trace.graph_at(step).nodes) for step in every_step(name)
    ]


def test_a_loaded_trace_has_the_same_film(tmp_path):
    trace = index_of("digits").trace
    trace.save(tmp_path / "digits.trace.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "digits.trace.json"))
    assert film(loaded) == film(TraceIndex(trace))


def test_frames_have_the_times_of_steps_and_plates_those_of_their_layers_by_lane():
    index = index_of("conflict")
    layers = {"cpu": {0: dict.fromkeys(range(12), PartTime(estimate([0.00025])))}}
    one = Estimate(3.0, 2.9, 3.1, 2.9, 3.1, 20, 0.96)
    measured = {lane: Timing("compile", lane, 256, one) for lane in ("cpu", "recorded-cuda")}
    missing = {"cuda": "no CUDA device"}
    frame = film(index, {0: measured}, layers, missing)[0]
    assert frame.get("times") == {"cpu": 3.0, "recorded-cuda": 3.0}
    assert frame.get("missing") == missing
    plates = [plate.get("ms", {}) for plate in frame.get("plates", [])]
    assert sum(ms["cpu"] for ms in plates) == pytest.approx(12 * 0.25)
    assert not any("recorded-cuda" in ms for ms in plates)  # times of another device do not divide it
    assert "times" not in film(index)[0]


def test_a_sentence_says_what_a_step_bought_in_time_where_both_states_were_measured():
    def timed(median):
        return Timing("", "cpu", 256, Estimate(median, median, median, median, median, 20, 0.96))

    index = index_of("conflict")
    frames = film(index, {0: {"cpu": timed(3.0)}, 3: {"cpu": timed(2.0), "recorded-cuda": timed(1.0)}})
    plain = film(index)
    assert frames[1]["sentence"] == f"{plain[1]['sentence']} CPU: 3 ms → 2 ms."
    assert frames[2]["sentence"] == plain[2]["sentence"]
