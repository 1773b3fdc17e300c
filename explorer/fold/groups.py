"""Fold groups: nodes of the same type, with the same fold settings and the same context in the graph."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

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


@dataclass(frozen=True, slots=True, eq=False)
class FoldKeys:
    """The fold keys of nodes, each key once: `number_of` maps a node to the position of its key in `keys`."""

    number_of: Mapping[int, int]
    keys: tuple[FoldKey, ...]


_keys_of_graphs: WeakKeyDictionary[Graph[Any], FoldKeys] = WeakKeyDictionary()


def fold_keys(graph: Graph[Any]) -> FoldKeys:
    """The fold keys of all nodes of a graph in their context, computed once per graph, since graphs are frozen."""
    known = _keys_of_graphs.get(graph)
    if known is None:
        known = _keys_of_graphs[graph] = _number_keys(graph.nodes, fold_context(graph))
    return known


def _number_keys(nodes: Mapping[int, Any], context: Mapping[int, FoldSettings]) -> FoldKeys:
    numbers: dict[FoldKey, int] = {}
    number_of: dict[int, int] = {}
    for node, value in nodes.items():
        kind, settings = fold_key(value)
        if node in context:
            settings = (*settings, *context[node])
        number_of[node] = numbers.setdefault((kind, settings), len(numbers))
    return FoldKeys(number_of, tuple(numbers))


def group_foldable_modules(
    nodes: Mapping[int, Any], ids: Iterable[int], keys: FoldKeys | None = None
) -> list[tuple[FoldKey, list[int]]]:
    """The nodes of one level in groups of equal fold key, in order of first appearance.

    `keys` are the `fold_keys` of the graph; without them, nodes are compared out of their context.
    """
    if keys is None:
        keys = _number_keys(nodes, {})
    groups: defaultdict[int, list[int]] = defaultdict(list)
    number_of = keys.number_of
    for node in ids:
        groups[number_of[node]].append(node)
    return [(keys.keys[number], members) for number, members in groups.items()]


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
