"""The contract between views and drawing: plain data that `explorer.views` makes and the ES modules draw.

Python decides everything that has a meaning (places, colours by role, words); JavaScript draws it. All of it is data
of JSON types, so a saved picture opens without the engine. A picture travels as one JSON string (topology and words)
and one array of 32-bit floats (x, y, width, height of every node, in the order of `nodes`; the place is the middle of
the box). Unknown fields are to be passed over by whoever reads.
"""

from typing import Literal, NotRequired, TypedDict

VERSION = 1
HEIGHT = 420
"""Of a graph in a notebook, in pixels, where none is given."""

Change = Literal["kept", "added", "removed", "changed"]
Mode = Literal["diff", "before", "after", "side", "plain"]
"""`plain` is the state after without a mark or word on what was done: the picture of a question about the next step."""
ColourBy = Literal["change", "kind", "time", "memory", "fold"]
GroupBy = Literal["fold", "none", "scope"]
HullKind = Literal["match", "winner", "lost", "near-miss"]
NodeKind = Literal["input", "sum", "product", "fused", "operator", "leaf"]


class BadgeView(TypedDict):
    """A small sign at a node; `tone` chooses its colour, `text` is said by a screen reader and shown on hover."""

    sign: str
    text: str
    tone: Literal["info", "warning", "error"]


class NodeView(TypedDict):
    """A box: one node of the graph, or a group of nodes of one level and fold key."""

    id: str
    """Unique in the picture and the same in every step in which the box stands for the same nodes."""
    ids: list[int]
    """The compiler's ids that the box stands for."""
    title: str
    detail: str
    kind: NodeKind
    level: int
    count: int
    """How many nodes the box stands for."""
    folds: int
    """F: over 1 gives the look of a stack and the badge `xF`."""
    change: Change
    fill: float | None
    """0 to 1 on the scale of the legend; None: no value, drawn hatched. Only with a `colour_by` that has a scale."""
    fill_text: str
    """The value behind `fill` in words, with its unit."""
    category: int | None
    """Number of a colour of the categorical palette, for `colour_by` kind and fold."""
    matched: bool
    badges: list[BadgeView]
    came_from: NotRequired[list[str]]
    """Ids of the boxes of the step before from which this one was made: it grows out of their places."""


class EdgeView(TypedDict):
    """An arrow from what is read to what reads it."""

    source: str
    target: str
    change: Change
    count: int
    """How many edges of the graph the arrow stands for."""
    read: str | None
    """How a folded node reads it (view, slice, gather ...); None where nothing is folded."""
    copied_bytes: int
    """Bytes copied by the read for one example."""
    label: str
    points: NotRequired[list[list[float]]]
    """Places ([x, y]) to pass on the way; without them the drawing goes round the boxes by itself."""


class HullView(TypedDict):
    """A line round the nodes of a match, a near miss, or the sides of a conflict."""

    id: str
    kind: HullKind
    nodes: list[str]
    label: str
    reason: str


class LegendItem(TypedDict):
    """One entry of the legend: each visual channel has one meaning, and every colour a second sign."""

    channel: Literal["fill", "border", "badge", "hull", "shape", "edge"]
    role: str
    """Name of the colour role or shape the drawing knows (`added`, `near-miss`, `sum`, `category-3`, `scale`)."""
    sign: str
    text: str


class ActionView(TypedDict):
    """A button beside the message or the note; a click sets the trait `request` to `{"name": name, "n": 1, 2, ...}`."""

    name: str
    label: str
    beside: NotRequired[Literal["message", "note"]]
    """Left out: the message, if there is one."""


class TableView(TypedDict):
    """The same facts as the picture, as a table."""

    columns: list[str]
    rows: list[list[str]]


class PictureView(TypedDict):
    """Everything that is drawn for one step in one mode; for mode `side`, `other` is the picture to the right.

    The floats of the boxes of `other` follow those of `nodes` in the same array and count from its own corner.
    """

    version: int
    step: int
    mode: Mode
    colour_by: ColourBy
    group_by: GroupBy
    title: str
    caption: str
    """What changed, in words, for the line under the picture and the live region: `1 layer created, 2 removed`."""
    note: str
    """How much is shown of how much: `5,725 layers. Showing 28 groups.`"""
    message: str
    """What to say where there is nothing to see, or what went wrong; empty otherwise."""
    actions: NotRequired[list[ActionView]]
    """What can be done about what the message and the note say."""
    width: float
    height: float
    nodes: list[NodeView]
    edges: list[EdgeView]
    hulls: list[HullView]
    legend: list[LegendItem]
    table: TableView
    other: NotRequired["PictureView"]
    """Only with mode `side`, where this picture is the state before and `other` the state after. The places of its
    nodes follow those of this picture in the same array of coordinates."""


class StepView(TypedDict):
    """One step of the trace, for the stepper and the tree of steps."""

    index: int
    path: str
    title: str
    """Said by the slider: `Step 7 of 23: fuse, round 1, 12 of 1038 matches`."""
    label: NotRequired[str]
    """What it is called in the tree of steps, under the headings `groups` from the outermost on."""
    groups: NotRequired[list[str]]
    summary: str
    changed: bool
    ok: bool | None
    """Whether the values were checked and agree; None: not checked."""
    error: str
    layers: int
    counted: NotRequired[str]
    """What `layers` counts, if it is not layers (then there are no folds): `Nodes`."""
    folds: int
    matches: int
    near_misses: int
    seconds: float


class SectionView(TypedDict):
    """A part of the details of a node: a heading, then rows of (name, value), then lines of text."""

    heading: str
    rows: list[list[str]]
    lines: list[str]


