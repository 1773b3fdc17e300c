"""Timings as bars, tables and words; literal values, and measured ones of a real run."""

from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from explorer import bench, runtime
from explorer.errors import CircuitError
from explorer.runtime.backends import ONLY_ON
from explorer.timings import (
    BACKENDS,
    CPU,
    CUDA,
    DEVICES,
    LAYER,
    LAYERS,
    MODES,
    READ,
    STEPS,
    SUM,
    SWEEP,
    WHOLE,
    Estimate,
    Limits,
    Run,
    Setup,
    Timing,
    estimate,
)
from explorer.views import (
    LANES,
    backend_bars,
    bottlenecks,
    check_fits,
    conditions,
    cost_strip,
    crossover_text,
    details,
    film,
    gain_bars,
    layer_heat,
    layer_table,
    layers_note,
    layers_notes,
    measurements,
    memory_table,
    mode_bars,
    no_cuda_text,
    picture,
    speed_up,
    step_bars,
    sweep_bars,
    time_change_bars,
)
from explorer.views.lanes import lane_of, lane_of_backend
from explorer.views.timing_words import certified_text
from tests.views.showing import index_of

SETUP = Setup(
    "2026-01-02T03:04:05+00:00",
    1,
    "CPU time of the measuring thread",
    "malloc keeps freed memory, for all sides",
    0.1,
    20.0,
    0,
    {"cpu": "A processor"},
    {"python": "3.12", "torch": "2.9"},
    "Linux",
    {"cpu": Limits(0.001, 1e10, 1e11)},
)


def about(median, half=0.05):
    return Estimate(median, median * (1 - half), median * (1 + half), median * 0.99, median * 1.01, 20, 0.9586)


def run_of(subject, *timings, **changes):
    return replace(Run(subject, "forward", "conflict", {}, timings, SETUP), **changes)


def step_timing(step, median, device=CPU, **fields):
    path = index_of("conflict").step(step).path
    found = None if median is None else about(median)
    return Timing(path, device, 256, found, step=step, reached=found is not None, **fields)


NO_CUDA = {"cuda": "no CUDA device"}


def conflict_run():
    """Unoptimized, after round 1 (no gain), at the end; the steps between are in one of these states."""
    index = index_of("conflict")
    first, fused, *_, last = bench.default_steps(index.trace)
    return run_of(
        STEPS,
        step_timing(first, 2.0, layers=12, peak_bytes=2048, planned_bytes=4096),
        step_timing(fused, 1.98, layers=9, peak_bytes=1024, planned_bytes=4096),
        step_timing(last, 0.5, layers=3, planned_bytes=4096),
        missing=NO_CUDA,
    )


def test_a_gain_within_the_noise_is_not_reported_as_a_gain():
    assert speed_up(about(24.6), about(2.0), "unoptimized").text == "12.3x faster than unoptimized (11.1 to 13.6)"
    assert speed_up(about(24.6), about(2.0)).tone == "faster"
    assert speed_up(about(2.0), about(3.0)).text == "1.5x slower (1.36 to 1.66)"
    noise = speed_up(about(2.0), about(1.9))
    assert (noise.text, noise.tone) == ("1.05x: within the noise", "noise")


def test_too_few_repeats_show_neither_gain_nor_whiskers():
    once = Estimate(1.0, 1.0, 1.0, 1.0, 1.0, 1, 0.0)
    unsure = speed_up(about(3.0), once)
    assert (unsure.text, unsure.tone) == ("3x: measured too few times to tell", "noise")
    run = conflict_run()
    run = replace(run, timings=tuple(replace(t, estimate=once, reached=False) for t in run.timings))
    view = step_bars(index_of("conflict"), run)
    assert {(bar["low"], bar["high"]) for bar in view["bars"]} == {(None, None)}
    assert view["table"]["rows"][0][2] == "1 ms (measured once)"
    assert {(bar["low"], bar["high"]) for bar in time_change_bars(index_of("conflict"), run)["bars"]} == {(None, None)}


