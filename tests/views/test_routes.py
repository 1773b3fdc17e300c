"""Routes of arrows: round the boxes between, apart from each other, straight where nothing is in the way."""

import pytest

from explorer.views import picture
from explorer.views.routes import routes
from tests.views.showing import SMALL, every_step, index_of

COLUMN = [(100.0, 300.0, 80.0, 40.0), (100.0, 200.0, 80.0, 40.0), (100.0, 100.0, 80.0, 40.0)]


def test_an_arrow_to_the_next_row_is_direct():
    assert routes(COLUMN, [(0, 1), (1, 2)]) == [[], []]


def test_an_arrow_over_a_row_is_routed_around_its_box():
    (points,) = routes(COLUMN, [(0, 2)])
    assert points == [(51.0, 224.5), (51.0, 167.5)]


def test_two_arrows_over_a_row_are_side_by_side():
    one, other = routes(COLUMN, [(0, 2), (0, 2)])
    assert abs(one[0][0] - other[0][0]) >= 6


def test_an_unobstructed_arrow_is_straight():
    places = [(100.0, 300.0, 80.0, 40.0), (300.0, 200.0, 80.0, 40.0), (100.0, 100.0, 80.0, 40.0)]
    assert routes(places, [(0, 2)]) == [[(100.0, 224.5), (100.0, 167.5)]]


@pytest.mark.parametrize("name", SMALL)
def test_no_arrow_of_a_picture_passes_behind_a_box(name):
    index = index_of(name)
    for step in every_step(name):
        made = picture(index, step)
        places = [tuple(row) for row in made.coordinates.astype(float).tolist()]
        position = {node["id"]: i for i, node in enumerate(made.view["nodes"])}
        ends = [(position[edge["source"]], position[edge["target"]]) for edge in made.view["edges"]]
        for points in routes(places, ends):
            for x, y in points:
                assert not any(abs(x - bx) < width / 2 and abs(y - by) < height / 2 for bx, by, width, height in places)
            for (x, top), (_, bottom) in zip(points[1::2], points[::2], strict=True):
                assert not any(abs(x - bx) < width / 2 and top < by < bottom for bx, by, width, height in places)
