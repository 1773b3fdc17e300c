"""The contract between views and drawing: plain data that `explorer.views` produces and the ES modules draw.

Python decides everything that has a meaning (positions, colour roles, words); JavaScript draws it. All data has JSON
types, so a saved picture opens without the engine. A picture is sent as one JSON string (topology and words) and one
array of 32-bit floats (x, y, width, height of every node, in the order of `nodes`; x, y is the centre of the box).
Readers ignore unknown fields.
"""

from typing import Literal, NotRequired, TypedDict

VERSION = 1
HEIGHT = 420
"""Default height of a graph in a notebook, in pixels."""

Change = Literal["kept", "added", "removed", "changed"]
Mode = Literal["diff", "before", "after", "side", "plain"]
"""`plain` is the state after, without any sign of what was done: the picture for a question about the next step."""
ColourBy = Literal["change", "kind", "time", "memory", "fold"]
GroupBy = Literal["plates", "fold", "none", "scope"]
"""`plates`: nodes of one level and fold key are a plate with a cell for each; the others are boxes of a graph."""
HullKind = Literal["match", "winner", "lost", "near-miss"]
NodeKind = Literal["input", "sum", "product", "fused", "matmul", "view", "operator", "leaf"]
"""`matmul`: a matrix product or convolution; `view`: an operator that moves or selects numbers, or shows them in
another shape, and computes none; `operator`: any other one."""


class BadgeView(TypedDict):
    """A small sign at a node; `tone` selects its colour; `text` is the tooltip, also read by screen readers."""

    sign: str
    text: str
    tone: Literal["info", "warning", "error"]


class HalfBarView(TypedDict):
    """The measured time of the calls of a plate in one lane."""

    lane: str
    """`cpu`, `cuda`, or those of a recorded run: `recorded-cpu`, `recorded-cuda`."""
    share: float
    """Of the longest time in the picture: 0 to 1."""
    text: str
    """The time with its interval."""


class PlateView(TypedDict):
    """What is drawn in a box that is a plate: a cell for each layer, or for each slice of a folded layer.

    The box is the area of the cells; the title is above it, the other words are below.
    """

    cells: list[int]
    """The layer of each cell, also after it became a slice; -1 if it was folded before the trace."""
    places: list[int]
    """Column, row, width and height of each cell, in units; the corner of the box is (0, 0)."""
    unit: list[float]
    """Width and height of a unit in pixels."""
    gap: float
    """Pixels between two cells: each is a call. 0: they are slices, and the plate is one call."""
    room: float
    """Width for the words in pixels."""
    calls: str
    """`64 calls`; `64 → 1 call` if the step folded it."""
    news: str
    """What the step rewrote: `was Hadamard + Sum`; before it, what was blocked: `16 of 20 matched`; or empty."""
    reads: str
    """How a folded layer reads its inputs: `gather, copies 64 KiB`; empty for others."""
    shape: str
    """The shapes of its parameters: `64×16×17`."""
    marks: NotRequired[dict[str, list[int]]]
    """Cells by what happened to them: `matched`, `lost`, `near-miss`, `new`."""
    times: NotRequired[list[HalfBarView]]
    """Only if the calls of the plate were measured."""


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
    """How many nodes the box stands for."""
    folds: int
    """F; if greater than 1, the box is drawn as a stack with the badge `xF`."""
    change: Change
    fill: float | None
    """0 to 1 on the scale of the legend; None: no value, drawn hatched. Only if `colour_by` has a scale."""
    fill_text: str
    """The value of `fill` as text, with its unit."""
    category: int | None
    """Index in the categorical palette, for `colour_by` kind and fold."""
    matched: bool
    badges: list[BadgeView]
    came_from: NotRequired[list[str]]
    """Ids of the boxes of the step before that became this one: it grows out of their positions."""
    plate: NotRequired[PlateView]
    """Only in the grouping `plates`."""


