"""An image shows the part of a picture that contains boxes."""

import re
from typing import Any

from explorer.views import Picture, picture, static_svg
from explorer.views.graph_painter import tag_width
from explorer.views.static_svg import frames_of
from tests.views.showing import every_step, index_of


def test_a_frame_has_a_margin_around_its_boxes():
    index = index_of("digits")
    made = picture(index, every_step("digits")[-1], group_by="none")
    (frame,) = frames_of(made)
    assert min(x - w / 2 for x, _, w, _ in frame.places) - frame.left == 24
    assert max(x + w / 2 for x, _, w, _ in frame.places) - frame.left == frame.width - 24
    assert frame.places == made.places


def test_each_state_has_its_own_frame():
    made = picture(index_of("conflict"), 3, "side")
    before, after = frames_of(made)
    assert [len(before.places), len(after.places)] == [len(before.view["nodes"]), len(after.view["nodes"])]


def test_a_picture_without_boxes_has_a_frame_too():
    made = picture(index_of("conflict"), 3)
    view: Any = {**made.view, "nodes": [], "hulls": [], "width": 24.0, "height": 24.0}
    (frame,) = frames_of(Picture(view, made.coordinates[:0]))
    assert (frame.places, frame.width, frame.height) == ([], 160, 60)


def test_the_name_of_a_match_above_all_boxes_is_in_the_frame():
    made = picture(index_of("conflict"), 3, group_by="fold")
    (frame,) = frames_of(made)
    tags = [hull.get("tag", [0.0, 0.0]) for hull in made.view["hulls"]]
    assert min(y for _, y in tags) < 0
    assert all(x - frame.left >= 6 and y - frame.top >= 6 for x, y in tags)


def test_the_names_of_matches_at_the_right_edge_are_in_the_frame():
    conflict = index_of("conflict")
    plates = static_svg(picture(conflict, 3, "before", group_by="plates"))
    width = float(re.findall(r'width="(\d+)', plates)[0])
    tags = re.findall(r'translate\(([\d.]+) [\d.]+\) scale\(1.1\)"><rect class="x-tag-frame" width="([\d.]+)"', plates)
    assert len(tags) == 4
    assert all(float(left) + 12 / 11 * float(across) < width for left, across in tags)
    made = picture(conflict, 3, group_by="fold")
    (frame,) = frames_of(made)
    tagged = [(hull["tag"][0], tag_width(hull)) for hull in made.view["hulls"] if "tag" in hull]
    assert all(left + across < frame.left + frame.width for left, across in tagged)
