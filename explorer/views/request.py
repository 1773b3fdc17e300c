"""What a picture is asked to show, and what each grouping decides about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from explorer.views.box import Box, ShownMode
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes
from explorer.views.lines import Place
from explorer.views.trials import PatternTrial
from explorer_widgets.schema import ColourBy, GroupBy, LegendItem, LookView, Mode, NodeView, PictureView


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

    @property
    def looks_before(self) -> bool:
        """Whether it asks for something in the state before the step: near misses, or matches of a trial pattern."""
        return self.near_misses is not None or (self.trial is not None and not self.trial.after)

    def state_step(self, shown: ShownMode) -> int:
        """The step whose state is shown."""
        return max(self.step - 1, 0) if shown == "before" else self.step


class Painter(Protocol):
    """How a grouping is drawn. The nodes, arrows, hulls and texts of a picture are the same for all."""

    @property
    def scoped_titles(self) -> bool:
        """Whether titles name the variables of a layer."""
        ...

    @property
    def has_margins(self) -> bool:
        """Whether an image shows the empty space around the boxes."""
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
