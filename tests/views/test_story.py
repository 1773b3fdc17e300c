"""The story: which scenes a trace has, and what they say."""

from textwrap import wrap

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.timings import Estimate, Timing
from explorer.views import TraceIndex, hide_results, steps, story
from tests.views.showing import index_of


def lines_of(index, times=None):
    scenes = [(step, scene) for step, scenes in story(index, times).items() for scene in scenes]
    lines = [f"{step} {scene['mode']}, {scene['name']}: {scene['sentence']}" for step, scene in scenes]
    return [part for line in lines for part in wrap(line, 100, subsequent_indent="  ")]


def test_six_scenes_tell_a_compilation():
    assert lines_of(index_of("digits")) == snapshot(
        [
            "0 after, circuit: 170 layers over 64 variables; PyTorch calls one after the other.",
            "3 before, match: Candecomp looks for Hadamard + Sum and finds it 21 times.",
            "3 diff, fuse: Each match becomes one layer: 170 calls → 149.",
            "6 diff, levels: 149 layers on 5 levels: no layer reads another of its own level, so equal ones can",
            "  run in one call.",
            "7 diff, fold: 64 equal layers of level 0 become the slices of one tensor: 149 calls → 86.",
            "10 diff, clock: 170 calls became 5.",
        ]
    )


def test_a_chain_and_a_conflict():
    assert lines_of(index_of("hmm")) == snapshot(
        [
            "0 after, circuit: 35 layers over 12 variables; PyTorch calls one after the other.",
            "3 before, match: Candecomp looks for Hadamard + Sum and finds it 11 times.",
            "3 diff, fuse: Each match becomes one layer: 35 calls → 24.",
            "6 diff, levels: 24 layers on 13 levels: no layer reads another of its own level, so equal ones can",
            "  run in one call.",
            "7 diff, fold: 12 equal layers of level 0 become the slices of one tensor: 24 calls → 13.",
            "7 diff, clock: 35 calls became 13.",
        ]
    )
    assert lines_of(index_of("conflict"))[1:4] == snapshot(
        [
            "3 before, match: SumCollapse looks for 2 × Sum and finds it twice, Candecomp looks for Hadamard +",
            "  Sum and finds it once; 2 matches lost a conflict.",
            "3 diff, fuse: Each match becomes one layer: 12 calls → 9.",
        ]
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"fold": False}, ["circuit", "match", "fuse", "clock"]),
        ({"optimize": False}, ["circuit", "levels", "fold", "clock"]),
        ({"fold": False, "optimize": False}, ["circuit"]),
    ],
)
def test_without_fusing_or_folding_their_scenes_are_left_out(options, names):
    index = TraceIndex(explorer.record(gallery.load_named("conflict"), explorer.TorchCompiler(**options)))
    assert [scene["name"] for scenes in story(index).values() for scene in scenes] == names


def test_the_clock_says_a_time_only_if_both_were_measured():
    index = index_of("digits")
    times = {
        step: {"cpu": Timing("compile", "cpu", 256, Estimate(ms, ms, ms, ms, ms, 20, 0.96))}
        for step, ms in ((0, 1.2), (10, 0.4))
    }
    assert lines_of(index, times)[-1] == snapshot(
        "10 diff, clock: 170 calls became 5, 1.2 ms became 400 µs on the CPU: 3.0 times as fast."
    )
    assert lines_of(index, {0: times[0]}) == lines_of(index)


def test_steps_carry_their_scenes_unless_a_question_hides_what_they_did():
    shown = steps(index_of("digits"))
    assert {step["index"]: [scene["name"] for scene in step["scenes"]] for step in shown if "scenes" in step} == {
        0: ["circuit"],
        3: ["match", "fuse"],
        6: ["levels"],
        7: ["fold"],
        10: ["clock"],
    }
    assert all("scenes" not in step for step in hide_results(shown, 2)[3:])
