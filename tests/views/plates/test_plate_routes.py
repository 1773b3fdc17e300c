"""Lines between plates: none is behind a plate that it neither leaves nor enters, nor on the line of another plate."""

import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

import explorer
from explorer.views import Picture, TraceIndex, picture
from explorer.views.plates.cells_svg import cells_of, line_elements
from tests.views.showing import SMALL, every_step, index_of

LARGE = [pytest.param(name, marks=pytest.mark.fuzz) for name in ("hclt", "logic", "sos", "mnist", "poon-domingos")]
PART = re.compile(r"([MLCQ])([^MLCQ]*)")
SHARES = np.linspace(0, 1, 65)[:, None]
INSIDE = 1.0
"""A line that is less far inside a plate only touches it: coordinates are rounded."""

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


def points_of(shown: Picture, source: str, target: str) -> list[list[float]] | None:
    titles = {node["id"]: node["title"] for node in shown.view["nodes"]}
    (edge,) = (
        edge for edge in shown.view["edges"] if (titles[edge["source"]], titles[edge["target"]]) == (source, target)
    )
    return edge.get("points")


def test_no_line_of_a_transformer_block_is_behind_a_plate(block: TraceIndex) -> None:
    for step in range(len(block.trace.steps)):
        assert crossed(picture(block, step, group_by="plates")) == []


def test_a_residual_connection_is_above_the_words_of_the_plates_that_it_passes(block: TraceIndex) -> None:
    shown = picture(block, 0, group_by="plates")
    points = points_of(shown, "add", "add")
    assert points is not None
    rects = corners(shown)
    ((left, y, _), *others) = points
    assert [at[1] for at in others] == [y, *[others[1][1]] * (len(others) - 3), y, y]
    passed = [top for at, top, _, _ in rects.values() if left + 30 < at < points[-1][0] - 30 and top < y < top + 40]
    assert passed
    assert all(top - 40 < others[1][1] < top - 28 for top in passed)


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_no_line_is_behind_a_plate(name: str) -> None:
    for step in every_step(name):
        assert crossed(picture(index_of(name), step, group_by="plates")) == []


def test_lines_that_pass_no_plate_are_direct() -> None:
    shown = picture(index_of("near-misses"), 0, group_by="plates")
    assert not any("points" in edge for edge in shown.view["edges"])


def test_lines_of_different_plates_in_one_gap_are_apart(block: TraceIndex) -> None:
    shown = picture(block, 0, group_by="plates")
    stretches: list[tuple[str, float, float, float]] = []
    for edge in shown.view["edges"]:
        for one, other in list(pairwise(edge.get("points", [])))[1:-1]:
            if len(one) == 2 and one[1] == other[1]:
                stretches.append((edge["source"], min(one[0], other[0]), max(one[0], other[0]), one[1]))
    assert len(stretches) >= 4
    for i, (source, left, right, y) in enumerate(stretches):
        for other, start, end, level in stretches[:i]:
            assert source == other or y != level or end <= left or start >= right
