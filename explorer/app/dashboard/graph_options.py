"""How the graph of the dashboard is shown, and how high it is beside the other parts of the page."""

from typing import Any

CHROME_HEIGHT = 162
"""Pixels of the page outside of the graph: header, the graph's own bars, cost strip, buttons of the tools."""

HEADING_HEIGHT = 36
"""Pixels of the headings above two compared graphs."""


def graph_options(drawer: str, narrow: bool = False) -> dict[str, Any]:
    """Return how the graph is shown above a drawer of this height; empty if it is closed."""
    taken = f"{CHROME_HEIGHT + narrow * HEADING_HEIGHT}px" + (f" - {drawer}" if drawer else "")
    return {
        "height": f"max(220px, calc(100vh - {taken}))",
        "legend": not drawer,
        "compact": narrow,
        "inspector": "drawer" if narrow else "side",
        "requests": ["why-not", "timing"],
    }
