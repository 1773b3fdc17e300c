"""The picture of a step: boxes, arrows, hulls, badges, texts, and their coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.errors import check_name
from explorer.views.boxes import (
    Box,
    ShownMode,
    detail_of,
    folds_of_box,
    forms_of,
    is_shown,
    kind_of_box,
    state_of_box,
    table_of,
    title_of,
)
from explorer.views.buffers import buffers_of
from explorer.views.clock import full_width
from explorer.views.graph_painter import GraphPainter
from explorer.views.grouping import boxes_of, drawn_grouping, edge_view, edges_of
from explorer.views.hulls import hulls_of
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes, main_lane, where_text
from explorer.views.layout import MARGIN
from explorer.views.lines import Place
from explorer.views.looks import Forms, fill_legend, fills_of, scale_fills, shown_colouring
from explorer.views.messages import actions_of, caption_of, message_of, note_of, step_title
from explorer.views.plates.painter import PlatesPainter
from explorer.views.request import Painter, PatternTrial, Request
from explorer.views.scopes import columns_text
from explorer.views.score.painter import ScorePainter
from explorer.views.swatches import with_swatch
from explorer.views.words import (
    BADGE_TEXTS,
    CHANGE_TEXTS,
    HULL_TEXTS,
    LOST,
    MISSED_FOLD,
    NEAR_MISS,
    OUTPUT,
    bytes_text,
    legend_items,
    plural,
)
from explorer_widgets.schema import (
    VERSION,
    BadgeView,
    ColourBy,
    EdgeView,
    GroupBy,
    HullView,
    LegendItem,
    LookView,
    Mode,
    NodeView,
    PictureView,
)
from explorer_widgets.theme import CHANGES, HULLS, KINDS, MATCHED, value_role

TELLING_CHANNELS = ("border", "hull", "mark")
"""Channels of the legend that show what a step did."""
TELLING_ROLES = ("matched", "info", "warning", "nearMiss")
"""Signs of matches, conflicts, near misses and missed folds."""

Texts = dict[str, list[str]]
"""Lines of text by box."""

MODES: tuple[Mode, ...] = ("diff", "before", "after", "side")
"""The modes that users can choose."""
ALL_MODES: tuple[Mode, ...] = (*MODES, "plain")
COLOURS: tuple[ColourBy, ...] = ("change", "kind", "time", "memory", "order", "value", "fold")
UNCOLOURED: Mapping[ColourBy, str] = {
    "time": "Not measured yet, so the colours are not those of times.",
    "memory": "The bytes are not known, so the colours are not those of bytes.",
    "order": "Nothing is called, so the colours are not those of the order.",
}
"""The notes of pictures without a value to colour boxes by."""
PAINTERS: Mapping[GroupBy, Painter] = {
    "plates": PlatesPainter(),
    "score": ScorePainter(),
    "fold": GraphPainter(),
    "none": GraphPainter(),
    "scope": GraphPainter(),
}
"""The painter of each grouping."""
GROUPINGS: tuple[GroupBy, ...] = tuple(PAINTERS)


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as plain data, and x, y, width, height of its nodes in order, followed by the nodes of `other`."""

    view: PictureView
    coordinates: NDArray[np.float32]

    @property
    def places(self) -> list[Place]:
        """Centre, width and height of each box."""
        return places_from(self.coordinates)


