"""A recording for a page without Python, and the options of its views."""

from typing import Any, Literal, NotRequired, TypedDict

from explorer_widgets.schema.bars import BarsView
from explorer_widgets.schema.buffers import BuffersView
from explorer_widgets.schema.closeup import ValuesView
from explorer_widgets.schema.details import DetailsView
from explorer_widgets.schema.film import StepView
from explorer_widgets.schema.living import LivingView
from explorer_widgets.schema.picture import PictureStateView, PictureView
from explorer_widgets.schema.questions import QuestionView
from explorer_widgets.schema.words import ColourBy, GroupBy, Mode


class RecordingView(TypedDict):
    """A trace for a page without Python: all steps, and the pictures that the page can show."""

    version: int
    title: str
    steps: list[StepView]
    pictures: dict[str, PictureView]
    """Keyed by `step/mode/colour_by/group_by`: `3/diff/change/fold`. Mode `side` may be missing: it is composed of
    `before` and `after`."""
    coordinates: dict[str, str]
    """Base64 of the float array of each picture, under the same key: 32 bits each, little-endian."""
    details: dict[str, DetailsView]
    """Keyed by `step/box id`: `3/g5x2-9`; with `/before`, those in the picture before the step, if they differ."""
    values: NotRequired[ValuesView]
    living: NotRequired[LivingView]
    buffers: NotRequired[list[BuffersView]]
    """The states of the memory of a program, each once; pictures name them by position."""


class RecordingHeadView(TypedDict):
    """Summary of a recording, which a page has before it unpacks any part."""

    version: int
    title: str
    steps: list[StepView]
    looks: list[str]
    """The keys of all pictures."""
    part_of: dict[str, int]
    """The part with the pictures of each step, by the step's index."""
    values: NotRequired[ValuesView]
    living: NotRequired[LivingView]


class RecordingPartView(TypedDict):
    """The content of consecutive steps, under the keys of `RecordingView`.

    A picture and details have short values, and `shared`: the positions in `shared` of their long ones by name.
    """

    pictures: dict[str, dict[str, Any]]
    coordinates: dict[str, int]
    """Positions in `shared`."""
    details: dict[str, dict[str, Any]]
    buffers: dict[str, BuffersView]
    """The states that the pictures name, by position."""
    shared: list[Any]
    """The long values, each once."""


class GraphOptions(TypedDict, total=False):
    """Display of a graph. Defaults: everything, with the size and the parts of the dashboard."""

    compact: bool
    """For notebooks: no tool bar, the inspector in a drawer, and with a fixed height by default no legend."""
    height: int | str
    """Pixels, or a CSS length. By default a compact view is as high as what it shows."""
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
    living: bool
    """Whether the host answers the request `living`: what layers believe."""
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
