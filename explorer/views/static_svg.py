"""A picture as a stand-alone SVG string: for saved notebooks, reports, and pages without scripts.

Colours match the interactive drawing (Okabe-Ito), each with a sign, light and dark by the user's
setting. All text is escaped; nothing is fetched.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from xml.sax.saxutils import escape, quoteattr

from explorer.views.buffers import buffers_height, buffers_svg
from explorer.views.graph_painter import DEFINITIONS as HATCHES, STYLE as GRAPH_STYLE
from explorer.views.lines import Place
from explorer.views.marks import mark_text
from explorer.views.picture import PAINTERS, Picture
from explorer.views.plates.plates_svg import STYLE as PLATES_STYLE
from explorer.views.swatches import STYLE as SWATCH_STYLE
from explorer_widgets.schema import LegendItem, PictureView
from explorer_widgets.theme import DARK, DARK_VALUES, LIGHT, LIGHT_VALUES

MIN_FRAME_WIDTH, MIN_FRAME_HEIGHT = 160.0, 60.0
EDGE = 6.0
"""Minimum distance of the name of a match from the frame."""

MAX_WIDTH, MAX_HEIGHT, MAX_TOTAL_HEIGHT = 1400.0, 720.0, 2400.0
"""The size of a page in pixels. A drawing over MAX_HEIGHT is not scaled below LEGIBLE_SCALE for it."""
LEGIBLE_SCALE, MIN_TEXT_SCALE = 0.5, 0.45
"""Below MIN_TEXT_SCALE boxes have no text, and a note says so."""
MIN_WIDTH = 720.0
"""If a drawing leaves room within this width, its legend is at its side, otherwise below."""
HEAD, LINE, SIDE = 32.0, 20.0, 24.0
LEGEND_SIGN = 80.0
HEAD_CHARACTER, SMALL_CHARACTER = 9.0, 6.5
"""Estimated widths of a character, of the title and of other text."""
VARIABLES = ";".join(f"--{role}:{colour}" for role, colour in LIGHT.items())
DARK_VARIABLES = ";".join(f"--{role}:{colour}" for role, colour in DARK.items() if colour != LIGHT[role])
THEMES = f".x-view{{{VARIABLES}}}\n@media (prefers-color-scheme:dark){{.x-view{{{DARK_VARIABLES}}}}}\n"
STYLE = (
    """.x-view{font-family:system-ui,sans-serif}
.x-page{fill:var(--bg)}
.x-view text{fill:var(--fg)}
.x-view .x-soft{fill:var(--muted);font-size:11px}
.x-view .x-head{font-size:15px;font-weight:600}
"""
    + GRAPH_STYLE
    + PLATES_STYLE
    + SWATCH_STYLE
)
DEFINITIONS = f"<defs>{HATCHES}</defs>"


@dataclass(frozen=True, slots=True)
class Frame:
    """One state: the boxes, and the corner and the size of the frame in pixels."""

    view: PictureView
    places: list[Place]
    left: float
    top: float
    width: float
    height: float


def static_svg(picture: Picture, *, fit: bool = False) -> str:
    """Return the picture with its texts and legend as an SVG string; mode `side` shows both states.

    With `fit`, as an image needs it: the drawing is scaled down to the size of a page, its colours are light.
    """
    frames = frames_of(picture)
    views = [frame.view for frame in frames]
    full_width, full_height = sum(frame.width for frame in frames), max(frame.height for frame in frames)
    scale = _page_scale(full_width, full_height) if fit else 1.0
    drawn_width, drawn_height = full_width * scale, full_height * scale

    title, legend = views[0]["title"], _distinct([item for view in views for item in view["legend"]])
    column = max([0, *(len(item["text"]) * SMALL_CHARACTER for item in legend)]) + LEGEND_SIGN
    legend_at_side = drawn_width + column <= MIN_WIDTH
    free_width = max(drawn_width, MIN_WIDTH - (column if legend_at_side else 0), len(title) * HEAD_CHARACTER + 2 * SIDE)
    width = free_width + (column if legend_at_side else 0)
    notes = wrap(" · ".join(_notes(views[0], scale)), int((width - 2 * SIDE) / SMALL_CHARACTER))
    top = HEAD + LINE * len(notes)
    columns = 1 if legend_at_side else max(1, int((width - SIDE) // column))
    legend_x, legend_y = (free_width, top) if legend_at_side else (SIDE, top + drawn_height)
    legend_bottom = max(top + drawn_height, legend_y + -(-len(legend) // columns) * LINE)
    timelines = [view["buffers"] for view in views if "buffers" in view]
    height = legend_bottom + SIDE + (buffers_height(timelines) + SIDE if timelines else 0.0)

    body = [f'<text class="x-head" x="{SIDE:g}" y="24">{escape(title)}</text>']
    body += [text_at("x-soft", SIDE, 42 + i * LINE, note, "start") for i, note in enumerate(notes)]
    left = (free_width - drawn_width) / 2
    for frame, name in zip(frames, ("Before", "After") if len(views) > 1 else ("",), strict=True):
        body.append(text_at("x-soft", left + SIDE, top + 10, name, "start"))
        size = ' class="x-small"' if scale < MIN_TEXT_SCALE else ""
        x, y = left - frame.left * scale, top - frame.top * scale
        body.append(f'<g{size} transform="translate({x:g},{y:g}) scale({scale:g})">')
        body += [*PAINTERS[frame.view["group_by"]].svg_elements(frame.view, frame.places), "</g>"]
        left += frame.width * scale
    for i, item in enumerate(legend):
        body += legend_item(item, legend_x + (i % columns) * column, legend_y + (i // columns + 1) * LINE)
    body += buffers_svg(timelines, SIDE, legend_bottom + SIDE, width - 2 * SIDE)
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="x-view" role="img" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(_description(views))}</desc>",
            f"<style>{STYLE if fit else THEMES + _values_of(body) + STYLE}</style>",
            DEFINITIONS,
            f'<rect class="x-page" width="{width:g}" height="{height:g}"/>',
            *body,
            "</svg>",
            "",
        ]
    )
    return _in_light(svg) if fit else svg


def _values_of(body: Sequence[str]) -> str:
    """Return the variables of the values that an image shows, in light and dark."""
    used = [role for role in LIGHT_VALUES if any(f"var(--{role})" in element for element in body)]
    light, dark = (";".join(f"--{role}:{colours[role]}" for role in used) for colours in (LIGHT_VALUES, DARK_VALUES))
    return f".x-view{{{light}}}\n@media (prefers-color-scheme:dark){{.x-view{{{dark}}}}}\n" if used else ""


def _in_light(svg: str) -> str:
    """Replace the variables by light colours, for renderers without CSS variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda role: {**LIGHT, **LIGHT_VALUES}.get(role[1], role[0]), svg)


