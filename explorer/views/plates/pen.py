"""SVG elements with their colours as roles, and words and half bars of plates made of them.

The counterparts in `widgets/js/plates/` are `svg_pen.js`, `labels.js` and `bars.js`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import hypot

from explorer.views.lines import Place
from explorer.views.looks import css, dashes
from explorer.views.plates.plate_words import BOLD, broken, clip, max_characters
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import HalfBarView, NodeView, PlateView
from explorer_widgets.theme import LANES

Rect = tuple[float, float, float, float]
"""Left, top, width, height."""

TITLE, LINES, BARS, WORDS = PLATES["title"], PLATES["lines"], PLATES["bars"], PLATES["words"]
ROOM_MARGIN = 12.0
"""Maximum unused room beside a title."""
ASCENT = PLATES["ascent"]
"""The part of a line of text above its baseline."""
WORD_KINDS = ("calls", "news", "line", "line")

STYLE = "".join(
    f".x-view text.x-plate-{kind}{{font-size:{look['size']:g}px;font-weight:{look['weight']};"
    f"font-style:{look['style']};fill:var(--{look['ink']});text-anchor:middle;paint-order:stroke;"
    f"stroke:var(--ground);stroke-width:{PLATES['halo']:g}px;stroke-linejoin:round}}\n"
    for kind, look in WORDS.items()
)


def short(number: float) -> str:
    """Return a coordinate with one decimal."""
    return f"{round(number, 1) + 0:g}"


def path(
    d: str, *, fill: str = "none", stroke: str = "", width: float = 1.0, dash: Sequence[float] = (), opacity: float = 1
) -> str:
    """Return a path; `fill` and `stroke` are roles of the theme or hexadecimal colours."""
    line = f";stroke:{css(stroke)}" if stroke else ""
    size = f' stroke-width="{round(width, 2):g}"{dashes(dash)}' if stroke else ""
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<path style="fill:{fill if fill == "none" else css(fill)}{line}"{size}{faint} d="{d}"/>'


def words(kind: str, x: float, y: float, text: str) -> str:
    """Return words around a point; their look is a row of `widgets/explorer_widgets/plate_look.py`."""
    return f'<text class="x-plate-{kind}" x="{short(x)}" y="{short(y)}">{escape(text)}</text>'


def rectangle(rect: Rect) -> str:
    """Return a path around a rectangle."""
    left, top, width, height = rect
    return f"M{short(left)} {short(top)}h{short(width)}v{short(height)}h{short(-width)}z"


def round_rectangle(rect: Rect, radius: float) -> str:
    """Return a path around a rectangle with round corners."""
    left, top, width, height = rect
    across, down, r, back = (short(n) for n in (width - 2 * radius, height - 2 * radius, radius, -radius))
    return (
        f"M{short(left + radius)} {short(top)}h{across}q{r} 0 {r} {r}v{down}q0 {r} {back} {r}"
        f"h-{across}q{back} 0 {back} {back}v-{down}q0 {back} {r} {back}z"
    )


def curve(one: Rect, other: Rect, bend: float, turns: Sequence[float] = ()) -> str:
    """Return a curve from the right side of one area to the left side of another, which bends between two turns."""
    x1, y1, x2, y2 = one[0] + one[2], one[1] + one[3] / 2, other[0], other[1] + other[3] / 2
    start, end = (max(x1, turns[0]), min(x2, turns[1])) if turns else (x1, x2)
    by = max(bend, abs(end - start) / 2)
    out = f"L{_points([(start, y1)])}" if start > x1 else ""
    into = f"L{_points([(x2, y2)])}" if end < x2 else ""
    return f"M{_points([(x1, y1)])}{out}C{_points([(start + by, y1), (end - by, y2), (end, y2)])}{into}"


def polyline(points: Sequence[Sequence[float]], radius: float) -> str:
    """Return straight lines with round corners."""
    at = points[0]
    d = f"M{_points([at])}"
    for corner, after in pairwise(points[1:]):
        lengths = [hypot(end[0] - corner[0], end[1] - corner[1]) or 1.0 for end in (at, after)]
        size = min(radius, *lengths)
        start, stop = (
            [corner[i] + (end[i] - corner[i]) * size / length for i in (0, 1)]
            for end, length in zip((at, after), lengths, strict=True)
        )
        d += f"L{_points([start])}Q{_points([corner, stop])}"
        at = stop
    return f"{d}L{_points([points[-1]])}"


def _points(points: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{short(x)} {short(y)}" for x, y in points)


@dataclass(frozen=True, slots=True)
class Words:
    """A line of words at a plate: its look, the middle of its baseline, and what it says."""

    kind: str
    x: float
    y: float
    text: str

    @property
    def area(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        size = WORDS[self.kind]["size"]
        half = BOLD * size * len(self.text) / 2
        return self.x - half, self.y - ASCENT * size, self.x + half, self.y + (1 - ASCENT) * size

    def element(self) -> str:
        """The words as an SVG element."""
        return words(self.kind, self.x, self.y, self.text)


def words_of(node: NodeView, plate: PlateView, rect: Rect) -> list[Words]:
    """Return the title of a plate above its cells, and the lines below."""
    left, top, width, height = rect
    middle, line = left + width / 2, WORDS["line"]["size"]
    below = top + height + (_height_of_bars(plate.get("times", [])) or LINES["below"]) + line
    return [
        Words("title", middle, top - _above(plate), clip(node["title"], "title", plate["room"])),
        *(
            Words(kind, middle, below + number * line * LINES["height"], clip(text, kind, plate["room"]))
            for number, (kind, text) in enumerate(_words_below(plate))
        ),
    ]


def bar_elements(plate: PlateView, rect: Rect) -> Iterator[str]:
    """Return a track and a bar for each lane, below the cells of a plate."""
    left, top, width, height = rect
    for number, bar in enumerate(plate.get("times", [])):
        above = top + height + BARS["off"] + number * (BARS["thick"] + BARS["gap"])
        yield bar_element(bar["lane"], left + (width - BARS["length"]) / 2, above, BARS["length"], bar["share"])


def word_rects(nodes: Sequence[NodeView], places: Sequence[Place]) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the titles of plates, and of the words below them."""
    found: list[tuple[float, float, float, float]] = []
    for node, (x, y, width, height) in zip(nodes, places, strict=True):
        if "plate" in node:
            half = max(width, node["plate"]["room"] - ROOM_MARGIN) / 2
            title = y - height / 2 - _above(node["plate"]) + 3
            top = y + height / 2 + LINES["below"]
            lines = LINES["height"] * WORDS["line"]["size"] * len(_words_below(node["plate"]))
            found.append((x - half, title - WORDS["title"]["size"] - 3, x + half, title))
            found.append((x - half, top, x + half, top + lines))
    return found