def test_every_step_has_the_time_of_its_state():
    index = index_of("conflict")
    known = measurements(index, conflict_run())
    first, fused, *_, last = bench.default_steps(index.trace)
    medians = [known[step]["cpu"].median if step in known else None for step in range(len(index.trace.steps))]
    assert medians[:fused] == [2.0] * fused
    assert medians[fused] == 1.98
    assert medians[last] == medians[-1] == 0.5
    assert None in medians  # a state between that was not timed has no time
    strip = cost_strip(index, 1, known, missing=NO_CUDA)
    assert ["CPU", "2 ms ± 100 µs"] in strip["rows"]
    assert ["CUDA", "no CUDA device"] in strip["rows"]
    assert first == 0


def test_bars_of_steps_have_whiskers_a_reason_and_a_table():
    bars = step_bars(index_of("conflict"), conflict_run())
    assert bars["series"] == ["CPU", "CUDA"]
    assert bars["bars"][:2] == snapshot(
        [
            {"label": "compile", "value": 2.0, "low": 1.9, "high": 2.1, "series": "CPU", "missing": ""},
            {
                "label": "compile",
                "value": None,
                "low": None,
                "high": None,
                "series": "CUDA",
                "missing": "no CUDA device",
            },
        ]
    )
    assert bars["note"] == (
        "Dots are medians, lines their 95 % confidence intervals. No times on CUDA: no CUDA device."
    )
    assert bars["table"] == snapshot(
        {
            "columns": ["step", "calls", "CPU", "against unoptimized", "peak"],
            "rows": [
                ["compile", "12", "2 ms (1.9 ms to 2.1 ms)", "", "2 KiB"],
                ["fuse, round 1", "9", "1.98 ms (1.88 ms to 2.08 ms)", "1.01x: within the noise", "1 KiB"],
                ["fold, level 1", "3", "500 µs (475 µs to 525 µs)", "4x faster (3.62 to 4.42)", "not measured"],
            ],
        }
    )


def test_a_step_with_different_outputs_shows_the_reason_instead_of_its_time():
    run = conflict_run()
    wrong = replace(run.timings[-1], estimate=None, missing="no time: the output differs")
    bars = step_bars(index_of("conflict"), replace(run, timings=(*run.timings[:-1], wrong)))
    assert bars["bars"][-2]["missing"] == "no time: the output differs"
    assert bars["table"]["rows"][-1][2] == "no time: the output differs"


def test_the_waterfall_in_milliseconds_adds_up_and_marks_the_noise():
    view = time_change_bars(index_of("conflict"), conflict_run())
    assert sum(bar["value"] or 0.0 for bar in view["bars"]) == pytest.approx(0.5 - 2.0)
    assert [(bar["label"], bar.get("tone")) for bar in view["bars"]] == [
        ("fuse, round 1", "noise"),
        ("fold, level 1", "faster"),
    ]
    assert all((bar["low"] or 0.0) <= (bar["value"] or 0.0) <= (bar["high"] or 0.0) for bar in view["bars"])
    assert view["note"] == "2 ms at first, 500 µs at the end: 4x faster than at first (3.62 to 4.42)."
    assert time_change_bars(index_of("conflict"), conflict_run(), CUDA)["note"] == "No times: no CUDA device."


def test_modes_are_compared_with_the_first():
    names = ("as written", "optimized", "folded", "optimized and folded")
    timings = [Timing(name, CPU, 64, about(time)) for name, time in zip(names, (8.0, 9.5, 2.0, 1.0), strict=True)]
    view = mode_bars(run_of(MODES, *timings))
    assert view["series"] == ["CPU"]
    assert view["table"]["columns"] == ["mode", "CPU", "against as written"]
    assert [row[-1] for row in view["table"]["rows"]] == [
        "",
        "1.19x slower (1.07 to 1.31)",
        "4x faster (3.62 to 4.42)",
        "8x faster (7.24 to 8.84)",
    ]


def sweep(cpu, cuda, **changes):
    timings = [
        Timing(f"batch {size:,}", device, size, about(time), step=5)
        for device, times in ((CPU, cpu), (CUDA, cuda))
        for size, time in times.items()
    ]
    return run_of(SWEEP, *timings, **changes)


