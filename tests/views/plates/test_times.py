"""The half bars of plates: sums of measured times with their intervals, by lane and to one scale."""

from inline_snapshot import snapshot

from explorer.timings import Estimate, PartTime
from explorer.views import heat_at, picture, static_svg, with_lanes
from tests.views.showing import index_of


def time(median, low, high):
    return PartTime(Estimate(median, low, high, low, high, 20, 0.96))


MEASURED = {
    "cpu": {0: dict.fromkeys(range(12), time(0.5, 0.4, 0.6))},
    "recorded-cuda": {0: {layer: time(0.1, 0.1, 0.1) for layer in range(12)}},
}


FEW = {"recorded-cuda": {0: {layer: time(0.1, 0.1, 0.1) for layer in range(4)}}}


def bars_of(index, step, measured, **more):
    view = picture(index, step, group_by="plates", layer_times=measured, **more).view
    shown = {node["title"]: node["plate"] for node in view["nodes"] if "plate" in node}
    return {
        title: [(bar["lane"], round(bar["share"], 3), bar["text"]) for bar in plate.get("times", [])]
        for title, plate in shown.items()
    }


def test_a_plate_has_the_time_of_its_calls_in_each_lane_in_which_all_were_measured():
    assert bars_of(index_of("conflict"), 0, MEASURED) == snapshot(
        {
            "Categorical": [
                ("cpu", 0.333, "CPU: 2 ms for 4 calls (1.6 ms to 2.4 ms)"),
                ("recorded-cuda", 0.067, "CUDA (recorded): 400 µs for 4 calls (400 µs to 400 µs)"),
            ],
            "Hadamard": [
                ("cpu", 0.083, "CPU: 500 µs for 1 call (400 µs to 600 µs)"),
                ("recorded-cuda", 0.017, "CUDA (recorded): 100 µs for 1 call (100 µs to 100 µs)"),
            ],
            "Sum": [
                ("cpu", 0.083, "CPU: 500 µs for 1 call (400 µs to 600 µs)"),
                ("recorded-cuda", 0.017, "CUDA (recorded): 100 µs for 1 call (100 µs to 100 µs)"),
            ],
        }
    )


def test_a_recorded_lane_is_left_out_where_it_lacks_a_plate():
    assert not any(bars_of(index_of("conflict"), 0, FEW).values())


def test_the_caller_says_what_a_whole_bar_is_so_that_a_bar_does_not_grow_when_it_gets_faster():
    index = index_of("conflict")
    (wide,) = {bars[0][1] for title, bars in bars_of(index, 0, MEASURED, full_ms=24.0).items() if title == "Sum"}
    assert wide == round(0.5 / 24.0, 3)


def test_plates_that_a_step_kept_keep_their_time_and_others_have_none():
    index = index_of("conflict")
    before = {node: time(0.5, 0.4, 0.6) for node in index.step(6).snapshot.graph.nodes}
    notes = [picture(index, step, group_by="plates", layer_times={"cpu": {6: before}}).view["note"] for step in (6, 10)]
    assert ["Not measured" in note for note in notes] == [False, True]
    assert notes[1].endswith(" Not measured: Categorical, CPT.")
    assert bars_of(index, 10, {"cpu": {6: before}}) == snapshot(
        {"Categorical": [], "CPT": [("cpu", 0.143, "CPU: 500 µs for 1 call (400 µs to 600 µs)")]}
    )


def test_the_state_before_a_step_has_its_own_times():
    index = index_of("conflict")
    assert bars_of(index, 3, MEASURED, mode="before") == bars_of(index, 0, MEASURED)


def test_the_legend_names_each_lane_and_a_whole_bar():
    view = picture(index_of("conflict"), 0, group_by="plates", layer_times=MEASURED).view
    assert [(item["role"], item["text"]) for item in view["legend"] if item["channel"] == "bar"] == snapshot(
        [
            ("cpu", "each call timed alone: CPU"),
            ("recorded-cuda", "CUDA (recorded); full bar 6 ms"),
        ]
    )
    assert not any(
        item["channel"] == "bar" for item in picture(index_of("conflict"), 0, group_by="plates").view["legend"]
    )


