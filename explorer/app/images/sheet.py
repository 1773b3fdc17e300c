"""A canvas for pictures without a browser: shapes, text and signs, drawn with Pillow.

Pillow's built-in font makes the images equal on every machine; characters that it lacks (→, ≠, ×) are replaced by plain
ones, and the signs of the kinds are drawn. All lengths are CSS pixels; the image has `DENSITY` times as many.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from explorer.app.needs import require_ui
from explorer.views.roles import LIGHT

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

DENSITY = 2
SMOOTH = 2
"""Shapes are drawn this many times larger and averaged, because Pillow's lines are not antialiased."""
COLOURS = 96

PLAIN = str.maketrans({"×": "x", "−": "-", "→": "->", "≠": "!=", "≤": "<=", "≥": ">=", "✕": "x", "µ": "u", "Σ": "S"})
GLYPHS: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "input": (((0, 0.1), (1, 0.1), (0.5, 0.95), (0, 0.1), (1, 0.1)),),
    "sum": (((0.95, 0.05), (0.1, 0.05), (0.55, 0.5), (0.1, 0.95), (0.95, 0.95)),),
    "product": (((0, 0.05), (1, 0.05)), ((0.22, 0.05), (0.22, 1)), ((0.78, 0.05), (0.78, 1))),
    "operator": (
        tuple((0.5 + 0.45 * math.cos(i * math.pi / 8), 0.5 + 0.45 * math.sin(i * math.pi / 8)) for i in range(18)),
    ),
    "leaf": (((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5), (0.5, 0), (1, 0.5)),),
    "faster": (((0, 0.15), (1, 0.15), (0.5, 0.95), (0, 0.15), (1, 0.15)),),
    "slower": (((0, 0.9), (0.5, 0.1), (1, 0.9), (0, 0.9), (0.5, 0.1)),),
    "noise": tuple(
        tuple((i / 12, 0.5 + low - 0.14 * math.sin(i * math.pi / 6)) for i in range(13)) for low in (-0.2, 0.2)
    ),
}
"""Signs of the kinds of nodes and of changes in time, as lines in the unit square."""

Point = tuple[float, float]
Rect = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Png:
    """The bytes of an image and its size in CSS pixels."""

    data: bytes
    width: int
    height: int


class Sheet:
    """A canvas: shapes are drawn at once and enlarged, text at the end, so that both are antialiased."""

    def __init__(self, width: float, height: float) -> None:
        image, draw, _, _ = _pillow()
        self.width, self.height = math.ceil(width), math.ceil(height)
        self.k = DENSITY * SMOOTH
        self._image: Image = image.new("RGB", (self.width * self.k, self.height * self.k), LIGHT["page"])
        self._draw = draw.Draw(self._image)
        self._texts: list[tuple[float, float, str, float, str, str]] = []

    def text(self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "start") -> None:
        """Draw text with its baseline at y."""
        if text == "−":  # too short in the font to be visible
            self.line([(x + 1, y - size * 0.33), (x + size * 0.6, y - size * 0.33)], colour, size * 0.13)
        elif text:
            self._texts.append((x, y, text.translate(PLAIN), size, colour, anchor))

    def box(self, box: Rect, radius: float, fill: str, line: str, weight: float, dash: Sequence[float] = ()) -> None:
        """Draw a filled box with an outline."""
        scaled = [value * self.k for value in box]
        if dash:
            self._draw.rounded_rectangle(scaled, radius * self.k, fill=fill)
            self.outline(box, radius, line, weight, dash)
            return
        half = weight / 2 * self.k
        grown = (scaled[0] - half, scaled[1] - half, scaled[2] + half, scaled[3] + half)
        self._draw.rounded_rectangle(
            grown, radius * self.k + half, fill=fill, outline=line, width=max(1, round(2 * half))
        )

    def outline(self, box: Rect, radius: float, colour: str, weight: float, dash: Sequence[float] = ()) -> None:
        """Draw the outline of a box."""
        self.line(round_corners(box, radius), colour, weight, dash)

    def line(self, path: Sequence[Point], colour: str, weight: float, dash: Sequence[float] = ()) -> None:
        """Draw a line through points; `dash` contains the alternating lengths of dashes and gaps."""
        for part in split_dashes(path, dash) if dash else (path,):
            points = [(x * self.k, y * self.k) for x, y in part]
            self._draw.line(points, fill=colour, width=max(1, round(weight * self.k)), joint="curve")

    def arrow(self, path: Sequence[Point], colour: str, size: float) -> None:
        """Draw an arrow head at the end of a line."""
        (ax, ay), (bx, by) = path[-2], path[-1]
        length = math.hypot(bx - ax, by - ay) or 1.0
        dx, dy = (bx - ax) / length * size, (by - ay) / length * size
        corners = [(bx, by), (bx - dx - dy / 2, by - dy + dx / 2), (bx - dx + dy / 2, by - dy - dx / 2)]
        self._draw.polygon([(x * self.k, y * self.k) for x, y in corners], fill=colour)

    def hatch(self, box: Rect, radius: float, gap: float, colour: str, rising: bool) -> None:
        """Hatch a box with round corners."""
        image, draw, _, chops = _pillow()
        inset = 2 * self.k
        left, top = round(box[0] * self.k) + inset, round(box[1] * self.k) + inset
        wide, tall = round(box[2] * self.k) - inset - left, round(box[3] * self.k) - inset - top
        if wide <= 0 or tall <= 0:
            return  # too small for lines
        mask = image.new("1", (wide, tall))
        draw.Draw(mask).rounded_rectangle((0, 0, wide - 1, tall - 1), radius * self.k, fill=1)
        lines = image.new("1", (wide, tall))
        pen = draw.Draw(lines)
        for start in range(-tall, wide, max(2, round(gap * self.k))):
            ends = (start, tall, start + tall, 0) if rising else (start, 0, start + tall, tall)
            pen.line(ends, fill=1, width=round(1.3 * self.k))
        self._image.paste(colour, (left, top), chops.logical_and(mask, lines))

    def glyph(self, kind: str, x: float, y: float, size: float, colour: str) -> None:
        """Draw the sign of a node kind in the square with its corner at (x, y)."""
        for path in GLYPHS.get(kind, ()):
            self.line([(x + px * size, y + py * size) for px, py in path], colour, size * 0.13)

    def png(self) -> Png:
        """Return the image, with few colours so that it is small."""
        image, draw, _, _ = _pillow()
        small = self._image.reduce(SMOOTH)
        pen = draw.Draw(small)
        anchors = {"start": "ls", "middle": "ms", "end": "rs"}
        for x, y, text, size, colour, anchor in self._texts:
            pen.text((x * DENSITY, y * DENSITY), text, fill=colour, font=_font(size * DENSITY), anchor=anchors[anchor])
        out = io.BytesIO()
        small.quantize(COLOURS, method=image.Quantize.FASTOCTREE, dither=image.Dither.NONE).save(out, "PNG")
        return Png(out.getvalue(), self.width, self.height)


