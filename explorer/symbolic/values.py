"""A circuit whose leaves begin with given values, such as those that were learned."""

from collections.abc import Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from explorer.errors import UnknownNameError, check_type
from explorer.graph import nested_of, parameters_of
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.layers import Layer
from explorer.symbolic.parameters import ParameterNode, ParameterOp


def with_values(circuit: Circuit, values: Mapping[str, ArrayLike]) -> Circuit:
    """Return the circuit with a value for each leaf, by the names in `circuit.leaf_names`, as its first value.

    The leaves are new ones: nothing is shared with the circuit, and compiling draws no random numbers.
    Raises: UnknownNameError if a leaf has no value, or a value no leaf; ShapeError, DataTypeError for one that does not
    fit its leaf.
    """
    check_type("the values by leaf", values, Mapping)
    names = circuit.leaf_names
    odd = sorted(set(names.values()) ^ set(values), key=str)
    if odd:
        raise UnknownNameError(f"expected a value for each leaf of the circuit; missing or unknown: {odd[:5]}")
    leaves = {leaf: replace(leaf, initializer=ConstantInitializer(values[name])) for leaf, name in names.items()}
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
