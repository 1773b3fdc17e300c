"""Bars as an image: a change in time keeps its colour and its sign."""

import io

import pytest

from explorer.app.images.raster import TONES, bars_png
from widgets.schema import BarsView, BarView

image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'circuit-explorer[ui]'")


def drawn(*bars: BarView) -> "set[tuple[int, int, int]]":
    """Return the colours in the image of these bars."""
    view: BarsView = {
        "version": 1,
        "title": "What each step bought",
        "unit": "ms",
        "log": False,
        "series": ["time"],
        "bars": list(bars),
        "note": "",
        "table": {"columns": [], "rows": []},
    }
    with image.open(io.BytesIO(bars_png(view).data)) as opened:
        return {colour for _, colour in opened.convert("RGB").getcolors(1 << 24)}


def bar(value: float) -> BarView:
    return {"label": "fuse", "value": value, "low": None, "high": None, "series": "time", "missing": ""}


def near(colour: str, colours: "set[tuple[int, int, int]]") -> bool:
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return any(max(abs(a - b) for a, b in zip(wanted, found, strict=True)) < 24 for found in colours)


def test_each_tone_has_its_colour() -> None:
    toned = drawn({**bar(-3.0), "tone": "faster"}, {**bar(2.0), "tone": "slower"}, {**bar(0.1), "tone": "noise"})
    assert all(near(colour, toned) for colour, _ in TONES.values())
    assert not near(TONES["faster"][0], drawn(bar(-3.0)))
