"""A picture: boxes, arrows, outlines of matches, legend, table; and what a view shows of it."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.buffers import BuffersView, RecordedBuffersView
from explorer_widgets.schema.lens import LensView, RuleView
from explorer_widgets.schema.marks import MarkView
from explorer_widgets.schema.pins import PinView
from explorer_widgets.schema.plates import BadgeView, LinkView, PlateView
from explorer_widgets.schema.score import ScoreView
from explorer_widgets.schema.words import Change, ColourBy, GroupBy, HullKind, Mode, NodeKind


class SignView(TypedDict):
    """A round sign at the upper left corner of a box; its colours are roles."""

    sign: str
    fill: str
    ink: str
    stroke: str


class LookView(TypedDict):
    """The drawing of some boxes. Colours are roles of the theme, `category-3`, or `value-37` of 0 to 100."""

    fill: str
    ink: str
    """The colour of its text."""
    stroke: NotRequired[str]
    """The colour of its border; `kept` by default."""
    width: NotRequired[float]
    """The width of its border; 1.2 by default."""
    dash: NotRequired[list[float]]
    hatch: NotRequired[Literal["removed", "missing"]]
    signs: NotRequired[list[SignView]]


class NodeView(TypedDict):
    """A box: one node of the graph, or a group of nodes of one level and fold key."""

    id: str
    """Unique in the picture, and stable over the steps in which the box stands for the same nodes."""
    ids: list[int]
    """The compiler's ids that the box stands for."""
    title: str
    detail: str
    kind: NodeKind
    level: int
    count: int
    """Number of nodes that the box stands for."""
    folds: int
    """F; if greater than 1, the box is drawn as a stack with the badge `xF`."""
    change: Change
    look: int
    """The position in `looks` of how it is drawn."""
    fill_text: str
    """The value that its fill shows, with its unit."""
    matched: bool
    pill: NotRequired[str]
    """The number of its nodes or folds, at its upper right corner: `3 · ×4`."""
    badges: list[BadgeView]
    came_from: NotRequired[list[str]]
    """Ids of the boxes of the step before that became this one: it grows out of their positions."""
    plate: NotRequired[PlateView]
    """Only in the grouping `plates`."""


class PortView(TypedDict):
    """The two ends of a line between plates that is cut, each as the centre of its port and the point at its plate."""

    number: int
    """Lines of one plate have the same number."""
    out: list[list[float]]
    into: list[list[float]]


class EdgeView(TypedDict):
    """An arrow from an input to its user."""

    source: str
    target: str
    change: Change
    count: int
    """Number of edges of the graph that the arrow stands for."""
    read: str | None
    """Read by a folded node (view, slice, gather ...); None if nothing is folded."""
    copied_bytes: int
    """Bytes copied by the read, per example."""
    label: str
    points: NotRequired[list[list[float]]]
    """The points of its line: [x, y] where it is vertical, [x, y, 1] where it is horizontal. Without points, it joins
    the facing sides of its boxes; between plates, it joins cells. Between plates, [x, y] is a corner."""
    label_at: NotRequired[list[float]]
    """The middle of the label, [x, y]; without it there is no room for the label."""
    turns: NotRequired[list[float]]
    """Between plates: where a line without points begins to bend, and where it ends to, [x, x]."""
    port: NotRequired[PortView]
    """Between plates: instead of a line that would run backwards or pass many plates."""
    pairs: NotRequired[list[int]]
    """Between plates: which cell is read by which, as numbers of cells (source, target, source, target, ...)."""


class HullView(TypedDict):
    """An outline of the nodes of a match, a near miss, or a side of a conflict."""

    id: str
    kind: HullKind
    nodes: list[str]
    rule: NotRequired[str]
    """The name of the rule; `label` may have a number too."""
    label: str
    reason: str
    count: int
    """Number of matches or near misses that share the outline."""
    lens: NotRequired[LensView]
    """Around plates of the state before the step: how the rule binds their layers."""
    outline: NotRequired[str]
    """The line around its boxes, as an SVG path."""
    tag: NotRequired[list[float]]
    """The upper left corner of its name, [x, y]; without it the name is not drawn."""


class LegendItem(TypedDict):
    """One entry of the legend: each visual channel has one meaning, and every colour comes with a sign."""

    channel: Literal["fill", "border", "badge", "hull", "shape", "edge", "cell", "line", "mark", "bar"]
    role: str
    """Name of a colour role or shape of the drawing code (`added`, `near-miss`, `sum`, `category-3`, `scale`)."""
    sign: str
    text: str
    swatch: NotRequired[list[MarkView]]
    """A small picture of what it explains, 26 pixels wide and 16 high."""


class ActionView(TypedDict):
    """A button at the message or the note; a click sets the trait `request` to `{"name": name, "n": 1, 2, ...}`."""

    name: str
    label: str
    beside: NotRequired[Literal["message", "note"]]
    """Default: the message, if there is one."""


class TableView(TypedDict):
    """The same facts as the picture, as a table."""

    columns: list[str]
    rows: list[list[str]]


class PictureView(TypedDict):
    """Everything drawn for one step in one mode; in mode `side`, `other` is the picture on the right.

    The floats of the boxes of `other` follow those of `nodes` in the same array; their origin is the corner of `other`.
    """

    version: int
    step: int
    mode: Mode
    colour_by: ColourBy
    group_by: GroupBy
    title: str
    caption: str
    """Changes, for the line below the picture and the live region: `1 layer created, 2 removed`."""
    note: str
    """Part of the graph that is shown: `5,725 layers. Showing 28 groups.`"""
    message: str
    """Why there is nothing to see, or what went wrong; empty otherwise."""
    actions: NotRequired[list[ActionView]]
    """Actions that the message and the note suggest."""
    width: float
    height: float
    extent: NotRequired[list[float]]
    """Left, top, right and bottom of all that is drawn, if that is known."""
    looks: list[LookView]
    nodes: list[NodeView]
    edges: list[EdgeView]
    hulls: list[HullView]
    legend: list[LegendItem]
    table: TableView
    origins: NotRequired[list[list[int]]]
    """For each cell that the step made: its layer, then the layers that it replaces; they move into it."""
    misses: NotRequired[list[HullView]]
    """Near misses of patterns that are not in `hulls`; drawn only when they are lit."""
    rules: NotRequired[dict[str, RuleView]]
    """The rules of the lenses, by name."""
    links: NotRequired[list[LinkView]]
    """Missed folds between plates."""
    pins: NotRequired[list[PinView]]
    """Why layers are not fewer."""
    matches: NotRequired[list[HullView]]
    """The matches, around plates of the step before; shown before they are rewritten."""
    score: NotRequired[ScoreView]
    """Only in the grouping `score`."""
    buffers: NotRequired[BuffersView]
    """The memory of a program over time."""
    recorded_buffers: NotRequired[RecordedBuffersView]
    """In a recording, in place of `buffers`."""
    other: NotRequired["PictureView"]
    """Only in mode `side`: this picture is the state before, and `other` the state after."""


class PictureStateView(TypedDict):
    """A picture to navigate to: the step, how it is shown, and the selected boxes."""

    step: int
    mode: Mode
    colour_by: ColourBy
    group_by: GroupBy
    selection: list[str]
    hull: NotRequired[str]
    """The hull in focus."""
    match: NotRequired[int]
    """The number of the match that the rule lens shows, among those of the hull; 0 by default."""
    beliefs: NotRequired[bool]
    """Whether cells show what their layers believe."""