def _above(plate: PlateView) -> float:
    """Return how far the title is above the cells."""
    return TITLE["above"] if plate["gap"] else TITLE["above_sheets"]


def _words_below(plate: PlateView) -> list[tuple[str, str]]:
    """Return the lines of text below a plate, each with its look: `wordLines` of `labels.js`.

    Shape and reads are whole, in short or left out: "view, no" would say something else than "view, no copy".
    """
    below = (plate["calls"], plate["news"], plate.get("columns") or plate["shape"], plate["reads"])
    shorter = ("", "", "", plate.get("copies", ""))
    lines: list[tuple[str, str]] = []
    for kind, text, short in zip(WORD_KINDS, below, shorter, strict=True):
        if text and len(lines) < LINES["most"]:
            above, room = len(lines), plate["room"]
            lines += _lines_of(kind, text, above, room) or _lines_of(kind, short, above, room)
    return lines


def _lines_of(kind: str, text: str, above: int, room: float) -> list[tuple[str, str]]:
    """Return words in one line or two below some other lines; none if they have no room."""
    first, rest = broken(text, kind, room) if above + 1 < LINES["most"] else (text, "")
    parts = [part for part in (first, rest) if part]
    if kind == "line" and any(len(part) > max_characters(kind, room) for part in parts):
        return []
    return [(kind, part) for part in parts]


def _height_of_bars(bars: Sequence[HalfBarView]) -> float:
    """Return the room that the bars take below the cells; 0 without bars."""
    return BARS["off"] + len(bars) * (BARS["thick"] + BARS["gap"]) if bars else 0.0


def bar_element(lane: str, left: float, top: float, length: float, share: float) -> str:
    """Return the bar of a lane on its track, outlined for a recorded run."""
    own = rectangle((left, top, max(1.0, share * length), BARS["thick"]))
    role = LANES[lane].line
    parts = [path(rectangle((left, top, length, BARS["thick"])), fill="line")]
    if LANES[lane].recorded:
        return "".join([*parts, path(own, fill=role, opacity=BARS["recorded"]), path(own, stroke=role)])
    return "".join([*parts, path(own, fill=role, stroke=role)])
