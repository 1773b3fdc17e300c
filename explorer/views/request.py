"""Options of a picture, and the painter that draws a grouping; a trial pattern's result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from explorer.trace import Refusal
from explorer.views.boxes import Box, ShownMode
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes
from explorer.views.lines import Place
from explorer.views.words import ordinal, plural
from explorer_widgets.schema import ColourBy, GroupBy, LegendItem, LookView, Mode, NodeView, PictureView


@dataclass(frozen=True, slots=True)
class PatternTrial:
    """The matcher's result for a pattern tried on the layers before or after a step.

    `matches` are the layers of each match, root first; `applicable` of them can be applied together, and the rest share
    a layer with those. `refusals` are the near misses. Of the `layers` tried, `fitting` have the type `first` of the
    pattern's first entry.
    """

    name: str
    first: str
    layers: int
    fitting: int
    matches: tuple[tuple[int, ...], ...]
    applicable: int
    refusals: tuple[Refusal, ...]
    after: bool = False

    @property
    def text(self) -> str:
        """Describe what was found, and what stopped the closest attempts."""
        where = f"Tried on {plural(self.layers)}; {self.fitting:,} of them have the type {self.first}."
        if not self.matches:
            return f"{self.name} does not match. {where} {self._closest()}".rstrip()
        found = f"{self.name} matches {plural(len(self.matches), 'time')}."
        if self.applicable < len(self.matches):
            found += f" {self.applicable:,} can be applied together; the rest share a layer with those."
        return f"{found} {where} {self._closest()}".rstrip()

    def _closest(self) -> str:
        found = closest(self.refusals)
        if found is None:
            return ""
        refusal, count = found
        blocked = f"{plural(count, 'time')} blocked at its {ordinal(refusal.entry + 1)} layer"
        return f"Closest: {blocked} because {refusal.summary}."


@dataclass(frozen=True)
class Request:
    """A step, and how to show it; see `picture`."""

    index: TraceIndex
    step: int
    colour_by: ColourBy
    group_by: GroupBy
    near_misses: str | None
    times: Mapping[int, float] | None
    layer_times: LayerTimes
    trial: PatternTrial | None
    full_ms: float = 0.0
    """Milliseconds of the full width of the clock, which bars of plates share."""

    @property
    def looks_before(self) -> bool:
        """Return whether it shows near misses or a trial pattern in the state before the step."""
        return self.near_misses is not None or (self.trial is not None and not self.trial.after)

    def state_step(self, shown: ShownMode) -> int:
        """The shown step."""
        return max(self.step - 1, 0) if shown == "before" else self.step


class Painter(Protocol):
    """The drawing of a grouping. The nodes, arrows, hulls and texts of a picture are the same for all."""

    @property
    def scoped_titles(self) -> bool:
        """True if titles name the variables of a layer."""
        ...

    @property
    def has_margins(self) -> bool:
        """True if an image shows the empty space around the boxes."""
        ...

    @property
    def has_hulls(self) -> bool:
        """True if matches are outlined."""
        ...

    def shown_mode(self, request: Request, mode: ShownMode) -> ShownMode:
        """Return which state to draw; `diff` draws both."""
        ...

    def look(self, colour_by: ColourBy, node: NodeView, value: float | None, category: int | None) -> LookView:
        """Return the look of a box; `value` is its value on the scale of 0 to 1."""
        ...

    def places(self, request: Request, boxes: Sequence[Box], shown: ShownMode) -> list[list[float]]:
        """Return x and y of the centre, width and height of each box."""
        ...

    def complete(
        self, request: Request, view: PictureView, places: Sequence[Place], mode: Mode, shown: ShownMode
    ) -> None:
        """Add to a picture what only this grouping draws."""
        ...

    def legend(
        self, request: Request, view: PictureView, items: Sequence[LegendItem], shown: ShownMode
    ) -> list[LegendItem]:
        """Return the legend, given the entries for everything that a picture can contain."""
        ...

    def svg_elements(self, view: PictureView, places: Sequence[Place]) -> list[str]:
        """Return the drawing as SVG elements."""
        ...


def closest(refusals: Sequence[Refusal]) -> tuple[Refusal, int] | None:
    """Return an example and the count of the most frequent of the attempts that got furthest."""
    alike: dict[tuple[str, int, str, str], list[Refusal]] = {}
    for refusal in refusals:
        key = (refusal.pattern, refusal.entry, refusal.kind.value, refusal.what)
        alike.setdefault(key, []).append(refusal)
    best = max(alike.values(), key=lambda same: (same[0].progress, len(same)), default=None)
    return None if best is None else (best[0], len(best))
