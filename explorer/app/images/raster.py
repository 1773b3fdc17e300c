"""Draws a picture or bars as a PNG, with the content of the static SVG, for saved notebooks and for export."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.app.images.sheet import Png, Point, Rect, Sheet, fit_size, mix_colours, text_width, wrap_lines
from explorer.views import Picture
from explorer.views.frame import frames_of
from explorer.views.lines import Line, lines
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

MAX_WIDTH, MAX_HEIGHT = 1400.0, 720.0
"""Larger drawings are scaled down to fit; high ones only as far as their text stays legible."""
MAX_TOTAL_HEIGHT = 2400.0
"""The maximum height of a drawing."""
SLIM = 720.0
"""The minimum width of the image; if a drawing leaves room, its legend is beside it, otherwise below."""
SMALL_WORDS = 0.5
"""The minimum scale of a drawing that is scaled down for its height."""
READABLE = 0.45
"""Below this scale boxes have no text; a line says so."""

HEAD, LINE, SIDE = 52.0, 20.0, 24.0
TITLE, WORDS, SMALL = 15.0, 13.0, 11.0
COLUMN = 260.0
DASHES = {"removed": (7.0, 4.0), "changed": (2.0, 2.0), "lost": (9.0, 3.0, 2.0, 3.0), "near-miss": (2.0, 4.0)}

TONES = {"faster": ("#5e3c99", "faster"), "slower": ("#b35806", "slower"), "noise": ("#858c96", "within the noise")}
"""Colour and text of a change in time."""
GLYPH, GAP = 10.0, 5.0


def picture_png(picture: Picture) -> Png:
    """Draw the picture with its text and legend in light colours; mode `side` shows both states.

    Raises: MissingPackageError.
    """
    frames = frames_of(picture)
    views = [frame.view for frame in frames]
    wanted = sum(frame.width for frame in frames), max(frame.height for frame in frames)
    scale = min(1.0, MAX_WIDTH / wanted[0], max(MAX_HEIGHT / wanted[1], SMALL_WORDS), MAX_TOTAL_HEIGHT / wanted[1])
    legend = list({(i["channel"], i["role"], i["text"]): i for view in views for i in view["legend"]}.values())
    words = " · ".join(filter(None, (views[0]["caption"], views[0]["note"], views[0]["message"])))
    if scale < READABLE:
        words += " · Too small for text: see the table."
    drawn = wanted[0] * scale, wanted[1] * scale
    beside = drawn[0] + COLUMN <= SLIM
    width = max(drawn[0] + (COLUMN if beside else 0.0), SLIM, text_width(views[0]["title"], TITLE) + 2 * SIDE)
    lines = wrap_lines(words, SMALL, width - 2 * SIDE)
    head = HEAD + (len(lines) - 1) * LINE
    columns = 1 if beside else max(1, int((width - SIDE) // COLUMN))
    rows_of_legend = -(-len(legend) // columns) * LINE
    foot = head + drawn[1]
    sheet = Sheet(width, (max(foot, head + rows_of_legend) if beside else foot + rows_of_legend) + SIDE)
    sheet.text(SIDE, 24, views[0]["title"], TITLE, LIGHT["ink"])
    for i, line in enumerate(lines):
        sheet.text(SIDE, 42 + i * LINE, line, SMALL, LIGHT["soft"])
    room = width - (COLUMN if beside else 0.0)
    left = (room - drawn[0]) / 2
    for frame, name in zip(frames, ("Before", "After") if len(views) > 1 else ("",), strict=True):
        _View(sheet, frame.view, left, head, scale).draw(frame.places)
        sheet.text(left + SIDE, head + 10, name, SMALL, LIGHT["soft"])
        left += frame.width * scale
    x, y = (room, head) if beside else (SIDE, foot)
    for i, item in enumerate(legend):
        _legend_item(sheet, item, x + (i % columns) * COLUMN, y + (i // columns + 1) * LINE)
    return sheet.png()


# ---------------------------------------------------------------------- the picture


@dataclass(frozen=True)
class _View:
    """One state, drawn with its corner at (left, top) of the sheet."""

    sheet: Sheet
    view: PictureView
    left: float
    top: float
    scale: float

    def draw(self, rows: Sequence[Rect]) -> None:
        s = self.scale
        moved = [(self.left + x * s, self.top + y * s, w * s, h * s) for x, y, w, h in rows]
        place = {node["id"]: at for node, at in zip(self.view["nodes"], moved, strict=True)}
        letters = {item["role"]: item["sign"] for item in self.view["legend"] if item["channel"] == "fill"}
        for hull in self.view["hulls"]:
            if hull["nodes"]:
                self._hull(hull, [place[name] for name in hull["nodes"]])
        position = {node["id"]: i for i, node in enumerate(self.view["nodes"])}
        ends = [(position[edge["source"]], position[edge["target"]]) for edge in self.view["edges"]]
        widths = [text_width(edge["label"], SMALL) for edge in self.view["edges"]]
        drawn = lines(rows, ends, widths)
        for edge, line in zip(self.view["edges"], drawn, strict=True):
            self._edge(edge, line)
        for edge, line, length in zip(self.view["edges"], drawn, widths, strict=True):
            if s >= READABLE and line.words:
                self._words_at(edge["label"], line.words, length)
        for node in self.view["nodes"]:
            self._node(node, place[node["id"]], letters.get(f"category-{node['category']}", ""))

    def _node(self, node: NodeView, place: Rect, letter: str) -> None:
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
            sheet.hatch(box, radius, 8 * s, mix_colours(colour, fill, 0.45), rising=not missing)
        if change == "changed":
            inner = (box[0] + 4 * s, box[1] + 4 * s, box[2] - 4 * s, box[3] - 4 * s)
            sheet.outline(inner, max(radius - 2 * s, 0), LIGHT["changed"], 1.2 * s)
        if s >= READABLE:
            self._words(node, box, ink, letter)

    def _words(self, node: NodeView, box: Rect, ink: str, letter: str) -> None:
        sheet, s = self.sheet, self.scale
        left, top, right, bottom = box
        kinds = ("sum", "product") if node["kind"] == "fused" else (node["kind"],)
        title = (f"{node['count']:,} × " if node["count"] > 1 else "") + node["title"]
        signs = len(kinds) * (GLYPH + 2) * s + GAP * s
        edge = 18 * s if node["change"] in SIGNS or node["matched"] else 4 * s
        size = fit_size(title, WORDS * s, right - left - signs - 2 * edge)
        x = (left + right - signs - text_width(title, size)) / 2
        y = (top + bottom) / 2 - 3 * s
        for i, kind in enumerate(kinds):
            sheet.glyph(kind, x + i * (GLYPH + 2) * s, y - 9.5 * s, GLYPH * s, ink)
        sheet.text(x + signs, y, title, size, ink)
        size = fit_size(node["detail"], SMALL * s, right - left - 8 * s)
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
        """Return the colour of the box, a legible text colour, and whether it has no value on the scale."""
        missing = self.view["colour_by"] in ("time", "memory") and node["fill"] is None
        if node["fill"] is not None:
            colour = CIVIDIS[round(node["fill"] * (len(CIVIDIS) - 1))]
        elif node["category"] is not None:
            colour = CATEGORY_COLOURS[node["category"] % len(CATEGORY_COLOURS)]
        else:
            colour = LIGHT["matched"] if node["matched"] else LIGHT["box"]
        return colour, "#ffffff" if colour in DARK_FILLS else LIGHT["ink"], missing

    def _edge(self, edge: EdgeView, line: Line) -> None:
        path = [self._at(point) for point in line.points]
        weight = {"added": 2.4, "removed": 1.8, "changed": 2.4}.get(edge["change"], 1.3) * self.scale
        colour = LIGHT.get(edge["change"], LIGHT["line"])
        self.sheet.line(path, colour, weight, DASHES.get(edge["change"], ()))
        self.sheet.arrow(path, colour, (5 + 1.5 * weight) * self.scale)

    def _words_at(self, words: str, point: Point, length: float) -> None:
        """Draw text over lines, which end before it."""
        (x, y), s = self._at(point), self.scale
        ground = (x - 2 * s, y - 7 * s, x + (length + 2) * s, y + 7 * s)
        self.sheet.box(ground, 3 * s, LIGHT["page"], LIGHT["page"], 0.5)
        self.sheet.text(x, y + 4 * s, words, SMALL * s, LIGHT["soft"])

    def _at(self, point: Point) -> Point:
        """Map a point of the picture to the sheet."""
        return self.left + point[0] * self.scale, self.top + point[1] * self.scale

    def _hull(self, hull: HullView, places: Sequence[Rect]) -> None:
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


def _legend_item(sheet: Sheet, item: LegendItem, x: float, y: float) -> None:
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
        start += text_width(item["sign"], WORDS)
    start = max(start + 8, x + 46)
    size = fit_size(item["text"], SMALL, COLUMN - (start - x) - 8)
    sheet.text(start, y, item["text"], size, LIGHT["soft"])


# ---------------------------------------------------------------------- bars


def bars_png(bars: BarsView) -> Png:
    """Draw bars with whiskers, one row per bar, with their values as text. Raises: MissingPackageError."""
    values = [v for bar in bars["bars"] for v in (bar["value"], bar["low"], bar["high"]) if v is not None]
    label = max((text_width(_bar_label(bars, i), SMALL) for i in range(len(bars["bars"]))), default=0.0)
    start, span, row = SIDE + label + 12, 420.0, 22.0
    room = 220 if any("tone" in bar for bar in bars["bars"]) else 110
    width = max(start + span + room, text_width(bars["note"], SMALL) + 2 * SIDE)
    sheet = Sheet(min(width, MAX_WIDTH), HEAD + row * len(bars["bars"]) + SIDE)
    scale = ", ".join(filter(None, (bars["unit"], "logarithmic" if bars["log"] else "")))
    sheet.text(SIDE, 24, f"{bars['title']} ({scale})" if scale else bars["title"], TITLE, LIGHT["ink"])
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
    """Return the start of the axis: half of the smallest value if logarithmic, otherwise zero or below."""
    if log:
        positive = [value for value in values if value > 0] or [1.0]
        return _Axis(min(positive) / 2, max(positive), True, start, span)
    return _Axis(min(0.0, *values, 0.0), max(0.0, *values, 0.0), False, start, span)


# ---------------------------------------------------------------------- drawing