def test_the_crossover_or_why_there_is_none():
    cpu = {1: 1.0, 4: 4.0, 64: 64.0}
    crossing = sweep(cpu, {1: 8.0, 4: 8.0, 64: 8.0})
    assert crossover_text(crossing) == "Crossover: from a batch of about 8 on, CUDA is faster."
    assert sweep_bars(crossing)["note"].startswith("Crossover: from a batch of about 8 on, CUDA is faster. Dots are")
    assert [row[-1] for row in sweep_bars(crossing)["table"]["rows"]] == [
        "8x slower (7.24 to 8.84)",
        "2x slower (1.81 to 2.21)",
        "8x faster (7.24 to 8.84)",
    ]
    always = sweep(cpu, dict.fromkeys(cpu, 0.1))
    assert crossover_text(always) == "No crossover: from 1 row to 64, CUDA is always faster."
    assert crossover_text(sweep(cpu, {}, missing=NO_CUDA)) == "No crossover of CPU and CUDA: no CUDA device."
    assert crossover_text(sweep(cpu, {})) == "No crossover of CPU and CUDA: CUDA was not measured."


def layers_run(index, times, reads):
    step = len(index.trace.steps) - 1
    timings = [
        Timing(WHOLE, CPU, 256, about(sum(times.values()) * 1.1), step=step, layers=len(times), operators=20),
        Timing(SUM, CPU, 256, about(sum(times.values())), step=step),
        *(Timing(LAYER, CPU, 256, about(time), step=step, node=node) for node, time in times.items()),
        *(Timing(READ, CPU, 256, about(time), step=step, node=node) for node, time in reads.items()),
    ]
    return run_of(LAYERS, *timings)


def test_layers_are_listed_longest_first_with_the_rest_and_the_sum():
    index = index_of("conflict")
    nodes = list(index.trace.graph_at(-1).nodes)
    run = layers_run(index, dict(zip(nodes, (1.0, 6.0, 3.0), strict=True)), {nodes[1]: 2.0})
    table = layer_table(index, run, limit=2)
    assert [row[1:] for row in table["rows"]] == snapshot(
        [
            ["6 ms", "60%", "2 ms"],
            ["3 ms", "30%", "nothing"],
            ["1 ms", "10%", "nothing"],
            ["10 ms", "100%", "2 ms"],
            ["11 ms", "", ""],
        ]
    )
    assert table["rows"][0][0].startswith(f"{nodes[1]}: ")
    assert [row[0] for row in table["rows"][2:]] == ["1 other call", "sum of calls", "whole forward pass"]
    assert layers_note(run) == "The calls one by one take 10 ms on the CPU, the whole forward pass 11 ms."
    assert layers_notes(run) == [layers_note(run)]
    on_cuda = tuple(replace(timing, device=CUDA) for timing in run.timings)
    notes = layers_notes(replace(run, timings=(*run.timings, *on_cuda)))
    assert notes == [layers_note(run), layers_note(run).replace("the CPU", "CUDA")]
    heat = layer_heat(run)
    assert heat == dict(zip(nodes, (1.0, 6.0, 3.0), strict=True))
    last = len(index.trace.steps) - 1
    drawn = picture(index, last, "after", "time", times=heat).view
    assert sorted(node["fill_text"] for node in drawn["nodes"]) == ["1 ms", "3 ms", "6 ms"]
    numbers = next(s for s in details(index, last, nodes[1:2], times=heat)["sections"] if s["heading"] == "Numbers")
    assert ["measured", "6 ms (1 of 1 node)"] in numbers["rows"]


def test_conditions_describe_the_setup_and_its_warnings():
    section = conditions(conflict_run())
    assert section["rows"] == snapshot(
        [
            ["CPU", "A processor"],
            ["CUDA", "no times: no CUDA device"],
            ["circuit", "conflict"],
            ["what", "forward pass, batch 256"],
            ["threads", "1 thread on the CPU, CPU time of the measuring thread"],
            ["precision", "3 of 3 medians known within 10%"],
            ["date", "2026-01-02T03:04:05+00:00"],
            ["versions", "python 3.12, torch 2.9"],
            ["system", "Linux"],
            ["memory", "malloc keeps freed memory, for all sides"],
        ]
    )
    assert section["lines"] == []
    watched = conditions(replace(conflict_run(), options={"level": "watched"}))["rows"]
    assert ["what", "forward pass, with the arguments of the recording"] in watched
    vague = replace(conflict_run().timings[0], reached=False, estimate=about(2.0, 0.3))
    doubtful = run_of(STEPS, vague, setup=replace(SETUP, warning="the machine is busy"))
    assert conditions(doubtful)["lines"] == [
        "Warning: the machine is busy.",
        "Compile on the CPU is known within 30%. The time limit of 20 s was reached; raise it for a narrower interval.",
    ]
    assert conditions(replace(doubtful, cancelled=True))["lines"][1].startswith("The measurement was cancelled")


