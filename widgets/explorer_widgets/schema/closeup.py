"""The close-up of a selected plate."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.picture import LookView
from explorer_widgets.schema.words import NodeKind


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
    """Reads of a plate: the index table (F, H) as lines between strips."""

    sentence: str
    line: Literal["viewLine", "copyLine", "edge"]
    """The colour role of the lines: read in place, copied, or separate calls."""
    sources: list[StripView]
    """Its inputs, one strip after the other."""
    own: StripView
    arity: int
    reads: list[int]
    """For each own slice its `arity` inputs: positions in the strips of `sources`, counted through."""
    copy: str
    """Words at the copied slices; empty if nothing is copied."""
    cut: str
    """Part that is drawn, if it is not everything: `The first 512 of 3,136 slices are drawn.`"""


class CodeView(TypedDict):
    """Code of a plate: Python, a formula, shapes."""

    type: str
    """The class of the layer."""
    lines: list[str]
    """Calls of PyTorch: reading the inputs, then the layer."""
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
    """Number of slices, or of layers."""
    of: str
    """Whose values are shown: `slice 3 of 64`."""
    sheets: list[SheetView]
    """Leaves and operators from which the parameters of this slice are computed, in order."""
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
    """Keyed by layer: the logarithm of its value (the mean of its units), and its position in `looks`."""


class ValuesView(TypedDict):
    """Values that circuits compute for some inputs. Either `runs` or `missing` is empty."""

    version: int
    answer: int
    """Counts the answers of a session: each is news to the page, even if its values are those of the last one."""
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
    looks: list[LookView]
    """The looks of cells; the last one is that of a cell without a value."""
    scale: list[str]
    """The least and the greatest value of the scale, and what it measures."""
    note: str
    """The circuits that were not run, in words; empty if all were."""
    picked: NotRequired[int]
    """The run to show, if the host has picked one."""


class CloseupView(TypedDict):
    """The close-up of the selected plate, below the picture."""

    title: str
    memory: MemoryView
    parameters: ParametersView
    code: CodeView
