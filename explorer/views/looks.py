"""Looks of boxes and arrows: colours as roles, borders, hatches and signs, which the renderers only draw.

A colour is the name of a role of `widgets/explorer_widgets/theme.json`, or `value-37` for a value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log2

from explorer.trace import NodeRecord
from explorer.views.boxes import Box, bytes_of_box
from explorer.views.index import TraceIndex, cached
from explorer.views.words import bytes_text, list_text, plural, time_text
from explorer_widgets.schema import Change, ColourBy, EdgeView, LegendItem, LookView, NodeKind, SignView
from explorer_widgets.theme import CHANGES, MATCHED, value_role

LETTERS = "ABCDEFGH"
"""The letter of each colour of the categorical palette."""
CATEGORIES = len(LETTERS)
"""Number of colours of the categorical palette; further categories repeat them."""
Forms = Sequence[tuple[NodeRecord, int]]

KIND_COLOURS = ("change", "kind", "value")
"""Colourings in which boxes have the colours of their kinds; a page draws values over them."""
SCALES = ("time", "memory", "order", "fold")
"""Colourings in which a box without a value is hatched, if others have one."""
MEASURES = ("time", "memory", "order")
"""Colourings by a value on a scale."""


@dataclass(frozen=True)
class Fill:
    """The fill of a box: a value on the scale, a category, or neither."""

    value: float | None
    text: str
    category: int | None
    name: str = ""
    """The category's name in the legend."""


@dataclass(frozen=True, slots=True)
class LineLook:
    """The line of an arrow."""

    stroke: str
    width: float
    dash: tuple[float, ...]


def box_look(
    colour_by: ColourBy, kind: NodeKind, change: Change, matched: bool, value: float | None, category: int | None
) -> LookView:
    """Return the look of a box of a graph: the fill of a plate, and as outline and signs what the step did."""
    look = plate_look(colour_by, kind, value, category)
    look["stroke"], look["width"] = "fg", 1.0
    if change == "removed":
        look["hatch"] = "removed"
    if change != "kept":
        look["stroke"], look["width"] = change, 3.0
        if CHANGES[change].dash:
            look["dash"] = [*CHANGES[change].dash]
    elif matched and colour_by == "change":
        look["stroke"], look["width"] = "matchedLine", 2.4
    signs = _signs(change, matched, category)
    if signs:
        look["signs"] = signs
    return look


def plate_look(colour_by: ColourBy, kind: NodeKind, value: float | None, category: int | None) -> LookView:
    """Return the fill of a plate: by its value on the scale of 0 to 1, by its category, or else by its kind.

    Where others have a value or a category, a plate without is hatched.
    """
    if value is not None:
        return {"fill": value_role(value), "ink": ink_on(value_role(value))}
    if category is not None:
        return {"fill": f"category-{category % CATEGORIES}", "ink": "fg"}
    look: LookView = {"fill": kind, "ink": "onCell"}
    if colour_by in SCALES:
        look["hatch"] = "missing"
    return look


def _signs(change: Change, matched: bool, category: int | None) -> list[SignView]:
    """Return the signs of a box: what changed, what matched, and the letter of its category."""
    signs: list[SignView] = []
    if change != "kept":
        signs.append({"sign": CHANGES[change].sign, "fill": change, "ink": ink_on(change), "stroke": "box"})
    if matched:
        signs.append({"sign": MATCHED, "fill": "matched", "ink": "onMatched", "stroke": "matchedLine"})
    if category is not None:
        signs.append({"sign": LETTERS[category], "fill": "panel", "ink": "fg", "stroke": "kept"})
    return signs


def line_look(edge: EdgeView) -> LineLook:
    """Return the look of an arrow; one that stands for many edges is wider."""
    width = min(4.0, 1.2 + 0.35 * log2(max(1, edge["count"])))
    kept = edge["change"] == "kept"
    return LineLook("edge" if kept else edge["change"], width + (0 if kept else 0.6), CHANGES[edge["change"]].edge_dash)


def ink_on(role: str) -> str:
    """Return the role of text on a role: `onAdded` for `added`."""
    return f"on{role[0].upper()}{role[1:]}"


def css(colour: str) -> str:
    """Return a colour for CSS."""
    return colour if colour.startswith("#") else f"var(--{colour})"


def dashes(dash: Sequence[float]) -> str:
    """Return a dash pattern as an attribute; empty for a solid line."""
    return f' stroke-dasharray="{" ".join(f"{part:g}" for part in dash)}"' if dash else ""


