"""A picture or bars as a PNG, for saved notebooks and for export: what the static SVG shows, drawn with Pillow.

Pillow's own font is used, so every machine draws the same; what it lacks (→, ≠, ×) is written in plain characters, and
the signs of the kinds are drawn. All lengths here are CSS pixels; the image has `DENSITY` times as many.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from explorer.app.needs import require_ui
from explorer.views import Picture
from explorer.views.roles import (
    CATEGORY_COLOURS,
    CIVIDIS,
    DARK_FILLS,
    HULL_PADS,
    LIGHT,
    SIGNS,
    corner_radius,
)
from widgets.schema import BarsView, EdgeView, HullView, LegendItem, NodeView, PictureView

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

DENSITY = 2
SMOOTH = 2
"""Shapes are drawn so many times larger and averaged, because Pillow's lines have hard edges."""
MAX_WIDTH, MAX_HEIGHT = 1400.0, 720.0
"""A larger drawing is made smaller until it fits; a high one only as far as its words can be read."""
HIGHEST = 2400.0
"""But no drawing is higher than this."""
SLIM = 720.0
"""The least width of the image; a drawing that leaves room in it has its legend beside it, else below."""
SMALL_WORDS = 0.5
"""The scale down to which a high drawing is made smaller for its height."""
READABLE = 0.45
"""Below this scale no words are drawn in the boxes; a line says so."""
COLOURS = 96

HEAD, LINE, SIDE = 52.0, 20.0, 24.0
TITLE, WORDS, SMALL = 15.0, 13.0, 11.0
COLUMN = 260.0
CURVE_POINTS = 20
DASHES = {"removed": (7.0, 4.0), "changed": (2.0, 2.0), "lost": (9.0, 3.0, 2.0, 3.0), "near-miss": (2.0, 4.0)}

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
"""Signs of the kinds of nodes, and of changes in time, as lines in a square of side 1."""
TONES = {"faster": ("#5e3c99", "faster"), "slower": ("#b35806", "slower"), "noise": ("#858c96", "within the noise")}
"""Colour and words of a change in time."""
GLYPH, GAP = 10.0, 5.0

Point = tuple[float, float]
Place = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Png:
    """The bytes of an image and its size in CSS pixels."""

    data: bytes
    width: int
    height: int


