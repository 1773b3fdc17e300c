"""A grouping drawn as plates: a cell for each layer, where its variables are; and its legend."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.views.boxes import Box, ShownMode
from explorer.views.hulls import hulls_of
from explorer.views.lines import STACK, Place, Spot, add_outlines, spots_by_id
from explorer.views.looks import KIND_COLOURS, plate_look
from explorer.views.messages import SHOW_ALL
from explorer.views.plates.cells import plates_of
from explorer.views.plates.drawing import (
    add_cells,
    origins_of_cells,
    placed_at,
    plate_view,
    rects_of,
    stage_of,
    wiring_of,
)
from explorer.views.plates.extent import extent_of
from explorer.views.plates.lens import lens_hulls, rule_views
from explorer.views.plates.links import link_views, missed_links
from explorer.views.plates.pen import word_rects
from explorer.views.plates.pins import pin_views
from explorer.views.plates.plate_words import copies_before_folding, note_of_plates
from explorer.views.plates.plates_svg import plates_elements
from explorer.views.plates.times import (
    PlateTimes,
    half_bars,
    legend_of_times,
    missing_note,
    plate_times,
    roof_text,
    time_of,
)
from explorer.views.request import Request
from explorer.views.swatches import HELD
from explorer.views.words import BADGE_TEXTS, MISSED_FOLD, OUTPUT, legend_items
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import (
    ColourBy,
    EdgeView,
    HullView,
    LegendItem,
    LookView,
    Mode,
    NodeView,
    PictureView,
    PlateView,
)
from explorer_widgets.theme import KINDS


@dataclass(frozen=True, slots=True)
class PlatesPainter:
    """Draws plates; the difference of a step is shown as movement."""

    scoped_titles: bool = False
    has_margins: bool = True
    has_hulls: bool = True

    def shown_mode(self, request: Request, mode: ShownMode) -> ShownMode:
        """Draw as the difference the state after, or before the step if that has what is asked for."""
        if mode != "diff":
            return mode
        return "before" if request.looks_before else "after"

    def look(self, colour_by: ColourBy, node: NodeView, value: float | None, category: int | None) -> LookView:
        """Return the look of a plate; its cells show what the step did."""
        return plate_look(colour_by, node["kind"], value, category)

    def places(self, request: Request, boxes: Sequence[Box], shown: ShownMode) -> list[list[float]]:
        """Return the places of plates in the state that is drawn."""
        return rects_of(request.index, request.state_step(shown), [box.id for box in boxes])

    def complete(
        self, request: Request, view: PictureView, places: Sequence[Place], mode: Mode, shown: ShownMode
    ) -> None:
        """Add cells, times, missed folds, what the rule lens shows, outlines of matches, and what moves where."""
        index, step, at = request.index, request.step, request.state_step(shown)
        stage = stage_of(index, at)
        add_cells(index, at, view["edges"])
        _add_plates(request, view["nodes"], at, marked=mode != "after")
        view["width"], view["height"] = stage.width, stage.height
        called = {plate.id for plate in plates_of(index, at).plates if plate.is_called}
        without = missing_note([node for node in view["nodes"] if node["id"] in called])
        view["note"] = note_of_plates(index, at, max(step - 1, 0) if mode == "diff" else at) + without
        view["links"] = list(link_views(missed_links(index, at), wiring_of(index, at)))
        view["actions"] = [action for action in view.get("actions", []) if action["name"] != SHOW_ALL]
        if shown == "before" and request.trial is None:
            view["hulls"], misses = lens_hulls(index, step, request.near_misses)
            view["misses"], view["rules"] = misses, rule_views(index, [*view["hulls"], *misses])
            view["hulls"] = [_with_fill(hull, request.colour_by) for hull in view["hulls"]]
        words, spots = word_rects(view["nodes"], places), spots_by_id(view["nodes"], places)
        add_outlines(view["hulls"], spots, words)
        for miss in view.get("misses", []):  # only one at a time is drawn
            add_outlines([miss], spots, words)
        if mode == "diff":
            view["origins"] = origins_of_cells(index, step)
            view["matches"] = hulls_of(index, step, request.group_by, "before")
            add_outlines(view["matches"], _spots_before(request), words)
        if shown == "after" and request.trial is None:
            view["pins"] = pin_views(index, step, view, places)
        view["extent"] = extent_of(view, places, stage)

    def legend(
        self, request: Request, view: PictureView, items: Sequence[LegendItem], shown: ShownMode
    ) -> list[LegendItem]:
        """Return entries for times, for cells and their lines, and those for hulls and badges."""
        signs = BADGE_TEXTS.keys() - {MISSED_FOLD, OUTPUT}  # links show missed folds, words show outputs
        shared = [item for item in items if item["channel"] == "hull" or item["sign"] in signs]
        times = legend_of_times(_times(request, request.state_step(shown)), request.full_ms)
        copies = copies_before_folding(request.index, request.state_step(shown))
        unfolded = f"read, not folded{': some are copied' if copies else ''}"
        reads = unfolded if request.index.trace.level.has_folds else "read"
        plates = plates_legend(view["nodes"], view["edges"], view["looks"], reads)
        missed = (bool(view.get("links")), "line", "nearMiss", "", "nearly folded together")
        held = (any(pin["strokes"] for pin in view.get("pins", [])), "line", HELD, "", "keeps layers apart")
        return [*times, *plates, *shared, *legend_items(missed, held)]

    def svg_elements(self, view: PictureView, places: Sequence[Place]) -> list[str]:
        """Return plates, lines and outlines."""
        return plates_elements(view, places)


def _add_plates(request: Request, nodes: Sequence[NodeView], at: int, *, marked: bool) -> None:
    """Add to nodes what is drawn in their plates after the step `at`."""
    index, step = request.index, request.step
    times = _times(request, at)
    plates = {plate.id: plate for plate in plates_of(index, at).plates}
    for node in nodes:
        node["plate"] = plate_view(index, step, node["id"], at=at, near_misses=request.near_misses, marked=marked)
        bars = half_bars(plates[node["id"]], times, request.full_ms)
        if bars:
            node["plate"]["times"] = bars
            told = (time_of(plates[node["id"]], times), roof_text(plates[node["id"]], times))
            node["plate"]["calls"] = ", ".join(filter(None, (node["plate"]["calls"], *told)))


def _with_fill(hull: HullView, colour_by: ColourBy) -> HullView:
    """Add to the lens of a hull the colour of what its matches make, if cells have the colours of their kinds."""
    made = hull["lens"].get("made") if "lens" in hull else None
    if colour_by not in KIND_COLOURS or not made or "lens" not in hull:
        return hull
    return {**hull, "lens": {**hull["lens"], "fill": made[0]["kind"]}}


def _times(request: Request, at: int) -> PlateTimes:
    return plate_times(request.index, at, plates_of(request.index, at).plates, request.layer_times)


def _spots_before(request: Request) -> dict[str, Spot]:
    """Return the places of the plates before the step."""
    step = max(request.step - 1, 0)
    placed = placed_at(request.index, step)
    places = zip(placed.items(), rects_of(request.index, step, list(placed)), strict=True)
    return {
        name: Spot(x, y, w, h, STACK if one.plate.node is not None else 0.0) for (name, one), (x, y, w, h) in places
    }


def plates_legend(
    nodes: Sequence[NodeView], edges: Sequence[EdgeView], looks: Sequence[LookView], unfolded: str
) -> list[LegendItem]:
    """Return the legend of a picture: of its kinds only those whose colours it has; `unfolded`: of reads not folded."""
    plates = [node["plate"] for node in nodes if "plate" in node]
    kinds = {node["kind"] for node in nodes if looks[node["look"]]["fill"] == node["kind"]}
    marks = {mark for plate in plates for mark in plate.get("marks", {})}
    return legend_items(
        *((name in kinds, "cell", name, "", kind.words) for name, kind in KINDS.items()),
        (any(plate["gap"] for plate in plates), "cell", "apart", "", "apart: each is a call"),
        (
            any(not plate["gap"] for plate in plates),
            "cell",
            "folded",
            "",
            "closed up: one call",
        ),
        (any(map(_has_gaps, plates)), "cell", "pale", "", "pale: no slice here"),
        (any(edge["read"] is None for edge in edges), "line", "edge", "", unfolded),
        (
            any(edge["read"] and not edge["copied_bytes"] for edge in edges),
            "line",
            "viewLine",
            "",
            "read, no copy",
        ),
        (any(edge["copied_bytes"] for edge in edges), "line", "copyLine", "", "read, copied"),
        (any("port" in edge for edge in edges), "line", "port", "", "a line goes on at the same number"),
        *((mark in marks, "mark", mark, "", look["words"]) for mark, look in PLATES["marks"].items()),
    )


def _has_gaps(plate: PlateView) -> bool:
    """Return whether the slices of one call leave parts of its sheets free."""
    places = list(zip(*[iter(plate["places"])] * 4, strict=True))
    across, down = max(x + width for x, _, width, _ in places), max(y + height for _, y, _, height in places)
    return plate["gap"] == 0 and sum(width * height for _, _, width, height in places) < across * down
