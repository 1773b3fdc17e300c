"""A grouping drawn as a graph: boxes that keep their positions, with arrows between them."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.views.box import Box, ShownMode
from explorer.views.graph_svg import graph_elements
from explorer.views.lines import Place, add_lines
from explorer.views.looks import box_look
from explorer.views.places import grid_of, places_of
from explorer.views.request import Request
from explorer_widgets.schema import ColourBy, LegendItem, LookView, Mode, NodeView, PictureView


@dataclass(frozen=True, slots=True)
class GraphPainter:
    """Draws boxes of one size."""

    scoped_titles: bool = True
    has_margins: bool = False

    def shown_mode(self, request: Request, mode: ShownMode) -> ShownMode:
        """Draw any state, and the difference as the union of both."""
        return mode

    def look(self, colour_by: ColourBy, node: NodeView, value: float | None, category: int | None) -> LookView:
        """Return the look of a box, which shows what the step did."""
        return box_look(colour_by, node["change"], node["matched"], value, category)

    def places(self, request: Request, boxes: Sequence[Box], shown: ShownMode) -> list[list[float]]:
        """Return the places of boxes, which are the same before and after the step."""
        grid = grid_of(request.index)
        points = places_of(request.index, request.step, request.group_by).points
        return [[*points[box.id], grid.width, grid.height] for box in boxes]

    def complete(
        self, request: Request, view: PictureView, places: Sequence[Place], mode: Mode, shown: ShownMode
    ) -> None:
        """Add where new boxes came from, how many layers or folds a box is, and the lines."""
        came_from = places_of(request.index, request.step, request.group_by).came_from
        for node in view["nodes"]:
            if node["id"] in came_from:
                node["came_from"] = list(came_from[node["id"]])
            numbers = [f"{node['count']}"] if node["count"] > 1 else []
            numbers += [f"×{node['folds']}"] if node["folds"] > 1 else []
            if numbers:
                node["pill"] = " · ".join(numbers)
        add_lines(view["nodes"], places, view["edges"], view["hulls"])

    def legend(
        self, request: Request, view: PictureView, items: Sequence[LegendItem], shown: ShownMode
    ) -> list[LegendItem]:
        """Return all entries."""
        return list(items)

    def svg_elements(self, view: PictureView, places: Sequence[Place]) -> list[str]:
        """Return boxes, arrows and outlines."""
        return graph_elements(view, places)
