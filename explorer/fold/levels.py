"""Scheduling: in which levels the layers of a circuit are folded.

`longest-distance` is the handbook's choice: a layer's level is its longest distance from the inputs. But layers of
equal key may lie on different levels although both could run at one time; then another legal ordering gives fewer
folded layers. To find the fewest is a scheduling problem for which only heuristics are quick: `fewest-groups` tries
several and takes the best, so it is never worse than `longest-distance`.
"""

from collections.abc import Callable, Hashable, Mapping
from heapq import heapify, heappush
from typing import Any

from explorer.errors import unknown_name
from explorer.fold.groups import fold_context, fold_key
from explorer.graph import Graph, Ordering, group_levels, heights

Scheduler = Callable[[Graph[Any]], Ordering]


def longest_distance(graph: Graph[Any]) -> Ordering:
    """Levels by longest distance from the inputs."""
    return group_levels(graph.levels)


def fewest_groups(graph: Graph[Any]) -> Ordering:
    """The ordering with the fewest groups among: longest distance, distance to the outputs, and two agendas."""
    context = fold_context(graph)
    keys = {node: (fold_key(value), context.get(node)) for node, value in graph.nodes.items()}
    numbers: dict[Hashable, int] = {}
    key_of = {node: numbers.setdefault(key, len(numbers)) for node, key in keys.items()}
    candidates = [longest_distance(graph), _from_outputs(graph)]
    best = min(count_groups(ordering, key_of) for ordering in candidates)
    floor = _fewest_possible(graph, key_of)
    for wait in (False, True):
        if best > floor:
            candidates.append(_agenda(graph, key_of, wait))
            best = min(best, count_groups(candidates[-1], key_of))
    return min(candidates, key=lambda ordering: count_groups(ordering, key_of))


SCHEDULERS: Mapping[str, Scheduler] = {"longest-distance": longest_distance, "fewest-groups": fewest_groups}


def scheduler_named(name: str) -> Scheduler:
    """The scheduler of this name. Raises: UnknownNameError."""
    if name not in SCHEDULERS:
        raise unknown_name("scheduling of levels", name, list(SCHEDULERS))
    return SCHEDULERS[name]


def count_groups(ordering: Ordering, key_of: Mapping[int, Hashable]) -> int:
    """How many folded layers an ordering gives."""
    return sum(len({key_of[node] for node in level}) for level in ordering)


def _from_outputs(graph: Graph[Any]) -> Ordering:
    """Levels by longest distance to the outputs, but inputs first: each layer as late as possible."""
    height = heights(graph)
    top = max(height.values(), default=0)
    return group_levels({node: top - height[node] for node in graph.nodes})


def _fewest_possible(graph: Graph[Any], key_of: Mapping[int, int]) -> int:
    """A lower bound on the number of groups: layers of one key on one path cannot fold together."""
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
    """Run the ready layers of one key at a time: the key that holds the ready layer farthest from the outputs.

    With `wait`, a key none of whose layers is still blocked goes first, and among the others the farthest.
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
        members = sorted(place for _, place in ready.pop(key))
        open_of[key] -= len(members)
        levels.append(tuple(order[place] for place in members))
        for place in members:
            for user in graph.users[order[place]]:
                missing[user] -= 1
                if missing[user] == 0:
                    heap = ready.setdefault(key_of[user], [])
                    heappush(heap, (-height[user], position[user]))
    return tuple(levels)