def picture_png(picture: Picture) -> Png:
    """The picture with its words and legend, light; mode `side` shows both states. Raises: MissingPackageError."""
    views = [picture.view, *([picture.view["other"]] if "other" in picture.view else [])]
    places: list[Place] = [(row[0], row[1], row[2], row[3]) for row in picture.coordinates.astype(float).tolist()]
    wanted = sum(max(view["width"], 160.0) for view in views), max(max(view["height"], 60.0) for view in views)
    scale = min(1.0, MAX_WIDTH / wanted[0], max(MAX_HEIGHT / wanted[1], SMALL_WORDS), HIGHEST / wanted[1])
    legend = list({(i["channel"], i["role"], i["text"]): i for view in views for i in view["legend"]}.values())
    words = " · ".join(filter(None, (views[0]["caption"], views[0]["note"], views[0]["message"])))
    if scale < READABLE:
        words += " · Drawn too small for words: they are in the table."
    drawn = wanted[0] * scale, wanted[1] * scale
    beside = drawn[0] + COLUMN <= SLIM
    width = max(drawn[0] + (COLUMN if beside else 0.0), SLIM, _length(views[0]["title"], TITLE) + 2 * SIDE)
    lines = _wrapped(words, SMALL, width - 2 * SIDE)
    head = HEAD + (len(lines) - 1) * LINE
    columns = 1 if beside else max(1, int((width - SIDE) // COLUMN))
    rows_of_legend = -(-len(legend) // columns) * LINE
    foot = head + drawn[1]
    sheet = _Sheet(width, (max(foot, head + rows_of_legend) if beside else foot + rows_of_legend) + SIDE)
    sheet.text(SIDE, 24, views[0]["title"], TITLE, LIGHT["ink"])
    for i, line in enumerate(lines):
        sheet.text(SIDE, 42 + i * LINE, line, SMALL, LIGHT["soft"])
    room = width - (COLUMN if beside else 0.0)
    left, first = (room - drawn[0]) / 2, 0
    for view, name in zip(views, ("Before", "After") if len(views) > 1 else ("",), strict=True):
        count = len(view["nodes"])
        _View(sheet, view, left, head, scale).draw(places[first : first + count])
        sheet.text(left + SIDE, head + 10, name, SMALL, LIGHT["soft"])
        left, first = left + max(view["width"], 160.0) * scale, first + count
    x, y = (room, head) if beside else (SIDE, foot)
    for i, item in enumerate(legend):
        _legend_item(sheet, item, x + (i % columns) * COLUMN, y + (i // columns + 1) * LINE)
    return sheet.png()


# ---------------------------------------------------------------------- the picture


@dataclass(frozen=True)
class _View:
    """One state, drawn with its corner at (left, top) of the sheet."""

    sheet: "_Sheet"
    view: PictureView
    left: float
    top: float
    scale: float

    def draw(self, rows: Sequence[Place]) -> None:
        s = self.scale
        moved = [(self.left + x * s, self.top + y * s, w * s, h * s) for x, y, w, h in rows]
        place = {node["id"]: at for node, at in zip(self.view["nodes"], moved, strict=True)}
        letters = {item["role"]: item["sign"] for item in self.view["legend"] if item["channel"] == "fill"}
        for hull in self.view["hulls"]:
            if hull["nodes"]:
                self._hull(hull, [place[name] for name in hull["nodes"]])
        for edge in self.view["edges"]:
            self._edge(edge, place[edge["source"]], place[edge["target"]])
        for node in self.view["nodes"]:
            self._node(node, place[node["id"]], letters.get(f"category-{node['category']}", ""))

    def _node(self, node: NodeView, place: Place, letter: str) -> None:
        sheet, s = self.sheet, self.scale
        x, y, w, h = place
        box = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        radius = corner_radius(node["kind"], h / s) * s
        fill, ink, missing = self._fill(node)
        change = node["change"]
        line = LIGHT["ink"] if node["matched"] and change == "kept" else LIGHT.get(change, LIGHT["line"])
        weight = {"added": 3.0, "removed": 2.4, "changed": 2.0}.get(change, 2.4 if node["matched"] else 1.2) * s
        dash = DASHES["removed"] if change == "removed" else ()
        if node["folds"] > 1:
            for shift in (8 * s, 4 * s):
                card = (box[0] + shift, box[1] - shift, box[2] + shift, box[3] - shift)
                sheet.box(card, radius, fill, line, weight, dash)
        sheet.box(box, radius, fill, line, weight, dash)
        if change == "removed" or missing:
            colour = LIGHT["removed"] if change == "removed" else LIGHT["line"]
            sheet.hatch(box, radius, 8 * s, _mixed(colour, fill, 0.45), rising=not missing)
        if change == "changed":
            inner = (box[0] + 4 * s, box[1] + 4 * s, box[2] - 4 * s, box[3] - 4 * s)
            sheet.outline(inner, max(radius - 2 * s, 0), LIGHT["changed"], 1.2 * s)
        if s >= READABLE:
            self._words(node, box, ink, letter)

    def _words(self, node: NodeView, box: Place, ink: str, letter: str) -> None:
        sheet, s = self.sheet, self.scale
        left, top, right, bottom = box
        kinds = ("sum", "product") if node["kind"] == "fused" else (node["kind"],)
        title = (f"{node['count']:,} × " if node["count"] > 1 else "") + node["title"]
        signs = len(kinds) * (GLYPH + 2) * s + GAP * s
        edge = 18 * s if node["change"] in SIGNS or node["matched"] else 4 * s
        size = _fitting(title, WORDS * s, right - left - signs - 2 * edge)
        x = (left + right - signs - _length(title, size)) / 2
        y = (top + bottom) / 2 - 3 * s
        for i, kind in enumerate(kinds):
            sheet.glyph(kind, x + i * (GLYPH + 2) * s, y - 9.5 * s, GLYPH * s, ink)
        sheet.text(x + signs, y, title, size, ink)
        size = _fitting(node["detail"], SMALL * s, right - left - 8 * s)
        sheet.text((left + right) / 2, y + 17 * s, node["detail"], size, ink, "middle")
        if node["change"] in SIGNS:
            sheet.text(left + 8 * s, top + 15 * s, SIGNS[node["change"]], WORDS * s, ink)
        if node["matched"]:
            sheet.text(right - 8 * s, top + 15 * s, "M", SMALL * s, ink, "end")
        marks = [f"x{node['folds']}"] if node["folds"] > 1 else []
        marks += [badge["sign"] for badge in node["badges"]] + ([letter] if letter else [])
        lift = 12 * s if node["folds"] > 1 else 4 * s
        sheet.text(right, top - lift, " ".join(marks), WORDS * s, LIGHT["ink"], "end")

    def _fill(self, node: NodeView) -> tuple[str, str, bool]:
        """Colour of the box, ink that can be read on it, and whether it has no value on the scale."""
        missing = self.view["colour_by"] in ("time", "memory") and node["fill"] is None
        if node["fill"] is not None:
            colour = CIVIDIS[round(node["fill"] * (len(CIVIDIS) - 1))]
        elif node["category"] is not None:
            colour = CATEGORY_COLOURS[node["category"] % len(CATEGORY_COLOURS)]
        else:
            colour = LIGHT["matched"] if node["matched"] else LIGHT["box"]
        return colour, "#ffffff" if colour in DARK_FILLS else LIGHT["ink"], missing

    def _edge(self, edge: EdgeView, source: Place, target: Place) -> None:
        """From the top of what is read to the bottom of what reads; sideways where the reader does not stand above."""
        (sx, sy, sw, sh), (tx, ty, tw, th) = source, target
        start, end = sy - sh / 2, ty + th / 2
        if start - end >= 8 * self.scale:
            middle = (start + end) / 2
            path = [(sx, start), (tx, end)]
            if abs(sx - tx) > 1:
                path = _curve((sx, start), (sx, middle), (tx, middle), (tx, end))
            label = ((sx + tx) / 2, middle)
        else:
            side = 1 if tx >= sx else -1
            path = [(sx + side * sw / 2, sy), (tx - side * tw / 2, ty)]
            label = ((sx + tx) / 2, (sy + ty) / 2)
        weight = {"added": 2.4, "removed": 1.8, "changed": 2.4}.get(edge["change"], 1.3) * self.scale
        colour = LIGHT.get(edge["change"], LIGHT["line"])
        self.sheet.line(path, colour, weight, DASHES.get(edge["change"], ()))
        self.sheet.arrow(path, colour, (5 + 1.5 * weight) * self.scale)
        if self.scale >= READABLE:
            self.sheet.text(label[0] + 4, label[1] + 4, edge["label"], SMALL * self.scale, LIGHT["soft"])

    def _hull(self, hull: HullView, places: Sequence[Place]) -> None:
        pad = HULL_PADS[hull["kind"]] * self.scale
        box = (
            min(x - w / 2 for x, _, w, _ in places) - pad,
            min(y - h / 2 for _, y, _, h in places) - pad,
            max(x + w / 2 for x, _, w, _ in places) + pad,
            max(y + h / 2 for _, y, _, h in places) + pad,
        )
        self.sheet.outline(box, 12 * self.scale, _hull_colour(hull["kind"]), 1.8, DASHES.get(hull["kind"], ()))


def _hull_colour(kind: str) -> str:
    return LIGHT[{"lost": "lost", "near-miss": "near"}.get(kind, "matched")]


def _legend_item(sheet: "_Sheet", item: LegendItem, x: float, y: float) -> None:
    role, channel = item["role"], item["channel"]
    box = (x, y - 11, x + 16, y + 2)
    if channel == "hull":
        sheet.outline(box, 3, _hull_colour(role), 1.8, DASHES.get(role, ()))
    elif channel in ("border", "fill"):
        fill = LIGHT["matched"] if role == "matched" else LIGHT["box"]
        if role.startswith("category-"):
            fill = CATEGORY_COLOURS[int(role.split("-")[1]) % len(CATEGORY_COLOURS)]
        elif role == "scale":
            fill = CIVIDIS[-1] if item["sign"] == "max" else CIVIDIS[0]
        changed = role in SIGNS
        sheet.box(
            box,
            3,
            fill,
            LIGHT[role] if changed else LIGHT["line"],
            2.0 if changed else 1.2,
            DASHES.get(role, ()) if role == "removed" else (),
        )
        if role == "missing":
            sheet.hatch(box, 3, 5, LIGHT["line"], rising=False)
    start = x + 22
    if channel == "shape":
        for kind in ("sum", "product") if role == "fused" else (role,):
            sheet.glyph(kind, start, y - 9.5, GLYPH, LIGHT["ink"])
            start += GLYPH + 2
    else:
        sheet.text(start, y, item["sign"], WORDS, LIGHT["ink"])
        start += _length(item["sign"], WORDS)
    start = max(start + 8, x + 46)
    size = _fitting(item["text"], SMALL, COLUMN - (start - x) - 8)
    sheet.text(start, y, item["text"], size, LIGHT["soft"])


# ---------------------------------------------------------------------- bars


def bars_png(bars: BarsView) -> Png:
    """Bars with whiskers, one row a bar, with its value in words. Raises: MissingPackageError."""
    values = [v for bar in bars["bars"] for v in (bar["value"], bar["low"], bar["high"]) if v is not None]
    label = max((_length(_bar_label(bars, i), SMALL) for i in range(len(bars["bars"]))), default=0.0)
    start, span, row = SIDE + label + 12, 420.0, 22.0
    room = 220 if any("tone" in bar for bar in bars["bars"]) else 110
    width = max(start + span + room, _length(bars["note"], SMALL) + 2 * SIDE)
    sheet = _Sheet(min(width, MAX_WIDTH), HEAD + row * len(bars["bars"]) + SIDE)
    sheet.text(
        SIDE, 24, f"{bars['title']} ({bars['unit']}{', logarithmic' if bars['log'] else ''})", TITLE, LIGHT["ink"]
    )
    sheet.text(SIDE, 42, bars["note"], SMALL, LIGHT["soft"])
    place = _axis(values, bars["log"], start, span)
    zero = start if bars["log"] else place(0.0)
    for i, bar in enumerate(bars["bars"]):
        y = HEAD + row * i + row / 2
        sheet.text(start - 12, y + 4, _bar_label(bars, i), SMALL, LIGHT["ink"], "end")
        if bar["value"] is None:
            sheet.text(start, y + 4, bar["missing"] or "no value", SMALL, LIGHT["soft"])
            continue
        series = bars["series"].index(bar["series"]) if bar["series"] in bars["series"] else 0
        colour = (LIGHT["changed"], LIGHT["matched"], LIGHT["added"], LIGHT["near"])[series % 4]
        words = f"{bar['value']:,.4g}"
        if "tone" in bar:
            colour, said = TONES[bar["tone"]]
            words = f"{words}, {said}"
        end = place(bar["value"])
        sheet.box((min(zero, end), y - 7, max(zero, end, zero + 1), y + 7), 2, colour, colour, 1)
        tip = max(zero, end)
        if bar["low"] is not None and bar["high"] is not None:
            low, high = place(bar["low"]), place(bar["high"])
            tip = max(tip, high)
            paths = [(low, y), (high, y)], [(low, y - 4), (low, y + 4)], [(high, y - 4), (high, y + 4)]
            for shade, weight in ((LIGHT["page"], 3.6), (LIGHT["ink"], 1.4)):
                for path in paths:
                    sheet.line(path, shade, weight)
        if "tone" in bar:
            sheet.glyph(bar["tone"], tip + 6, y - GLYPH / 2, GLYPH, colour)
            tip += GLYPH + GAP
        sheet.text(tip + 6, y + 4, words, SMALL, LIGHT["ink"])
    return sheet.png()


def _bar_label(bars: BarsView, i: int) -> str:
    bar = bars["bars"][i]
    return f"{bar['label']} · {bar['series']}" if len(bars["series"]) > 1 else bar["label"]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    log: bool
    start: float
    span: float

    def __call__(self, value: float) -> float:
        low, high, at = (
            (math.log(max(v, 1e-12)) for v in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + self.span * min(max((at - low) / (high - low or 1.0), 0.0), 1.0)


def _axis(values: Sequence[float], log: bool, start: float, span: float) -> _Axis:
    """A logarithmic axis begins at half of the least value, a linear one at zero or below."""
    if log:
        positive = [value for value in values if value > 0] or [1.0]
        return _Axis(min(positive) / 2, max(positive), True, start, span)
    return _Axis(min(0.0, *values, 0.0), max(0.0, *values, 0.0), False, start, span)


# ---------------------------------------------------------------------- drawing


class _Sheet:
    """What is drawn on: shapes at once and larger than wanted, words at the end, so that both have soft edges."""

    def __init__(self, width: float, height: float) -> None:
        image, draw, _, _ = _pillow()
        self.width, self.height = math.ceil(width), math.ceil(height)
        self.k = DENSITY * SMOOTH
        self._image: Image = image.new("RGB", (self.width * self.k, self.height * self.k), LIGHT["page"])
        self._draw = draw.Draw(self._image)
        self._texts: list[tuple[float, float, str, float, str, str]] = []

    def text(self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "start") -> None:
        """Words with their base line at y."""
        if text == "−":  # too short in the font to be seen
            self.line([(x + 1, y - size * 0.33), (x + size * 0.6, y - size * 0.33)], colour, size * 0.13)
        elif text:
            self._texts.append((x, y, text.translate(PLAIN), size, colour, anchor))

    def box(self, box: Place, radius: float, fill: str, line: str, weight: float, dash: Sequence[float] = ()) -> None:
        """A filled box with a line round it."""
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

    def outline(self, box: Place, radius: float, colour: str, weight: float, dash: Sequence[float] = ()) -> None:
        """A line round a box, nothing inside."""
        self.line(_round(box, radius), colour, weight, dash)

    def line(self, path: Sequence[Point], colour: str, weight: float, dash: Sequence[float] = ()) -> None:
        """A line through points; `dash` are lengths that are drawn and left out in turns."""
        for part in _dashed(path, dash) if dash else (path,):
            points = [(x * self.k, y * self.k) for x, y in part]
            self._draw.line(points, fill=colour, width=max(1, round(weight * self.k)), joint="curve")

    def arrow(self, path: Sequence[Point], colour: str, size: float) -> None:
        """The head of an arrow at the end of a line."""
        (ax, ay), (bx, by) = path[-2], path[-1]
        length = math.hypot(bx - ax, by - ay) or 1.0
        dx, dy = (bx - ax) / length * size, (by - ay) / length * size
        corners = [(bx, by), (bx - dx - dy / 2, by - dy + dx / 2), (bx - dx + dy / 2, by - dy - dx / 2)]
        self._draw.polygon([(x * self.k, y * self.k) for x, y in corners], fill=colour)

    def hatch(self, box: Place, radius: float, gap: float, colour: str, rising: bool) -> None:
        """Slanted lines inside of a box with round corners."""
        image, draw, _, chops = _pillow()
        inset = 2 * self.k
        left, top = round(box[0] * self.k) + inset, round(box[1] * self.k) + inset
        wide, tall = round(box[2] * self.k) - inset - left, round(box[3] * self.k) - inset - top
        mask = image.new("1", (wide, tall))
        draw.Draw(mask).rounded_rectangle((0, 0, wide - 1, tall - 1), radius * self.k, fill=1)
        lines = image.new("1", (wide, tall))
        pen = draw.Draw(lines)
        for start in range(-tall, wide, max(2, round(gap * self.k))):
            ends = (start, tall, start + tall, 0) if rising else (start, 0, start + tall, tall)
            pen.line(ends, fill=1, width=round(1.3 * self.k))
        self._image.paste(colour, (left, top), chops.logical_and(mask, lines))

    def glyph(self, kind: str, x: float, y: float, size: float, colour: str) -> None:
        """The sign of a kind of node in the square with its corner at (x, y)."""
        for path in GLYPHS.get(kind, ()):
            self.line([(x + px * size, y + py * size) for px, py in path], colour, size * 0.13)

    def png(self) -> Png:
        """The image, reduced to so few colours that it is small."""
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
    """The modules of Pillow, which only the extra `ui` installs."""
    require_ui("PIL")
    from PIL import Image, ImageChops, ImageDraw, ImageFont

    return Image, ImageDraw, ImageFont, ImageChops


@cache
def _font(size: float) -> "FreeTypeFont | ImageFont":
    return _pillow()[2].load_default(size)


def _length(text: str, size: float) -> float:
    """The width of words in pixels."""
    return _font(size).getlength(text.translate(PLAIN))


def _fitting(text: str, size: float, room: float) -> float:
    """The size at which words fit, not above `size`."""
    length = _length(text, size)
    return size if length <= room else max(size * room / length, 4.0)


def _wrapped(text: str, size: float, room: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _length(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _mixed(one: str, other: str, share: float) -> str:
    """A colour with `share` of the first over the second."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _curve(a: Point, b: Point, c: Point, d: Point) -> list[Point]:
    """Points of a cubic Bézier curve."""
    found: list[Point] = []
    for i in range(CURVE_POINTS + 1):
        t = i / CURVE_POINTS
        u = 1 - t
        weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
        x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
        found.append((x, y))
    return found


def _round(box: Place, radius: float) -> list[Point]:
    """Points of a closed line round a box with round corners."""
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


def _dashed(path: Sequence[Point], dash: Sequence[float]) -> list[list[Point]]:
    """The parts of a line that are drawn."""
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
