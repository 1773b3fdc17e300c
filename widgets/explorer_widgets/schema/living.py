"""A small circuit that a page evaluates itself: what its layers believe, given some variables."""

from typing import Literal, NotRequired, TypedDict

LivingKind = Literal["table", "gaussian", "normal", "exponential", "laplace", "histogram", "constant", "sum", "product"]


class LivingLayerView(TypedDict):
    """A layer of O units; layers are in topological order."""

    kind: LivingKind
    inputs: list[int]
    """The positions of the H layers that it reads; they have I units each."""
    units: int
    at: int
    """Where its numbers begin. `table`: (O, states) logarithms of the value for each state. `gaussian`: (3, O) means,
    standard deviations, and logarithms of the integral. `normal`, of V variables: (O, 2 V + V (V-1) / 2) means,
    standard deviations given the variables before, and the slopes on these, row by row. `exponential`: (1, O) means.
    `laplace`: (2, O) locations and scales. `histogram`: (O, bins) logarithms of probabilities. `constant`: (O,)
    logarithms. `sum`: (O, H*I) logarithms of weights."""
    variables: NotRequired[list[int]]
    """The variables of an input layer: several of a `normal` one, none of a constant."""
    edges: NotRequired[list[float]]
    """The edges of the bins of a histogram, ascending."""
    reads: NotRequired[list[int]]
    """(O, H) the unit of each input that a unit of a product reads; by default the one of its own number."""


class LivingVariableView(TypedDict):
    """A variable of the circuit."""

    name: str
    states: int
    """Its number of values, which are 0, 1, ...; 0 for a real number."""
    span: list[float]
    """The least and the largest value that are told apart in a picture."""
    labels: list[str]
    """The names of its values if they are categories, else empty."""
    zero: float
    unit: float
    """A value v of a number is `zero` + `unit` v in the table."""
    is_integer: bool
    """Whether the table has integers, which the circuit reads as real numbers."""


class LivingExampleView(TypedDict):
    """An input that a reader may pick."""

    label: str
    x: list[float]


class LivingNumbersView(TypedDict):
    """The numbers of all layers of a circuit, block by block."""

    blocks: list[list[float]]
    """Rows, columns and step of each block. Without a step (0) its numbers are in `numbers`; with one the largest of
    each row is there, and `codes` say how many steps each number is below that."""
    numbers: str
    """Base64 of 32-bit numbers: first the lowest bytes of all of them, and so on, so that it packs well."""
    codes: str
    """Base64 of bytes."""


class LivingEpochView(LivingNumbersView):
    """The circuit as it was after an epoch of its training."""

    epoch: int
    bits: float
    """-log2 p per variable of held-out rows."""


class LivingView(LivingNumbersView):
    """A circuit that a page evaluates; or `missing` says why it does not."""

    version: int
    missing: str
    note: str
    """Where its weights come from."""
    image: list[int]
    """Channels, height and width if the variables are pixels, else empty."""
    variables: list[LivingVariableView]
    layers: list[LivingLayerView]
    root: int
    """The position of the layer of the output, which is its first unit."""
    cells: dict[str, int]
    """The positions of the layers whose values nodes have, by the number of the node, at every step."""
    examples: list[LivingExampleView]
    epochs: list[LivingEpochView]
    """Of the training, in order; empty if none are known."""
