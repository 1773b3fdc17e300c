"""The pairs of units of two layers that are the units of their product, their order, and the layers of a side."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer, Layer
from explorer.symbolic.operators.assembly import describe
from explorer.symbolic.scope import Scope, union


@dataclass(frozen=True, slots=True)
class PairUnits:
    """The order of the units of a product of a left and a right layer.

    The units of each are viewed as axes, of the sizes `left` and `right` (none, if the layer is a copy of the one on
    the other side). The units of the product have all these axes; `order` lists them, where left axes come before right
    ones: the natural order is 0, 1, 2 ... A Kronecker product of products has another one. With `is_half`, it is a
    square: left and right units are the same, and only the pairs (i, j) with i <= j exist.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    order: tuple[int, ...]
    is_half: bool = False

    @staticmethod
    def natural(left: int | None, right: int | None) -> "PairUnits":
        """All pairs of `left` and `right` units, the left one slower; None: there is no layer on that side."""
        sizes = [() if n is None else (n,) for n in (left, right)]
        return PairUnits(sizes[0], sizes[1], tuple(range(len(sizes[0]) + len(sizes[1]))))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of all axes: left, then right."""
        return (*self.left, *self.right)

    @property
    def num_left(self) -> int:
        """Number of left units."""
        return prod(self.left)

    @property
    def num_right(self) -> int:
        """Number of right units."""
        return prod(self.right)

    @property
    def is_natural(self) -> bool:
        """Whether the units are in the natural order; axes of size 1 do not matter."""
        return is_ascending(self.order, self.sizes)

    def simplified(self) -> "PairUnits":
        """The same order with one axis for each side, if it is the natural one."""
        if not self.is_natural:
            return self
        return PairUnits.natural(self.num_left if self.left else None, self.num_right if self.right else None)

    def flipped(self) -> "PairUnits":
        """The same units where left is right."""
        shift = len(self.left)
        order = tuple(axis - shift if axis >= shift else axis + len(self.right) for axis in self.order)
        return PairUnits(self.right, self.left, order)


def is_ascending(order: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a transposition changes nothing: the axes of size above 1 are in order."""
    wide = [axis for axis in order if sizes[axis] > 1]
    return wide == sorted(wide)


class Side:
    """A circuit with groups of factors as layers below products, wherever the other side does not split these."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.nodes: dict[int, Layer] = dict(circuit.graph.nodes)
        self.inputs: dict[int, tuple[int, ...]] = dict(circuit.graph.inputs)
        self.scopes: dict[int, Scope] = dict(circuit.scopes)
        self._groups: dict[tuple[type[Layer], tuple[int, ...]], int] = {}
        self._product_of: dict[int, int] = {}

    def group(self, node: int, factors: Sequence[int], *, is_kronecker: bool) -> int:
        """The layer with the product of some factors of a product; they have equally many units."""
        width = self.nodes[factors[0]].num_output_units
        layer_type = KroneckerLayer if is_kronecker else HadamardLayer
        key = (layer_type, tuple(factors))
        if key not in self._groups:
            count = len(factors)
            units = width**count if is_kronecker else width
            found = max(self.nodes) + 1
            self.nodes[found] = layer_type(num_input_units=width, num_output_units=units, arity=count)
            self.inputs[found] = tuple(factors)
            self.scopes[found] = union(self.scopes[factor] for factor in factors)
            self._product_of[found] = self.origin(node)
            self._groups[key] = found
        return self._groups[key]

    def origin(self, node: int) -> int:
        """The layer of the circuit: of a group of factors, the product that has them."""
        return self._product_of.get(node, node)

    def describe(self, node: int, operand: int) -> str:
        """A layer in words for an error, as `describe`."""
        words = describe(self.circuit, self.origin(node), operand)
        return words if node == self.origin(node) else f"some factors of {words}"
