"""The lanes of a score: their heights, and the marks that all of them use."""

from dataclasses import dataclass

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import modules_of, path_of
from explorer_widgets.schema import ScoreMarkView

HEAD, BAND, ARCS, TITLES, FRAMES = 46.0, 18.0, 40.0, 16.0, 112.0
"""Heights of the headline, of a band of modules, of arcs above calls, of the titles of calls and of the calls."""
SEAMS, FAR, LINE, TRAFFIC, MARGIN = 24.0, 26.0, 16.0, 62.0, 10.0
"""Heights of the signs at seams, of arcs between calls apart, of a line of words, of bars and between lanes."""
MAX_BANDS, MAX_LINES = 4, 5


@dataclass(frozen=True, slots=True)
class Lanes:
    """The upper edges of the lanes, the same in each step of a trace."""

    bands: int
    """Number of lines of modules."""

    @property
    def arcs(self) -> float:
        """Arcs above calls."""
        return HEAD + self.bands * BAND + 4

    @property
    def calls(self) -> float:
        """Frames of calls."""
        return self.arcs + ARCS + TITLES

    @property
    def seams(self) -> float:
        """Signs at seams."""
        return self.calls + FRAMES + 2

    @property
    def traffic(self) -> float:
        """Bars of bytes."""
        return self.seams + SEAMS + FAR + MAX_LINES * LINE + MARGIN

    @property
    def bottom(self) -> float:
        """The lower edge of the last lane."""
        return self.traffic + TRAFFIC + MARGIN


@cached
def lanes_of(index: TraceIndex) -> Lanes:
    """Return the lanes of a trace: lines for as many modules in each other as any step has, and for parts."""
    modules = modules_of(index)
    depth = max((len(path_of(module)) for module in modules), default=0)
    return Lanes(min(MAX_BANDS, depth + ("backward" in modules)))


def text_mark(key: str, x: float, y: float, words: str, **look: object) -> ScoreMarkView:
    """Return a line of text that begins at a point."""
    mark: ScoreMarkView = {"shape": "text", "key": key, "at": [x, y, 0.0, 0.0], "words": [words], "start": True}
    return {**mark, **look}  # pyright: ignore[reportReturnType]


def rounded(*numbers: float) -> list[float]:
    """Return coordinates with one digit behind the point."""
    return [round(number, 1) for number in numbers]
