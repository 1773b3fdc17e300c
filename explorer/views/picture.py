"""The picture of a step: boxes, arrows, hulls, badges, texts, and their coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.errors import check_name
from explorer.views.box import Box, ShownMode, is_shown
from explorer.views.boxes import detail_of, folds_of_box, forms_of, kind_of_box, state_of_box, title_of
from explorer.views.edges import edge_view, edges_of
from explorer.views.fills import Forms, fill_legend, fills_of, log_scale
from explorer.views.grouping import boxes_of, drawn_grouping
from explorer.views.hulls import hulls_of
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes
from explorer.views.layout import MARGIN
from explorer.views.messages import SHOW_ALL, actions_of, caption_of, message_of, note_of, step_title
from explorer.views.places import grid_of, places_of
from explorer.views.plain import plain_view
from explorer.views.plates.cells import plates_of
from explorer.views.plates.drawing import add_cells, origins_of_cells, plate_view, rects_of, size_of, stage_of
from explorer.views.plates.legend import link_legend, plates_legend
from explorer.views.plates.lens import lens_hulls
from explorer.views.plates.links import link_views, missed_links
from explorer.views.plates.rules import rule_views
from explorer.views.plates.times import half_bars, legend_of_times, plate_times
from explorer.views.plates.words import note_of_plates
from explorer.views.roles import OUTPUT
from explorer.views.tables import table_of
from explorer.views.trials import PatternTrial
from explorer.views.words import bytes_text, plural
from widgets.schema import (
    VERSION,
    BadgeView,
    ColourBy,
    EdgeView,
    GroupBy,
    HullView,
    LegendItem,
    Mode,
    NodeView,
    PictureView,
)

MODES: tuple[Mode, ...] = ("diff", "before", "after", "side")
"""The modes that users can choose."""
ALL_MODES: tuple[Mode, ...] = (*MODES, "plain")
COLOURS: tuple[ColourBy, ...] = ("change", "kind", "time", "memory", "fold")
GROUPINGS: tuple[GroupBy, ...] = ("plates", "fold", "none", "scope")

CHANGE_SIGNS = {
    "added": ("+", "created by this step"),
    "removed": ("−", "removed by this step"),
    "changed": ("~", "changed by this step"),
}
HULL_SIGNS = {
    "match": ("M", "match that was applied"),
    "winner": ("W", "match that won a conflict"),
    "lost": ("✕", "match that lost a conflict"),
    "near-miss": ("?", "near miss"),
}
KIND_SIGNS = {
    "input": ("", "input"),
    "sum": ("+", "sum"),
    "product": ("×", "product"),
    "fused": ("+×", "fused layer"),
    "matmul": ("", "matrix product, convolution"),
    "view": ("", "moves numbers, computes none"),
    "operator": ("", "other node"),
    "leaf": ("", "leaf"),
}
MISSED_FOLD = "≠"
BADGE_TEXTS = {"✕": "lost a conflict", "?": "near miss", MISSED_FOLD: "nearly folded with another", OUTPUT: "output"}


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as plain data, and x, y, width, height of its nodes in order, followed by those of `other`."""

    view: PictureView
    coordinates: NDArray[np.float32]


