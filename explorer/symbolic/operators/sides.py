"""The layers of one side of a product: those of a circuit, and groups of factors of its products."""

from collections.abc import Sequence

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer, Layer
from explorer.symbolic.operators.assembly import describe
from explorer.symbolic.scope import Scope, union


class Side:
    """A circuit whose products have groups of factors as layers, wherever the other side does not split these."""

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
