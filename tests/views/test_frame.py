"""An image shows the part of a picture that contains boxes."""

from typing import Any

from explorer.views import Picture, picture
from explorer.views.frame import frames_of
from explorer.views.graph_svg import tag_width
from tests.views.showing import every_step, index_of


def test_a_late_step_is_not_drawn_in_the_corner_of_the_first():
    index = index_of("digits")
    made = picture(index, every_step("digits")[-1], group_by="none")
    (frame,) = frames_of(made)
    assert frame.width < made.view["width"] / 4
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


def test_the_frame_holds_the_names_of_matches_at_the_right_edge():
    (frame,) = frames_of(picture(index_of("conflict"), 3, "before", group_by="plates"))
    ends = [hull["tag"][0] + tag_width(hull, size=12) for hull in frame.view["hulls"] if "tag" in hull]
    assert max(ends) > frame.view["width"]
    assert frame.left + frame.width >= max(ends)