@cache
def _pillow():  # noqa: ANN202
    """Import the modules of Pillow, which only the extra `ui` installs."""
    require_ui("PIL")
    from PIL import Image, ImageChops, ImageDraw, ImageFont

    return Image, ImageDraw, ImageFont, ImageChops


@cache
def _font(size: float) -> "FreeTypeFont | ImageFont":
    return _pillow()[2].load_default(size)


def text_width(text: str, size: float) -> float:
    """The width of text in pixels."""
    return _font(size).getlength(text.translate(PLAIN))


def fit_size(text: str, size: float, room: float) -> float:
    """The font size at which text fits, at most `size`."""
    length = text_width(text, size)
    return size if length <= room else max(size * room / length, 4.0)


def wrap_lines(text: str, size: float, room: float) -> list[str]:
    """Wrap text into lines of at most `room` pixels."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def mix_colours(one: str, other: str, share: float) -> str:
    """Mix `share` of the first colour with the second."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def round_corners(box: Rect, radius: float) -> list[Point]:
    """Points of the closed outline of a box with round corners."""
    left, top, right, bottom = box
    r = max(0.0, min(radius, (right - left) / 2, (bottom - top) / 2))
    corners = (
        (right - r, top + r, -90),
        (right - r, bottom - r, 0),
        (left + r, bottom - r, 90),
        (left + r, top + r, 180),
    )
    points = [
        (x + r * math.cos(math.radians(turn + step)), y + r * math.sin(math.radians(turn + step)))
        for x, y, turn in corners
        for step in range(0, 91, 15)
    ]
    return [*points, points[0]]


def split_dashes(path: Sequence[Point], dash: Sequence[float]) -> list[list[Point]]:
    """The dashes of a line."""
    parts: list[list[Point]] = []
    number, left = 0, dash[0]
    current: list[Point] = [path[0]]
    for (ax, ay), (bx, by) in pairwise(path):
        length = math.hypot(bx - ax, by - ay)
        done = 0.0
        while length - done > left:
            done += left
            at = (ax + (bx - ax) * done / length, ay + (by - ay) * done / length)
            if number % 2 == 0:
                parts.append([*current, at])
            current = [at]
            number += 1
            left = dash[number % len(dash)]
        left -= length - done
        current.append((bx, by))
    if number % 2 == 0 and len(current) > 1:
        parts.append(current)
    return parts
