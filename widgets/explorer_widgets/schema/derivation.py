"""The circuits that operators combined, each drawn as plates, and the origins of layers."""

from typing import TypedDict


class DrawnPlateView(TypedDict):
    """A plate of a circuit: a cell for each layer."""

    title: str
    kind: str
    """`input`, `sum`, `product` or `fused`."""
    units: str
    """Number of output units of each layer: `16`, `16 each` of several, or `1 to 16`."""
    at: list[float]
    """Left, top, width and height in pixels."""
    cells: list[int]
    """The layer of each cell."""
    places: list[float]
    """Left, top, width and height of each cell, in pixels."""


class DrawnCircuitView(TypedDict):
    """A circuit that operators combined, or that they made."""

    label: str
    """Its letter, or the operators that made it: `multiply(A, A)`."""
    text: str
    """Its size."""
    made: str
    """Effect of the operator that made it; empty if it was built."""
    width: float
    height: float
    plates: list[DrawnPlateView]
    lines: list[list[int]]
    """Positions of a plate, and of a plate that reads it."""


class DerivationView(TypedDict):
    """Circuits, each after those that it was made of; the last one is the result."""

    version: int
    circuits: list[DrawnCircuitView]
    origins: list[list[int]]
    """Position of a circuit, a layer of it, position of an operand, and the layer of it that the layer was made of."""
    chosen: list[list[int]]
    """Position of a circuit and a layer of it, of the layers to light first."""
    note: str
    """Why circuits are not drawn; empty if they are."""
