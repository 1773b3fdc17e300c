"""Lines between plates: none is behind a plate that it neither leaves nor enters, nor on the line of another plate."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

import explorer
from explorer.views import Picture, TraceIndex, picture
from explorer.views.plates.layout import ABOVE
from explorer.views.plates.pen import words_of
from explorer.views.plates.plates_svg import cells_of, line_elements
from tests.views.showing import SMALL, every_step, index_of

LARGE = [pytest.param(name, marks=pytest.mark.fuzz) for name in ("hclt", "logic", "sos", "mnist", "poon-domingos")]
PART = re.compile(r"([MLCQ])([^MLCQ]*)")
SHARES = np.linspace(0, 1, 65)[:, None]
INSIDE = 1.0
"""A line that is less far inside a plate only touches it: coordinates are rounded."""

SEEN = 2.0
"""Two lines nearer to each other than this look like one."""

Points = npt.NDArray[np.float64]


class Block(nn.Module):
    """A block of a transformer: its two residual connections pass everything between."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.other_norm = nn.LayerNorm(8), nn.LayerNorm(8)
        self.query, self.key, self.value, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        query, key, value = (part(y).view(2, 4, 2, 4).transpose(1, 2) for part in (self.query, self.key, self.value))
        mixed = torch.softmax(query @ key.transpose(-1, -2) / 2, -1) @ value
        x = x + self.out(mixed.transpose(1, 2).reshape(2, 4, 8))
        return x + self.down(nn.functional.gelu(self.up(self.other_norm(x))))


@pytest.fixture(scope="module")
def block() -> TraceIndex:
    return TraceIndex(explorer.record(Block().eval(), (torch.zeros(2, 4, 8),), level="tensor"))


def corners(shown: Picture) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, width and height of each plate."""
    places = zip(shown.view["nodes"], shown.places, strict=True)
    return {node["id"]: (x - width / 2, y - height / 2, width, height) for node, (x, y, width, height) in places}


def along(d: str) -> Points:
    """Points on a path, close to each other."""
    at = np.zeros(2)
    found: list[Points] = []
    for command, numbers in PART.findall(d):
        points = np.array(numbers.split(), np.float64).reshape(-1, 2)
        hull = [at, *points]
        while command != "M" and len(hull) > 1:  # De Casteljau: lines between points, then between points on these
            hull = [one + (other - one) * SHARES for one, other in pairwise(hull)]
        if command != "M":
            found.append(hull[0])
        at = points[-1]
    return np.concatenate(found)


def crossed(shown: Picture) -> list[tuple[str, str, str]]:
    """Source and target of each line that is behind a plate, and that plate."""
    rects = corners(shown)
    cells = {node["id"]: cells_of(node["plate"], rects[node["id"]]) for node in shown.view["nodes"] if "plate" in node}
    edges = shown.view["edges"]
    found: list[tuple[str, str, str]] = []
    for edge, element in zip(edges, line_elements(edges, rects, cells), strict=True):
        for d in re.findall(r' d="([^"]+)"', element):
            x, y = along(d).T
            for name, (left, top, width, height) in rects.items():
                inside = (abs(x - left - width / 2) < width / 2 - INSIDE) & (
                    abs(y - top - height / 2) < height / 2 - INSIDE
                )
                if name not in (edge["source"], edge["target"]) and inside.any():
                    found.append((edge["source"], edge["target"], name))
    return found


def title_rects(shown: Picture) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of the titles of plates."""
    return [
        words_of(node, node["plate"], rect)[0].area
        for node, rect in zip(shown.view["nodes"], corners(shown).values(), strict=True)
        if "plate" in node
    ]


def points_of(shown: Picture, source: str, target: str) -> list[list[float]] | None:
    titles = {node["id"]: node["title"] for node in shown.view["nodes"]}
    (edge,) = (
        edge for edge in shown.view["edges"] if (titles[edge["source"]], titles[edge["target"]]) == (source, target)
    )
    return edge.get("points")


