"""Folding the layers of a circuit and their parameters: one layer from each group of layers.

The parameter graphs of all members are merged into one graph with many outputs, and it is folded level by level.
So nodes fold within a parameter and across parameters, and a node that several members share exists once. Most groups
are of chains of operators on different leaves (a softmax of a tensor), which fold the same without being merged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from explorer.backend import FoldIndexInfo, IndexTable, TorchInputLayer, TorchLayer
from explorer.backend.parameters import (
    TorchLeafParameter,
    TorchParameter,
    TorchParameterNode,
    TorchPointerParameter,
    TorchTensorParameter,
)
from explorer.errors import ShapeError
from explorer.fold.folding import FoldedGroup, build_folded_graph, fold_group, fold_levels
from explorer.graph import Graph, Ordering, group_levels, nested_of, parameters_of
from explorer.symbolic import TensorParameter


def fold_circuit(
    graph: Graph[TorchLayer], ordering: Ordering, fresh: Iterator[int], skips_level: Callable[[int], bool]
) -> Iterator[list[FoldedGroup]]:
    """Yield the folded groups of each level of a circuit; `assemble` makes the folded circuit of them."""
    return fold_levels(graph, ordering, fold_layer_group, fresh, skips_level)


def fold_layer_group(layers: Sequence[TorchLayer]) -> TorchLayer:
    """One layer with one fold per layer; scopes are concatenated, parameters and nested layers are folded.

    Raises: ShapeError unless all layers have the same type.
    """
    first = layers[0]
    other = next((layer for layer in layers if type(layer) is not type(first)), None)
    if other is not None:
        raise ShapeError(f"only layers of one type fold; found {type(first).__name__} and {type(other).__name__}")
    new: dict[str, Any] = {"num_folds": sum(layer.num_folds for layer in layers)}
    if isinstance(first, TorchInputLayer):
        new["scope_idx"] = tuple(
            scope for layer in layers if isinstance(layer, TorchInputLayer) for scope in layer.scope_idx
        )
    for name in parameters_of(first):
        new[name] = fold_parameters([getattr(layer, name) for layer in layers])
    for name in nested_of(first):
        new[name] = fold_layer_group([getattr(layer, name) for layer in layers])
    return replace(first, **new)


def fold_parameters(parameters: Sequence[TorchParameter]) -> TorchParameter:
    """One parameter (F, *shape) from F unfolded parameters. Raises: ShapeError if one is folded."""
    for parameter in parameters:
        if parameter.fold_index is not None:
            raise ShapeError(f"a parameter can be folded once; {parameter!r} is folded already")
    if _are_equal_chains([parameter.graph for parameter in parameters]):
        return _fold_chains([parameter.nodes for parameter in parameters])
    merged = _merge(parameters)
    folded, info = build_folded_graph(
        merged, group_levels(merged.levels), fold_parameter_nodes_group, count(merged.next_id)
    )
    return TorchParameter(folded, info)


def _are_equal_chains(graphs: Sequence[Graph[TorchParameterNode]]) -> bool:
    """Whether the graphs are chains of the same nodes, each on a leaf of its own: then each level is one group."""
    first = graphs[0]
    ends = [(node,) for node in first.nodes]
    if list(first.inputs.values()) != [(), *ends[:-1]] or first.outputs != ends[-1] or len(graphs) == 1:
        return False
    if any(graph.inputs != first.inputs or graph.outputs != first.outputs for graph in graphs):
        return False
    leaves = {
        value.leaves for graph in graphs if isinstance(value := next(iter(graph.nodes.values())), TorchLeafParameter)
    }
    if len(leaves) != len(graphs):
        return False
    for node, value in first.nodes.items():
        kind, settings = value.__class__, value.fold_settings
        for graph in graphs:
            other = graph.nodes[node]
            if other.__class__ is not kind or other.fold_settings != settings:
                return False
    return True


def _fold_chains(chains: Sequence[Sequence[TorchParameterNode]]) -> TorchParameter:
    """The folded parameter of equal chains; equal to what is made of the merged chains, nodes numbered as there."""
    num_folds, length = len(chains), len(chains[0])
    nodes: dict[int, TorchParameterNode] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    in_fold_idx: dict[int, IndexTable] = {}
    below, read = (), np.empty((num_folds, 0, 2), np.int64)
    for node, group in enumerate(zip(*chains, strict=True), num_folds * length):
        nodes[node] = fold_group(fold_parameter_nodes_group, group)
        inputs[node], in_fold_idx[node] = below, read
        below, read = (node,), np.stack([np.full(num_folds, node), np.arange(num_folds)], axis=-1)[:, None]
    return TorchParameter(Graph(nodes, inputs, below), FoldIndexInfo(in_fold_idx, read[:, 0]))


def _merge(parameters: Sequence[TorchParameter]) -> Graph[TorchParameterNode]:
    """All graphs as one, in which nodes that compute the same from the same leaves exist once."""
    nodes: dict[int, TorchParameterNode] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    leaves: dict[tuple[TensorParameter, ...], int] = {}
    operators: dict[tuple[object, ...], list[int]] = {}
    outputs: list[int] = []
    for parameter in parameters:
        position: dict[int, int] = {}
        for node, value in parameter.graph.nodes.items():
            sources = tuple([position[source] for source in parameter.graph.inputs[node]])
            if isinstance(value, TorchLeafParameter):
                merged = leaves.setdefault(value.leaves, len(nodes))
            else:
                alike = operators.setdefault((value.__class__, sources), [])
                merged = next((one for one in alike if nodes[one].fold_settings == value.fold_settings), len(nodes))
                if merged == len(nodes):
                    alike.append(merged)
            position[node] = merged
            if merged == len(nodes):
                nodes[merged] = value
                inputs[merged] = sources
            elif isinstance(value, TorchTensorParameter):
                nodes[merged] = value  # the owner of a leaf represents the pointers to it
        outputs.append(position[parameter.graph.outputs[0]])
    return Graph(nodes, inputs, tuple(outputs))


def fold_parameter_nodes_group(group: Sequence[TorchParameterNode]) -> TorchParameterNode:
    """One node from several: leaves of tensors and pointers are concatenated, folds of operators are added."""
    first = group[0]
    other = next((node for node in group if type(node) is not type(first)), None)
    if other is not None:
        raise ShapeError(f"only nodes of one type fold; found {type(first).__name__} and {type(other).__name__}")
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