class EdgeView(TypedDict):
    """An arrow from an input to its user."""

    source: str
    target: str
    change: Change
    count: int
    """How many edges of the graph the arrow stands for."""
    read: str | None
    """How a folded node reads it (view, slice, gather ...); None if nothing is folded."""
    copied_bytes: int
    """Bytes copied by the read, per example."""
    label: str
    points: NotRequired[list[list[float]]]
    """The points of its line: [x, y] where it is vertical, [x, y, 1] where it is horizontal. Without points, it joins
    the facing sides of its boxes; between plates, it joins cells."""
    label_at: NotRequired[list[float]]
    """The middle of the label, [x, y]; without it there is no room for the label."""
    pairs: NotRequired[list[int]]
    """Between plates: which cell is read by which, as numbers of cells (source, target, source, target, ...)."""


class PartView(TypedDict):
    """A box in the small picture of a rule."""

    title: str
    kind: NodeKind


class EntryView(PartView):
    """A box that a rule looks for, with the questions that the matcher asks of it."""

    questions: list[str]


class RuleView(TypedDict):
    """The small picture of a rule: what it looks for, what it makes, and its purpose in a sentence."""

    name: str
    meaning: str
    finds: list[EntryView]
    """The root first, which is nearest to the outputs."""
    makes: list[PartView]
    """Inputs first; empty if the trace does not tell."""


class RivalView(TypedDict):
    """The other side of a conflict."""

    rule: str
    cells: list[int]
    claimed: int
    """The layer that both claim."""


class AttemptView(TypedDict):
    """A match or a near miss as the rule lens shows it: which layers the entries of the rule bind."""

    cells: list[int]
    """The layer of each entry, root first; of a near miss up to the one that refused."""
    verdict: NotRequired[str]
    """Default: that of the lens."""
    question: NotRequired[int]
    """The first question with the answer no, counted over all entries; missing if none is, or it is not known."""
    lines: NotRequired[list[int]]
    """The edges because of which a layer refused: source, user, source, user, ..."""
    rival: NotRequired[RivalView]


class LensView(TypedDict):
    """The attempts of a rule for which a hull stands."""

    rule: str
    count: int
    """How many there are; more than `attempts` if there are too many to show them one by one."""
    attempts: list[AttemptView]
    verdict: NotRequired[str]
    """The verdict of all attempts, if they have the same."""
    sign: NotRequired[str]
    """A few words for the layer that refused: `feeds 2 or more layers`."""
    saved: NotRequired[int]
    """How many layers fewer there are after each match."""
    made: NotRequired[list[PartView]]
    """What replaces the root of each match."""


class HullView(TypedDict):
    """An outline of the nodes of a match, a near miss, or a side of a conflict."""

    id: str
    kind: HullKind
    nodes: list[str]
    label: str
    reason: str
    lens: NotRequired[LensView]
    """Around plates of the state before the step: how the rule binds their layers."""
    outline: NotRequired[str]
    """The line around its boxes, as an SVG path."""
    tag: NotRequired[list[float]]
    """The upper left corner of its name, [x, y]; without it the name is not drawn."""


class LinkView(TypedDict):
    """A dotted line between two plates whose layers were nearly folded together."""

    source: str
    target: str
    points: list[list[float]]
    """Its corners ([x, y])."""
    lines: list[str]
    """The reason, in lines."""
    at: NotRequired[list[float]]
    """Middle of the upper edge of the reason; without it, there is room only when the link is selected."""


class LegendItem(TypedDict):
    """One entry of the legend: each visual channel has one meaning, and every colour comes with a sign."""

    channel: Literal["fill", "border", "badge", "hull", "shape", "edge", "cell", "line", "mark", "bar"]
    role: str
    """Name of a colour role or shape of the drawing code (`added`, `near-miss`, `sum`, `category-3`, `scale`)."""
    sign: str
    text: str


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
    """What changed, for the line below the picture and the live region: `1 layer created, 2 removed`."""
    note: str
    """How much of the graph is shown: `5,725 layers. Showing 28 groups.`"""
    message: str
    """Why there is nothing to see, or what went wrong; empty otherwise."""
    actions: NotRequired[list[ActionView]]
    """Actions that the message and the note suggest."""
    width: float
    height: float
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
    matches: NotRequired[list[HullView]]
    """The matches, around plates of the step before; shown before they are rewritten."""
    other: NotRequired["PictureView"]
    """Only in mode `side`: this picture is the state before, and `other` the state after."""