def test_measured_memory_is_shown_next_to_planned_memory():
    assert memory_table(conflict_run())["rows"][0] == ["compile", "CPU", "4 KiB", "2 KiB"]
    assert memory_table(conflict_run())["rows"][2][3] == "not measured"


def test_what_did_not_run_has_no_memory():
    run = conflict_run()
    refused = replace(run.timings[0], device=CUDA, estimate=None, peak_bytes=None, missing="it runs on the CPU only")
    assert memory_table(replace(run, timings=(*run.timings, refused))) == memory_table(run)


def on_both_devices():
    """The run of `conflict_run`, and on CUDA a hundred times as long at first and as long at the end."""
    run = conflict_run()
    factors = (100, 50, 1)
    cuda = [
        replace(timing, device=CUDA, estimate=about((timing.median or 0.0) * factor))
        for timing, factor in zip(run.timings, factors, strict=True)
    ]
    return replace(run, timings=(*run.timings, *cuda), missing={})


def test_of_two_devices_each_has_its_own_gains():
    run = on_both_devices()
    table = step_bars(index_of("conflict"), run)["table"]
    assert table["columns"][4:6] == ["against unoptimized, on the CPU", "against unoptimized, on CUDA"]
    assert table["rows"][-1][4:6] == ["4x faster (3.62 to 4.42)", "400x faster (362 to 442)"]
    view = gain_bars(index_of("conflict"), run)
    assert view["series"] == ["CPU", "CUDA"]
    assert [(bar["label"], bar["series"], bar.get("tone")) for bar in view["bars"]] == [
        ("fuse, round 1", "CPU", "noise"),
        ("fuse, round 1", "CUDA", "faster"),
        ("fold, level 1", "CPU", "faster"),
        ("fold, level 1", "CUDA", "faster"),
    ]
    assert view["table"]["columns"][:5] == ["step", "CPU: before", "CPU: after", "CPU: gain", "CUDA: before"]
    assert view["table"]["rows"][1][3] == "3.96x faster (3.58 to 4.38)"
    assert view["note"].startswith("CPU: 2 ms at first, ")
    assert " CUDA: 200 ms at first, " in view["note"]
    assert gain_bars(index_of("conflict"), conflict_run()) == time_change_bars(index_of("conflict"), conflict_run())


def test_a_backend_is_compared_on_each_device_that_it_runs_on():
    timings = [
        Timing("layers", CPU, 64, about(8.0)),
        Timing("native", CPU, 64, about(1.0), rows_recomputed=0),
        Timing("torch", CPU, 64, about(16.0), rows_recomputed=64),
        Timing("layers", CUDA, 64, about(4.0)),
        Timing("native", CUDA, 64, missing="no time: it runs on the CPU only"),
        Timing("torch", CUDA, 64, about(1.0), rows_recomputed=0),
    ]
    view = backend_bars(run_of(BACKENDS, *timings))
    assert "as in circuit.fast()" not in view["note"]
    both = backend_bars(run_of(BACKENDS, *timings, Timing("native, parameters compared", CPU, 64, about(1.1))))
    assert "as in circuit.freeze().fast(); with 'parameters compared', each call looks whether" in both["note"]
    table = view["table"]
    assert table["columns"][3:] == ["against layers, on the CPU", "against layers, on CUDA", "rows"]
    assert [row[3:] for row in table["rows"]] == [
        ["", "", ""],
        ["8x faster (7.24 to 8.84)", "", "✓ 64 rows certified"],
        [
            "2x slower (1.81 to 2.21)",
            "4x faster (3.62 to 4.42)",
            "CPU: 64 rows in double precision; CUDA: ✓ 64 rows certified",
        ],
    ]


