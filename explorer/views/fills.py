"""The fill of boxes by kind, fold group, time or memory, and its legend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from explorer.trace import NodeRecord
from explorer.views.box import Box
from explorer.views.boxes import bytes_of_box
from explorer.views.index import TraceIndex
from explorer.views.words import bytes_text, list_text, plural, time_text
from explorer_widgets.schema import ColourBy, LegendItem

LETTERS = "ABCDEFGH"
"""The letter of each colour of the categorical palette."""
CATEGORIES = len(LETTERS)
"""Number of colours of the categorical palette; further categories repeat them."""

Forms = Sequence[tuple[NodeRecord, int]]


@dataclass(frozen=True)
class Fill:
    """The fill of a box: a value on the scale, a category, or neither."""

    value: float | None
    text: str
    category: int | None
    name: str = ""
    """The category's name in the legend."""


def fills_of(
    index: TraceIndex,
    step: int,
    boxes: Sequence[tuple[Box, Forms]],
    colour_by: ColourBy,
    times: Mapping[int, float] | None,
    where: str = "",
) -> list[Fill]:
    """Return the fill of each box; `value` is the raw value, not yet on the scale; `where` is whose times they are."""
    if colour_by == "kind":
        return [_kind(index, forms) for _, forms in boxes]
    if colour_by == "fold":
        return [_fold(index, box) for box, _ in boxes]
    if colour_by == "memory":
        sizes = [bytes_of_box(index, step, box, forms) for box, forms in boxes]
        return [Fill(size, "unknown" if size is None else bytes_text(size), None) for size in sizes]
    if colour_by == "time":
        return [_time(box, times or {}, where) for box, _ in boxes]
    return [Fill(None, "", None) for _ in boxes]


def log_scale(fills: Sequence[Fill]) -> list[float | None]:
    """Map values to 0 to 1 on the logarithmic scale between the smallest and the largest; 0 stays 0."""
    known = [fill.value for fill in fills if fill.value]
    low, high = (log(min(known)), log(max(known))) if known else (0.0, 0.0)

    def place(value: float | None) -> float | None:
        if not value:
            return value
        return round((log(value) - low) / (high - low), 4) if high > low else 0.5

    return [place(fill.value) for fill in fills]


def fill_legend(fills: Sequence[Fill], colour_by: ColourBy, *, has_batches: bool = True) -> list[LegendItem]:
    """Return the legend of the fills that occur; without batches, bytes are those of all rows."""
    if colour_by in ("time", "memory"):
        known = sorted((fill.value, fill.text) for fill in fills if fill.value)
        items: list[LegendItem] = []
        if known:
            written = f"bytes written{' per example' if has_batches else ''}"
            what = "time" if colour_by == "time" else written
            items.append(_item("scale", "min", f"{known[0][1]} ({what}, logarithmic)"))
            items.append(_item("scale", "max", known[-1][1]))
        if any(fill.value is None for fill in fills):
            items.append(_item("missing", "", "not measured" if colour_by == "time" else "unknown"))
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


def _kind(index: TraceIndex, forms: Forms) -> Fill:
    titles = list(dict.fromkeys(record.title for record, _ in forms))
    if len(titles) > 1:
        return Fill(None, list_text(titles), None)
    return Fill(None, titles[0], index.titles.index(titles[0]) % CATEGORIES, titles[0])


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


def _time(box: Box, times: Mapping[int, float], where: str) -> Fill:
    known = [times[node] for node in box.ids if node in times]
    if not known:
        return Fill(None, "not measured", None)
    part = f" ({len(known)} of {len(box.ids)} measured)" if len(known) < len(box.ids) else ""
    return Fill(sum(known), f"{time_text(sum(known))} {where}".rstrip() + part, None)
