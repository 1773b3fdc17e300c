"""Missed folds as SVG elements, dotted lines and reasons in words: the same as `widgets/js/plates/links.js` draws."""

from collections.abc import Sequence
from html import escape

from explorer.views.plates.pen import words
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import LinkView

LINE = PLATES["lines"]["height"] * PLATES["words"]["reason"]["size"]
BASELINE = PLATES["ascent"]
"""Of the height of the first line."""

STYLE = (
    f".x-missed{{fill:none;stroke:var(--nearMiss);stroke-width:{PLATES['link']['width']:g};"
    f"stroke-dasharray:{' '.join(map(str, PLATES['link']['dash']))};stroke-linecap:round}}\n"
)


def link_elements(links: Sequence[LinkView]) -> list[str]:
    """Return the elements of the links of a picture; a reason without a place is a tooltip only."""
    return [_link(link) for link in links]


def _link(link: LinkView) -> str:
    d = "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in link["points"])
    texts = ""
    if "at" in link:
        x, y = link["at"]
        texts = "".join(words("reason", x, y + LINE * (i + BASELINE), line) for i, line in enumerate(link["lines"]))
    return f'<g><path class="x-missed" d="{d}"/><title>{escape(" ".join(link["lines"]))}</title>{texts}</g>'
