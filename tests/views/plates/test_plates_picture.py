"""The picture of plates as data: words, marks, lines between cells, what moves into what; and its SVG string."""

import re

import pytest
from inline_snapshot import snapshot

from explorer.views import details, picture
from explorer.views.plates import plate_words
from explorer.views.plates.drawing import stage_of
from explorer.views.plates.layout import ABOVE, BELOW
from explorer.views.plates.links import LINE
from explorer.views.plates.plate_words import note_of_plates
from explorer.views.static_svg import static_svg
from explorer.views.words import bytes_text
from explorer_widgets.schema import Mode
from tests.views.showing import SMALL, every_step, index_of, marks_of, section


def plates(name, step, mode: Mode = "diff", near_misses=None):
    return picture(index_of(name), step, mode, group_by="plates", near_misses=near_misses).view


def insides(view):
    return [node["plate"] for node in view["nodes"] if "plate" in node]


def words_of(view):
    return [
        [node["title"], *filter(None, (plate[part] for part in ("calls", "news", "shape", "reads")))]
        for node, plate in zip(view["nodes"], insides(view), strict=True)
    ]


def test_folding_says_how_many_calls_became_one_and_how_the_layer_reads():
    assert words_of(plates("digits", 8)) == snapshot(
        [
            ["Categorical", "1 call", "64×16×17"],
            ["Sum", "64 → 1 call", "64×16×16", "gather, copies 4 KiB"],
            ["CPT", "16 calls", "16×16"],
            ["CPT", "4 calls", "16×16"],
            ["CPT", "1 call", "1×16"],
        ]
    )
    assert words_of(plates("digits", 8, "after"))[1][1] == "1 call"
    assert words_of(plates("digits", 8, "before"))[1][1] == "64 calls"


@pytest.mark.parametrize("name", ["digits", "hclt", "blackboard"])
def test_the_note_counts_what_all_reads_copy_and_plates_and_legend_say_which(name):
    index = index_of(name)
    for step in every_step(name):
        view, copied = plates(name, step), index.trace.stats(step)["copied_bytes"]
        assert f"\n{bytes_text(copied)} copied per example." in view["note"]
        single = [node["ids"][0] for node in view["nodes"] if len(node["ids"]) == 1]
        reads = [
            index.reads[node].copied_bytes for node in index.reads.keys() & single if index.folded_at[node] <= step
        ]
        said = [text for plate in insides(view) if (text := plate.get("copies"))]
        assert sorted(said) == sorted(f"copies {bytes_text(size)}" if size else "no copy" for size in reads)
        unfolded = [item["text"] for item in view["legend"] if (item["channel"], item["role"]) == ("line", "edge")]
        more = ": some are copied" if copied > sum(reads) else ""
        assert unfolded in ([], [f"read, not folded{more}"])


def test_fusing_says_what_the_new_layers_were():
    assert words_of(plates("conflict", 3)) == snapshot(
        [
            ["Categorical", "4 calls", "CategoricalLogSoftmax", "4×2"],
            ["Hadamard", "2 calls"],
            ["Sum", "2 calls", "was 2 × Sum", "4×4"],
            ["CPT", "1 call", "was Hadamard + Sum", "1×4"],
        ]
    )


def test_cells_have_the_names_of_their_layers_or_of_those_that_they_replace():
    named = [plate.get("names") for plate in insides(plates("conflict", 3))]
    assert named == snapshot(
        [
            ["x0", "x1", "x2", "x3"],
            ["product-left", "product-right"],
            ["middle-left, upper-left", "middle-right, upper-right"],
            ["product, root"],
        ]
    )
    assert not any("names" in plate for plate in insides(plates("digits", 3)))
    rows = section(details(index_of("conflict"), 3, [18]), "Node")["rows"]
    assert ["name", "product, root"] in rows


def test_the_gap_tells_separate_calls_from_slices():
    assert [plate["gap"] > 0 for plate in insides(plates("digits", 8))] == [False, False, True, True, True]


def test_matches_are_on_plates_before_the_step_and_cells_come_from_replaced_ones():
    view = plates("conflict", 3)
    before = {node["id"] for node in plates("conflict", 3, "before")["nodes"]}
    assert {name for match in view.get("matches", []) for name in match["nodes"]} <= before
    assert {match["kind"] for match in view.get("matches", [])} == {"match", "winner", "lost"}
    rewrites = index_of("conflict").step(3).applied
    assert view.get("origins") == sorted([r.added[0], *r.removed] for r in rewrites if not r.parameter_path)
    assert plates("digits", 8).get("origins") == []  # the cells of a fold stay


def test_cells_are_marked_by_their_part_in_the_step():
    before = insides(plates("conflict", 3, "before"))
    assert marks_of(before[0]) == {"matched": [0, 1, 2, 3]}
    after = [marks_of(plate) for plate in insides(plates("conflict", 3))]
    assert after == [{"new": [0, 1, 2, 3]}, {"lost": [0, 1]}, {"new": [0, 1]}, {"new": [0]}]
    misses = plates("digits", 3, near_misses="SumCollapse")
    assert any("near-miss" in plate.get("marks", {}) for plate in insides(misses))
    assert any(hull["kind"] == "near-miss" for hull in misses["hulls"])


def test_a_question_shows_no_mark_and_no_news():
    view = plates("conflict", 3, "plain")
    assert not any("marks" in plate or plate["news"] for plate in insides(view))
    assert "matches" not in view
    assert not [item for item in view["legend"] if item["channel"] == "mark"]