def places_from(coordinates: NDArray[np.float32]) -> list[Place]:
    """Return the rows of an array of coordinates."""
    return [(x, y, width, height) for x, y, width, height in coordinates.astype(float).tolist()]


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
    full_ms: float | None = None,
) -> Picture:
    """Return the picture of a step.

    `near_misses` names the pattern with hulls and badges for near misses; `times` maps node ids to milliseconds, for
    `colour_by="time"`, which names the main lane of `layer_times`, if they are given: these are drawn as half bars of
    plates; a whole one is `full_ms`, or else the longest sum at one step. A `trial` replaces the step's matches, hulls
    and message. A graph of more than 60 boxes is drawn by level and fold key, with a note and the action `show-all`,
    unless `everything` is set, or a question is asked about the boxes (mode `plain`).
    Raises: UnknownNameError for an unknown step, mode, colouring, grouping or pattern.
    """
    choices = (("mode", mode, ALL_MODES), ("colouring", colour_by, COLOURS), ("grouping", group_by, GROUPINGS))
    for kind, name, known in choices:
        check_name(kind, name, known)
    at = index.step(step).index
    drawn = group_by if everything or mode == "plain" else drawn_grouping(index, at, group_by)
    full = full_width(index, {}, layer_times) if full_ms is None else full_ms
    request = Request(index, at, colour_by, drawn, near_misses, times, layer_times or {}, trial, full)
    if mode == "plain":
        after = _paint(request, "after", "after", is_plain=True)
        return Picture(plain_view(after.view), after.coordinates)
    if mode != "side":
        return _paint(request, mode, mode)
    left, right = _paint(request, "before", "side"), _paint(request, "after", "after")
    left.view["other"] = right.view
    left.view["legend"] += [item for item in right.view["legend"] if item not in left.view["legend"]]
    if right.view["note"] != left.view["note"]:
        left.view["note"] = f"Before: {_in_short(left.view['note'])}\nAfter: {_in_short(right.view['note'])}"
    left.view["width"] = right.view["width"] = max(left.view["width"], right.view["width"])
    left.view["height"] = right.view["height"] = max(left.view["height"], right.view["height"])
    return Picture(left.view, np.concatenate([left.coordinates, right.coordinates]))


def _in_short(note: str) -> str:
    """Leave out lines between the first and the last one: notes of two pictures share a place."""
    first, *rest = note.split(",\n")
    return ", ".join([first, *rest[-1:]])


def _paint(request: Request, shown: ShownMode, mode: Mode, *, is_plain: bool = False) -> Picture:
    """Return the picture of a state, or of the difference, as part of a mode; a plain one marks no change."""
    index, step, group_by = request.index, request.step, request.group_by
    painter = PAINTERS[group_by]
    shown = painter.shown_mode(request, shown)
    everything = boxes_of(index, step, group_by)
    boxes = [box for box in everything.boxes if is_shown(box, shown)]
    drawn = painter.has_hulls
    hulls = hulls_of(index, step, group_by, shown, request.near_misses, request.trial) if drawn else []
    edges = [edge_view(edge, everything) for edge in edges_of(index, step, group_by, shown)]
    nodes, looks, legend, colour_by = _nodes(request, boxes, hulls, shown, is_plain=is_plain)
    coordinates = np.array(painter.places(request, boxes, shown), np.float32).reshape(-1, 4)
    width, height = (coordinates[:, :2] + coordinates[:, 2:] / 2).max(axis=0).tolist() if boxes else (0.0, 0.0)
    tried = request.trial is not None
    view: PictureView = {
        "version": VERSION,
        "step": step,
        "mode": mode,
        "colour_by": request.colour_by,
        "group_by": group_by,
        "title": step_title(index, step),
        "caption": caption_of(index, step),
        "note": note_of(boxes, shown, index.noun),
        "message": message_of(index, step) if request.trial is None else request.trial.text,
        "actions": actions_of(index, step, boxes, request.near_misses, tried),
        "width": width + MARGIN,
        "height": height + MARGIN,
        "looks": looks,
        "nodes": nodes,
        "edges": edges,
        "hulls": hulls,
        "legend": [],
        "table": {"columns": [], "rows": []},
    }
    buffers = buffers_of(index, step, shown)
    if buffers is not None:
        view["buffers"] = buffers
    painter.complete(request, view, places_from(coordinates), mode, shown)
    if nodes and colour_by != request.colour_by:
        view["note"] += f" {UNCOLOURED[request.colour_by]}"
    view["table"] = table_of(nodes, edges, hulls, view.get("pins", []))
    items = legend_of(nodes, edges, hulls, tried, index.noun)
    view["legend"] = [with_swatch(item) for item in (*legend, *painter.legend(request, view, items, shown))]
    return Picture(view, coordinates)


