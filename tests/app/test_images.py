"""Images of pictures and bars: size, colours, text."""

import io
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import explorer
from explorer.app.images import DENSITY, Png, bars_png, picture_png
from explorer.templates import gallery
from explorer.views import TraceIndex, bars_svg, picture, static_svg
from explorer.views.bars import bars_view
from explorer.views.static_svg import MAX_TOTAL_HEIGHT, MAX_WIDTH
from explorer.views.words import BADGE_TEXTS
from explorer_widgets.schema import BarsView, BarView
from explorer_widgets.theme import CHANGES, HULLS, KINDS, LIGHT, SERIES, TONES

pytest.importorskip("resvg_py", reason="needs resvg_py: pip install 'circuit-explorer[ui]'")
image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'circuit-explorer[test]'")


@pytest.fixture(scope="module")
def conflict() -> TraceIndex:
    return TraceIndex(explorer.record(gallery.load_named("conflict")))


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the pixels, where only sizes or differences matter."""
    monkeypatch.setattr("explorer.app.images.DENSITY", 1)


@cache
def pixels(png: Png) -> np.ndarray:
    with image.open(io.BytesIO(png.data)) as opened:
        return np.array(opened.convert("RGB")).astype(np.int16)


def pixels_of(png: Png, colour: str) -> int:
    """Return the number of pixels of about this colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels(png) - wanted).max(axis=2) <= 4).sum())


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def bars(*rows: BarView, note: str = "") -> BarsView:
    return bars_view("What each step bought", "ms", ["time"], rows, note, [], [])


def bar(value: float | None, low: float | None = None, high: float | None = None) -> BarView:
    return {"label": "fuse", "value": value, "low": low, "high": high, "series": "time", "missing": ""}


class TestPictures:
    def test_equal_pictures_have_equal_bytes_at_high_density(self, conflict: TraceIndex) -> None:
        png = picture_png(picture(conflict, 3))
        assert png == picture_png(picture(conflict, 3))
        assert pixels(png).shape == (DENSITY * png.height, DENSITY * png.width, 3)

    @pytest.mark.usefixtures("coarse")
    def test_every_step_mode_and_colouring_is_drawn(self, conflict: TraceIndex) -> None:
        looks: list[tuple[int, Any, Any]] = [(step, "diff", "change") for step in (0, 6, 10, 12)]
        looks += [(3, mode, "change") for mode in ("before", "after", "side")]
        looks += [(10, "diff", colour_by) for colour_by in ("time", "memory", "fold")]
        drawn = [picture_png(picture(conflict, *look)).data for look in looks]
        assert all(data.startswith(b"\x89PNG") for data in drawn)
        assert len(set(drawn)) == len(drawn)  # each looks different

    def test_roles_have_their_light_colours(self, conflict: TraceIndex) -> None:
        png = picture_png(picture(conflict, 3))
        for role in ("bg", "added", "removed", "sum", "fg"):
            assert pixels_of(png, LIGHT[role]) > 400

    def test_an_image_has_the_text_of_the_saved_picture(self, conflict: TraceIndex) -> None:
        side = picture(conflict, 3, "side")
        svg = static_svg(side, fit=True)
        assert set(texts(svg)) == set(texts(static_svg(side)))
        assert {"Before", "After", "match that lost a conflict", "CPT {0..3}", side.view["title"]} <= set(texts(svg))
        assert "var(" not in svg

    def test_a_large_picture_is_scaled_to_fit_with_a_note(self) -> None:
        chain = TraceIndex(explorer.record(gallery.load_named("hclt")))
        every = picture(chain, 0, group_by="none", everything=True)
        png = picture_png(every)
        assert png.width <= MAX_WIDTH
        assert len(png.data) < 900_000
        assert any("Too small for text: see the table." in text for text in texts(static_svg(every, fit=True)))
        assert not any("Too small" in text for text in texts(static_svg(every)))

    @pytest.mark.usefixtures("coarse")
    def test_a_high_picture_is_scaled_down_only_as_far_as_its_text_is_legible(self) -> None:
        digits = TraceIndex(explorer.record(gallery.load_named("digits")))
        tall = picture(digits, 0, group_by="none", everything=True)
        assert 1200 < picture_png(tall).height < MAX_TOTAL_HEIGHT + 200

    @pytest.mark.usefixtures("coarse")
    def test_a_long_note_is_wrapped(self, conflict: TraceIndex) -> None:
        shown = picture(conflict, 0)
        shown.view["message"] = "word " * 100
        plain = picture_png(picture(conflict, 0))
        wrapped = picture_png(shown)
        assert wrapped.width == plain.width
        assert wrapped.height > plain.height


class TestBars:
    def test_each_tone_has_its_colour_and_sign(self) -> None:
        toned = bars({**bar(-3.0), "tone": "faster"}, {**bar(2.0), "tone": "slower"}, {**bar(0.1), "tone": "noise"})
        assert all(pixels_of(bars_png(toned), colour) > 400 for colour in map(LIGHT.__getitem__, TONES))
        assert {"▼ -3 ms", "▲ 2 ms", "≈ 0.1 ms", "▼ faster"} <= set(texts(bars_svg(toned)))
        assert pixels_of(bars_png(bars(bar(-3.0))), LIGHT["faster"]) == 0

    def test_a_bar_has_a_length_that_fits_its_value(self) -> None:
        short, long = (pixels_of(bars_png(bars(bar(v), bar(4.0))), SERIES[0]) for v in (1.0, 3.0))
        full = pixels_of(bars_png(bars(bar(4.0))), SERIES[0])
        assert short == pytest.approx(1.25 * full, rel=0.02)
        assert long == pytest.approx(1.75 * full, rel=0.02)

    def test_whiskers_are_drawn_over_a_bar(self) -> None:
        plain, whiskers = bar(4.0), bar(4.0, low=3.0, high=5.0)
        assert pixels_of(bars_png(bars(whiskers)), LIGHT["fg"]) > pixels_of(bars_png(bars(plain)), LIGHT["fg"]) + 200

    def test_a_missing_value_has_a_reason(self) -> None:
        svg = bars_svg(bars({**bar(None), "missing": "no GPU & no time"}, note="logarithmic"))
        assert [text for text in texts(svg) if not text.replace(".", "").isdigit()] == [
            *("What each step bought", "logarithmic", "ms", "fuse", "no GPU & no time")
        ]
        assert bars_png(bars(bar(None))).data.startswith(b"\x89PNG")


def test_the_font_has_every_sign() -> None:
    def image_with(text: str) -> bytes:
        return bars_png(bars(note=text)).data

    missing = image_with("\uf0ff")
    assert missing == image_with("\u4e00")  # the font lacks both, so they have the same glyph
    signs = [entry.sign for table in (CHANGES, HULLS, KINDS) for entry in table.values()]
    for sign in {*"".join([*signs, *BADGE_TEXTS]), *"→×≠≤≥±µ·…▼▲≈"}:
        assert image_with(sign) != missing, sign