class DetailsView(TypedDict):
    """What the inspector shows of what is selected."""

    id: str
    title: str
    sections: list[SectionView]


class FoldGroupView(TypedDict):
    """One folded layer: what its slices were, what they agree on, and where each slice reads its inputs."""

    node: int
    title: str
    members: list[int]
    """The layer that each slice was, in order."""
    key: list[list[str]]
    """What the layers agree on: rows of (name, value)."""
    read: str
    """How the inputs are read (view, slice, gather ...); empty for layers that read the data."""
    reason: str
    """In words, what that read does and costs."""
    copied_bytes: int
    index: list[list[list[int]]]
    """(F, H, 2): for each slice and each input the (folded node, slice) that is read; empty for input layers."""
    table: TableView
    """The same as a table, one row a slice."""


class FoldLevelView(TypedDict):
    """One level of folding: its groups, and which groups nearly were one."""

    version: int
    level: int
    title: str
    groups: list[FoldGroupView]
    missed: TableView


class BarView(TypedDict):
    """One bar: a value with its spread; `missing` says why there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    series: str
    missing: str
    tone: NotRequired[Literal["faster", "slower", "noise"]]
    """Of a change in time: which way it went, or that it lies inside the noise (then it is drawn grey)."""


class BarsView(TypedDict):
    """Bars with whiskers, one unit, one axis."""

    version: int
    title: str
    unit: str
    log: bool
    series: list[str]
    bars: list[BarView]
    note: str
    table: TableView


class PlaceView(TypedDict):
    """A picture to go to: the step, how it is shown, and the boxes that are selected there."""

    step: int
    mode: Mode
    colour_by: ColourBy
    group_by: GroupBy
    selection: list[str]
    hull: NotRequired[str]
    """The hull in focus."""


class VerdictView(TypedDict):
    """What is said to an answer."""

    right: bool
    text: str


class NumberView(TypedDict):
    """The answer is a number: of what, which one, and what is said if it is that one, or another."""

    noun: str
    answer: int
    right: str
    wrong: str


class ClicksView(TypedDict):
    """The answer is clicked in the picture: which nodes, and what is said.

    To a wrong answer is said which nodes do not belong, why the first of them does not (`apart`), which are missing,
    and `why`.
    """

    boxes: dict[str, int]
    """The node of each box of the picture."""
    about: int
    """The node that is asked about; it is no part of an answer."""
    wanted: list[int]
    right: str
    why: str
    apart: dict[str, str]
    """By node, as a decimal number."""


class QuestionView(TypedDict):
    """A question about a step with all that is said to its answers. It has one of `choices`, `number`, `clicks`."""

    version: int
    text: str
    asking: PlaceView
    """The picture that it is asked over; it does not tell the answer."""
    revealing: PlaceView
    """The picture that tells it."""
    choices: NotRequired[dict[str, VerdictView]]
    number: NotRequired[NumberView]
    clicks: NotRequired[ClicksView]


class RecordingView(TypedDict):
    """A trace for a page without Python: all steps, and the pictures of them that the page can ask for."""

    version: int
    title: str
    steps: list[StepView]
    pictures: dict[str, PictureView]
    """By `step/mode/colour/group`: `3/diff/change/fold`, in the words of `step`, `mode`, `colour_by` and `group_by` of
    the picture. Where all of them have one colouring and one grouping, by `step/mode`: `3/diff`. Mode `side` need not
    be there: it is put together from `before` and `after`."""
    coordinates: dict[str, str]
    """Base64 of the float array of each picture, under the same key: 32 bits each, the lowest byte first."""
    details: dict[str, DetailsView]
    """By `step/box id`: `3/g5x2-9`."""


class GraphOptions(TypedDict, total=False):
    """How a graph is shown. What is left out: all there is, in the size and with the parts of a dashboard."""

    compact: bool
    """As in a notebook: no tool bar and no legend, the inspector in a drawer."""
    height: int | str
    """Pixels, or a length of CSS."""
    theme: Literal["auto", "light", "dark"]
    inspector: Literal["side", "drawer", "none"]
    modes: list[Mode]
    """The modes that can be chosen; of one there is no choice to make, and no buttons."""
    colours: list[ColourBy]
    groups: list[GroupBy]
    stepper: bool
    """False: it stays at its step."""
    toolbar: bool
    legend: bool
    actions: bool
    """False: no buttons for what only Python can do."""
    requests: list[str]
    """Names of the requests that the host answers."""
    numbers: bool
    """A box of one node shows its number instead of its title."""
    asking: bool
    """Nothing is told but what the picture shows: no caption, no message, no details."""
    many: bool
    """A click adds to the selection, or takes from it."""
    letter_keys: bool
    animate: bool
    svg_limit: int
    """From more boxes than these on it is drawn on a canvas."""


class EmbeddedView(TypedDict):
    """One view of a page of several: which file draws it, and how it begins. What it draws is beside it in the page."""

    kind: Literal["graph", "question", "bars"]
    options: NotRequired[GraphOptions]
    """Of the graph."""
    recording: NotRequired[int]
    """Number of the recording that a graph or a question is shown from; views of one trace share it."""
    start: NotRequired[PlaceView]
    details: NotRequired[str]
    """JSON of what the inspector tells at first, if it is not what is recorded of the box that is selected."""
    tables: NotRequired[dict[str, str]]
    """Words below the graph by step, as HTML that Python made; under the empty name those for all other steps."""
    question: NotRequired[QuestionView]
    revealed_options: NotRequired[GraphOptions]
    """Options of the graph while the answer to a question is shown; before that `options`."""
    bars: NotRequired[BarsView]