def _nodes(
    request: Request, boxes: Sequence[Box], hulls: Sequence[HullView], shown: ShownMode, *, is_plain: bool
) -> tuple[list[NodeView], list[LookView], list[LegendItem], ColourBy]:
    """Return the nodes, their looks, the legend of their fills, and the colouring that could be drawn."""
    index, step = request.index, request.step
    states = {box.id: state_of_box(index, step, box) for box in boxes}
    with_forms: list[tuple[Box, Forms]] = [(box, forms_of(index, states[box.id], box.ids)) for box in boxes]
    lane = main_lane(request.layer_times)
    where = where_text(lane) if lane is not None else ""
    fills = fills_of(index, step, with_forms, request.colour_by, request.times, where, request.state_step(shown))
    colour_by = shown_colouring(fills, request.colour_by)
    badges = badges_of(index, step, boxes, hulls)
    tried = {name for hull in hulls if hull["kind"] == "match" for name in hull["nodes"]}
    scoped = PAINTERS[request.group_by].scoped_titles
    nodes: list[NodeView] = [
        {
            "id": box.id,
            "ids": list(box.ids),
            "title": title_of(index, states[box.id], box, forms, with_scope=scoped),
            "detail": detail_of(box, forms, columns_text(index, states[box.id], box.ids)),
            "kind": kind_of_box(forms),
            "level": box.level_before if shown == "before" else box.level,
            "count": len(box.ids),
            "folds": folds_of_box(box, forms),
            "change": "kept" if is_plain else box.change,
            "look": 0,
            "fill_text": fill.text,
            "matched": box.roles > 0 and shown != "after" if request.trial is None else box.id in tried,
            "badges": badges.get(box.id, []),
        }
        for (box, forms), fill in zip(with_forms, fills, strict=True)
    ]
    looks: list[LookView] = []
    known: dict[tuple[str, str, bool, str, int | None], int] = {}
    for node, fill, value in zip(nodes, fills, scale_fills(fills, colour_by), strict=True):
        shown_value = "" if value is None else value_role(value)
        key = (node["kind"], node["change"], node["matched"], shown_value, fill.category)
        if key not in known:  # there are few keys and thousands of nodes; several keys may have one look
            look = PAINTERS[request.group_by].look(colour_by, node, value, fill.category)
            looks += [] if look in looks else [look]
            known[key] = looks.index(look)
        node["look"] = known[key]
    return nodes, looks, fill_legend(fills, colour_by, has_batches=index.trace.level.has_batches), colour_by


def plain_view(after: PictureView) -> PictureView:
    """Return the picture of mode `after` without any sign of what the step did or what happens next."""
    nodes: list[NodeView] = [
        {**node, "matched": False, "badges": [one for one in node["badges"] if one["sign"] == OUTPUT]}
        for node in after["nodes"]
    ]
    edges: list[EdgeView] = [{**edge, "change": "kept"} for edge in after["edges"]]
    legend = [item for item in after["legend"] if _is_kept(item)]
    return {
        **after,
        "mode": "plain",
        "title": f"After step {after['step']}",
        "caption": "",
        "message": "",
        "actions": [],
        "nodes": nodes,
        "edges": edges,
        "hulls": [],
        "links": [],
        "pins": [],
        "legend": legend,
        "table": table_of(nodes, edges, []),
    }


def _is_kept(item: LegendItem) -> bool:
    return item["sign"] == OUTPUT or (item["channel"] not in TELLING_CHANNELS and item["role"] not in TELLING_ROLES)


