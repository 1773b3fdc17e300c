"""A grouping drawn as a score: a box for each call; and its legend."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.views.boxes import Box, ShownMode
from explorer.views.index import TraceIndex
from explorer.views.lines import Place
from explorer.views.looks import plate_look
from explorer.views.request import Request
from explorer.views.score.calls import calls_at
from explorer.views.score.drawing import score_view, width_of
from explorer.views.score.lanes import FRAMES, lanes_of
from explorer.views.score.lower_lanes import APART
from explorer.views.score.repeats import name_of
from explorer.views.score.row import has_images, row_at, scale_of
from explorer.views.score.score_svg import score_elements
from explorer.views.score.seams import SEAM_ROLES, SEAM_SIGNS, SEAM_WORDS, SeamKind
from explorer.views.score.words import count_of, done_text, meaning_of_step
from explorer.views.words import plural
from explorer_widgets.schema import ColourBy, LegendItem, LookView, Mode, NodeView, PictureView

KINDS = {
    "matmul": "matrix product, convolution",
    "product": "reduction",
    "input": "elementwise",
    "view": "data movement",
}


@dataclass(frozen=True, slots=True)
class ScorePainter:
    """Draws calls in a row; the difference of a step is shown as movement."""

    scoped_titles: bool = False
    has_margins: bool = True
    has_hulls: bool = False

    def shown_mode(self, request: Request, mode: ShownMode) -> ShownMode:
        """Draw as the difference the state after."""
        return "after" if mode == "diff" else mode

    def look(self, colour_by: ColourBy, node: NodeView, value: float | None, category: int | None) -> LookView:
        """Return the look of a box."""
        return plate_look(colour_by, node["kind"], value, category)

    def places(self, request: Request, boxes: Sequence[Box], shown: ShownMode) -> list[list[float]]:
        """Return the places of calls in the state that is drawn; an input is where its tensor is."""
        spots = {name_of(spot.nodes): spot for spot in row_at(request.index, request.state_step(shown))}
        y = lanes_of(request.index).calls + FRAMES / 2
        found = [spots[box.id] for box in boxes]
        return [[one.middle, y, one.width or one.gap, FRAMES] for one in found]

    def complete(
        self, request: Request, view: PictureView, places: Sequence[Place], mode: Mode, shown: ShownMode
    ) -> None:
        """Add the marks; the row begins behind the names of the lanes."""
        at = request.state_step(shown)
        view["score"] = score_view(request.index, at, is_change=mode == "diff")
        view["note"] = f"{plural(count_of(calls_at(request.index, at)), 'call')}."
        step = request.index.step(request.step)
        if step.applied and request.index.trace.level.grouping == "score":
            said = meaning_of_step(request.index, request.step) or done_text(request.index, request.step)
            view["caption"] = f"{said[:1].upper()}{said[1:]}"
        view["width"], view["height"] = width_of(request.index, at), lanes_of(request.index).bottom

    def legend(
        self, request: Request, view: PictureView, items: Sequence[LegendItem], shown: ShownMode
    ) -> list[LegendItem]:
        """Return entries for what is drawn."""
        marks = view["score"]["marks"] if "score" in view else []
        fills = {mark["fill"] for mark in marks if "fill" in mark}
        found = [_item("cell", role, text) for role, text in KINDS.items() if role in fills]
        keys = {mark["key"][0] for mark in marks}
        arcs = {mark.get("stroke") for mark in marks if mark["key"][0] == "a"}
        frames = [mark for mark in marks if mark["key"][0] == "f"]
        found += [
            _item(channel, role, text)
            for is_drawn, channel, role, text in (
                (
                    any(mark.get("stroke") == "fused" for mark in frames),
                    "cell",
                    "fused",
                    "frame: operators fused into one call",
                ),
                ("x" in keys, "cell", "changed", "frame: made by this step; lines inside: where earlier calls met"),
                (
                    any(mark.get("dash") for mark in frames),
                    "cell",
                    "panel",
                    "dashed frame: computes values of forward again",
                ),
                ("g" in keys, "line", "fused", "stays inside: no other call reads it"),
                ("b" in keys, "cell", "operator", _size_words(request.index)),
                ("kept" in arcs, "line", "kept", "read by a later call; as thick as its bytes"),
                ("fg" in arcs, "line", "fg", "saved for backward: a value of forward that backward reads"),
            )
            if is_drawn
        ]
        signs = {sign for mark in marks if "pair" in mark for sign in mark.get("words", ())}
        kinds: tuple[SeamKind, ...] = ("refused", "silent", "put-off", "untried", "next")
        found += [
            _item(
                "badge",
                SEAM_ROLES[kind],
                f"{SEAM_WORDS[kind]}{' or later' if kind == 'next' else ''}",
                SEAM_SIGNS[kind],
            )
            for kind in kinds
            if SEAM_SIGNS[kind] in signs
        ]
        if "u" in keys:
            found.append(_item("badge", "", "no value in common", APART))
        if frames:
            found.append(_item("badge", "", "number of a call, in this trace", "#1"))
        return found

    def svg_elements(self, view: PictureView, places: Sequence[Place]) -> list[str]:
        """Return the marks."""
        return score_elements(view)


def _size_words(index: TraceIndex) -> str:
    """Explain the size of tensors, with the largest ones."""
    rows, columns = (round(2 ** scale_of(index)[name]) for name in ("height", "thickness"))
    tall, thick = ("pixels high", "channels") if has_images(index) else ("rows", "columns")
    most = f"taller: more {tall} (up to {rows:,}), thicker: more {thick} (up to {columns:,})"
    return f"tensor in memory; {most}"


def _item(channel: str, role: str, text: str, sign: str = "") -> LegendItem:
    return {"channel": channel, "role": role, "sign": sign, "text": text}  # pyright: ignore[reportReturnType]
