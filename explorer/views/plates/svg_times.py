"""The half bars of plates as SVG elements: the same as `widgets/js/plates/bars.js` draws."""

from collections.abc import Iterator, Sequence

from explorer.views.lanes import RECORDED
from widgets.schema import HalfBarView

LENGTH, OFF, THICK, GAP = 84.0, 6.0, 5.0, 1.5
"""Length of the longest bar of a picture; distance from the cells; height of a bar, and of a gap between two."""

STYLE = """.x-track{fill:var(--line)}
.x-lane-cpu{fill:var(--viewLine);stroke:var(--viewLine)}
.x-lane-cuda{fill:var(--copyLine);stroke:var(--copyLine)}
.x-recorded{fill-opacity:.35}
"""


def height_of_bars(bars: Sequence[HalfBarView]) -> float:
    """Return the room that the bars take below the cells; 0 without bars."""
    return OFF + len(bars) * (THICK + GAP) if bars else 0.0


def bar_elements(bars: Sequence[HalfBarView], middle: float, bottom: float) -> Iterator[str]:
    """Return a track and a bar for each lane, below the cells of a plate, which end at `bottom`."""
    for number, bar in enumerate(bars):
        top = bottom + OFF + number * (THICK + GAP)
        yield bar_element(bar["lane"], middle - LENGTH / 2, top, LENGTH, bar["share"])


def bar_element(lane: str, left: float, top: float, length: float, share: float) -> str:
    """Return the bar of a lane on its track."""
    kind = f"x-lane-{lane.removeprefix(RECORDED)}" + (" x-recorded" if lane.startswith(RECORDED) else "")
    place = f'x="{left:.5g}" y="{top:.5g}" height="{THICK:g}"'
    width = max(1.0, share * length)
    return f'<rect class="x-track" {place} width="{length:g}"/><rect class="{kind}" {place} width="{width:.5g}"/>'
