"""Build a circuit by hand, layer by layer, without repeating the number of input units."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from explorer.errors import DuplicateNameError, GraphError, ShapeError
from explorer.graph import Graph
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer, Layer, SumLayer
from explorer.symbolic.parameterization import Parameterization
from explorer.symbolic.parameters import ParameterNode


@dataclass
class CircuitBuilder:
    """Collects layers; each call returns the id of the new layer, and `build` returns the circuit.

    >>> from explorer.symbolic import CategoricalLayer, Parameterization
    >>> b = CircuitBuilder()
    >>> coins = [
    ...     b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=Parameterization()((2, 2))))
    ...     for v in range(2)
    ... ]
    >>> circuit = b.build(b.sum(b.hadamard(*coins), num_units=1))
    >>> len(circuit.layers), circuit.scope
    (4, (0, 1))
    """

    _nodes: dict[int, Layer] = field(default_factory=dict[int, Layer])
    _inputs: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    _ids: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, layer: Layer, inputs: Sequence[int] = (), name: str | None = None) -> int:
        """Add any layer. Raises: GraphError for an unknown input; DuplicateNameError."""
        for source in inputs:
            if source not in self._nodes:
                raise GraphError(f"unknown input layer {source}; add it first")
        if name in self._ids:
            raise DuplicateNameError(f"the layer name {name!r} is already used")
        node = len(self._nodes)
        self._nodes[node] = layer
        self._inputs[node] = tuple(inputs)
        if name is not None:
            self._ids[name] = node
        return node

    def sum(
        self,
        *inputs: int,
        num_units: int,
        weight: ParameterNode | None = None,
        weights: Parameterization | None = None,
        name: str | None = None,
    ) -> int:
        """Add a sum layer with this weight (O, H*I), or one made by `weights` (default: softmax of a normal leaf)."""
        width = self._width(inputs)
        if weight is None:
            weight = (weights or Parameterization())((num_units, len(inputs) * width))
        layer = SumLayer(num_input_units=width, num_output_units=num_units, arity=len(inputs), weight=weight)
        return self.add(layer, inputs, name)

    def hadamard(self, *inputs: int, name: str | None = None) -> int:
        """Add a Hadamard layer over these layers."""
        width = self._width(inputs)
        return self.add(HadamardLayer(num_input_units=width, num_output_units=width, arity=len(inputs)), inputs, name)

    def kronecker(self, *inputs: int, name: str | None = None) -> int:
        """Add a Kronecker layer over these layers."""
        width = self._width(inputs)
        layer = KroneckerLayer(num_input_units=width, num_output_units=width ** len(inputs), arity=len(inputs))
        return self.add(layer, inputs, name)

    def width(self, node: int) -> int:
        """The number of output units of a layer."""
        return self._width((node,))

    def build(self, *outputs: int) -> Circuit:
        """The circuit with these outputs. Raises what `Circuit` raises."""
        names = {node: name for name, node in self._ids.items()}
        return Circuit(Graph(self._nodes, self._inputs, outputs), names)

    def _width(self, inputs: Sequence[int]) -> int:
        if not inputs:
            raise ShapeError("an inner layer needs at least one input; found none")
        for source in inputs:
            if source not in self._nodes:
                raise GraphError(f"unknown input layer {source}; add it first")
        return self._nodes[inputs[0]].num_output_units
