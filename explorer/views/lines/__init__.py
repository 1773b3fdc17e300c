"""The lines of a graph of boxes: arrows around boxes, outlines of matches, and their labels.

They are decided here once: the interactive view, SVG and PNG draw the same points.
"""

from explorer.views.lines.drawing import add_lines, add_outlines, arrow_head, curve, label_of, overlap, spots_by_id
from explorer.views.lines.routes import STACK, Place, Point, Spot, direct, routes

__all__ = [
    "STACK",
    "Place",
    "Point",
    "Spot",
    "add_lines",
    "add_outlines",
    "arrow_head",
    "curve",
    "direct",
    "label_of",
    "overlap",
    "routes",
    "spots_by_id",
]
