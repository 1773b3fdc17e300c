"""The steps of a trace, its film and its story."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.words import Mode, NodeKind


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
    """Number of layers, or operators, called after the step."""
    sentence: str
    """Effect of the step, and its gain."""
    memory: NotRequired[tuple[str, int]]
    """The most memory of its buffers at one moment, in words and in bytes; it is shown in place of the calls."""
    plates: NotRequired[list[SmallPlateView]]
    """A small drawing, unless the trace is too large."""
    undrawn: NotRequired[str]
    """Why there is no drawing."""
    times: NotRequired[dict[str, float]]
    """Measured milliseconds by lane."""
    certified: NotRequired[dict[str, str]]
    """Number of rows that a backend certified, in words, by lane."""
    missing: NotRequired[dict[str, str]]
    """Why devices of this machine have no times, if others have."""


class StairView(TypedDict):
    """A measured time on the clock, or a number of calls where nothing was measured."""

    step: int
    share: float
    """Of the full width: 0 to 1."""
    text: str
    """The time: `6.36 ms`."""
    about: str
    """What it is the time of, its interval, and how it compares with the original."""
    gain: NotRequired[str]
    """Compared with the original, in few words: `3.6x faster`, `no clear difference`."""
    backend: NotRequired[str]
    """The backend, if it is a time of the kernels of `fast()`, not of the layers."""
    certified: NotRequired[str]
    """How many rows the backend certified: `✓ 256 rows certified`."""


class ClockLaneView(TypedDict):
    """The times of one device of one machine."""

    lane: str
    name: str
    """The device: `CPU`."""
    machine: str
    """Whose it is: `NVIDIA H200, recorded 2026-11-27`."""
    about: str
    """The conditions: versions, what was run, the batch."""
    stairs: list[StairView]
    """In the order of the steps."""


class ClockLensView(TypedDict):
    """A part of the clock at a larger scale."""

    factor: int
    words: str
    """`20 times as wide: the full width is 1.21 ms`."""


class RaceView(TypedDict):
    """A race of the original circuit and a later one."""

    seconds: float
    """How long the full width lasts."""
    words: str
    """`200 times slower than in reality`."""


class ClockView(TypedDict):
    """The times of all measured steps of a trace on one scale, which no step changes."""

    scale: str
    """What the full width is: `Full width: 24.2 ms, the original circuit`."""
    lanes: list[ClockLaneView]
    """CPU above, CUDA below."""
    lens: NotRequired[ClockLensView]
    """If the last step is a sliver."""
    race: NotRequired[RaceView]
    """If times were measured."""
    unmeasured: NotRequired[str]
    """If this machine has no times: `This CPU: not measured yet`."""
    note: NotRequired[str]
    """Which devices have no times, and why."""


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


SceneName = Literal["operator", "circuit", "guess-fuse", "match", "fuse", "levels", "guess-fold", "fold", "clock"]


class GuessView(TypedDict):
    """A question that is answered by clicking plates of the scene, and its answer."""

    question: str
    wanted: list[str]
    """The plates to click, by id."""
    apart: dict[str, str]
    """Why each of the other plates is not among them."""


class SceneView(TypedDict):
    """A scene of the story of a compilation: a step, shown in a mode, with a sentence."""

    name: SceneName
    title: str
    mode: Mode
    sentence: str
    guess: NotRequired[GuessView]
    """If it is there, the scene asks; `sentence` is the answer in words."""


class StepView(TypedDict):
    """One step of the trace, for the stepper and the tree of steps."""

    index: int
    path: str
    name: NotRequired[str]
    """`Step 7 of 23: fuse, round 1`; the title without the outcome."""
    title: str
    """What a frame of the film is called: `Step 7 of 23: fuse, round 1, 12 of 1038 matches`."""
    label: NotRequired[str]
    """Its name in the tree of steps, under the headings `groups`, outermost first."""
    groups: NotRequired[list[str]]
    summary: str
    changed: bool
    ok: bool | None
    """Whether the values agree; None if they were not checked, or cannot be compared."""
    verdict: NotRequired[str]
    """Result of the check of values: `same values`; empty where there is nothing to compare."""
    error: str
    layers: int
    """Number of layers called after the step: a folded one is one call."""
    counted: NotRequired[str]
    """Noun that `layers` counts if not calls (then there are no folds): `Nodes`."""
    folds: int
    """Number of layers, each slice of a folded one included."""
    matches: int
    near_misses: int
    near_stops: NotRequired[int]
    """Those that are shown one by one: not the attempts that ended at the first type."""
    seconds: float
    frame: NotRequired[FrameView]
    """Its frame in the film, if it has one."""
    clock: NotRequired[ClockView]
    """Only the first step has one: the clock of the whole trace."""
    scenes: NotRequired[list[SceneView]]
    """The scenes of the story that show it, in their order."""