def picture(
    index: TraceIndex,
    step: "int | str",
    mode: Mode = "diff",
    colour_by: ColourBy = "change",
    group_by: GroupBy = "fold",
    *,
    near_misses: str | None = None,
    times: Mapping[int, float] | None = None,
    layer_times: LayerTimes | None = None,
    trial: PatternTrial | None = None,
    everything: bool = False,
) -> Picture:
    """Return the picture of a step.

    `near_misses` names a pattern whose near misses get hulls and badges; `times` maps node ids to milliseconds, for
    `colour_by="time"`; `layer_times` are drawn as half bars of plates; a `trial` replaces the step's matches, hulls
    and message by those of a trial pattern. A grouping of more than 2,000 boxes is drawn by level and fold key, with a
    note and the action `show-all`, unless `everything` is set.
    Raises: UnknownNameError for an unknown step, mode, colouring, grouping or pattern.
    """
    choices = (("mode", mode, ALL_MODES), ("colouring", colour_by, COLOURS), ("grouping", group_by, GROUPINGS))
    for kind, name, known in choices:
        check_name(kind, name, known)
    at = index.step(step).index
    drawn = group_by if everything else drawn_grouping(index, at, group_by)
    painter = _Painter(index, at, colour_by, drawn, near_misses, times, layer_times or {}, trial)
    if mode == "plain":
        after = painter.paint("after", "after")
        return Picture(plain_view(after.view), after.coordinates)
    if mode != "side":
        return painter.paint(mode, mode)
    left, right = painter.paint("before", "side"), painter.paint("after", "after")
    left.view["other"] = right.view
    left.view["legend"] += [item for item in right.view["legend"] if item not in left.view["legend"]]
    if right.view["note"] != left.view["note"]:
        left.view["note"] = f"Before: {left.view['note']} After: {right.view['note']}"
    left.view["width"] = right.view["width"] = max(left.view["width"], right.view["width"])
    left.view["height"] = right.view["height"] = max(left.view["height"], right.view["height"])
    return Picture(left.view, np.concatenate([left.coordinates, right.coordinates]))