class SmallPlateView(TypedDict):
    """A plate in the small drawing of a frame."""

    kind: NodeKind
    at: list[int]
    """Left, top, width and height in percent of the drawing's width."""
    calls: int
    ms: NotRequired[dict[str, float]]
    """Measured milliseconds of its calls, by lane."""


class FrameView(TypedDict):
    """One frame of the film: a step that changed something."""

    step: int
    label: str
    calls: int
    """How many layers, or operators, are called after the step."""
    sentence: str
    """What the step did and what it bought."""
    plates: NotRequired[list[SmallPlateView]]
    """A small drawing, for circuits that are not too large."""
    times: NotRequired[dict[str, float]]
    """Measured milliseconds by lane."""
    missing: NotRequired[dict[str, str]]
    """Why devices of this machine have no times, if others have."""


class ThumbnailPlateView(TypedDict):
    """A plate of a thumbnail."""

    kind: NodeKind
    folded: bool
    """Whether it is several layers in one call; it has a frame."""
    path: str
    """SVG path data: an area if it is one call, otherwise a rectangle for each cell."""


class ThumbnailView(TypedDict):
    """A small drawing of plates without words, in pixels."""

    width: float
    height: float
    plates: list[ThumbnailPlateView]


SceneName = Literal["circuit", "match", "fuse", "levels", "fold", "clock"]


class SceneView(TypedDict):
    """A scene of the story of a compilation: a step, shown in a mode, with a sentence."""

    name: SceneName
    title: str
    mode: Mode
    sentence: str


class StepView(TypedDict):
    """One step of the trace, for the stepper and the tree of steps."""

    index: int
    path: str
    title: str
    """The text of the slider: `Step 7 of 23: fuse, round 1, 12 of 1038 matches`."""
    label: NotRequired[str]
    """Its name in the tree of steps, under the headings `groups`, outermost first."""
    groups: NotRequired[list[str]]
    summary: str
    changed: bool
    ok: bool | None
    """Whether the values agree; None if they were not checked."""
    error: str
    layers: int
    """How many layers are called after the step: a folded one is one call."""
    counted: NotRequired[str]
    """What `layers` counts if not calls (then there are no folds): `Nodes`."""
    folds: int
    """How many layers there are, each slice of a folded one included."""
    matches: int
    near_misses: int
    seconds: float
    frame: NotRequired[FrameView]
    """Its frame in the film, if it has one."""
    scenes: NotRequired[list[SceneView]]
    """The scenes of the story that show it, in their order."""


class SectionView(TypedDict):
    """A section of the details of a node: a heading, rows of (name, value), then lines of text."""

    heading: str
    rows: list[list[str]]
    lines: list[str]


class StripView(TypedDict):
    """Slices in the order in which they are in memory, drawn as a strip."""

    title: str
    """`64 slices of Sum #171`."""
    kind: NodeKind
    count: int
    prefix: str
    """The name of a slice is `prefix`, its number, `suffix`: `#171[3]`, `#12`, `x5`."""
    suffix: str
    numbers: list[int]
    """The number of each; empty if they are counted from 0."""
    apart: bool
    """Whether each is a tensor of its own."""


class MemoryView(TypedDict):
    """How a plate reads its inputs: the index table (F, H) as lines between strips."""

    sentence: str
    line: Literal["viewLine", "copyLine", "edge"]
    """The colour role of the lines: read in place, copied, or separate calls."""
    sources: list[StripView]
    """What it reads, one strip after the other."""
    own: StripView
    arity: int
    reads: list[int]
    """For each own slice its `arity` inputs: positions in the strips of `sources`, counted through."""
    copy: str
    """Words at the copied slices; empty if nothing is copied."""
    cut: str
    """How much is drawn if that is not everything: `The first 512 of 3,136 slices are drawn.`"""