def legend_of(
    nodes: Sequence[NodeView], edges: Sequence[EdgeView], hulls: Sequence[HullView], tried: bool, noun: str
) -> list[LegendItem]:
    """Return an entry for everything that occurs; `tried` says whether a trial pattern found the matches."""
    changes = {node["change"] for node in nodes} | {edge["change"] for edge in edges}
    kinds = {node["kind"] for node in nodes}
    hull_kinds = {hull["kind"] for hull in hulls}
    hull_texts = {**HULL_TEXTS, "match": "match of the pattern that is tried"} if tried else HULL_TEXTS
    hull_signs = {HULLS[kind].sign for kind in hull_kinds}
    tones = {badge["sign"]: badge["tone"] for node in nodes for badge in node["badges"]}
    copied = sum(edge["copied_bytes"] for edge in edges)
    return legend_items(
        *((change in changes, "border", change, CHANGES[change].sign, text) for change, text in CHANGE_TEXTS.items()),
        (any(node["matched"] for node in nodes), "fill", "matched", MATCHED, "part of a match"),
        *((kind in hull_kinds, "hull", kind, HULLS[kind].sign, text) for kind, text in hull_texts.items()),
        *(
            (sign in tones.keys() - hull_signs, "badge", tones.get(sign, ""), sign, text)
            for sign, text in BADGE_TEXTS.items()
        ),
        *((name in kinds, "shape", name, kind.sign, kind.words) for name, kind in KINDS.items()),
        (any(node["folds"] > 1 for node in nodes), "badge", "stack", "xF", "F layers folded into one"),
        (any(node["count"] > 1 for node in nodes), "badge", "count", "N×", f"N {noun}s in one box"),
        (copied > 0, "edge", "copy", "n B", f"bytes copied per example, {bytes_text(copied)} in all"),
    )


def badges_of(
    index: TraceIndex, step: int, boxes: Sequence[Box], hulls: Sequence[HullView]
) -> dict[str, list[BadgeView]]:
    """Return the badges of each box that has any."""
    found: dict[str, list[BadgeView]] = {}
    for sign, tone, texts in (
        (LOST, "warning", _texts_of_hulls(hulls, "lost")),
        (NEAR_MISS, "warning", _texts_of_hulls(hulls, "near-miss")),
        (OUTPUT, "info", _outputs(index, step, boxes)),
        (MISSED_FOLD, "info", _missed_folds(index, step, boxes)),
    ):
        for name, lines in texts.items():
            found.setdefault(name, []).append({"sign": sign, "text": "; ".join(lines), "tone": tone})  # pyright: ignore[reportArgumentType]
    return found


def _texts_of_hulls(hulls: Sequence[HullView], kind: str) -> Texts:
    texts: Texts = {}
    for hull in hulls:
        if hull["kind"] == kind and hull["nodes"]:
            texts.setdefault(hull["nodes"][0], []).append(f"{hull['label']}, {hull['reason']}")
    return texts


def _outputs(index: TraceIndex, step: int, boxes: Sequence[Box]) -> Texts:
    """Return the outputs of a circuit that has several; otherwise the output is the topmost box."""
    if not index.trace.level.has_circuit:
        return {}
    states = (index.before(step), index.state(step))
    outputs = {output for state in states if len(state.outputs) > 1 for output in state.outputs}
    counts = {box: len(outputs.intersection(box.ids)) for box in boxes}
    return {
        box.id: ["an output of the circuit" if len(box.ids) == 1 else f"{plural(count, 'output')} of the circuit"]
        for box, count in counts.items()
        if count
    }


def _missed_folds(index: TraceIndex, step: int, boxes: Sequence[Box]) -> Texts:
    """Return for each folded layer why it was not folded together with similar ones."""
    folded = [box for box in boxes if len(box.ids) == 1 and box.after and index.folded_at[box.ids[0]] <= step]
    single = {box.ids[0]: box.id for box in folded}
    texts: Texts = {}
    for miss in index.missed_folds if single else ():
        for node in miss.nodes:
            if node in single:
                other = miss.nodes[1 - miss.nodes.index(node)]
                texts.setdefault(single[node], []).append(f"Not folded together with node {other}: {miss.reason}")
    return texts
