"""Searches for all patterns; where matches share a node, a strategy decides which of them is applied.

LARGEST_MATCH prefers larger matches; among equals the one nearest to the outputs, then the rule registered first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from explorer.graph import Graph
from explorer.rewrite.matching import GraphOptMatch, match_pattern_graph
from explorer.rewrite.patterns import GraphOptPattern
from explorer.trace import Refusal


class OptMatchStrategy(Enum):
    """How a conflict between matches is decided."""

    LARGEST_MATCH = "largest-match"
    FIRST_MATCH = "first-match"
    LOWEST_COST = "lowest-cost"


@dataclass(frozen=True, slots=True)
class Conflict:
    """`loser` shares `node` with `winner`; `reason` is the comparison by which it lost."""

    loser: GraphOptMatch
    winner: GraphOptMatch
    node: int
    reason: str


@dataclass(frozen=True, eq=False)
class Matches:
    """The matches to apply, the applied match of each node, all matches found, the conflicts, and the near misses."""

    chosen: tuple[GraphOptMatch, ...]
    match_of: Mapping[int, GraphOptMatch]
    found: tuple[GraphOptMatch, ...]
    conflicts: tuple[Conflict, ...]
    refusals: tuple[Refusal, ...]


def match_optimization_patterns(
    graph: Graph[Any],
    patterns: Sequence[GraphOptPattern],
    strategy: OptMatchStrategy = OptMatchStrategy.LARGEST_MATCH,
    *,
    cost: Callable[[GraphOptMatch], float] | None = None,
    accept: Callable[[GraphOptMatch], Refusal | None] | None = None,
    parameter_path: str = "",
) -> Matches:
    """Search for all patterns in a graph and decide which matches to apply.

    `accept` returns a refusal to decline a match; `cost` returns how much applying a match adds to the cost of the
    graph, for LOWEST_COST.
    """
    search = match_pattern_graph(graph, patterns, parameter_path)
    found: list[GraphOptMatch] = []
    for match in search.matches:
        declined = accept(match) if accept is not None else None
        if declined is None:
            found.append(match)
        else:
            search.refusals.append(declined)
    chosen, match_of, conflicts = _prioritize_optimization_strategy(graph, found, strategy, cost)
    return Matches(chosen, match_of, tuple(found), conflicts, tuple(search.refusals))


def _prioritize_optimization_strategy(
    graph: Graph[Any],
    found: Sequence[GraphOptMatch],
    strategy: OptMatchStrategy,
    cost: Callable[[GraphOptMatch], float] | None,
) -> tuple[tuple[GraphOptMatch, ...], dict[int, GraphOptMatch], tuple[Conflict, ...]]:
    """Choose matches in the order of the strategy, skipping those that share a node with a chosen one."""
    position = {node: i for i, node in enumerate(graph.nodes)}
    costs = {id(m): cost(m) for m in found} if strategy is OptMatchStrategy.LOWEST_COST and cost is not None else {}
    order = list(range(len(found)))
    if strategy is OptMatchStrategy.LARGEST_MATCH:
        order.sort(key=lambda i: (-len(found[i]), -position[found[i].root], i))
    elif strategy is OptMatchStrategy.LOWEST_COST:
        order.sort(key=lambda i: (costs.get(id(found[i]), 0.0), -position[found[i].root], i))
    match_of: dict[int, GraphOptMatch] = {}
    chosen: list[tuple[int, GraphOptMatch]] = []
    conflicts: list[Conflict] = []
    for i in order:
        match = found[i]
        taken = next((node for node in match.nodes if node in match_of), None)
        if taken is None:
            match_of.update(dict.fromkeys(match.nodes, match))
            chosen.append((position[match.root], match))
        else:
            winner = match_of[taken]
            conflicts.append(Conflict(match, winner, taken, _why(match, winner, strategy, costs, position)))
    chosen.sort(key=lambda pair: pair[0])
    return tuple(match for _, match in chosen), match_of, tuple(conflicts)


def _why(
    loser: GraphOptMatch,
    winner: GraphOptMatch,
    strategy: OptMatchStrategy,
    costs: Mapping[int, float],
    position: Mapping[int, int],
) -> str:
    if strategy is OptMatchStrategy.FIRST_MATCH:
        return "the other was found first"
    if strategy is OptMatchStrategy.LOWEST_COST and costs.get(id(loser)) != costs.get(id(winner)):
        return f"the other changes the cost by {costs[id(winner)]:+,.0f}, this one by {costs[id(loser)]:+,.0f}"
    if strategy is OptMatchStrategy.LARGEST_MATCH and len(loser) != len(winner):
        return f"the other matches {len(winner)} nodes, this one {len(loser)}"
    if position[loser.root] != position[winner.root]:
        return "as good as the other, which is nearer to the outputs"
    return "as good as the other, whose rule was registered first"
