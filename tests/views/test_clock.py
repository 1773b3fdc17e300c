"""The clock: one scale for all steps of a trace, and recorded times with the names of their machines."""

from dataclasses import replace
from functools import cache

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.app.session.findings import Findings, with_runs
from explorer.bench import recorded_of
from explorer.templates import gallery
from explorer.timings import STEPS, Estimate, Timing
from explorer.views import TraceIndex, clock_view, full_width, story
from tests.views.showing import index_of


@cache
def recorded_digits():
    index = TraceIndex(explorer.record(gallery.load_named("digits")))
    return index, with_runs(index, Findings(), recorded_of(index.trace), recorded=True)


def timed(median, low=None, high=None):
    found = Estimate(median, low or median, high or median, median, median, 20, 0.96)
    return Timing("", "cpu", 256, found)


def test_the_full_width_is_the_original_circuit_and_the_last_step_a_sliver():
    index, found = recorded_digits()
    clock = clock_view(index, found.times, found.sources)
    assert clock["scale"] == snapshot("Full width: 24.2 ms, the original circuit on CUDA")
    assert [(lane["name"], lane["machine"]) for lane in clock["lanes"]] == snapshot(
        [("CPU", "Intel Xeon Processor, recorded 2026-11-27"), ("CUDA", "NVIDIA H200, recorded 2026-11-27")]
    )
    stairs = clock["lanes"][1]["stairs"]
    assert [stair["share"] for stair in stairs] == sorted((stair["share"] for stair in stairs), reverse=True)
    assert [(stair["step"], stair["text"], stair.get("gain"), stair.get("backend")) for stair in stairs] == snapshot(
        [
            (0, "24.2 ms", None, None),
            (3, "22.5 ms", "no clear difference", None),
            (7, "10.4 ms", "2.3x faster", None),
            (8, "3.97 ms", "6.1x faster", None),
            (9, "1.64 ms", "15x faster", None),
            (10, "1.24 ms", "19x faster", None),
            (10, "259 µs", "93x faster", "triton"),
        ]
    )
    assert clock.get("lens") == snapshot({"factor": 15, "words": "15 times as wide: the full width is 1.61 ms"})
    assert clock.get("race") == snapshot({"seconds": 3.6246, "words": "150 times slower than in reality"})
    assert clock.get("unmeasured") == snapshot("This CPU: not measured yet")
    assert stairs[-1]["about"] == snapshot(
        "fold, level 3, kernels of triton: 259 µs (249 µs to 270 µs), 93.2x faster than the original (84.5 to 103); "
        "✓ 256 rows certified; torch: 403 µs"
    )


def test_the_scale_is_the_same_whatever_is_measured_here():
    index, found = recorded_digits()
    own = {**found.times, 0: {**found.times[0], "cpu": timed(15.0)}, 10: {**found.times[10], "cpu": timed(4.0)}}
    clock = clock_view(index, own, found.sources)
    assert [lane["lane"] for lane in clock["lanes"]] == ["cpu", "recorded-cpu", "recorded-cuda"]
    assert "unmeasured" not in clock
    assert [stair["share"] for stair in clock["lanes"][0]["stairs"]] == [
        pytest.approx(ms / full_width(index, own), abs=1e-5) for ms in (15.0, 4.0)
    ]


def test_intervals_that_overlap_show_no_difference():
    index = index_of("conflict")
    clock = clock_view(
        index, {0: {"cpu": timed(3.0, 1.0, 5.0)}, 3: {"cpu": timed(2.0, 1.0, 4.0)}}, {}, {"cuda": "none here"}
    )
    assert clock["lanes"][0]["stairs"][1].get("gain") == "no clear difference"
    assert clock["lanes"][0]["machine"] == "this machine"
    assert clock.get("note") == "No times on CUDA: none here."


def test_without_the_original_the_longest_time_is_the_full_width_and_calls_if_nothing_was_measured():
    index = index_of("conflict")
    assert clock_view(index, {3: {"cpu": timed(3.0)}})["scale"] == snapshot(
        "Full width: 3 ms, the longest time, after fuse, round 1"
    )
    calls = clock_view(index)
    assert (calls["scale"], [stair["text"] for stair in calls["lanes"][0]["stairs"]]) == snapshot(
        ("Full width: 12 calls", ["12 calls", "9 calls", "7 calls", "4 calls", "3 calls"])
    )
    assert "race" not in calls


def test_the_story_names_the_machine_of_recorded_times():
    index, found = recorded_digits()
    scenes = [scene for scenes in story(index, found.times, found.sources).values() for scene in scenes]
    assert next(scene["sentence"] for scene in scenes if scene["name"] == "clock") == snapshot(
        "170 calls became 5. On Intel Xeon Processor, recorded 2026-11-27: 9.55 ms became 3.12 ms, 3.1x faster. "
        "On NVIDIA H200, recorded 2026-11-27: 24.2 ms became 1.24 ms, 19x faster."
    )


def test_a_run_is_refused_for_another_circuit_size_option_or_step():
    def options(**more):
        return explorer.record(gallery.load_named("digits"), **more)

    assert [run.subject for run in recorded_of(options())] == ["steps", "backends", "layers", "sweep"]
    assert recorded_of(options(fold=False)) == ()
    assert recorded_of(options(max_rounds=1)) == ()
    assert recorded_of(explorer.record(gallery.load_named("hclt"))) == ()


def test_a_loaded_trace_has_the_recorded_runs_and_one_of_another_size_has_none(tmp_path):
    index, _ = recorded_digits()
    index.trace.save(tmp_path / "any.trace.json")
    assert recorded_of(explorer.Trace.load(tmp_path / "any.trace.json")) == recorded_of(index.trace)
    smaller = explorer.templates.image_data(
        (1, 8, 8),
        "quad-tree-4",
        input_layer="categorical",
        num_categories=17,
        num_input_units=8,
        sum_product_layer="cp",
        num_sum_units=8,
    )
    assert recorded_of(explorer.record(smaller)) == ()


def test_recorded_times_are_dropped_beside_a_run_of_another_batch_or_kind_and_never_replace_it():
    index, found = recorded_digits()
    run = next(run for run in recorded_of(index.trace) if run.subject == STEPS)
    few = replace(run, timings=tuple(replace(one, batch_size=64) for one in run.timings))
    for other in (few, replace(run, kind="training")):
        own = with_runs(index, found, [other], recorded=False)
        assert {lane for lanes in own.times.values() for lane in lanes} == {"cpu", "cuda"}
        assert with_runs(index, own, [run], recorded=True) == own
    both = with_runs(index, found, [run], recorded=False)
    assert {"cpu", "recorded-cpu"} <= set(both.times[0])
