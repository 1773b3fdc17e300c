"""Lines of a drawing without a script: where they begin and end, and labels next to them that cover no box."""

import pytest

from explorer.views import picture
from explorer.views.lines import Line, lines
from tests.views.showing import SMALL, every_step, index_of

LOW, MIDDLE, HIGH = ((100.0, y, 80.0, 40.0) for y in (300.0, 200.0, 100.0))


def test_a_line_connects_the_top_of_its_source_to_the_bottom_of_its_target():
    (line,) = lines([LOW, MIDDLE], [(0, 1)], [0])
    assert line == Line(((100.0, 280.0), (100.0, 220.0)), None)
    assert [x for x, _ in line.points] == [100.0] * len(line.points)


def test_a_line_is_routed_around_boxes():
    (line,) = lines([LOW, MIDDLE, HIGH], [(0, 2)], [0])
    assert line.corners == ((100.0, 280.0), (51.0, 224.5), (51.0, 167.5), (100.0, 120.0))


def test_a_target_in_the_same_row_is_reached_sideways():
    one, other = lines([LOW, (300.0, 300.0, 80.0, 40.0)], [(0, 1), (1, 0)], [0, 0])
    assert one.corners == ((140.0, 300.0), (260.0, 300.0))
    assert other.corners == ((260.0, 300.0), (140.0, 300.0))


def test_labels_without_room_are_omitted():
    beside = [(x, 200.0, 90.0, 40.0) for x in (0.0, 200.0)]
    (line,) = lines([LOW, MIDDLE, HIGH, *beside], [(0, 1)], [30])
    assert line.words == (104.0, 250.0)
    tight = [(100.0, 225.0, 80.0, 40.0), (100.0, 200.0 - 30.0, 80.0, 40.0)]
    (line,) = lines(tight, [(0, 1)], [30])
    assert line.words is None


@pytest.mark.parametrize("name", SMALL)
def test_labels_overlap_neither_boxes_nor_labels(name):
    index, found = index_of(name), 0
    for step in every_step(name):
        made = picture(index, step)
        places = [tuple(row) for row in made.coordinates.astype(float).tolist()]
        position = {node["id"]: i for i, node in enumerate(made.view["nodes"])}
        edges = made.view["edges"]
        ends = [(position[edge["source"]], position[edge["target"]]) for edge in edges]
        widths = [6.0 * len(edge["label"]) for edge in edges]
        boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in places]
        for line, width in zip(lines(places, ends, widths), widths, strict=True):
            if line.words is None:
                continue
            (x, y), found = line.words, found + 1
            own = (x, y - 7, x + width, y + 7)
            assert not any(own[0] < r and own[2] > x0 and own[1] < b and own[3] > t for x0, t, r, b in boxes)
            boxes.append(own)
    if index.trace.stats(-1)["copied_bytes"]:
        assert found  # a read that copies is labelled at its line