def test_each_backend_has_a_lane_on_each_device_that_it_runs_on():
    lanes = {lane_of_backend(name, on) for name in runtime.BACKENDS for on in DEVICES if ONLY_ON.get(name, on) == on}
    assert lanes <= set(LANES)
    assert {lane_of(lane, recorded=True) for lane in lanes} <= set(LANES)


@pytest.mark.parametrize("name", ["digits", pytest.param("mnist", marks=pytest.mark.fuzz)])
def test_the_recorded_runs_of_the_project_fit_their_circuits(name):
    runs = [run for file in bench.recorded_runs() for run in file.runs if run.circuit == name]
    assert {BACKENDS, LAYERS, STEPS, SWEEP} <= {run.subject for run in runs}
    for run in runs:
        check_fits(index_of(name), run)


def test_without_cuda_the_reason_and_recorded_runs_are_shown():
    assert no_cuda_text("no device", 0).startswith("No CUDA: no device. There is no recorded run to open either")
    assert no_cuda_text("no device", 2) == "No CUDA: no device. 2 recorded runs can be opened."
    assert no_cuda_text("no device", 1, app="the dashboard").endswith(
        "1 recorded run can be opened in the Time tool of the dashboard."
    )
    assert no_cuda_text(None, 2) == ""


def test_a_run_of_another_compilation_is_refused():
    foreign = run_of(STEPS, Timing("fold/level 9", CPU, 1, about(1.0), step=2))
    for view in (measurements, step_bars, time_change_bars):
        with pytest.raises(CircuitError, match=r"of another compilation: its step 2 \(fold/level 9\)"):
            view(index_of("conflict"), foreign)


# ---------------------------------------------------------------------- lints


def test_many_small_operators_are_launch_bound():
    last = bench.default_steps(index_of("conflict").trace)[-1]
    slow = step_timing(last, 0.5, operators=100, one_row=0.4)
    (bottleneck,) = bottlenecks(index_of("conflict"), [run_of(STEPS, slow)])
    assert (bottleneck.kind, bottleneck.device) == ("launch-bound", "cpu")
    assert bottleneck.text == (
        "one row takes 400 µs, 256 rows 500 µs; the 100 operators take 5 µs each, and the smallest operator on this "
        "device takes 1 µs."
    )
    assert (
        bottleneck.advice == "Use larger batches: 256 rows take only 1.2 times as long as one."
    )  # it is already folded
    (before,) = bottlenecks(
        index_of("conflict"), [run_of(STEPS, step_timing(0, 0.5, operators=100, one_row=0.4))], step=0
    )
    assert before.advice == "Fold, or use larger batches: 256 rows take only 1.2 times as long as one."
    (equal,) = bottlenecks(index_of("conflict"), [run_of(STEPS, replace(slow, one_row=0.5))])
    assert equal.advice == "Use larger batches: 256 rows take only as long as one."
    busy = replace(slow, one_row=0.1)
    assert bottlenecks(index_of("conflict"), [run_of(STEPS, busy)]) == ()
    few = replace(slow, operators=10)  # 50 µs each: the operators themselves are large
    assert bottlenecks(index_of("conflict"), [run_of(STEPS, few)]) == ()
    assert bottlenecks(index_of("conflict"), [run_of(STEPS, slow)], step=0) == ()  # it is about another state


def test_a_sweep_reports_the_batch_size_up_to_which_rows_are_almost_free():
    last = bench.default_steps(index_of("conflict").trace)[-1]
    run = sweep({1: 1.0, 4: 1.1, 16: 1.3, 64: 4.0}, {})
    run = replace(run, timings=tuple(replace(t, step=last, operators=5, one_row=1.0) for t in run.timings))
    (bottleneck,) = bottlenecks(index_of("conflict"), [run])
    assert str(bottleneck).startswith(
        "launch-bound in small batches on the CPU: 16 rows take 1.3 ms, and one takes 1 ms. Below"
    )


def test_reads_that_copy_for_long_are_gather_bound():
    index = index_of("conflict")
    nodes = list(index.trace.graph_at(-1).nodes)
    times = dict(zip(nodes, (1.0, 6.0, 3.0), strict=True))
    (bottleneck,) = bottlenecks(index, [layers_run(index, times, {nodes[1]: 3.0, nodes[2]: 1.0})])
    assert (bottleneck.kind, bottleneck.text) == (
        "gather-bound",
        f"copying inputs takes 4 ms of 11 ms (36%); the slowest copy, 3 ms, is that of layer {nodes[1]}.",
    )
    assert bottlenecks(index, [layers_run(index, times, {nodes[1]: 1.0})]) == ()