def _page_scale(width: float, height: float) -> float:
    """Return the scale that fits a drawing to a page: a high one shrinks only as far as its text stays legible."""
    return min(1.0, MAX_WIDTH / width, max(MAX_HEIGHT / height, LEGIBLE_SCALE), MAX_TOTAL_HEIGHT / height)


def _notes(view: PictureView, scale: float) -> list[str]:
    small = "Too small for text: see the table." if scale < MIN_TEXT_SCALE else ""
    return [note for note in (view["caption"], view["note"], view["message"], small) if note]


def _description(views: Sequence[PictureView]) -> str:
    """Return the table of the picture as text, for screen readers."""
    lines = [f"{views[0]['caption']}. {views[0]['note']} {views[0]['message']}".strip()]
    for view in views:
        columns = view["table"]["columns"]
        for row in view["table"]["rows"]:
            lines.append("; ".join(f"{name}: {cell}" for name, cell in zip(columns, row, strict=True) if cell))
        if "buffers" in view:
            lines += [view["buffers"]["text"], *(buffer["text"] for buffer in view["buffers"]["buffers"])]
    return "\n".join(lines)


def _distinct(items: Sequence[LegendItem]) -> list[LegendItem]:
    return list({(item["channel"], item["role"], item["text"]): item for item in items}.values())


def frames_of(picture: Picture) -> list[Frame]:
    """Return the frame of a picture; in mode `side`, one per state."""
    frames: list[Frame] = []
    rows = picture.places
    for view in (picture.view, *([picture.view["other"]] if "other" in picture.view else [])):
        own, rows = rows[: len(view["nodes"])], rows[len(view["nodes"]) :]
        left, top, right, bottom = 0.0, 0.0, view["width"], view["height"]
        if own and "extent" in view and not PAINTERS[view["group_by"]].has_margins:
            left, top, right, bottom = view["extent"]
        width, height = max(right - left, MIN_FRAME_WIDTH), max(bottom - top, MIN_FRAME_HEIGHT)
        frames.append(Frame(view, own, left, top, width, height))
    return frames


def text_at(classes: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Return a text at a place."""
    return f'<text class="{classes}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def legend_item(item: LegendItem, x: float, y: float) -> list[str]:
    """Return a swatch and the words at the left end of a line of text."""
    swatch = "".join(map(mark_text, item.get("swatch", ())))
    return [
        f'<g class="x-legend" transform="translate({x:g} {y - 12:g})">{swatch}</g>',
        text_at("x-soft", x + 34, y, item["text"], "start"),
    ]
