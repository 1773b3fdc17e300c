"""Places: no overlaps, from left to right, equal before and after a step, the same on every machine."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, picture
from explorer.views.layout import MARGIN, Grid, layout
from explorer.views.places import grid_of, places_of
from explorer_widgets.schema import GroupBy
from tests.fuzzing import examples
from tests.views.showing import SMALL, every_step, index_of

GRID = Grid(160.0)
BOXED: tuple[GroupBy, ...] = ("fold", "none", "scope")
"""The groupings that are drawn as boxes of one size; for plates see `plates/`."""


def overlaps(points, grid):
    """How many pairs of boxes overlap."""
    x, y = points[:, 0], points[:, 1]
    near = (abs(x[:, None] - x) < grid.width) & (abs(y[:, None] - y) < grid.height)
    return (near.sum() - len(points)) // 2


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("group_by", BOXED)
def test_boxes_never_overlap_and_are_inside_the_picture(name, group_by):
    index = index_of(name)
    for step in every_step(name):
        for mode in ("diff", "before", "after"):
            made = picture(index, step, mode, group_by=group_by)
            assert overlaps(made.coordinates[:, :2], grid_of(index)) == 0
            assert made.coordinates.shape == (len(made.view["nodes"]), 4)
            low = made.coordinates[:, :2] - made.coordinates[:, 2:] / 2
            high = made.coordinates[:, :2] + made.coordinates[:, 2:] / 2
            assert low.min() >= MARGIN - 0.5
            assert (high.max(axis=0) <= (made.view["width"], made.view["height"])).all()


@pytest.mark.parametrize("name", ["mnist", *SMALL])
@pytest.mark.parametrize("group_by", ["fold", "none"])
def test_an_arrow_leads_to_the_right_or_to_the_next_line(name, group_by):
    index = index_of(name)
    for step in every_step(name):
        made = picture(index, step, group_by=group_by)
        place = {node["id"]: point for node, point in zip(made.view["nodes"], made.coordinates.tolist(), strict=True)}
        for edge in made.view["edges"]:
            one, other = place[edge["source"]], place[edge["target"]]
            assert one[0] < other[0] or one[1] < other[1]


@pytest.mark.parametrize("name", SMALL)
def test_boxes_have_the_same_position_before_and_after_a_step(name):
    index = index_of(name)
    for step in every_step(name):
        found = {}
        for mode in ("before", "after", "diff"):
            made = picture(index, step, mode, group_by="none")
            for node, point in zip(made.view["nodes"], made.coordinates.tolist(), strict=True):
                assert found.setdefault(node["id"], point) == point


def test_layers_that_fold_stay_where_their_group_was():
    index = index_of("digits")
    before, after = picture(index, 7, "before"), picture(index, 7, "after")
    slices = next(i for i, node in enumerate(before.view["nodes"]) if node["change"] == "changed")
    folded = next(i for i, node in enumerate(after.view["nodes"]) if node["change"] == "changed")
    assert before.view["nodes"][slices]["count"] == after.view["nodes"][folded]["folds"] == 64
    assert (before.coordinates[slices] == after.coordinates[folded]).all()


def test_a_new_box_names_its_origins():
    index = index_of("blackboard")
    before = set(places_of(index, 2, "fold").points)
    new = {node["id"]: node for node in picture(index, 3).view["nodes"] if node["change"] == "added"}
    assert {name: node.get("came_from") for name, node in new.items()} == snapshot(
        {"g13x2-1ef8bd8b": ["g7x2-aa53fe9f", "g5x2-08a98ed1"], "n15": ["n10", "n9"], "n16": ["n12", "n11"]}
    )
    assert all(before.issuperset(node.get("came_from", ["?"])) for node in new.values())


@pytest.mark.parametrize("group_by", BOXED)
def test_what_an_operator_made_is_a_graph_of_its_own(group_by):
    """Columns are levels, as in the drawing of the operand, and none of both overlap."""
    index = index_of("squared")
    operand, square = (picture(index, step, "after", group_by=group_by) for step in (0, 1))
    both = picture(index, 1, "diff", group_by=group_by)
    assert len(both.view["nodes"]) == len(operand.view["nodes"]) + len(square.view["nodes"])
    assert overlaps(both.coordinates[:, :2], grid_of(index)) == 0
    assert set(square.coordinates[:, 0]) == set(operand.coordinates[:, 0])
    assert all(node.get("came_from") for node in square.view["nodes"])


def test_positions_do_not_depend_on_the_order_of_visits():
    trace = explorer.record(gallery.load_named("conflict"))
    forwards, jumping = TraceIndex(trace), TraceIndex(trace)
    picture(jumping, 12)
    picture(jumping, 4)
    for step in range(len(trace.steps)):
        assert np.array_equal(picture(forwards, step).coordinates, picture(jumping, step).coordinates)


@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 8))
def test_layouts_have_columns_by_level_and_no_overlap(seed, count, depth):
    random = np.random.default_rng(seed)
    levels = np.sort(random.integers(0, depth, count)).astype(np.int32)
    pairs = random.integers(0, count, (2 * count, 2)).astype(np.int32)
    edges = pairs[levels[pairs[:, 0]] < levels[pairs[:, 1]]]
    points = layout(levels, edges, GRID)
    assert overlaps(points, GRID) == 0
    assert np.array_equal(points, np.rint(points))
    rows = np.unique(levels, return_inverse=True)[1].ravel()
    assert (points[:, 0] == points[:, 0].min() + GRID.column * rows).all()
    assert np.array_equal(points, layout(levels, edges, GRID))


def test_an_empty_picture_has_a_layout():
    assert layout(np.zeros(0, np.int32), np.zeros((0, 2), np.int32), GRID).shape == (0, 2)