def test_times_as_colours_name_the_lane_that_they_are_of():
    index = index_of("conflict")

    def colours(measured):
        times = heat_at(index, 0, measured)
        view = picture(index, 0, colour_by="time", group_by="plates", times=times, layer_times=measured).view
        legend = [item["text"] for item in view["legend"] if item["channel"] == "fill" and item["role"] == "scale"]
        return legend, {node["fill_text"] for node in view["nodes"]}

    recorded = FEW
    assert colours({"cpu": MEASURED["cpu"]})[0][0] == "500 µs on CPU (time, logarithmic)"
    assert colours(recorded)[0] == ["400 µs on CUDA, recorded (time, logarithmic)", "400 µs on CUDA, recorded"]
    assert colours(recorded)[1] == {"400 µs on CUDA, recorded", "not measured"}


def legend_of(index, step, colour_by, **more):
    view = picture(index, step, colour_by=colour_by, group_by="plates", **more).view
    fills = {node["kind"]: view["looks"][node["look"]]["fill"] for node in view["nodes"]}
    return fills, [item["text"] for item in view["legend"] if item["channel"] in ("fill", "cell")], view["note"]


def test_without_times_the_colours_and_the_legend_are_those_of_kinds():
    index = index_of("conflict")
    fills, legend, note = legend_of(index, 0, "time")
    plain = legend_of(index, 0, "change")
    assert (fills, legend) == plain[:2]
    assert all(kind == fill for kind, fill in fills.items())
    assert note == f"{plain[2]} Not measured yet, so the colours are not those of times."


def test_a_kind_is_in_the_legend_only_where_its_colour_is_drawn():
    index = index_of("conflict")
    _, legend, _ = legend_of(index, 0, "time", times=dict.fromkeys(range(4), 0.5))
    assert legend == snapshot(
        ["2 ms (time, logarithmic)", "2 ms", "not measured", "sum", "product", "apart: each is a call"]
    )


def test_the_order_is_that_in_which_calls_run():
    index = index_of("conflict")
    fills, legend, _ = legend_of(index, 0, "order")
    assert legend == snapshot(
        ["calls 1 to 4 of 12 (in the order in which they run)", "call 12 of 12", "apart: each is a call"]
    )
    assert not set(fills) & set(fills.values())
    (folded,) = {
        node["fill_text"] for node in picture(index, 11, colour_by="order", group_by="plates").view["nodes"][:1]
    }
    assert folded == snapshot("call 1 of 3")


def test_a_recorded_run_is_laid_beside_the_measured_one():
    here = with_lanes({}, {0: {"cpu": 1.0}, 3: {"cpu": 2.0}}, recorded=False)
    both = with_lanes(here, {0: {"cpu": 7.0, "cuda": 8.0}}, recorded=True)
    assert both == {0: {"cpu": 1.0, "recorded-cpu": 7.0, "recorded-cuda": 8.0}, 3: {"cpu": 2.0}}
    assert with_lanes(both, {3: {"cpu": 5.0}}, recorded=False) == {
        0: {"recorded-cpu": 7.0, "recorded-cuda": 8.0},
        3: {"cpu": 5.0},
    }


def test_one_lane_colours_the_layers():
    index = index_of("conflict")
    assert heat_at(index, 0, {}) is None
    assert heat_at(index, 0, MEASURED) == dict.fromkeys(range(12), 0.5)
    assert heat_at(index, 0, FEW) == dict.fromkeys(range(4), 0.1)


def test_the_saved_picture_has_the_bars_too():
    index = index_of("conflict")
    svg = static_svg(picture(index, 0, group_by="plates", layer_times=MEASURED))
    track, here = "fill:var(--line)", "fill:var(--viewLine);stroke:var(--viewLine)"
    assert svg.count('fill:var(--copyLine)" opacity="0.35"') == 6  # recorded, at each plate
    assert svg.count('fill-opacity="0.35"') == 1  # in the legend
    assert svg.count(track) == 2 * svg.count(here)
    assert track not in static_svg(picture(index, 0, group_by="plates"))