def fills_of(
    index: TraceIndex,
    step: int,
    boxes: Sequence[tuple[Box, Forms]],
    colour_by: ColourBy,
    times: Mapping[int, float] | None,
    where: str = "",
    at: int | None = None,
) -> list[Fill]:
    """Return the fill of each box; `value` is the raw value, not yet on the scale.

    `where` is whose times they are, `at` the step whose state is drawn.
    """
    if colour_by == "fold":
        return [_fold(index, box) for box, _ in boxes]
    if colour_by == "memory":
        sizes = [bytes_of_box(index, step, box, forms) for box, forms in boxes]
        return [Fill(size, "unknown" if size is None else bytes_text(size), None) for size in sizes]
    if colour_by == "time":
        return [_time(box, times or {}, where) for box, _ in boxes]
    if colour_by == "order":
        return [_order(index, step if at is None else at, box) for box, _ in boxes]
    return [Fill(None, "", None) for _ in boxes]


def scale_fills(fills: Sequence[Fill], colour_by: ColourBy = "time") -> list[float | None]:
    """Map values to 0 to 1 between the smallest and the largest, logarithmically except for an order; 0 stays 0."""
    map_value = float if colour_by == "order" else log
    known = [fill.value for fill in fills if fill.value]
    low, high = (map_value(min(known)), map_value(max(known))) if known else (0.0, 0.0)

    def place(value: float | None) -> float | None:
        if not value:
            return value
        return round((map_value(value) - low) / (high - low), 4) if high > low else 0.5

    return [place(fill.value) for fill in fills]


def shown_colouring(fills: Sequence[Fill], colour_by: ColourBy) -> ColourBy:
    """Return the colouring that can be drawn: that of kinds or changes if no box has a value to colour it by."""
    has_values = colour_by not in MEASURES or any(fill.value is not None for fill in fills)
    return colour_by if has_values else "change"


def fill_legend(fills: Sequence[Fill], colour_by: ColourBy, *, has_batches: bool = True) -> list[LegendItem]:
    """Return the legend of the fills that occur; without batches, bytes count all rows."""
    if colour_by in MEASURES:
        known = sorted((fill.value, fill.text) for fill in fills if fill.value)
        items: list[LegendItem] = []
        if known:
            written = f"bytes written{' per example' if has_batches else ''}, logarithmic"
            what = {"time": "time, logarithmic", "order": "in the order in which they run"}.get(colour_by, written)
            items.append(_item("scale", "min", f"{known[0][1]} ({what})"))
            items.append(_item("scale", "max", known[-1][1]))
        if any(fill.value is None for fill in fills):
            what = {"time": "not measured", "order": "not called"}.get(colour_by, "unknown")
            items.append(_item("missing", "", what))
        return items
    names: dict[int, dict[str, None]] = {}
    for fill in fills:
        if fill.category is not None:
            names.setdefault(fill.category, {})[fill.name] = None
    items = [_item(f"category-{n}", LETTERS[n], list_text(list(names[n]), 6)) for n in sorted(names)]
    if colour_by == "fold" and any(fill.category is None for fill in fills):
        items.append(_item("missing", "", "in no fold, or in several"))
    return items


def _item(role: str, sign: str, text: str) -> LegendItem:
    return {"channel": "fill", "role": role, "sign": sign, "text": text}


def _fold(index: TraceIndex, box: Box) -> Fill:
    numbers = sorted({int(index.group_of[node]) for node in box.ids})
    if numbers[0] < 0:
        return Fill(None, "not folded", None)
    if len(numbers) > 1:
        return Fill(None, f"parts of {plural(len(numbers), 'fold group')}", None)
    group = index.groups[numbers[0]]
    size = f"node {group.node}, x{len(group.members)}"
    text = f"fold group {numbers[0] + 1} (level {group.level}: {size})"
    return Fill(None, text, numbers[0] % CATEGORIES, f"fold group {numbers[0] + 1}")


def _order(index: TraceIndex, at: int, box: Box) -> Fill:
    """Return when the calls of a box run: the middle of their positions, and the first and the last of them."""
    order = call_order(index, at)
    if order.keys().isdisjoint(box.ids):  # the step has removed it
        order = call_order(index, max(at - 1, 0))
    positions = sorted(order[node] for node in box.ids if node in order)
    if not positions:
        return Fill(None, "not called", None)
    first, last = positions[0], positions[-1]
    calls = f"call {first:,}" if first == last else f"calls {first:,} to {last:,}"
    return Fill((first + last) / 2, f"{calls} of {len(order):,}", None)


@cached
def call_order(index: TraceIndex, step: int) -> Mapping[int, int]:
    """Return the position of each call in the order in which they run after a step, counted from 1."""
    graph = index.step(step).snapshot.graph
    called = [node for node, record in graph.nodes.items() if index.is_called(record)]
    return {node: position for position, node in enumerate(called, 1)}


def _time(box: Box, times: Mapping[int, float], where: str) -> Fill:
    known = [times[node] for node in box.ids if node in times]
    if not known:
        return Fill(None, "not measured", None)
    part = f" ({len(known)} of {len(box.ids)} measured)" if len(known) < len(box.ids) else ""
    return Fill(sum(known), f"{time_text(sum(known))} {where}".rstrip() + part, None)