class CodeView(TypedDict):
    """What runs for a plate: Python, a formula, shapes."""

    type: str
    """The class of the layer."""
    lines: list[str]
    """What PyTorch does: reading the inputs, then the layer."""
    formula: str
    shapes: str
    source: str
    """The method of the class that computes it; empty if it is not known."""
    where: str
    """The file and the line of `source`."""
    note: str


class SheetView(TypedDict):
    """The value of one node of a parameter graph, as a heat map."""

    title: str
    """`weight = A · B`."""
    shape: str
    rows: int
    columns: int
    values: list[float | None]
    """Row by row; None for a number that is not finite."""
    scale: list[str]
    """The least and the greatest value."""


class ParametersView(TypedDict):
    """The parameters of a plate: what they are, and the values of one slice."""

    lines: list[str]
    slice: int
    count: int
    """How many slices, or layers, there are."""
    of: str
    """Whose values are shown: `slice 3 of 64`."""
    sheets: list[SheetView]
    """What the parameters of this slice are computed from, in order."""
    overview: list[SheetView]
    """The parameters of all slices, if they are small."""
    missing: str
    """Why there are no values."""


class RunView(TypedDict):
    """One input, and what the circuit computes for it."""

    label: str
    x: list[float]
    outputs: dict[str, str]
    """The output after each step that was run, keyed by step, as a decimal string."""
    same: str
    """`The output is −187.48 after each of the 6 steps.`"""
    cells: dict[str, list[float]]
    """Keyed by layer: the logarithm of its value (the mean of its units), and its place from 0 to 1 on the scale."""


class ValuesView(TypedDict):
    """What circuits compute for some inputs. Either `runs` or `missing` is empty."""

    version: int
    missing: str
    """Why there are no values."""
    image: list[int]
    """Channels, height and width of an input; empty if it is not an image."""
    most: float
    """The largest value of a variable, which is painted."""
    paints: bool
    """Whether the host runs inputs that the reader paints or writes: `view.painted`."""
    runs: list[RunView]
    steps: list[list[str]]
    """The steps that were run: number and name."""
    scale: list[str]
    """The least and the greatest value of the scale, and what it measures."""
    note: str
    """What was not run; empty if everything was."""


class CloseupView(TypedDict):
    """The close-up of the selected plate, below the picture."""

    title: str
    memory: MemoryView
    parameters: ParametersView
    code: CodeView


class DetailsView(TypedDict):
    """What the inspector shows of the selection."""

    id: str
    title: str
    sections: list[SectionView]
    closeup: NotRequired[CloseupView]
    """Only of a plate."""


class FoldGroupView(TypedDict):
    """One folded layer: its members, their common key, and where each slice reads its inputs."""

    node: int
    title: str
    members: list[int]
    """The layer of each slice, in order."""
    key: list[list[str]]
    """The fold key: rows of (name, value)."""
    read: str
    """How the inputs are read (view, slice, gather ...); empty for input layers."""
    reason: str
    """What that read does and costs, in words."""
    copied_bytes: int
    index: list[list[list[int]]]
    """(F, H, 2): the (folded node, slice) that each slice reads as each input; empty for input layers."""
    table: TableView
    """The same as a table, one row per slice."""


class FoldLevelView(TypedDict):
    """One level of folding: its groups, and its missed folds."""

    version: int
    level: int
    title: str
    groups: list[FoldGroupView]
    missed: TableView


