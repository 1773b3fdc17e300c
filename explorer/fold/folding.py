"""Folding a graph: the levels of its nodes, and groups in each of equal type, fold settings and context.

The same function folds circuits and parameter graphs. It receives the levels and a function that builds one node from a
group, and records for every folded node in which node and slice the inputs of its members are.

With the scheduler `longest-distance` the level of a layer is its longest distance from the inputs. Layers of equal key
can then be on different levels although they could run at the same time, and a different legal ordering has fewer
folded layers. Finding the fewest is a scheduling problem, for which only heuristics are fast: `fewest-groups` tries
several and selects the best, so it is never worse than `longest-distance`.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappush
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from explorer.backend import FoldIndexInfo, IndexTable
from explorer.backend.parameters import FoldSettings
from explorer.errors import CircuitError, RuleError, look_up
from explorer.graph import Graph, Ordering, group_levels, heights

FoldKey = tuple[type, tuple[tuple[str, Any], ...]]
"""The type, then (name, value) pairs: what two nodes must agree on."""

FoldGroupFunction = Callable[[Sequence[Any]], Any]

Scheduler = Callable[[Graph[Any]], Ordering]


@dataclass(frozen=True, eq=False)
class FoldedGroup:
    """Nodes that became one: `members` are slices 0, 1, ... of node `node`; the node of a group of one keeps its id."""

    level: int
    key: FoldKey
    members: tuple[int, ...]
    node: int
    value: Any


def build_folded_graph(
    graph: Graph[Any], ordering: Ordering, fold_group_fn: FoldGroupFunction, fresh: Iterator[int]
) -> tuple[Graph[Any], FoldIndexInfo]:
    """Fold the groups of every level of `ordering`. Raises: RuleError if `fold_group_fn` fails."""
    levels = fold_levels(graph, ordering, fold_group_fn, fresh)
    return assemble(graph, [group for groups in levels for group in groups])


def fold_levels(
    graph: Graph[Any],
    ordering: Ordering,
    fold_group_fn: FoldGroupFunction,
    fresh: Iterator[int],
    skips_level: Callable[[int], bool] | None = None,
) -> Iterator[list[FoldedGroup]]:
    """Yield the folded groups of each level in turn.

    `fold_group_fn` builds one node from the nodes of a group; `fresh` supplies ids for folded nodes. A node that is
    alone in its group is unchanged, and so are the nodes of a level for which `skips_level` is true.
    Raises: RuleError if `fold_group_fn` fails.
    """
    keys = fold_keys(graph)
    for level, ids in enumerate(ordering):
        groups = group_foldable_modules(graph.nodes, ids, keys)
        if skips_level is not None and skips_level(level):
            groups = [(key, [member]) for key, members in groups for member in members]
        done: list[FoldedGroup] = []
        for key, members in groups:
            if len(members) == 1:
                done.append(FoldedGroup(level, key, tuple(members), members[0], graph.nodes[members[0]]))
            else:
                value = fold_group(fold_group_fn, [graph.nodes[member] for member in members])
                done.append(FoldedGroup(level, key, tuple(members), next(fresh), value))
        yield done


def fold_group(fold_group_fn: FoldGroupFunction, values: Sequence[Any]) -> Any:
    """Build one node from a group; an exception becomes a RuleError that names the type."""
    try:
        return fold_group_fn(values)
    except CircuitError:
        raise
    except Exception as error:
        kind = type(values[0]).__name__
        raise RuleError(
            f"folding {len(values)} nodes of type {kind} failed: {type(error).__name__}: {error}"
        ) from error


def assemble(graph: Graph[Any], groups: Sequence[FoldedGroup]) -> tuple[Graph[Any], FoldIndexInfo]:
    """The graph in which these groups are folded; nodes outside of all groups are unchanged.

    The inputs of a member must be members of earlier groups.
    """
    nodes: dict[int, Any] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    fold_idx: dict[int, tuple[int, int]] = {}
    in_fold_idx: dict[int, IndexTable] = {}

    def add(node: int, value: Any, members: Sequence[int]) -> None:
        rows = [[number for source in graph.inputs[member] for number in fold_idx[source]] for member in members]
        table = np.array(rows, dtype=np.int64).reshape(len(members), -1, 2)
        inputs[node] = tuple(dict.fromkeys(table[:, :, 0].ravel().tolist()))
        in_fold_idx[node] = table
        for slice_idx, member in enumerate(members):
            fold_idx[member] = (node, slice_idx)
        nodes[node] = value

    for group in groups:
        add(group.node, group.value, group.members)
    for node, value in graph.nodes.items():
        if node not in fold_idx:
            add(node, value, (node,))
    out_fold_idx = np.array([fold_idx[output] for output in graph.outputs], dtype=np.int64).reshape(-1, 2)
    outputs = tuple(dict.fromkeys(out_fold_idx[:, 0].tolist()))
    return Graph(nodes, inputs, outputs), FoldIndexInfo(in_fold_idx, out_fold_idx)


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


def longest_distance(graph: Graph[Any]) -> Ordering:
    """Levels by longest distance from the inputs."""
    return group_levels(graph.levels)


def fewest_groups(graph: Graph[Any]) -> Ordering:
    """The ordering with the fewest groups among: longest distance, distance to the outputs, two greedy ones."""
    key_of = fold_keys(graph).number_of
    candidates = [longest_distance(graph), _from_outputs(graph)]
    best = min(count_groups(ordering, key_of) for ordering in candidates)
    floor = _fewest_possible(graph, key_of)
    for wait in (False, True):
        if best > floor:
            candidates.append(_agenda(graph, key_of, wait))
            best = min(best, count_groups(candidates[-1], key_of))
    return min(candidates, key=lambda ordering: count_groups(ordering, key_of))


SCHEDULERS: Mapping[str, Scheduler] = {"longest-distance": longest_distance, "fewest-groups": fewest_groups}


def get_scheduler(name: str) -> Scheduler:
    """The scheduler of this name. Raises: UnknownNameError."""
    return look_up("scheduling of levels", name, SCHEDULERS)


def count_groups(ordering: Ordering, key_of: Mapping[int, Hashable]) -> int:
    """The number of folded layers of an ordering."""
    return sum(len({key_of[node] for node in level}) for level in ordering)


def _from_outputs(graph: Graph[Any]) -> Ordering:
    """Levels by longest distance to the outputs, inputs first: each layer as late as possible."""
    height = heights(graph)
    top = max(height.values(), default=0)
    return group_levels({node: top - height[node] for node in graph.nodes})


def _fewest_possible(graph: Graph[Any], key_of: Mapping[int, int]) -> int:
    """A lower bound on the number of groups: layers of equal key on one path cannot fold together."""
    longest: dict[int, int] = {}
    chains: dict[int, dict[int, int]] = {}
    left = {node: len(users) for node, users in graph.users.items()}
    for node, sources in graph.inputs.items():
        chain: dict[int, int] = {}
        for source in dict.fromkeys(sources):
            for key, length in chains[source].items():
                if chain.get(key, 0) < length:
                    chain[key] = length
            left[source] -= 1
            if not left[source]:
                del chains[source]
        key = key_of[node]
        chain[key] = chain.get(key, 0) + 1
        longest[key] = max(longest.get(key, 0), chain[key])
        chains[node] = chain
    return sum(longest.values())


def _agenda(graph: Graph[Any], key_of: Mapping[int, int], wait: bool) -> Ordering:
    """Schedule the ready layers of one key at a time: the key of the ready layer that is farthest from the outputs.

    With `wait`, keys with only ready layers left take precedence.
    """
    height = heights(graph)
    missing = {node: len(dict.fromkeys(sources)) for node, sources in graph.inputs.items()}
    open_of: dict[int, int] = {}
    for key in key_of.values():
        open_of[key] = open_of.get(key, 0) + 1
    ready: dict[int, list[tuple[int, int]]] = {}
    position = {node: i for i, node in enumerate(graph.nodes)}
    order = list(graph.nodes)
    for node, count in missing.items():
        if count == 0:
            ready.setdefault(key_of[node], []).append((-height[node], position[node]))
    for heap in ready.values():
        heapify(heap)
    levels: list[tuple[int, ...]] = []
    while ready:
        complete = [key for key, heap in ready.items() if len(heap) == open_of[key]] if wait else []
        key = min(complete or ready, key=lambda k: ready[k][0])
        members = sorted(index for _, index in ready.pop(key))
        open_of[key] -= len(members)
        levels.append(tuple(order[index] for index in members))
        for index in members:
            for user in graph.users[order[index]]:
                missing[user] -= 1
                if missing[user] == 0:
                    heap = ready.setdefault(key_of[user], [])
                    heappush(heap, (-height[user], position[user]))
    return tuple(levels)
