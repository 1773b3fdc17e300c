"""The story: which scenes a trace has, and what they say."""

from dataclasses import dataclass
from textwrap import wrap

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.errors import CircuitError
from explorer.symbolic import CircuitBuilder, InputLayer
from explorer.templates import gallery
from explorer.timings import Estimate, Timing
from explorer.trace import Trace
from explorer.views import TraceIndex, picture, steps, story
from tests.views.showing import index_of


def lines_of(index, times=None):
    scenes = [(step, scene) for step, scenes in story(index, times).items() for scene in scenes]
    said = [scene["guess"]["question"] if "guess" in scene else scene["sentence"] for _, scene in scenes]
    lines = [f"{at} {scene['mode']}, {scene['name']}: {words}" for (at, scene), words in zip(scenes, said, strict=True)]
    return [part for line in lines for part in wrap(line, 100, subsequent_indent="  ")]


def test_six_scenes_tell_a_compilation():
    assert lines_of(index_of("digits")) == snapshot(
        [
            "0 after, circuit: 170 layers over 64 variables; PyTorch calls one after the other.",
            "2 after, guess-fuse: Layers are fused next. Which plates take part?",
            "3 before, match: Candecomp looks for Hadamard + Sum and finds it 21 times.",
            "3 diff, fuse: Each match becomes one layer: 170 calls → 149.",
            "6 diff, levels: 149 layers on 5 levels: no layer reads another of its own level, so equal ones can",
            "  run in one call.",
            "6 after, guess-fold: Level 0 is folded next; the inputs are level 0. Which plates become fewer",
            "  calls?",
            "7 diff, fold: 64 equal layers of level 0 become the slices of one tensor: 149 calls → 86.",
            "10 diff, clock: 170 calls became 5.",
        ]
    )


def test_a_chain_and_a_conflict():
    assert lines_of(index_of("hmm")) == snapshot(
        [
            "0 after, circuit: 35 layers over 12 variables; PyTorch calls one after the other.",
            "2 after, guess-fuse: Layers are fused next. Which plates take part?",
            "3 before, match: Candecomp looks for Hadamard + Sum and finds it 11 times.",
            "3 diff, fuse: Each match becomes one layer: 35 calls → 24.",
            "6 diff, levels: 24 layers on 13 levels: no layer reads another of its own level, so equal ones can",
            "  run in one call.",
            "6 after, guess-fold: Level 0 is folded next; the inputs are level 0. Which plates become fewer",
            "  calls?",
            "7 diff, fold: 12 equal layers of level 0 become the slices of one tensor: 24 calls → 13.",
            "7 diff, clock: 35 calls became 13.",
        ]
    )
    assert lines_of(index_of("conflict"))[2:5] == snapshot(
        [
            "3 before, match: SumCollapse looks for 2 × Sum and finds it twice, Candecomp looks for Hadamard +",
            "  Sum and finds it once; 2 matches lost a conflict.",
            "3 diff, fuse: Each match becomes one layer: 12 calls → 9.",
        ]
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"fold": False}, ["circuit", "guess-fuse", "match", "fuse", "clock"]),
        ({"optimize": False}, ["circuit", "levels", "guess-fold", "fold", "clock"]),
        ({"fold": False, "optimize": False}, ["circuit"]),
    ],
)
def test_without_fusing_or_folding_their_scenes_are_left_out(options, names):
    index = TraceIndex(explorer.record(gallery.load_named("conflict"), explorer.TorchCompiler(**options)))
    assert [scene["name"] for scenes in story(index).values() for scene in scenes] == names


def test_a_compilation_that_failed_at_once_has_no_scenes_but_a_step():
    """A layer from outside without a compile rule: there is no graph."""

    @dataclass(frozen=True, eq=False, kw_only=True)
    class UncompiledLayer(InputLayer):
        pass

    builder = CircuitBuilder()
    with pytest.raises(CircuitError) as failed:
        explorer.record(builder.build(builder.add(UncompiledLayer(scope=(0,), num_output_units=1))))
    assert isinstance(failed.value.trace, Trace)
    index = TraceIndex(failed.value.trace)
    assert story(index) == {}
    (only,) = steps(index)
    assert only["error"].startswith("compile: no compile rule for layer UncompiledLayer")


def test_a_guess_asks_for_plates_of_the_state_before_and_does_not_tell_which():
    index = index_of("near-misses")
    asked = {
        scene["name"]: (step, scene["guess"])
        for step, scenes in story(index).items()
        for scene in scenes
        if "guess" in scene
    }
    for step, guess in asked.values():
        plates = {node["id"] for node in picture(index, step, "after", group_by="plates").view["nodes"]}
        assert plates == {*guess["wanted"], *guess["apart"]}
    assert asked["guess-fuse"][1] == snapshot(
        {
            "question": "Layers are fused next. Which plates take part?",
            "wanted": ["n10", "g6x3-492ced97"],
            "apart": {
                "g0x4-278eafa9": "CategoricalLogSoftmax replaces it alone; nothing is fused",
                "n4": "SumCollapse comes closest, but #0 is a Categorical layer, not a Sum layer",
                "n9": "Candecomp matches there, but loses a conflict",
                "n5": "Candecomp comes closest, but #5 is read by 2 nodes; "
                "only the first entry may be read by more than one",
                "n8": "Mixing comes closest, but the parameter 'weight' of #8 does not match MixingWeightOut "
                "(node 1 is a Softmax parameter, not a MixingWeight parameter)",
                "n12": "Candecomp comes closest, but #12 is an output and would be lost inside the match",
                "n13": "Candecomp comes closest, but #12 is an output and would be lost inside the match",
            },
        }
    )
    assert asked["guess-fold"][1] == snapshot(
        {
            "question": "Level 0 is folded next; the inputs are level 0. Which plates become fewer calls?",
            "wanted": ["g14x4-2ab3235e"],
            "apart": {
                "n4": "it is on level 1",
                "n19": "it is on level 1",
                "n5": "it is on level 2",
                "g6x2-3e9aee57": "it is on level 3",
                "n8": "it is on level 4",
                "n12": "it is on level 5",
                "n13": "it is on level 6",
            },
        }
    )


def test_the_clock_says_a_time_only_if_both_were_measured():
    index = index_of("digits")
    times = {
        step: {"cpu": Timing("compile", "cpu", 256, Estimate(ms, ms, ms, ms, ms, 20, 0.96))}
        for step, ms in ((0, 1.2), (10, 0.4))
    }
    assert lines_of(index, times)[-1] == snapshot(
        "10 diff, clock: 170 calls became 5. On the CPU: 1.2 ms became 400 µs, 3x faster."
    )
    assert lines_of(index, {0: times[0]}) == lines_of(index)


def test_the_clock_shows_no_difference_within_the_noise():
    noisy = Estimate(1.0, 0.1, 5.0, 0.1, 5.0, 20, 0.96)
    alike = {step: {"cpu": Timing("compile", "cpu", 256, noisy)} for step in (0, 10)}
    last = " ".join(lines_of(index_of("digits"), alike)[-2:])
    assert last.endswith("On the CPU: 1 ms became 1 ms, no clear difference.")


def test_steps_carry_their_scenes():
    shown = steps(index_of("digits"))
    assert {step["index"]: [scene["name"] for scene in step["scenes"]] for step in shown if "scenes" in step} == {
        0: ["circuit"],
        2: ["guess-fuse"],
        3: ["match", "fuse"],
        6: ["levels", "guess-fold"],
        7: ["fold"],
        10: ["clock"],
    }
