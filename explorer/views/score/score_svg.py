"""The marks of a score as SVG elements: the same shapes as in `widgets/js/score/`."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from explorer.views.graph_painter import clip, width_of
from explorer.views.looks import css, dashes
from explorer.views.plates.pen import round_rectangle, short
from explorer_widgets.schema import PictureView, ScoreMarkView

DEPTH, SLANT, ROOM = 2.0, 0.35, 0.8
"""Depth of a body: at least so many pixels, and a share of its thickness. Of its room, a body has at most a share."""
MIN_DOT, LEGIBLE_DOT = 2.5, 6.0
"""The least radius of a dot, and of one with a sign in it."""
MIN_SIZE, PAD, SHORTEST = 9.0, 4.0, 3
"""Least size of a turned text, room around words in pixels, and the length of a text that says nothing."""


def score_elements(view: PictureView) -> list[str]:
    """Return the elements of a score, lowest first; without arcs to calls apart, which are those of a selected call."""
    every = view["score"]["marks"] if "score" in view else []
    marks = [mark for mark in every if mark["shape"] != "arc" or "pair" not in mark]
    return [element for mark in marks for element in (*_shapes(mark), *_words(mark))]


def _shapes(mark: ScoreMarkView) -> Iterator[str]:
    left, top, width, height = mark["at"]
    line, size = mark.get("stroke", ""), mark.get("width", 1.0)
    if mark["shape"] == "body":
        yield from _body(mark)
    elif mark["shape"] == "rect":
        radius = min(mark.get("radius", 0.0), width / 2, height / 2)
        yield _path(
            mark, round_rectangle((left, top, max(width, 0.5), height), radius), mark.get("fill", ""), line, size
        )
    elif mark["shape"] == "dot":
        radius = _radius(mark)
        fill = "panel" if radius >= LEGIBLE_DOT else line
        r, across = short(radius), short(2 * radius)
        circle = f"M{short(left - radius)} {short(top)}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0z"
        yield _path(mark, circle, fill, line, 1.6)
    elif mark["shape"] == "arc":
        bend, right = short(top - height * 4 / 3), short(left + width)
        d = f"M{short(left)} {short(top)}C{short(left)} {bend} {right} {bend} {right} {short(top)}"
        yield _path(mark, d, "", line, size)


def _path(mark: ScoreMarkView, d: str, fill: str, stroke: str, width: float, opacity: float = 1.0) -> str:
    tip = f"<title>{escape(mark['tip'])}</title>" if "tip" in mark else ""
    line = f"stroke:{css(stroke)}" if stroke else "stroke:none"
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    look = f'style="fill:{css(fill) if fill else "none"};{line}" stroke-width="{width:g}"{dashes(mark.get("dash", ()))}'
    return f'<path d="{d}" {look}{faint}>{tip}</path>'


def _body(mark: ScoreMarkView) -> Iterator[str]:
    """Draw a slab, seen from the right and from above."""
    middle, top, room, height = mark["at"]
    whole = min(DEPTH + mark.get("thick", 4) * (1 + SLANT), room * ROOM)
    thick = max(0.5, (whole - DEPTH) / (1 + SLANT))
    depth = min(whole - thick, DEPTH + thick * SLANT)
    left, right = short(middle - (thick + depth) / 2), short(middle + (thick - depth) / 2)
    wide, high, up, down = short(thick), short(height), short(-depth), short(depth)
    front = f"M{left} {short(top)}h{wide}v{high}h{short(-thick)}z"
    lid = f"M{left} {short(top)}l{down} {up}h{wide}l{up} {down}z"
    side = f"M{right} {short(top)}l{down} {up}v{high}l{up} {down}z"
    fill = mark.get("fill", "operator")
    for d, colour, opacity in ((front, fill, 1.0), (lid, fill, 0.6), (side, fill, 1.0), (side, "#000", 0.3)):
        yield _path(mark, d, colour, "", 1, opacity)


def _radius(mark: ScoreMarkView) -> float:
    """Return the radius of a dot: half its room at most."""
    _, _, room, radius = mark["at"]
    return max(MIN_DOT, min(radius, room / 2 - 0.5))


def _words(mark: ScoreMarkView) -> Iterator[str]:
    """Write the longest words that have room; the last ones turned, or cut, if none has."""
    words, (left, top, width, height) = mark.get("words", []), mark["at"]
    is_dot, bold, size = mark["shape"] == "dot", mark.get("bold", False), mark.get("size", 12)
    if not words or (is_dot and _radius(mark) < LEGIBLE_DOT):
        return
    at_start = mark.get("start", False)
    x, y = (left, top) if is_dot or at_start else (left + width / 2, top + height / 2)
    room = width - PAD if width and not is_dot else 10_000.0
    text = next((one for one in words if width_of(one, size, bold=bold) <= room), None)
    turn = ""
    if text is None and mark["shape"] == "rect" and height > 2 * size:
        size = min(size, width - 1)
        text = _clip_words(words[-1], size, height - 6, bold) if size >= MIN_SIZE else ""
        turn = " rotate(-90)"
    elif text is None:
        text = _clip_words(words[-1], size, room, bold)
        text = text if len(text) > SHORTEST else ""
    if text:
        ink = css(mark.get("ink", mark.get("stroke", "fg")))
        weight = ";font-weight:600" if bold or is_dot else ""
        anchor = "start" if at_start else "middle"
        place = f'transform="translate({short(x)} {short(y)}){turn}" dy=".35em" text-anchor="{anchor}"'
        yield f'<text {place} style="fill:{ink};font-size:{size:g}px{weight}">{escape(text)}</text>'


def _clip_words(words: str, size: float, room: float, bold: bool) -> str:
    """Cut a text to a width between two words, with an ellipsis; empty if its first word has no room."""
    cut = clip(words, size, room, bold=bold)
    if cut == words:
        return cut
    kept = cut[:-1]
    after = words[len(kept) : len(kept) + 1]
    found = re.sub(r"[^\s_.+|]*$", "", kept) if after.isalnum() else kept
    found = re.sub(r"[\s_.+|(]+$", "", found)
    return f"{found}…" if found else ""
