"""Missed folds as SVG elements: dotted lines between plates, and the reasons in words."""

from collections.abc import Sequence
from html import escape

from widgets.schema import LinkView

LINE = 15.0
"""Height of a line of text, in pixels."""
MAX_WORDED = 3
"""Of more links, those without room of their own are not described in the picture."""

STYLE = """.x-missed{fill:none;stroke:var(--nearMiss);stroke-width:2;stroke-dasharray:2 5;stroke-linecap:round}
.x-view text.x-reason{font-size:12px;font-style:italic;paint-order:stroke;stroke:var(--bg);stroke-width:4px}
"""


def link_elements(links: Sequence[LinkView]) -> list[str]:
    """Return the elements of the links of a picture."""
    return [_link(link, worded="at" in link or len(links) <= MAX_WORDED) for link in links]


def _link(link: LinkView, *, worded: bool) -> str:
    path = "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in link["points"])
    (left, top), (right, _) = link["points"][1], link["points"][-2]
    x, y = link.get("at", [(left + right) / 2, top])
    words = "".join(
        f'<text class="x-reason" x="{x:.5g}" y="{y + LINE * (i + 0.8):.5g}" text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(link["lines"] if worded else ())
    )
    return f'<g><path class="x-missed" d="{path}"/><title>{escape(" ".join(link["lines"]))}</title>{words}</g>'
