"""Build a circuit by hand, with parameters by initializer and activation; replace the initial values of leaves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from numpy.typing import ArrayLike

from explorer.errors import DuplicateNameError, GraphError, ShapeError, UnknownNameError, check_name, check_type
from explorer.graph import Graph, nested_of, parameters_of
from explorer.symbolic.checks import check_fields
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.initializers import ConstantInitializer, Initializer, NormalInitializer
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer, Layer, SumLayer
from explorer.symbolic.parameter_operators import ClampParameter, SigmoidParameter, SoftmaxParameter, SoftplusParameter
from explorer.symbolic.parameters import DataType, ParameterNode, ParameterOp, Shape, TensorParameter

ACTIVATIONS: Mapping[str, Callable[[ParameterNode], ParameterNode]] = MappingProxyType(
    {
        "none": lambda x: x,
        "softmax": lambda x: SoftmaxParameter((x,), axis=-1),
        "sigmoid": lambda x: SigmoidParameter((x,)),
        "softplus": lambda x: SoftplusParameter((x,)),
        "positive-clamp": lambda x: ClampParameter((x,), vmin=1e-18),
    }
)


@dataclass(frozen=True)
class Parameterization:
    """Makes a parameter of any shape: a new leaf with this initializer, passed to this activation.

    Activations: none, softmax (last axis), sigmoid, softplus, positive-clamp (at 1e-18).
    Raises: UnknownNameError for an unknown activation; DataTypeError.

    >>> Parameterization("softmax")((2, 3))
    SoftmaxParameter(TensorParameter(2, 3), axis=1)
    """

    activation: str = "softmax"
    initializer: Initializer = field(default_factory=NormalInitializer)
    dtype: DataType = DataType.REAL

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("activation", self.activation, ACTIVATIONS)

    def __call__(self, shape: Shape) -> ParameterNode:
        return ACTIVATIONS[self.activation](TensorParameter(shape, self.dtype, initializer=self.initializer))


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


def with_values(circuit: Circuit, values: Mapping[str, ArrayLike]) -> Circuit:
    """Return the circuit with a value for each leaf, by the names in `circuit.leaf_names`, as its first value.

    The leaves are new ones: nothing is shared with the circuit, and compiling draws no random numbers.
    Raises: UnknownNameError if a leaf has no value, or a value no leaf; ShapeError, DataTypeError for one that does not
    fit its leaf.
    """
    check_type("the values by leaf", values, Mapping)
    return with_initializers(circuit, {name: ConstantInitializer(value) for name, value in values.items()})


def with_initializers(circuit: Circuit, initializers: Mapping[str, Initializer]) -> Circuit:
    """Return the circuit with an initializer for each leaf, by name; the leaves are new ones.

    Raises: UnknownNameError if a leaf has no initializer, or an initializer no leaf; ShapeError, DataTypeError.
    """
    names = circuit.leaf_names
    odd = sorted(set(names.values()) ^ set(initializers), key=str)
    if odd:
        raise UnknownNameError(f"expected a value for each leaf of the circuit; missing or unknown: {odd[:5]}")
    leaves = {leaf: replace(leaf, initializer=initializers[name]) for leaf, name in names.items()}
    new: dict[ParameterNode, ParameterNode] = {**leaves}
    for _, parameter in circuit.parameters():
        for node in parameter.nodes():
            if isinstance(node, ParameterOp) and node not in new:
                new[node] = replace(node, inputs=tuple(new[one] for one in node.inputs))
    graph = circuit.graph
    layers = {node: _with_parameters(layer, new) for node, layer in graph.nodes.items()}
    labels = {leaves[leaf]: label for leaf, label in circuit.labels.items()}
    return replace(circuit, graph=replace(graph, nodes=layers), labels=labels)


def _with_parameters(layer: Layer, new: Mapping[ParameterNode, ParameterNode]) -> Layer:
    found: dict[str, object] = {name: new[parameter] for name, parameter in parameters_of(layer).items()}
    found |= {name: _with_parameters(nested, new) for name, nested in nested_of(layer).items()}
    return replace(layer, **found) if found else layer
