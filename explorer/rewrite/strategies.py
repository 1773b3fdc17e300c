"""Searches for all patterns; where matches share a node, a strategy decides which of them is applied.

LARGEST_MATCH prefers larger matches; among equals the one nearest to the outputs, then the rule registered first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from explorer.graph import Graph
from explorer.rewrite.matching import GraphOptMatch, KnownResults, match_pattern_graph
from explorer.rewrite.patterns import GraphOptPattern
from explorer.trace import Refusal


class OptMatchStrategy(Enum):
    """The strategy that decides a conflict between matches."""

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
    known: KnownResults | None = None,
    all_refusals: bool = True,
) -> Matches:
    """Search for all patterns in a graph and decide which matches to apply.

    `accept` returns a refusal to decline a match; `cost` returns how much applying a match adds to the cost of the
    graph, for LOWEST_COST. Attempts that are `known` from earlier searches are not repeated. Without
    `all_refusals`, refusals of nodes that are alike may be missing, which takes less time.
    """
    search = match_pattern_graph(graph, patterns, parameter_path, known=known, all_refusals=all_refusals)
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
    if not found:
        return (), {}, ()
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
    """The comparison by which the winner won, from its side."""
    name = winner.pattern.name
    if name == loser.pattern.name:
        name = f"the match at node {winner.root}"
    if strategy is OptMatchStrategy.FIRST_MATCH:
        return f"{name} was found first, so it wins"
    if strategy is OptMatchStrategy.LARGEST_MATCH:
        measure, mine, other = "size", str(len(winner)), str(len(loser))
        better = f"{name} matches {mine} nodes, the other {other}, so it wins"
    else:
        measure = "cost"
        mine, other = (f"{costs.get(id(match), 0.0):+,.0f}" for match in (winner, loser))
        better = f"{name} changes the cost by {mine}, the other by {other}, so it wins"
    if mine != other or costs.get(id(winner)) != costs.get(id(loser)):
        return better
    nearer = position[loser.root] != position[winner.root]
    last = "is nearer to the outputs" if nearer else "was registered first"
    return f"equal {measure} ({mine} = {other}): {name} {last}, so it wins"
