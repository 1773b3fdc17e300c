"""Scheduling: the levels in which the layers of a circuit are folded.

With `longest-distance` the level of a layer is its longest distance from the inputs. Layers of
equal key can then be on different levels although they could run at the same time, and a different legal ordering has
fewer folded layers. Finding the fewest is a scheduling problem, for which only heuristics are fast: `fewest-groups`
tries several and selects the best, so it is never worse than `longest-distance`.
"""

from collections.abc import Callable, Hashable, Mapping
from heapq import heapify, heappush
from typing import Any

from explorer.errors import look_up
from explorer.fold.folding import fold_keys
from explorer.graph import Graph, Ordering, group_levels, heights

Scheduler = Callable[[Graph[Any]], Ordering]


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
