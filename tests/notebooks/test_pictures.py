"""The static pictures of the lessons: well-formed, legible, with words, and true to the numbers they draw."""

import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from explorer.timings import Estimate
from tests.notebooks.lessons import module

pictures = module("pictures")


def timing(median: float, layers: int, operators: int) -> Any:
    low, high = median * 0.9, median * 1.1
    estimate = Estimate(median, low=low, high=high, lower_quartile=low, upper_quartile=high, count=9, confidence=0.95)
    return SimpleNamespace(estimate=estimate, layers=layers, operators=operators)


READS = {"in order": ("view", [(0, 1), (2, 3)]), "mixed": ("gather", [(3, 0), (1, 2)])}
FIGURES = {
    "time line": pictures.time_line(timing(20.0, 170, 300), timing(2.0, 5, 30), "equal"),
    "curve": pictures.line_chart("Loss", {"loss": [(0, 3.0), (1, 2.0)]}, "step", "loss", levels={"lowest": 1.5}),
    "sweep": pictures.line_chart("Times", {"one": [(1, 1.0, 0.5, 2.0), (100, 9.0, 8, 10)]}, "batch", "ms", log=True),
    "dots": pictures.dots("Samples", [("a", "in", timing(2.0, 1, 1).estimate)], "ms", level=2.5),
    "memory": pictures.memory_strips(READS, count=4),
    "model": pictures.hidden_markov_model(4),
    "weights": pictures.two_weights(256, 1, 256),
    "core": pictures.tucker_core(6, 4),
    "exponentials": pictures.exponentials(6, 4),
    "kronecker": pictures.kronecker_product(2, 3, 4, 5),
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", FIGURES)
class TestAFigure:
    def test_is_well_formed_and_has_words(self, name: str) -> None:
        figure = FIGURES[name]
        root = ElementTree.fromstring(figure.svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == figure.words == str(figure)
        assert set(figure._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}

    def test_is_legible(self, name: str) -> None:
        assert min(map(float, re.findall(r'font-size="([\d.]+)"', FIGURES[name].svg))) >= 12

    def test_draws_inside_its_card(self, name: str) -> None:
        root = ElementTree.fromstring(FIGURES[name].svg)
        width, height = float(root.get("width") or 0), float(root.get("height") or 0)
        for one in root.iter(f"{SVG}text"):
            assert 0 <= float(one.get("x") or 0) <= width
            assert 0 < float(one.get("y") or 0) < height
        for one in root.iter(f"{SVG}rect"):
            assert float(one.get("x") or 0) + float(one.get("width") or 0) <= width


def test_a_tick_is_an_operator_and_the_length_the_time() -> None:
    root = ElementTree.fromstring(FIGURES["time line"].svg)
    assert [one.get("d", "").count("M") for one in root.iter(f"{SVG}path")][1:] == [300, 30]
    widths = [float(one.get("width") or 0) for one in root.iter(f"{SVG}rect")][1:]
    assert widths[0] == pytest.approx(10 * widths[1])
    assert "10x faster" in FIGURES["time line"].words


def test_straight_lines_are_views_and_crossing_lines_are_copies() -> None:
    words = FIGURES["memory"].words
    assert "in order: view, no copy" in words
    assert "mixed: gather, copies 4 slices" in words
    lines = [
        [tuple(map(float, point.split(","))) for point in one.get("points", "").split()]
        for one in ElementTree.fromstring(FIGURES["memory"].svg).iter(f"{SVG}polyline")
    ]
    crossings = [
        sum((a[0][0] - b[0][0]) * (a[1][0] - b[1][0]) < 0 for a in part for b in part) // 2
        for part in (lines[:4], lines[4:])
    ]
    assert crossings[0] == 0
    assert crossings[1] > 0


def test_counts_are_those_of_the_lessons() -> None:
    assert "36 exp + 4 log = 40; Tucker: 12 exp + 4 log = 16" in FIGURES["exponentials"].words
    assert "512 in all; W2 W1 has 65,536" in FIGURES["weights"].words
    assert "120 multiplications. In two steps: 30 + 40 = 70." in FIGURES["kronecker"].words