@pytest.mark.parametrize("name", SMALL)
def test_lines_between_cells_are_the_edges_between_their_plates(name):
    index = index_of(name)
    for step in every_step(name):
        view = plates(name, step)
        sizes = {node["id"]: len(node["plate"]["cells"]) for node in view["nodes"] if "plate" in node}
        for edge in view["edges"]:
            pairs = edge.get("pairs")
            assert pairs
            assert max(pairs[::2]) < sizes[edge["source"]]
            assert max(pairs[1::2]) < sizes[edge["target"]]
            if not index.trace.steps[step].folds:
                assert len(pairs) // 2 == edge["count"]


def test_the_legend_names_what_occurs():
    view = plates("digits", 8)
    items = {(item["channel"], item["role"]) for item in view["legend"]}
    marks = {("mark", mark) for plate in insides(view) for mark in plate.get("marks", {})}
    assert items - marks == {
        ("cell", "input"),
        ("cell", "sum"),
        ("cell", "fused"),
        ("cell", "apart"),
        ("cell", "folded"),
        ("line", "edge"),
        ("line", "copyLine"),
    }


def test_the_legend_names_the_marks_of_the_cells():
    view = plates("conflict", 3)
    marks = {mark for plate in insides(view) for mark in plate.get("marks", {})}
    assert {item["role"] for item in view["legend"] if item["channel"] == "mark"} == marks


def test_missed_folds_are_links_with_their_reason_once_folding_has_begun():
    assert [(link["source"], link["target"], link["lines"]) for link in plates("kronecker", 7).get("links", [])] == (
        snapshot(
            [
                ("n6", "n8", ["Not folded", "together:", "weight.shape is", "16×16 above and", "64×64 below."]),
                ("n7", "n9", ["Not folded", "together:", "weight.shape is", "16×16 above and 4×4", "below."]),
            ]
        )
    )
    assert plates("kronecker", 3).get("links") == []
    assert plates("kronecker", 7, "plain").get("links") == []
    assert plates("kronecker", 7, "before").get("links") == []
    for step in (7, 10):
        view = plates("kronecker", step)
        assert [item["text"] for item in view["legend"]].count("nearly folded together") == 1
        assert {link["source"] for link in view.get("links", [])} < {node["id"] for node in view["nodes"]}


def test_a_plate_above_another_one_leaves_room_for_the_reason_between_them():
    upper, lower = (one for one in stage_of(index_of("kronecker"), 7).placed if one.plate.level == 1)
    (link, _) = plates("kronecker", 7).get("links", [])
    top = link.get("at", [])[1]
    assert upper.top + upper.shape.height + BELOW < top
    assert top + LINE * len(link["lines"]) < lower.top - ABOVE


# ---------------------------------------------------------------------- as SVG


def test_the_svg_has_the_links_and_their_reasons():
    svg = static_svg(picture(index_of("kronecker"), 7, group_by="plates"))
    assert svg.count('x-missed"') == 2
    assert ">weight.shape is<" in svg


@pytest.mark.parametrize("mode", ["diff", "before", "side"])
def test_the_svg_has_a_rectangle_for_each_cell_and_the_words(mode: Mode):
    drawn = picture(index_of("conflict"), 3, mode, group_by="plates")
    svg = static_svg(drawn)
    views = [drawn.view, *([drawn.view["other"]] if "other" in drawn.view else [])]
    cells = sum(len(plate["cells"]) for view in views for plate in insides(view))
    outlined = re.findall('fill:var\\(--(\\w+)\\);stroke:var\\(--kept\\)"[^>]* d="([^"]*)"', svg)
    assert sum(path.count("z") for _, path in outlined) == cells
    assert ">was Hadamard + Sum<" in svg if mode == "diff" else ">Hadamard<" in svg


def test_a_folded_layer_has_a_frame_and_sheets_in_the_svg():
    drawn = picture(index_of("digits"), 10, group_by="plates")
    svg = static_svg(drawn)
    assert svg.count('opacity="0.38"') == 2 * 4  # the root is not folded
    assert svg.count('stroke-width="2.2"') == 4 + sum(item["channel"] == "line" for item in drawn.view["legend"])
    slices = re.findall('stroke:var\\(--ground\\)"[^>]* d="([^"]*)"', svg)
    assert [path.count("z") for path in slices] == [64, 64, 16, 4]


def test_the_note_says_which_lines_are_not_drawn(monkeypatch):
    index = index_of("digits")
    shown = "149 layers in 5 plates: 149 calls,\n9.25 KiB of activations,\n5.25 KiB copied per example."
    assert plates("digits", 3, "after")["note"] == shown
    assert plates("digits", 3)["note"] == shown.replace("9.25", "10.6 KiB → 9.25")
    side, after = picture(index, 3, "side", group_by="plates").view["note"].splitlines()
    assert side == "Before: 170 layers in 8 plates: 170 calls, 5.25 KiB copied per example."
    assert after == "After: 149 layers in 5 plates: 149 calls, 5.25 KiB copied per example."
    monkeypatch.setattr(plate_words, "MAX_LINES", 100)
    note = note_of_plates(index, 3)
    assert note == f"{shown} 148 reads: a line is all reads between two plates; point at a cell to see its own."
    monkeypatch.setattr(plate_words, "MAX_SENT_READS", 147)
    note = note_of_plates(index, 3)
    assert note == f"{shown} 148 reads are too many to draw or to light up: a line is all reads between two plates."
