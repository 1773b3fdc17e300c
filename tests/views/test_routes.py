"""Routes of arrows: round the boxes between, apart from each other, straight where nothing is in the way."""

from itertools import pairwise

import pytest
from inline_snapshot import snapshot

from explorer.views import picture
from explorer.views.lines import Point, Spot, arrow_head, curve, routes as routes_across
from tests.views.showing import SMALL, every_step, index_of


def routes(spots: list[Spot], ends: list[tuple[int, int]]) -> list[tuple[Point, ...]]:
    """The routes in a picture that is turned so that it is read from the bottom to the top."""
    turned = [Spot(-y, -x, height, width, rise) for x, y, width, height, rise in spots]
    return [tuple(Point(-y, -x, not flat) for x, y, flat in points) for points in routes_across(turned, ends)]


def test_an_arrow_leads_from_left_to_right_and_around_the_box_between():
    row = [Spot(x, 100.0, 80.0, 40.0) for x in (100.0, 300.0, 500.0)]
    near, far = routes_across(row, [(0, 1), (0, 2)])
    assert near[0].x == 140.0
    assert near[-1].x == 260.0
    assert all(point.flat for point in (*near, *far))
    assert not 80 <= far[1].y <= 120


def test_an_arrow_to_the_next_line_passes_through_the_gap_between_both():
    first, second = Spot(900.0, 100.0, 80.0, 40.0), Spot(100.0, 300.0, 80.0, 40.0)
    (points,) = routes_across([first, second], [(0, 1)])
    assert (points[0].x, points[-1].x) == (940.0, 60.0)
    assert points[2].flat
    assert 120 < points[2].y < 280
    assert points[1].x > 940
    assert points[3].x < 60


COLUMN = [Spot(100.0, y, 80.0, 40.0) for y in (300.0, 200.0, 100.0)]


def test_an_arrow_to_the_next_row_is_direct():
    assert routes(COLUMN, [(0, 1)]) == [((100.0, 280.0, False), (100.0, 220.0, False))]


def test_arrows_at_a_box_are_side_by_side_in_the_order_of_their_other_ends():
    right, left = Spot(300.0, 100.0, 80.0, 40.0), Spot(-100.0, 100.0, 80.0, 40.0)
    one, other = routes([COLUMN[1], right, left], [(0, 1), (0, 2)])
    assert (one[0].x, other[0].x) == (108.0, 92.0)


def test_an_arrow_over_a_row_is_routed_around_its_box():
    (points,) = routes(COLUMN, [(0, 2)])
    assert points == snapshot(
        (Point(x=100.0, y=280.0), Point(x=38.0, y=224.0), Point(x=38.0, y=168.0), Point(x=100.0, y=120.0))
    )
    assert curve(points) == snapshot("M100 280C100 252 38 252 38 224L38 168C38 144 100 144 100 120")
    assert arrow_head(points) == snapshot("M100 120l-4 7h8Z")


def test_two_arrows_over_a_row_are_side_by_side():
    one, other = routes(COLUMN, [(0, 2), (0, 2)])
    assert abs(one[1].x - other[1].x) >= 6


def test_an_unobstructed_arrow_is_straight():
    spots = [Spot(100.0, 300.0, 80.0, 40.0), Spot(300.0, 200.0, 80.0, 40.0), Spot(100.0, 100.0, 80.0, 40.0)]
    (points,) = routes(spots, [(0, 2)])
    assert {point.x for point in points} == {100.0}


def test_an_arrow_to_a_neighbour_goes_from_side_to_side():
    one, other = routes([COLUMN[0], Spot(300.0, 300.0, 80.0, 40.0)], [(0, 1), (1, 0)])
    assert [point.flat for point in one] == [True, True]
    assert (one[0].x, one[-1].x, other[0].x, other[-1].x) == (140.0, 260.0, 260.0, 140.0)
    assert curve(one).startswith("M140 ")


def test_an_arrow_to_a_box_in_its_row_passes_above_the_box_between():
    row = [Spot(x, 200.0, 80.0, 40.0) for x in (100.0, 200.0, 300.0)]
    over, straight = routes(row, [(2, 0), (1, 0)])
    assert min(point.y for point in over) < 170
    assert over[-1].y == 180.0
    assert all(abs(point.y - 200.0) < 20 for point in straight)


def test_an_arrow_leaves_above_the_stack_of_a_folded_box():
    (points,) = routes([COLUMN[0]._replace(rise=8.0), COLUMN[1]], [(0, 1)])
    assert points[0].y == 272.0


def crosses(one: Point, other: Point, spot: Spot) -> bool:
    """Whether a horizontal part of a line is behind a box."""
    low, high = sorted((one.x, other.x))
    return one.y == other.y and spot.top < one.y < spot.bottom and low < spot.x < high


@pytest.mark.parametrize("name", SMALL)
def test_no_arrow_of_a_picture_passes_behind_a_box(name):
    index = index_of(name)
    for step in every_step(name):
        made = picture(index, step, group_by="fold")
        spots = [Spot(*place) for place in made.places]
        for edge in made.view["edges"]:
            points = [Point(x, y, bool(flat)) for x, y, *flat in edge.get("points", [])]
            for one, other in pairwise(points[1:-1]):
                assert not any(crosses(one, other, spot) for spot in spots)
