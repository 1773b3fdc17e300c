"""Calm pictures: columns follow the order of reading, no line strikes through a title, the fit holds every label."""

import re
from itertools import pairwise

import pytest

from explorer.views import Picture, picture
from explorer.views.plates.cells import plates_of
from explorer.views.plates.pen import Words, words_of
from explorer.views.plates.plates_svg import cells_of, corner_of, line_elements, port_elements
from tests.views.plates.test_plate_routes import along
from tests.views.showing import index_of

SMALL = (
    *("digits", "hclt", "blackboard", "hmm", "conflict", "near-misses", "levels", "sum-chain", "kronecker", "logic"),
    *("squared", "sos", "evidence"),
)
ALL = [*SMALL, *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("mnist", "poon-domingos"))]

STRUCK = 1.0
"""A line that is less far inside a title only touches it: the width of letters is estimated."""


def changing_steps(name: str) -> list[int]:
    return [entry.index for entry in index_of(name).trace.steps if entry.changed or not entry.index]


def pictures(name: str) -> list[Picture]:
    return [picture(index_of(name), step, group_by="plates") for step in changing_steps(name)]


def drawn_lines(shown: Picture) -> list[str]:
    """The paths of all lines and links."""
    rects = {node["id"]: corner_of(place) for node, place in zip(shown.view["nodes"], shown.places, strict=True)}
    cells = {node["id"]: cells_of(node["plate"], rects[node["id"]]) for node in shown.view["nodes"] if "plate" in node}
    edges = shown.view["edges"]
    elements = [*line_elements(edges, rects, cells), *port_elements(shown.view["nodes"], edges)]
    links = ["M" + "L".join(f"{x} {y}" for x, y in link["points"]) for link in shown.view.get("links", [])]
    return [*re.findall(r' d="([^"]+)"', "".join(elements)), *links]


def labels(shown: Picture) -> list[list[Words]]:
    """The words of each plate, its title first."""
    pairs = zip(shown.view["nodes"], shown.places, strict=True)
    return [words_of(node, node["plate"], corner_of(place)) for node, place in pairs if "plate" in node]


def struck_titles(shown: Picture) -> list[str]:
    """The titles through which a line goes."""
    paths = [along(d) for d in drawn_lines(shown)]
    found: list[str] = []
    for title in (words[0] for words in labels(shown)):
        left, top, right, bottom = title.area
        for x, y in (path.T for path in paths):
            if ((x > left + STRUCK) & (x < right - STRUCK) & (y > top + STRUCK) & (y < bottom - STRUCK)).any():
                found.append(title.text)
                break
    return found


@pytest.mark.parametrize("name", ALL)
def test_columns_follow_the_order_of_reading(name: str) -> None:
    for step in changing_steps(name):
        plates = plates_of(index_of(name), step)
        assert all(plates.columns[source] < plates.columns[target] for source, target in plates.ends)
        assert all(one <= other for one, other in pairwise(plates.columns))


@pytest.mark.parametrize("name", ALL)
def test_no_line_runs_backwards_or_passes_many_columns(name: str) -> None:
    for step, shown in zip(changing_steps(name), pictures(name), strict=True):
        plates = plates_of(index_of(name), step)
        column = {plate.id: at for plate, at in zip(plates.plates, plates.columns, strict=True)}
        for edge in shown.view["edges"]:
            assert 1 <= column[edge["target"]] - column[edge["source"]] <= 3 or "port" in edge


@pytest.mark.parametrize("name", ALL)
def test_lines_that_are_cut_go_on_at_the_same_number(name: str) -> None:
    for shown in pictures(name):
        ports = [(edge["source"], edge["port"]) for edge in shown.view["edges"] if "port" in edge]
        numbers = {source: port["number"] for source, port in ports}
        assert all(port["number"] == numbers[source] for source, port in ports)
        assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
        said = [item["text"] for item in shown.view["legend"] if item["role"] == "port"]
        assert bool(said) == bool(ports)


def test_the_table_names_the_number_of_a_line_that_is_cut() -> None:
    shown = picture(index_of("hmm"), 0, group_by="plates").view
    reads = shown["table"]["columns"].index("reads") if "reads" in shown["table"]["columns"] else -2
    assert any("its line is cut at 1" in row[reads] for row in shown["table"]["rows"])


@pytest.mark.parametrize("name", ALL)
def test_no_line_strikes_through_a_title(name: str) -> None:
    assert [struck_titles(shown) for shown in pictures(name)] == [[] for _ in changing_steps(name)]


@pytest.mark.parametrize("name", ALL)
def test_the_fit_holds_every_label(name: str) -> None:
    for shown in pictures(name):
        left, top, right, bottom = extent = shown.view.get("extent", [])
        for words in (words for label in labels(shown) for words in label):
            l, t, r, b = words.area
            assert [min(left, l), min(top, t), max(right, r), max(bottom, b)] == extent, words
        for x, y in (along(d).T for d in drawn_lines(shown)):
            assert left <= x.min() <= x.max() <= right
            assert top <= y.min() <= y.max() <= bottom
