"""Shapes of a figure, drawn on a white card so that they look the same in every theme and on paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

INK, MUTED, LINE = "#16191d", "#565d66", "#858c96"
BLUE, ORANGE, GREEN, PINK, GREY = "#0072b2", "#b85200", "#00795a", "#9c4a78", "#565d66"
PALE = {BLUE: "#cfe3f5", ORANGE: "#f8d9c6", GREEN: "#cdeadf", PINK: "#f6d5e4", GREY: "#e3e3e3"}
"""The fill that belongs to each colour of lines."""
WIDTH = 760
SIZE = 14
"""Pixels of text; small text has one less."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Figure:
    """A finished figure: displayed as SVG, and as its words where SVG cannot be shown."""

    svg: str
    words: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.words}

    def __repr__(self) -> str:
        return self.words


@dataclass(slots=True)
class Drawing:
    """Collects shapes; `figure` finishes them."""

    height: float
    width: float = WIDTH
    parts: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, w: float, h: float, colour: str, *, fill: str = "", dash: str = "") -> None:
        """Add a rectangle, filled with the pale variant of its colour."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{fill or PALE[colour]}" '
            f'stroke="{colour}" stroke-width="1.4"{dashed}/>'
        )

    def circle(self, x: float, y: float, radius: float, colour: str) -> None:
        """Add a circle, filled with the pale variant of its colour."""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{PALE[colour]}" stroke="{colour}" '
            'stroke-width="1.4"/>'
        )

    def line(
        self, points: Sequence[tuple[float, float]], colour: str = LINE, *, width: float = 1.4, arrow: bool = False
    ) -> None:
        """Add a line through points, with an arrow at its end if asked for."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        head = ' marker-end="url(#head)"' if arrow else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{head}/>')

    def polygon(self, points: Sequence[tuple[float, float]], colour: str, *, fill: str = "") -> None:
        """Add a closed shape."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colours = f'fill="{fill or PALE[colour]}" stroke="{colour}" stroke-width="1.4"'
        self.parts.append(f'<polygon points="{path}" {colours}/>')

    def ticks(self, xs: Sequence[float], y: float, h: float, colour: str) -> None:
        """Add thin vertical lines at some places, as one shape."""
        path = "".join(f"M{x:.1f} {y:.1f}v{h:.1f}" for x in xs)
        self.parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="0.8"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        at: str = "start",
        colour: str = INK,
        bold: bool = False,
        small: bool = False,
    ) -> None:
        """Add a line of text; `at` is the part of it at x: start, middle or end."""
        weight = ' font-weight="650"' if bold else ""
        size = SIZE - small
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{at}"{weight}>'
            f"{escape(words)}</text>"
        )

    def figure(self, words: str) -> Figure:
        """Finish the figure; `words` describe it for those who do not see it."""
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        marker = 'id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
        head = f'<defs><marker {marker}><path d="M0 0L8 4L0 8z" fill="{MUTED}"/></marker></defs>'
        card = f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>'
        body = "\n".join(self.parts)
        return Figure(
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(words, quote=True)}" '
            f'font-family="{FONT}">\n{head}\n{card}\n{body}\n</svg>',
            words,
        )