class BarView(TypedDict):
    """One bar: a value with its interval; `missing` says why there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    series: str
    missing: str
    tone: NotRequired[Literal["faster", "slower", "noise"]]
    """Of a change in time: its direction, or within the noise (drawn grey)."""


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


class PictureStateView(TypedDict):
    """A picture to navigate to: the step, how it is shown, and the selected boxes."""

    step: int
    mode: Mode
    colour_by: ColourBy
    group_by: GroupBy
    selection: list[str]
    hull: NotRequired[str]
    """The hull in focus."""


class VerdictView(TypedDict):
    """The feedback on an answer."""

    right: bool
    text: str


class NumberView(TypedDict):
    """A numeric answer: its noun, the right number, and the feedback on right and wrong ones."""

    noun: str
    answer: int
    right: str
    wrong: str


class ClicksView(TypedDict):
    """An answer clicked in the picture: the right nodes, and the feedback.

    The feedback on a wrong answer names the nodes that do not belong, why the first of them does not (`apart`), the
    missing nodes, and `why`.
    """

    boxes: dict[str, int]
    """The node of each box of the picture."""
    about: int
    """The node in question; it is not part of an answer."""
    wanted: list[int]
    right: str
    why: str
    apart: dict[str, str]
    """Keyed by node, as a decimal string."""


class QuestionView(TypedDict):
    """A question about a step, with the feedback on all answers. It has one of `choices`, `number`, `clicks`."""

    version: int
    text: str
    hint: str
    """Shown after a wrong first answer, in place of the feedback, which would reveal the right one."""
    asking: PictureStateView
    """The picture shown with the question; it does not reveal the answer."""
    revealing: PictureStateView
    """The picture that reveals the answer."""
    choices: NotRequired[dict[str, VerdictView]]
    number: NotRequired[NumberView]
    clicks: NotRequired[ClicksView]


class RecordingView(TypedDict):
    """A trace for a page without Python: all steps, and the pictures that the page can show."""

    version: int
    title: str
    steps: list[StepView]
    pictures: dict[str, PictureView]
    """Keyed by `step/mode/colour_by/group_by`: `3/diff/change/fold`; or, if all pictures have the same colouring and
    grouping, by `step/mode`: `3/diff`. Mode `side` may be missing: it is composed of `before` and `after`."""
    coordinates: dict[str, str]
    """Base64 of the float array of each picture, under the same key: 32 bits each, little-endian."""
    details: dict[str, DetailsView]
    """Keyed by `step/box id`: `3/g5x2-9`."""
    values: NotRequired[ValuesView]


class GraphOptions(TypedDict, total=False):
    """How a graph is shown. Defaults: everything, with the size and the parts of the dashboard."""

    compact: bool
    """For notebooks: no tool bar and no legend, the inspector in a drawer."""
    height: int | str
    """Pixels, or a CSS length."""
    theme: Literal["auto", "light", "dark"]
    inspector: Literal["side", "drawer", "none"]
    modes: list[Mode]
    """The available modes; a single one hides the buttons."""
    colours: list[ColourBy]
    groups: list[GroupBy]
    stepper: bool
    """False: the step is fixed."""
    film: bool
    """False: no film, no sentence and no time line, which tell what later steps do."""
    closeup: bool
    """False: no close-up of the selected plate."""
    toolbar: bool
    legend: bool
    actions: bool
    """False: no buttons for actions that need Python."""
    requests: list[str]
    """Names of the requests that the host handles."""
    numbers: bool
    """A box of one node shows its number instead of its title."""
    asking: bool
    """Show only the picture: no caption, no message, no details."""
    many: bool
    """A click toggles a box in the selection."""
    letter_keys: bool
    animate: bool
    svg_limit: int
    """Pictures with more boxes are drawn on a canvas."""


class EmbeddedView(TypedDict):
    """One of several views in a page: which module draws it, and its initial state. The page stores the data."""

    kind: Literal["graph", "question", "bars"]
    options: NotRequired[GraphOptions]
    """Of the graph."""
    recording: NotRequired[int]
    """Index of the recording for a graph or a question; views of the same trace share it."""
    start: NotRequired[PictureStateView]
    details: NotRequired[str]
    """JSON of the inspector's initial content, if it differs from the recorded details of the selected box."""
    tables: NotRequired[dict[str, str]]
    """HTML below the graph, keyed by step; the empty name is for all other steps."""
    question: NotRequired[QuestionView]
    revealed_options: NotRequired[GraphOptions]
    """Options of the graph while the answer is revealed; before that `options`."""
    bars: NotRequired[BarsView]
