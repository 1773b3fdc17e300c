"""Marks: SVG elements as plain data, which pages make elements of and saved pictures write as text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from explorer.views.looks import css
from explorer_widgets.schema import MarkView

MIN_LENGTH = 1.5
"""Minimum length of a bar in pixels."""


def mark(tag: str, parts: Iterable[MarkView] = (), /, **attributes: object) -> MarkView:
    """Return a mark with these parts; in names of attributes `_` is `-`, and empty ones are left out."""
    named = {name.replace("_", "-"): value for name, value in attributes.items() if value not in ("", None)}
    inside = {"parts": [*parts]} if parts else {}
    return {"tag": tag, **named, **inside}  # pyright: ignore[reportReturnType]


def mark_text(drawn: MarkView, colour: Callable[[str], str] = css) -> str:
    """Return a mark as an SVG element; `colour` returns that of a role."""
    others: dict[str, Any] = dict(drawn)
    tag, words, parts = others.pop("tag"), others.pop("text", ""), others.pop("parts", ())
    paints = {name: others.pop(name) for name in ("fill", "stroke") if name in others}
    style = "".join(f"{name}:{paint if _is_paint(paint) else colour(paint)};" for name, paint in paints.items())
    styled = {**others, **({"style": style} if style else {})}
    attributes = "".join(f" {name}={quoteattr(_plain(value))}" for name, value in styled.items())
    return f"<{tag}{attributes}>{escape(words)}{''.join(mark_text(part, colour) for part in parts)}</{tag}>"


def _is_paint(paint: str) -> bool:
    return paint == "none" or paint.startswith("url(")


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def placed(marks: Sequence[MarkView], left: float, room: float) -> list[MarkView]:
    """Place marks on an axis: `from` and `to` are shares of its length, as `placed` in `widgets/js/shared/marks.js`."""
    return [_placed(dict(one), left, room) for one in marks]


def _placed(one: Mapping[str, Any], left: float, room: float) -> MarkView:
    others = {name: value for name, value in one.items() if name not in ("from", "to")}
    if "parts" in others:
        others["parts"] = placed(others["parts"], left, room)
    if "from" not in one:
        return others  # pyright: ignore[reportReturnType]
    start = left + room * one["from"]
    end = left + room * one.get("to", one["from"])
    if one["tag"] == "line":
        place = {"x1": start, "x2": end}
    elif "to" in one:
        place = {"x": start, "width": max(MIN_LENGTH, end - start)}
    else:
        place = {"transform": f"translate({start:g} 0)"}
    return {**others, **place}  # pyright: ignore[reportReturnType]
