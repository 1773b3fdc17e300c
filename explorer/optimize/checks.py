"""Checks of what rules return: whether replacements fit their neighbours, and whether an optimized circuit is legal."""

from itertools import pairwise

from explorer.backend import TorchInnerLayer, TorchInputLayer, TorchLayer
from explorer.backend.parameters import TorchParameterNode
from explorer.errors import GraphError
from explorer.graph import Graph
from explorer.rewrite import GraphOptMatch


def check_replacement(match: GraphOptMatch, nodes: tuple[TorchLayer, ...]) -> str | None:
    """Return why the layers cannot replace a match, or None: type, width, arity and scope must fit the neighbours."""
    for node in nodes:
        if not isinstance(node, TorchLayer):
            return f"expected layers from a rule on layers, got a {type(node).__name__}"
    root, entry = match.entries[0], match.entries[-1]
    if nodes[-1].num_output_units != root.num_output_units:
        found, wanted = nodes[-1].num_output_units, root.num_output_units
        return f"the last layer has {found} output units, the root it replaces {wanted}"
    if isinstance(entry, TorchInputLayer) and getattr(nodes[0], "scope_idx", None) != entry.scope_idx:
        return f"the input layer reads variables {entry.scope_idx}, and its replacement reads different ones"
    if _reads(nodes[0]) != _reads(entry):
        return f"the first layer reads (arity, units) {_reads(nodes[0])}, the one it replaces {_reads(entry)}"
    for below, above in pairwise(nodes):
        if _reads(above) != (1, below.num_output_units):
            return f"{type(above).__name__} does not fit on {type(below).__name__}: each layer reads the previous one"
    return None


def check_parameter_replacement(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> str | None:
    """Return why the parameter nodes cannot replace a match, or None."""
    for node in nodes:
        if not isinstance(node, TorchParameterNode):
            return f"expected parameter nodes from a rule on parameters, got a {type(node).__name__}"
    if nodes[-1].shape != match.entries[0].shape:
        return f"the last node has shape {nodes[-1].shape}, the root it replaces {match.entries[0].shape}"
    return None


def verify_layers(graph: Graph[TorchLayer]) -> None:
    """Raises: GraphError if the inputs of a layer differ in number or width from what the layer declares."""
    for node, layer in graph.nodes.items():
        if not isinstance(layer, TorchInnerLayer):
            continue
        found = [graph.nodes[source].num_output_units for source in graph.inputs[node]]
        if found != [layer.num_input_units] * layer.arity:
            wanted = f"{layer.arity} layers of {layer.num_input_units} units"
            raise GraphError(f"{type(layer).__name__} {node}: expected {wanted} as inputs, got layers of {found} units")


def _reads(layer: TorchLayer) -> tuple[int, int] | None:
    """The arity of a layer and the width of its inputs; None for an input layer."""
    return (layer.arity, layer.num_input_units) if isinstance(layer, TorchInnerLayer) else None
