"""Which grid the variables of a circuit are on, inferred from the scopes of its layers."""

import pytest

from explorer.views import picture
from explorer.views.plates.cells import grid_of
from explorer.views.plates.drawing import stage_of
from explorer.views.plates.geometry import Grid, Region, infer_grid
from explorer.views.plates.layout import MAX_SPREAD
from explorer.views.plates.pen import words_of
from explorer.views.plates.plate_words import broken
from tests.views.showing import index_of


def scopes(*lists):
    return [sum(1 << variable for variable in one) for one in lists]


def test_rectangles_of_pixels_are_an_image_and_intervals_are_a_line():
    assert infer_grid(scopes([0, 1, 4, 5], [2, 3, 6, 7]), 16) == Grid(1, 4, 4)
    assert infer_grid(scopes([0, 1], [2, 3], [0, 1, 2, 3]), 6) == Grid(1, 1, 6)
    assert infer_grid(scopes([0, 1, 6, 7]), 24) == Grid(1, 4, 6)


def test_channels_are_images_of_the_same_region():
    both = scopes([0, 1, 4, 5, 16, 17, 20, 21], [0, 1, 4, 5])
    grid = infer_grid(both, 32)
    assert grid is not None
    assert grid == Grid(2, 4, 4)
    assert grid.region(both[0]) == Region(0, 2, 0, 0, 2, 2)
    assert grid.region(both[1]) == Region(0, 1, 0, 0, 2, 2)


def test_a_scope_with_the_corners_of_a_rectangle_may_not_be_one():
    grid = Grid(2, 4, 4)
    for scope in scopes([0, 1, 5], [0, 5], [1, 4], [0, 1, 16], [0, 1, 17, 18], [0, 4, 5, 9], [0, 5, 16, 17, 20, 21]):
        assert grid.region(scope) is None
    assert [grid.region(scope) for scope in scopes([6], [6, 22], [2, 3, 6, 7])] == [
        Region(0, 1, 2, 1, 3, 2),
        Region(0, 2, 2, 1, 3, 2),
        Region(0, 1, 2, 0, 4, 2),
    ]


def test_scopes_that_no_grid_makes_rectangles_have_none():
    assert infer_grid(scopes([0, 5, 9], [1, 2]), 11) is None
    assert infer_grid(scopes([0], [0, 1, 2]), 3) is None  # one variable and all variables say nothing


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("digits", Grid(1, 8, 8)),
        ("hmm", Grid(1, 1, 12)),
        ("blackboard", None),
        ("sum-chain", None),
        ("mnist", Grid(1, 28, 28)),
    ],
)
def test_the_gallery(name, grid):
    assert grid_of(index_of(name)) == grid


def test_levels_move_apart_for_longer_words_if_the_page_has_the_room():
    crowded = min(placed.room for placed in stage_of(index_of("conflict"), 0).placed)
    spread = min(placed.room for placed in stage_of(index_of("hmm"), 3).placed)
    assert crowded < spread <= crowded + MAX_SPREAD


def test_words_that_do_not_fit_are_broken_at_a_space():
    assert broken("was Hadamard + Sum", "news", 1000) == ("was Hadamard + Sum", "")
    assert broken("was Hadamard + Sum", "news", 90) == ("was Hadamard", "+ Sum")
    assert broken("CategoricalLogSoftmax", "news", 100) == ("CategoricalLogSoftmax", "")


def test_shape_and_reads_are_whole_or_left_out():
    drawn = picture(index_of("digits"), 8, group_by="plates").view
    node, plate = next((node, node["plate"]) for node in drawn["nodes"] if "plate" in node)

    def lines(room):
        own = plate.copy()
        own.update(calls="1 call", news="", shape="", reads="gather, copies 64 KiB", room=room)
        return [one.text for one in words_of(node, own, (0, 0, 10, 10))[1:]]

    assert lines(150) == ["1 call", "gather, copies 64 KiB"]
    assert lines(100) == ["1 call", "gather, copies", "64 KiB"]
    assert lines(50) == ["1 call"]
