"""Outlines of matches and the places of labels."""

import pytest
from inline_snapshot import snapshot

from explorer.views import picture
from explorer.views.lines import Spot
from explorer.views.lines.drawing import add_outlines, cover, outline
from explorer_widgets.schema import HullView
from tests.views.showing import SMALL, every_step, index_of


def test_an_outline_surrounds_one_box_with_four_round_corners():
    assert outline(cover([Spot(0.0, 0.0, 100.0, 40.0)], 8)) == snapshot(
        "M-58 -19Q-58 -28 -49 -28L49 -28Q58 -28 58 -19L58 19Q58 28 49 28L-49 28Q-58 28 -58 19Z"
    )


def test_an_outline_joins_boxes_in_one_line_and_excludes_those_between():
    rects = cover([Spot(0.0, 0.0, 100.0, 40.0), Spot(300.0, 100.0, 100.0, 40.0)], 8)
    assert outline(rects).count("M") == 1
    assert not any(left < 300 < right and top < 0 < bottom for left, top, right, bottom in rects)


def test_a_ring_of_boxes_has_an_outer_and_an_inner_line():
    sides = [(-8.0, 0.0, 0.0, 90.0), (90.0, 0.0, 98.0, 90.0), (-8.0, -8.0, 98.0, 0.0), (-8.0, 90.0, 98.0, 98.0)]
    assert outline(sides).count("M") == 2


def test_a_second_outline_of_a_box_is_further_away_and_has_its_own_tag():
    spots = {"a": Spot(0.0, 0.0, 100.0, 40.0)}
    hulls: list[HullView] = [
        {"id": name, "kind": "match", "nodes": ["a"], "label": name, "reason": "", "count": 1}
        for name in ("one", "two")
    ]
    tags = add_outlines(hulls, spots, [])
    assert hulls[0].get("outline") != hulls[1].get("outline")
    assert hulls[0].get("tag") != hulls[1].get("tag")
    assert len(tags) == 2


@pytest.mark.parametrize("name", SMALL)
def test_labels_overlap_neither_boxes_nor_labels(name):
    index, found = index_of(name), 0
    for step in every_step(name):
        made = picture(index, step, group_by="fold")
        taken = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in made.places]
        for edge in made.view["edges"]:
            if "label_at" in edge:
                (x, y), half = edge["label_at"], 2.8 * len(edge["label"])
                own = (x - half, y - 8, x + half, y + 8)
                assert not any(own[0] < r and own[2] > l and own[1] < b and own[3] > t for l, t, r, b in taken)
                taken.append(own)
                found += bool(edge["label"])
    if index.trace.stats(-1)["copied_bytes"]:
        assert found  # a read that copies is labelled at its line
