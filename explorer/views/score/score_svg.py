"""The marks of a score as SVG elements: the same shapes as in `widgets/js/score/`."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from explorer.views.graph_painter import clip, width_of
from explorer.views.looks import css, dashes
from explorer.views.plates.pen import short
from explorer_widgets.schema import PictureView, ScoreMarkView

DEPTH, SLANT, ROOM = 2.0, 0.35, 0.8
"""Depth of a body: at least so many pixels, and a share of its thickness. Of its room, a body has at most a share."""
MIN_DOT, LEGIBLE_DOT = 2.5, 6.0
"""The least radius of a dot, and of one with a sign in it."""
MIN_TURNED = 11.0
"""Least width of a mark with a turned text, in pixels."""


def score_elements(view: PictureView) -> list[str]:
    """Return the elements of a score, lowest first."""
    marks = view["score"]["marks"] if "score" in view else []
    return [element for mark in marks for element in _elements(mark)]


def _elements(mark: ScoreMarkView) -> Iterator[str]:
    left, top, width, height = mark["at"]
    shape, tip = mark["shape"], f"<title>{escape(mark['tip'])}</title>" if "tip" in mark else ""
    line = f"stroke:{css(mark['stroke'])}" if "stroke" in mark else "stroke:none"
    look = f'stroke-width="{mark.get("width", 1):g}"{dashes(mark.get("dash", ()))}'
    if shape == "rect":
        fill = css(mark["fill"]) if "fill" in mark else "none"
        size = f'x="{short(left)}" y="{short(top)}" width="{short(max(width, 0))}" height="{short(height)}"'
        yield f'<rect {size} rx="{mark.get("radius", 0):g}" style="fill:{fill};{line}" {look}>{tip}</rect>'
    elif shape == "arc":
        bend = top - height * 4 / 3
        d = f"M{short(left)} {short(top)}C{short(left)} {short(bend)} {short(left + width)} {short(bend)} {short(left + width)} {short(top)}"
        yield f'<path d="{d}" style="fill:none;{line}" {look}>{tip}</path>'
    elif shape == "dot":
        radius = max(MIN_DOT, min(height, width / 2 - 0.5))
        fill = "panel" if radius >= LEGIBLE_DOT else mark.get("stroke", "fg")
        yield f'<circle cx="{short(left)}" cy="{short(top)}" r="{short(radius)}" style="fill:{css(fill)};{line}" stroke-width="1.6">{tip}</circle>'
    elif shape == "body":
        yield from _body(mark, tip)
    yield from _words(mark)


def _body(mark: ScoreMarkView, tip: str) -> Iterator[str]:
    middle, top, room, height = mark["at"]
    whole = min(DEPTH + mark.get("thick", 4) * (1 + SLANT), room * ROOM)
    thick = max(0.5, (whole - DEPTH) / (1 + SLANT))
    depth = min(whole - thick, DEPTH + thick * SLANT)
    left, right, bottom = middle - (thick + depth) / 2, middle + (thick - depth) / 2, top + height
    fill = css(mark.get("fill", "kept"))
    sides = (
        (f"M{short(left)} {short(top)}h{short(thick)}v{short(height)}h{short(-thick)}z", 1.0, fill),
        (f"M{short(left)} {short(top)}l{short(depth)} {short(-depth)}h{short(thick)}l{short(-depth)} {short(depth)}z", 0.6, fill),
        (f"M{short(right)} {short(top)}l{short(depth)} {short(-depth)}V{short(bottom - depth)}l{short(-depth)} {short(depth)}z", 1.0, fill),
        (f"M{short(right)} {short(top)}l{short(depth)} {short(-depth)}V{short(bottom - depth)}l{short(-depth)} {short(depth)}z", 0.3, "#000"),
    )
    for d, opacity, colour in sides:
        yield f'<path d="{d}" style="fill:{colour}" opacity="{opacity:g}">{tip}</path>'


def _words(mark: ScoreMarkView) -> Iterator[str]:
    words, (left, top, width, height) = mark.get("words", []), mark["at"]
    if not words or (mark["shape"] == "dot" and width / 2 - 0.5 < LEGIBLE_DOT):
        return
    size, bold = mark.get("size", 12), mark.get("bold", False)
    x, y = (left, top) if mark["shape"] == "dot" or mark.get("start") else (left + width / 2, top + height / 2)
    look = f'style="fill:{css(mark.get("ink", mark.get("stroke", "fg")))};font-size:{size:g}px'
    look += f'{";font-weight:600" if bold or mark["shape"] == "dot" else ""}" text-anchor="{"start" if mark.get("start") else "middle"}"'
    room = width - 4 if width and mark["shape"] != "dot" else 10_000.0
    text = next((one for one in words if width_of(one, size, bold=bold) <= room), None)
    if text is None and mark["shape"] == "rect" and height > 2 * size:
        if width >= MIN_TURNED:
            turned = clip(words[-1], size, height - 6, bold=bold)
            yield f'<text transform="translate({short(x)} {short(y)}) rotate(-90)" dy=".35em" {look}>{escape(turned)}</text>'
        return
    text = clip(words[-1], size, room, bold=bold) if text is None else text
    if len(text) > 2 or text == words[0]:  # noqa: PLR2004 - a letter and an ellipsis say nothing
        yield f'<text x="{short(x)}" y="{short(y)}" dy=".35em" {look}>{escape(text)}</text>'
