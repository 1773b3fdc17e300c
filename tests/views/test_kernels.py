"""The level of kernel calls as pictures: they are cells at their variables, tables are read, slots are places."""

from xml.etree import ElementTree

import pytest

import explorer
from explorer.templates import load_named
from explorer.timings import Estimate, PartTime
from explorer.trace import KERNELS
from explorer.views import (
    TraceIndex,
    calls_of,
    details,
    film,
    heat_at,
    picture,
    roofs_at,
    sentence_of,
    static_svg,
    steps,
)
from explorer.views.buffers import MAX_RATIO, buffers_of
from explorer.views.messages import caption_of
from explorer.views.plates.cells import Plate, plates_of
from explorer.views.plates.plates_svg import cells_of, plate_elements
from explorer_widgets.schema import NodeView, PictureView, PlateView
from tests.runtime.circuits import FIXED_PASSES
from tests.views.showing import section


@pytest.fixture(scope="module")
def index() -> TraceIndex:
    return TraceIndex(explorer.record(load_named("digits"), level=KERNELS, pipeline=FIXED_PASSES))


def described(plate: Plate) -> tuple[str, int, int]:
    return plate.record.title, len(plate.cells), plate.num_calls


def table_of(view: PictureView) -> tuple[NodeView, PlateView]:
    node = next(node for node in view["nodes"] if node["title"] == "Table")
    assert "plate" in node
    return node, node["plate"]


def test_a_unit_is_a_cell_of_the_plate_of_its_layer_and_a_table_is_not_called(index):
    assert [described(plate) for plate in plates_of(index, 0).plates] == [
        ("Table", 64, 0),
        ("Sum", 64, 64),
        ("Sum of products", 16, 16),
        ("Sum of products", 4, 4),
        ("Sum of products", 1, 1),
    ]
    assert [described(plate) for plate in plates_of(index, -1 + len(index.trace.steps)).plates] == [
        ("Table", 64, 0),
        ("Sum of products", 16, 16),
        ("Sum of products", 4, 4),
        ("Sum of products", 1, 1),
    ]
    assert [calls_of(index, step.index) for step in index.trace.steps] == [85, 85, 21, 21, 21, 21, 21, 21]


def test_cells_are_where_their_variables_are(index):
    for step in index.trace.steps:
        for plate in plates_of(index, step.index).plates:
            regions = [cell.region for cell in plate.cells]
            assert all(region is not None for region in regions)
            assert sum((one.right - one.left) * (one.bottom - one.top) for one in regions if one) == 8 * 8


def test_a_combined_table_comes_from_the_cells_of_a_sum_and_of_its_table(index):
    shown = picture(index, index.step("combine-tables").index, group_by="plates").view
    _, plate = table_of(shown)
    assert plate["news"] == "was Table + Sum"
    origins = {layer: sources for layer, *sources in shown.get("origins", ())}
    assert all(len(origins[cell]) == 2 for cell in plate["cells"])


def test_tables_are_not_missed_among_measured_calls(index):
    last = index.trace.steps[-1]
    time = PartTime(Estimate(1.0, 1.0, 1.0, 1.0, 1.0, 6, 0.96), roof_ms=0.25)
    computed = [node for node, record in last.snapshot.graph.nodes.items() if record.title != "Table"]
    times = {"cpu": {last.index: dict.fromkeys(computed, time)}}
    view = picture(index, last.index, "after", group_by="plates", layer_times=times).view
    assert "Not measured" not in view["note"]
    bars = {node["id"]: node["plate"].get("times") for node in view["nodes"] if "plate" in node}
    assert [bool(found) for found in bars.values()] == [False, True, True, True]
    calls = [node["plate"]["calls"] for node in view["nodes"] if "plate" in node]
    timed = ("16 calls, 16 ms", "4 calls, 4 ms", "1 ms")
    assert calls == ["", *(f"{words}, 25% of the roof" for words in timed)]
    about = details(
        index,
        last.index,
        computed[:2],
        times=heat_at(index, last.index, times),
        roofs=roofs_at(index, last.index, times),
    )
    assert ["share of the roof", "25%"] in section(about, "Numbers")["rows"]


def test_small_cells_that_are_all_new_have_one_outline(index):
    step = index.step("combine-tables").index
    view = picture(index, step, group_by="plates").view
    node, plate = table_of(view)
    areas = cells_of(plate, (0, 0, 8 * plate["unit"][0], 8 * plate["unit"][1]))
    tiny = [(left / 4, top / 4, width / 4, height / 4) for left, top, width, height in areas]
    counts = [plate_elements(node, plate, (0, 0, 1, 1), cells, view).count("h-") for cells in (areas, tiny)]
    assert counts[0] - counts[1] == len(areas) - 1


def test_slots_have_a_scale_of_their_own_beside_values_that_have_none(index):
    before, after = (buffers_of(index, index.step("slots").index, shown) for shown in ("before", "after"))
    assert before is not None
    assert after is not None
    memory = index.trace.step("slots").snapshot.memory
    assert (
        after["text"]
        == "21 values, each drawn at its place in 128 KiB, the least possible: that much is alive at once."
    )
    total = sum(buffer["bytes"] for buffer in before["buffers"])
    assert before["scale"]["height"] == total
    assert after["scale"]["height"] == (memory.size_bytes if total > MAX_RATIO * memory.size_bytes else total)
    assert {buffer["bottom"] for buffer in after["buffers"]} == {slot * 16 * 1024 for slot in range(8)}


def test_the_film_has_a_frame_for_each_pass_that_changed_something(index):
    frames = film(index)
    assert [frame["label"] for frame in frames] == ["lower", "combine-tables", "depth-first", "slots"]
    assert all(frame.get("plates") for frame in frames)


def test_the_words_count_kernel_calls_and_tables_apart(index):
    step = index.step("combine-tables").index
    assert picture(index, step, group_by="plates").view["note"] == "21 kernel calls and 64 tables in 4 plates."
    assert caption_of(index, step) == "64 tables created, 64 kernel calls and 64 tables removed"
    assert [one["layers"] for one in steps(index)] == [85, 85, 21, 21, 21, 21, 21, 21]


def test_what_a_pass_that_moves_values_bought_is_said(index):
    done = {step["path"]: step["summary"] for step in steps(index)}
    assert done["depth-first"] == "alive at once 278,528 → 131,072 bytes"
    assert done["slots"] == "peak memory 328,704 → 131,072 bytes"


def test_a_pass_that_saves_nothing_or_costs_memory_says_so():
    index = TraceIndex(explorer.record(load_named("conflict"), level=KERNELS))
    depth_first, slots = (index.step(name).index for name in ("depth-first", "slots"))
    assert steps(index)[depth_first]["summary"] == "no less memory than before"
    assert "this saves nothing here" in sentence_of(index, depth_first)
    assert sentence_of(index, slots).endswith(
        "this costs memory, as each slot is as wide as the widest value: peak memory 9 KiB → 12 KiB."
    )


def test_memory_is_as_high_as_it_is_drawn(index):
    for step in index.trace.steps:
        shown = buffers_of(index, step.index, "after")
        assert shown is not None
        top = max(one["bottom"] + one["bytes"] for one in shown["buffers"])
        assert index.trace.stats(step.index)["peak_bytes"] == top


def test_every_step_is_an_image(index):
    for step in index.trace.steps:
        for grouping in ("plates", "none"):
            text = static_svg(picture(index, step.index, group_by=grouping))
            assert ElementTree.fromstring(text).tag.endswith("svg")