@dataclass(frozen=True)
class _Painter:
    index: TraceIndex
    step: int
    colour_by: ColourBy
    group_by: GroupBy
    near_misses: str | None
    times: Mapping[int, float] | None
    layer_times: LayerTimes
    trial: PatternTrial | None

    def paint(self, shown_mode: ShownMode, mode: Mode) -> Picture:
        index, step = self.index, self.step
        if self.group_by == "plates" and shown_mode == "diff":
            shown_mode = self._state_of_plates()
        everything = boxes_of(index, step, self.group_by)
        boxes = [box for box in everything.boxes if is_shown(box, shown_mode)]
        hulls = hulls_of(index, step, self.group_by, shown_mode, self.near_misses, self.trial)
        edges = [edge_view(edge, everything) for edge in edges_of(index, step, self.group_by, shown_mode)]
        nodes, legend = self._nodes(boxes, hulls, shown_mode)
        coordinates = self._coordinates(boxes, shown_mode)
        width, height = (coordinates[:, :2] + coordinates[:, 2:] / 2).max(axis=0).tolist() if boxes else (0.0, 0.0)
        at = max(step - 1, 0) if shown_mode == "before" else step
        if self.group_by == "plates":
            width, height = size_of(index, at)
            add_cells(index, at, edges)
            for node in nodes:
                marked = mode != "after"
                node["plate"] = plate_view(index, step, node["id"], at=at, near_misses=self.near_misses, marked=marked)
            legend += self._add_times(nodes, at)
        view: PictureView = {
            "version": VERSION,
            "step": step,
            "mode": mode,
            "colour_by": self.colour_by,
            "group_by": self.group_by,
            "title": step_title(index, step),
            "caption": caption_of(index, step),
            "note": note_of(boxes, shown_mode, index.noun),
            "message": message_of(index, step) if self.trial is None else self.trial.text,
            "actions": actions_of(index, step, boxes, self.near_misses, self.trial is not None),
            "width": width + MARGIN,
            "height": height + MARGIN,
            "nodes": nodes,
            "edges": edges,
            "hulls": hulls,
            "legend": [*legend, *self._legend(nodes, edges, hulls)],
            "table": table_of(nodes, edges, hulls),
        }
        if self.group_by == "plates":
            view["note"] = note_of_plates(plates_of(index, at), index.noun)
            view["links"] = list(link_views(missed_links(index, at), stage_of(index, at)))
            view["legend"] += link_legend(view["links"])
            if shown_mode == "before" and self.trial is None:
                view["hulls"], misses = lens_hulls(index, step, self.near_misses)
                view["misses"], view["rules"] = misses, rule_views(index, [*view["hulls"], *misses])
            view["actions"] = [action for action in view.get("actions", []) if action["name"] != SHOW_ALL]
        if self.group_by == "plates" and mode == "diff":
            view["origins"] = origins_of_cells(index, step)
            view["matches"] = hulls_of(index, step, self.group_by, "before")
        return Picture(view, coordinates)

    def _add_times(self, nodes: Sequence[NodeView], at: int) -> list[LegendItem]:
        """Add the half bars of plates whose calls were measured, and return their legend."""
        plates = {plate.id: plate for plate in plates_of(self.index, at).plates}
        times = plate_times(self.index, at, list(plates.values()), self.layer_times)
        for node in nodes:
            bars = half_bars(plates[node["id"]], times)
            if bars and "plate" in node:
                node["plate"]["times"] = bars
        return legend_of_times(times)

    def _state_of_plates(self) -> ShownMode:
        """What plates show as the difference: the state after, or before it if that has what is asked for.

        The difference itself is shown as movement.
        """
        looks_before = self.near_misses is not None or (self.trial is not None and not self.trial.after)
        return "before" if looks_before else "after"

    def _legend(
        self, nodes: Sequence[NodeView], edges: Sequence[EdgeView], hulls: Sequence[HullView]
    ) -> list[LegendItem]:
        items = _legend(nodes, edges, hulls, self.trial is not None, self.index.noun)
        if self.group_by != "plates":
            return items
        signs = BADGE_TEXTS.keys() - {MISSED_FOLD}  # links show missed folds
        shared = [item for item in items if item["channel"] == "hull" or item["sign"] in signs]
        return [*plates_legend(nodes, edges, self.colour_by not in ("change", "kind")), *shared]

    def _coordinates(self, boxes: Sequence[Box], mode: ShownMode) -> NDArray[np.float32]:
        if self.group_by == "plates":
            at = max(self.step - 1, 0) if mode == "before" else self.step
            return np.array(rects_of(self.index, at, [box.id for box in boxes]), np.float32).reshape(-1, 4)
        grid = grid_of(self.index)
        points = places_of(self.index, self.step, self.group_by).points
        rows = [(*points[box.id], grid.width, grid.height) for box in boxes]
        return np.array(rows, np.float32).reshape(-1, 4)

    def _nodes(
        self, boxes: Sequence[Box], hulls: Sequence[HullView], mode: ShownMode
    ) -> tuple[list[NodeView], list[LegendItem]]:
        index, step = self.index, self.step
        with_forms: list[tuple[Box, Forms]] = [
            (box, forms_of(index, state_of_box(index, step, box), box.ids)) for box in boxes
        ]
        fills = fills_of(index, step, with_forms, self.colour_by, self.times)
        badges = self._badges(boxes, hulls)
        tried = {name for hull in hulls if hull["kind"] == "match" for name in hull["nodes"]}
        nodes: list[NodeView] = []
        for (box, forms), fill, place in zip(with_forms, fills, log_scale(fills), strict=True):
            state = state_of_box(index, step, box)
            nodes.append(
                {
                    "id": box.id,
                    "ids": list(box.ids),
                    "title": title_of(index, state, box, forms, with_scope=self.group_by != "plates"),
                    "detail": detail_of(box, forms, grid_of(index)),
                    "kind": kind_of_box(forms),
                    "level": box.level_before if mode == "before" else box.level,
                    "count": len(box.ids),
                    "folds": folds_of_box(box, forms),
                    "change": box.change,
                    "fill": place,
                    "fill_text": fill.text,
                    "category": fill.category,
                    "matched": box.roles > 0 and mode != "after" if self.trial is None else box.id in tried,
                    "badges": badges.get(box.id, []),
                }
            )
            if self.group_by != "plates":
                came_from = places_of(index, step, self.group_by).came_from
                if box.id in came_from:
                    nodes[-1]["came_from"] = list(came_from[box.id])
        return nodes, fill_legend(fills, self.colour_by)

    def _badges(self, boxes: Sequence[Box], hulls: Sequence[HullView]) -> dict[str, list[BadgeView]]:
        found: dict[str, list[BadgeView]] = {}
        for kind, sign in (("lost", "✕"), ("near-miss", "?")):
            texts: dict[str, list[str]] = {}
            for hull in hulls:
                if hull["kind"] == kind and hull["nodes"]:
                    texts.setdefault(hull["nodes"][0], []).append(f"{hull['label']}, {hull['reason']}")
            for name, lines in texts.items():
                found.setdefault(name, []).append({"sign": sign, "text": "; ".join(lines), "tone": "warning"})
        if self.index.trace.level.has_circuit:
            states = (self.index.before(self.step), self.index.state(self.step))
            outputs = {output for state in states if len(state.outputs) > 1 for output in state.outputs}
            for box in boxes if outputs else ():
                if count := len(outputs.intersection(box.ids)):
                    text = (
                        "an output of the circuit" if len(box.ids) == 1 else f"{plural(count, 'output')} of the circuit"
                    )
                    found.setdefault(box.id, []).append({"sign": OUTPUT, "text": text, "tone": "info"})
        folded_at = self.index.folded_at
        folded = [box for box in boxes if len(box.ids) == 1 and box.after and folded_at[box.ids[0]] <= self.step]
        single = {box.ids[0]: box.id for box in folded}
        missed: dict[str, list[str]] = {}
        for miss in self.index.missed_folds if single else ():
            for node in miss.nodes:
                if node in single:
                    other = miss.nodes[1 - miss.nodes.index(node)]
                    missed.setdefault(single[node], []).append(f"Not folded together with node {other}: {miss.reason}")
        for name, lines in missed.items():
            found.setdefault(name, []).append({"sign": MISSED_FOLD, "text": "; ".join(lines), "tone": "info"})
        return found