def test_moving_more_than_computing_is_memory_bound():
    """The folded digits move 2 (9,476 + copies) bytes a row; with 1e6 bytes a second that is most of the time."""
    index = index_of("digits")
    stats = index.trace.stats(-1)
    moved = 2 * (stats["activation_bytes"] + stats["copied_bytes"]) * 256 + 4 * stats["parameters"]
    last = bench.default_steps(index.trace)[-1]
    path = index.step(last).path
    timing = Timing(path, CPU, 256, about(1000.0), step=last, operators=80, one_row=1.0)
    slow = replace(SETUP, limits={"cpu": Limits(0.001, moved / 0.8, 1e12)})  # moving takes 0.8 s of 1 s
    found = {bottleneck.kind: bottleneck for bottleneck in bottlenecks(index, [run_of(STEPS, timing, setup=slow)])}
    assert "(80%)" in found["memory-bound"].text
    for share in (0.2, 3.0):  # of little it is not the memory's time; three times as much cannot have been moved in it
        other = replace(SETUP, limits={"cpu": Limits(0.001, moved / share, 1e12)})
        assert bottlenecks(index, [run_of(STEPS, timing, setup=other)]) == ()


def test_a_real_run_is_shown_in_every_view():
    index = index_of("blackboard")
    few = {"max_seconds": 0.3, "precision": 0.5, "devices": ("cpu", "cuda"), "name": "blackboard"}
    steps = bench.measure_steps(index.trace, batch_size=4, **few)
    layers = bench.measure_layers(index.trace, batch_size=4, **few)
    swept = bench.measure_sweep(index.trace, batch_sizes=(1, 4), **few)
    assert set(measurements(index, steps)) == set(range(len(index.trace.steps)))
    for view in (step_bars(index, steps), time_change_bars(index, steps), sweep_bars(swept)):
        assert view["bars"]
        assert view["table"]["rows"]
    assert len(layer_table(index, layers)["rows"]) == len(index.trace.graph_at(-1).nodes) + 2
    assert isinstance(bottlenecks(index, [steps, layers, swept]), tuple)


def test_all_rows_in_double_precision_are_not_called_uncertified():
    timing = Timing("torch", "cpu", 64, estimate([1e-3] * 7), rows_recomputed=64)
    assert certified_text(timing) == "64 rows in double precision"


def test_chart_film_and_costs_show_certificate_and_share_of_the_roof():
    index = index_of("conflict")

    def timed(what: str, ms: float, **more: Any) -> Timing:
        return Timing(what, "cpu", 64, estimate([ms / 1000] * 7), step=last, **more)

    last = index.trace.steps[-1].index
    timings = (
        timed("layers", 8.0, roof_ms=0.5),
        timed("native", 1.0, rows_recomputed=0, roof_ms=0.5),
        timed("torch", 2.0, rows_recomputed=3, roof_ms=0.5),
    )
    run = replace(conflict_run(), subject=BACKENDS, timings=timings, missing={})
    table = backend_bars(run)["table"]
    assert table["columns"][-2:] == ["rows", "share of the roof"]
    assert [row[-2:] for row in table["rows"]] == [
        ["", "6%"],
        ["✓ 64 rows certified", "50%"],
        ["61 of 64 rows certified, 3 again", "25%"],
    ]
    times = measurements(index, run)
    assert list(times[last]) == ["cpu", "native-cpu", "torch-cpu"]
    frame = film(index, times)[-1]
    assert frame.get("certified") == {
        "native-cpu": "✓ 64 rows certified",
        "torch-cpu": "61 of 64 rows certified, 3 again",
    }
    rows = dict(cost_strip(index, last, times)["rows"])
    assert rows["native, CPU"] == "1 ms ± 0 µs, ✓ 64 rows certified"
    declined = replace(run, timings=(timed("torch", 8.0, declined="too few rows", roof_ms=0.5),))
    assert backend_bars(declined)["table"]["rows"][0][-2:] == ["ran the layers", "6%"]
