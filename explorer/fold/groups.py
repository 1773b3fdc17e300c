"""Which nodes can be folded together: the same type, the same fold settings, and the same context in the graph."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from explorer.backend.parameters import FoldSettings
from explorer.graph import Graph

FoldKey = tuple[type, tuple[tuple[str, Any], ...]]
"""The type, then (name, value) pairs: what two nodes must agree on."""


def fold_key(node: Any) -> FoldKey:
    """The fold key of a layer or parameter node by itself."""
    return (node.__class__, node.fold_settings)


def fold_context(graph: Graph[Any]) -> Mapping[int, FoldSettings]:
    """Further settings that nodes must agree on because of their position in the graph; most nodes have none.

    A node with complex inputs computes with different numbers than an equal one with real inputs. A node that no output
    depends on receives no gradient, but would receive zeros as a slice of one that does, and 0 * inf is NaN.
    """
    found: dict[int, FoldSettings] = dict.fromkeys(_dead_nodes(graph), (("is_dead", True),))
    if not any(value.is_complex(()) for value in graph.nodes.values()):
        return found
    is_complex: dict[int, bool] = {}
    for node, value in graph.nodes.items():
        inputs = tuple([is_complex[source] for source in graph.inputs[node]])
        is_complex[node] = value.is_complex(inputs)
        if True in inputs:
            found[node] = (*found.get(node, ()), ("complex_inputs", inputs))
    return found


def group_foldable_modules(
    nodes: Mapping[int, Any], ids: Iterable[int], context: Mapping[int, FoldSettings] = MappingProxyType({})
) -> list[tuple[FoldKey, list[int]]]:
    """The nodes of one level in groups of equal fold key and context, in order of first appearance."""
    groups: dict[FoldKey, list[int]] = {}
    for node in ids:
        kind, settings = fold_key(nodes[node])
        groups.setdefault((kind, (*settings, *context.get(node, ()))), []).append(node)
    return list(groups.items())


def _dead_nodes(graph: Graph[Any]) -> list[int]:
    """The nodes that no output depends on."""
    used = set(graph.outputs).union(*graph.inputs.values())
    if len(used) == len(graph.nodes):  # a node without users that is not an output is the end of every dead path
        return []
    live: set[int] = set()
    waiting = list(graph.outputs)
    while waiting:
        node = waiting.pop()
        if node not in live:
            live.add(node)
            waiting.extend(graph.inputs[node])
    return [node for node in graph.nodes if node not in live]
