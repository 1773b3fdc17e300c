"""Where values that are kept by symbolic leaf belong in a circuit, in whatever mode it was compiled."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import ShapeError, UnknownNameError


class PlacedValue(NamedTuple):
    """A value, what it is (`kind`), and the tensor of the circuit and the row of it that it belongs to."""

    kind: str
    tensor: int
    row: int
    value: Tensor


def place_values(
    circuit: TorchCircuit, what: str, by_leaf: Mapping[str, Mapping[str, Tensor]], kinds: Collection[str]
) -> tuple[PlacedValue, ...]:
    """Return values by kind and name of the leaf with their places in the tensors of a circuit; `what` names them.

    Raises: UnknownNameError for other kinds than `kinds` and for unknown leaves, ShapeError: for values of a different
    circuit.
    """
    if set(by_leaf) != set(kinds):
        raise UnknownNameError(f"expected the {what} {', '.join(kinds)}; found {', '.join(sorted(by_leaf))}")
    slots = circuit.leaf_slots
    found: list[PlacedValue] = []
    for kind, values in by_leaf.items():
        for leaf, value in values.items():
            if leaf not in slots:
                raise UnknownNameError(f"the {what} are of a different circuit: it has no leaf {leaf}")
            tensor, row = slots[leaf]
            expected = tuple(circuit.tensors[tensor].shape[1:])
            if value.shape != expected:
                raise ShapeError(f"leaf {leaf} has shape {expected}; found {kind} of shape {tuple(value.shape)}")
            found.append(PlacedValue(kind, tensor, row, value))
    return tuple(found)
