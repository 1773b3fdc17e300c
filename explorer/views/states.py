"""The state after a step as arrays over node ids, for fast pictures of thousands of layers."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.graph import Graph, field_names
from explorer.trace import Folded, NodeRecord

IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

ABSENT = -1


@dataclass(frozen=True, eq=False)
class State:
    """Nodes and edges after a step. Arrays are indexed by node id, with -1 for absent nodes.

    `node` identifies the node (same number: same object), `key` is its group key without the level; `edges` (E, 2)
    are (source, target) pairs, repeated for an input that is read twice.
    """

    present: BoolArray
    node: IntArray
    key: IntArray
    level: IntArray
    edges: IntArray
    outputs: tuple[int, ...]


class NodeTable:
    """Numbers for nodes, and for group keys: type, config, shapes of the parameters."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.keys: list[int] = []
        self._number_of: dict[int, int] = {}
        self._key_of: dict[Hashable, int] = {}

    def number(self, node: Any) -> int:
        """Return the number of a node; two nodes have the same number only if they are the same object."""
        number = self._number_of.get(id(node))
        if number is None:
            number = self._number_of[id(node)] = len(self.nodes)
            self.nodes.append(node)  # keeps the object alive, so that its id is not reused
            self.keys.append(self._key_of.setdefault(group_key(node), len(self._key_of)))
        return number


@dataclass(frozen=True)
class _Fields:
    """Names of the fields of a node class, by their role."""

    config: tuple[str, ...]
    parameters: tuple[str, ...]
    scopes: tuple[str, ...]
    folds: tuple[str, ...]
    nested: tuple[str, ...]


@cache
def _fields_of(kind: type) -> _Fields:
    return _Fields(*(field_names(kind, role) for role in ("config", "parameter", "scope", "folds", "nested")))


def group_key(node: Any) -> Hashable:
    """Return the group key of a node, without its level: type, folds, config, parameter shapes, scope size."""
    if isinstance(node, NodeRecord):
        parameters = tuple([(name, parameter.shape) for name, parameter in node.parameters.items()])
        nested = tuple([(name, group_key(inner)) for name, inner in node.nested.items()])
        scopes = node.scope
        return (node.type, node.num_folds, str(node.config), parameters, scopes and len(scopes[0]), nested)
    kind: type = node.__class__
    names = _fields_of(kind)
    values = [getattr(node, name) for name in names.parameters]
    parameters = tuple([None if value is None else tuple(value.shape) for value in values])
    nested = tuple([group_key(getattr(node, name)) for name in names.nested])
    scopes = scopes_of(node)
    config: Hashable = tuple([getattr(node, name) for name in names.config])
    try:
        hash(config)
    except TypeError:
        config = repr(config)
    return (kind, folds_of(node), config, parameters, scopes and len(scopes[0]), nested)


def scopes_of(node: Any) -> tuple[tuple[int, ...], ...] | None:
    """Return the variables of each fold of an input node, live or loaded; None for nodes with inputs."""
    if isinstance(node, NodeRecord):
        return node.scope
    for name in _fields_of(node.__class__).scopes:
        value = getattr(node, name)
        return value if not value or isinstance(value[0], tuple) else (value,)
    return None


def folds_of(node: Any) -> int:
    """Return F of a node, live or loaded."""
    if isinstance(node, NodeRecord):
        return node.num_folds
    names = _fields_of(node.__class__).folds
    return getattr(node, names[0]) if names else 1


def state_of(graph: Graph[Any], table: NodeTable, size: int) -> State:
    """Return the state of a graph."""
    ids = np.fromiter(graph.nodes, np.int32, len(graph.nodes))
    numbers = np.fromiter(map(table.number, graph.nodes.values()), np.int32, len(ids))
    present, node, key = _empty(size)
    present[ids] = True
    node[ids] = numbers
    key[ids] = np.array(table.keys, np.int32)[numbers] if len(ids) else numbers
    level = np.full(size, ABSENT, np.int32)
    levels = graph.levels
    level[ids] = np.fromiter((levels[i] for i in graph.nodes), np.int32, len(ids))
    pairs = [(source, target) for target, sources in graph.inputs.items() for source in sources]
    edges = np.array(pairs, np.int32).reshape(-1, 2)
    return State(present, node, key, level, _sort(edges), graph.outputs)


def fold_state(state: State, folds: Iterable[Folded], folded: Graph[Any], table: NodeTable) -> State:
    """Return the state after some groups of layers became slices; `folded` is a graph with the folded layers.

    It equals the state of the compiler's graph, but is much faster: nodes that do not fold are not visited.
    """
    stands_for = np.arange(len(state.present), dtype=np.int32)
    present, node, key, level = state.present.copy(), state.node.copy(), state.key.copy(), state.level.copy()
    same_levels = True
    for group in folds:
        if group.members == (group.node,):
            continue
        members = list(group.members)
        stands_for[members] = group.node
        levels = level[members]
        same_levels = same_levels and int(levels.min()) == int(levels.max())
        for array in (node, key, level):
            array[members] = ABSENT
        present[members] = False
        present[group.node] = True
        number = table.number(folded.nodes[group.node])
        node[group.node], key[group.node], level[group.node] = number, table.keys[number], int(levels.max())
    edges = _distinct(stands_for[state.edges])
    outputs = tuple(dict.fromkeys(int(stands_for[output]) for output in state.outputs))
    if not same_levels:
        level = _levels(present, edges)
    return State(present, node, key, level, edges, outputs)


def _empty(size: int) -> tuple[BoolArray, IntArray, IntArray]:
    return np.zeros(size, np.bool_), np.full(size, ABSENT, np.int32), np.full(size, ABSENT, np.int32)


def _sort(edges: IntArray) -> IntArray:
    """Sort edges by target, then by source, so that equal graphs have equal arrays."""
    return edges[np.lexsort((edges[:, 0], edges[:, 1]))]


def _distinct(edges: IntArray) -> IntArray:
    """Return distinct edges, by target, then by source."""
    edges = _sort(edges)
    first = np.ones(len(edges), np.bool_)
    first[1:] = np.any(edges[1:] != edges[:-1], axis=1)
    return edges[first]


def _levels(present: BoolArray, edges: IntArray) -> IntArray:
    """Return the longest distance of each node from the nodes without inputs, level by level."""
    level = np.where(present, 0, ABSENT).astype(np.int32)
    while len(edges):
        wanted = level.copy()
        np.maximum.at(wanted, edges[:, 1], level[edges[:, 0]] + 1)
        if np.array_equal(wanted, level):
            break
        level = wanted
    return level
