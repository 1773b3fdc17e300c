"""Folding parameters.

The graphs of all members are one graph with many outputs, and that graph is folded level by
level.

So nodes fold inside one parameter and between parameters, and a node that several members share stands there once.
Source: handbook, Fold a Parameter Graph (_fold_parameters) and Fold Group of Parameter (_fold_parameter_nodes_group).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from explorer.backend.parameters import (
    TorchLeafParameter,
    TorchParameter,
    TorchParameterNode,
    TorchPointerParameter,
    TorchTensorParameter,
)
from explorer.errors import ShapeError
from explorer.fold.folding import build_folded_graph
from explorer.graph import Graph, group_levels


def _fold_parameters(parameters: Sequence[TorchParameter]) -> TorchParameter:
    """One parameter (F, *shape) of F parameters that are not folded. Raises: ShapeError for one that is."""
    for parameter in parameters:
        if parameter.fold_index is not None:
            raise ShapeError(f"a parameter is folded once; {parameter!r} is folded already")
    merged = _merge(parameters)
    folded, info = build_folded_graph(
        merged, group_levels(merged.levels), _fold_parameter_nodes_group, count(merged.next_id)
    )
    return TorchParameter(folded, info)


def _merge(parameters: Sequence[TorchParameter]) -> Graph[TorchParameterNode]:
    """All graphs as one; nodes that compute the same from the same leaves stand there once."""
    nodes: dict[int, TorchParameterNode] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    known: dict[tuple[object, ...], int] = {}
    outputs: list[int] = []
    for parameter in parameters:
        place: dict[int, int] = {}
        for node, value in parameter.graph.nodes.items():
            sources = tuple([place[source] for source in parameter.graph.inputs[node]])
            if isinstance(value, TorchLeafParameter):
                key: tuple[object, ...] = value.leaves
            else:
                key = (type(value), value.fold_settings, sources)
            merged = known.setdefault(key, len(nodes))
            place[node] = merged
            if merged == len(nodes):
                nodes[merged] = value
                inputs[merged] = sources
            elif isinstance(value, TorchTensorParameter):
                nodes[merged] = value  # the owner of a leaf stands for the pointers to it
        outputs.append(place[parameter.graph.outputs[0]])
    return Graph(nodes, inputs, tuple(outputs))


def _fold_parameter_nodes_group(group: Sequence[TorchParameterNode]) -> TorchParameterNode:
    """One node of several: tensors and pointers join their leaves, operators grow their number of folds."""
    first = group[0]
    odd = next((node for node in group if type(node) is not type(first)), None)
    if odd is not None:
        raise ShapeError(f"nodes of one type fold together; found {type(first).__name__} and {type(odd).__name__}")
    match first:
        case TorchTensorParameter() | TorchPointerParameter():
            members = [node for node in group if isinstance(node, TorchLeafParameter)]
            return replace(
                first,
                num_folds=sum(node.num_folds for node in members),
                leaves=tuple(leaf for node in members for leaf in node.leaves),
                initializers=tuple(initializer for node in members for initializer in node.initializers),
            )
        case _:
            return replace(first, num_folds=sum(node.num_folds for node in group))