def test_no_line_of_a_transformer_block_is_behind_a_plate(block: TraceIndex) -> None:
    for step in range(len(block.trace.steps)):
        assert crossed(picture(block, step, group_by="plates")) == []


def test_a_residual_connection_is_just_above_the_words_of_the_plates_that_it_passes(block: TraceIndex) -> None:
    shown = picture(block, 0, group_by="plates")
    points = points_of(shown, "add", "add")
    assert points is not None
    rects = corners(shown)
    (left, start), (behind, _), (_, y), (front, level), _, (_, end) = points
    assert start == end
    assert y == level < start
    passed = [top for at, top, _, _ in rects.values() if behind < at < front and top > y]
    assert len(passed) == 4
    assert left < behind
    assert all(ABOVE < top - y < ABOVE + 20 for top in passed)


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_no_line_is_behind_a_plate(name: str) -> None:
    for step in every_step(name):
        assert crossed(picture(index_of(name), step, group_by="plates")) == []


def test_lines_to_the_next_plates_are_direct() -> None:
    shown = picture(index_of("conflict"), 0, group_by="plates")
    assert shown.view["edges"]
    assert not any("points" in edge for edge in shown.view["edges"])


def parts_of(points: Sequence[Sequence[float]]) -> list[tuple[bool, float, float, float]]:
    """The parts between corners: whether each is horizontal, where it is across that, its start and its end."""
    found: list[tuple[bool, float, float, float]] = []
    for (x1, y1), (x2, y2) in pairwise(points):
        flat = y1 == y2
        start, end = sorted((x1, x2) if flat else (y1, y2))
        found.append((flat, y1 if flat else x1, start, end))
    return found


def falling_together(shown: Picture) -> list[tuple[str, str, str, str]]:
    """Source and target of two lines of different plates that share a part; a link is a line of its own."""
    ways = [
        (edge["source"], edge["target"], parts_of(edge["points"])) for edge in shown.view["edges"] if "points" in edge
    ]
    links = enumerate(shown.view.get("links", []))
    ways += [(f"link {number}", f"link {number}", parts_of(link["points"])) for number, link in links]
    found: list[tuple[str, str, str, str]] = []
    for i, (source, target, parts) in enumerate(ways):
        for other_source, other_target, others in ways[:i]:
            if source == other_source or target == other_target:
                continue
            for flat, at, start, end in parts:
                for other_flat, there, first, last in others:
                    if flat == other_flat and abs(at - there) < SEEN and start + 1 < last and first + 1 < end:
                        found.append((source, target, other_source, other_target))
    return found


@pytest.mark.parametrize("step", [0, 3, 14, 26])
def test_lines_of_different_plates_do_not_fall_together(step: int) -> None:
    shown = picture(index_of("hclt"), step, group_by="plates")
    assert any("points" in edge for edge in shown.view["edges"])
    assert falling_together(shown) == []


def test_lines_of_a_transformer_block_do_not_fall_together(block: TraceIndex) -> None:
    for step in range(len(block.trace.steps)):
        assert falling_together(picture(block, step, group_by="plates")) == []


def test_lines_to_one_plate_enter_it_together(block: TraceIndex) -> None:
    edges = picture(block, 0, group_by="plates").view["edges"]
    lanes: dict[str, set[float]] = {}
    for edge in edges:
        if "points" in edge:
            lanes.setdefault(edge["target"], set()).add(edge["points"][-2][0])
    assert len(lanes) > 5
    assert all(len(x) == 1 for x in lanes.values())


def test_links_of_missed_folds_cover_no_words() -> None:
    for name, steps in (("hclt", (14, 20, 26)), ("kronecker", (7,))):
        for step in steps:
            shown = picture(index_of(name), step, group_by="plates")
            words = title_rects(shown)
            links = shown.view.get("links", [])
            assert links, (name, step)
            for link in links:
                for (x1, y1), (x2, y2) in pairwise(link["points"]):
                    for left, top, right, bottom in words:
                        beside = max(x1, x2) < left or min(x1, x2) > right
                        assert beside or max(y1, y2) < top or min(y1, y2) > bottom, (name, step, link["lines"])