def _legend(
    nodes: Sequence[NodeView], edges: Sequence[EdgeView], hulls: Sequence[HullView], tried: bool, noun: str
) -> list[LegendItem]:
    """Return the legend of borders, hulls, badges, shapes and edges that occur."""
    changes = {node["change"] for node in nodes} | {edge["change"] for edge in edges}
    kinds = {node["kind"] for node in nodes}
    hull_kinds = {hull["kind"] for hull in hulls}
    signs = {badge["sign"] for node in nodes for badge in node["badges"]}
    items: list[LegendItem] = []

    def add(channel: str, role: str, sign: str, text: str) -> None:
        items.append({"channel": channel, "role": role, "sign": sign, "text": text})  # pyright: ignore[reportArgumentType]

    for change, (sign, text) in CHANGE_SIGNS.items():
        if change in changes:
            add("border", change, sign, text)
    if any(node["matched"] for node in nodes):
        add("fill", "matched", "M", "part of a match")
    for kind, (sign, text) in HULL_SIGNS.items():
        if kind in hull_kinds:
            add("hull", kind, sign, "match of the pattern that is tried" if tried and kind == "match" else text)
    hull_signs = {HULL_SIGNS[kind][0] for kind in hull_kinds}
    for sign, text in BADGE_TEXTS.items():
        if sign in signs - hull_signs:
            add("badge", "info" if sign in (MISSED_FOLD, OUTPUT) else "warning", sign, text)
    for kind, (sign, text) in KIND_SIGNS.items():
        if kind in kinds:
            add("shape", kind, sign, text)
    if any(node["folds"] > 1 for node in nodes):
        add("badge", "stack", "xF", "F layers folded into one")
    if any(node["count"] > 1 for node in nodes):
        add("badge", "count", "N×", f"N {noun}s in one box")
    copied = sum(edge["copied_bytes"] for edge in edges)
    if copied:
        add("edge", "copy", "n B", f"bytes copied per example, {bytes_text(copied)} in all")
    return items
