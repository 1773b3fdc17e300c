"""Where a circuit comes from that an operator made of other circuits, and the names that its leaves have there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from explorer.symbolic.circuit import Circuit

Argument = None | bool | int | float | str | tuple["Argument", ...]
"""An argument of an operator, as plain data."""


class LeafLabel(NamedTuple):
    """The name of a leaf in a derived circuit, and the name by which its first value is drawn.

    Both are the name in the circuit that the leaf comes from. Where two circuits use one name for different leaves, the
    second is called `NAME/2` in the derived circuit, and keeps its first value.
    """

    name: str
    seed_name: str


@dataclass(frozen=True, eq=False)
class Derivation:
    """The operator that made a circuit, its arguments as plain data, and the circuits it was applied to.

    `origins` maps each layer of the result to the layers it was made from: pairs (operand, id of the layer there).
    """

    operator: str
    operands: "tuple[Circuit, ...]"
    origins: Mapping[int, tuple[tuple[int, int], ...]]
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument])

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", {node: tuple(pairs) for node, pairs in self.origins.items()})
        object.__setattr__(self, "arguments", dict(self.arguments))

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"{self.operator}({', '.join(map(repr, self.operands))}{arguments})"


def circuits_behind(circuit: "Circuit") -> "Iterator[Circuit]":
    """The circuits that one was made of, each after those that it was made of, and itself last; shared ones once."""
    done: dict[Circuit, None] = {}
    waiting = [(circuit, False)]
    while waiting:
        one, is_ready = waiting.pop()
        if one in done:
            continue
        if is_ready or one.derivation is None:
            done[one] = None
            continue
        waiting.append((one, True))
        waiting.extend((operand, False) for operand in reversed(one.derivation.operands))
    return iter(done)
