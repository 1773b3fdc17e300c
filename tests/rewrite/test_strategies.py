"""Conflicts: which of several matches that share a node is applied, and why the others lost."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from inline_snapshot import snapshot

from explorer.errors import UnknownNameError
from explorer.graph import Graph
from explorer.rewrite import GraphOptMatch, Matches, OptMatchStrategy, get_strategy, match_optimization_patterns
from explorer.trace import Refusal, RefusalKind
from tests.rewrite.toys import A, B, C, Toy, chain, pattern
from tests.strategies import graphs

AA = pattern("AA", A, A)
BB = pattern("BB", B, B)
CBB = pattern("CBB", C, B, B)
CB = pattern("CB", C, B)
AC = pattern("AC", A, C)


def chosen_matches(matches: Matches) -> list[tuple[str, tuple[int, ...]]]:
    return [(m.pattern.name, m.nodes) for m in matches.chosen]


def lost(matches: Matches) -> list[tuple[str, str, int, str]]:
    return [(str(c.loser), str(c.winner), c.node, c.reason) for c in matches.conflicts]


def test_the_largest_match_wins_although_a_smaller_one_is_nearer_to_the_outputs():
    graph = chain(B(), B(), C(), A())  # AC at 3, 2 is above CBB at 2, 1, 0
    matches = match_optimization_patterns(graph, (AC, CBB), OptMatchStrategy.LARGEST_MATCH)
    assert chosen_matches(matches) == [("CBB", (2, 1, 0))]
    assert lost(matches) == snapshot(
        [("AC at 3, 2", "CBB at 2, 1, 0", 2, "CBB matches 3 nodes, the other 2, so it wins")]
    )


def test_among_equally_large_matches_the_one_nearest_to_the_outputs_wins():
    matches = match_optimization_patterns(chain(A(), A(), A(), A()), (AA,), OptMatchStrategy.LARGEST_MATCH)
    assert chosen_matches(matches) == [("AA", (1, 0)), ("AA", (3, 2))]
    assert lost(matches) == snapshot(
        [
            (
                "AA at 2, 1",
                "AA at 3, 2",
                2,
                "equal size (2 = 2): the match at node 3 is nearer to the outputs, so it wins",
            )
        ]
    )


def test_among_equally_large_matches_of_one_root_the_rule_registered_first_wins():
    again = pattern("AA again", A, A)
    for patterns in ((AA, again), (again, AA)):
        matches = match_optimization_patterns(chain(A(), A()), patterns)
        assert chosen_matches(matches) == [(patterns[0].name, (1, 0))]
        assert [c.reason for c in matches.conflicts] == [
            f"equal size (2 = 2): {patterns[0].name} was registered first, so it wins"
        ]


def test_the_first_match_is_the_first_found_by_pattern_and_then_by_position():
    graph = chain(B(), B(), C(), A())
    matches = match_optimization_patterns(graph, (AC, CBB), OptMatchStrategy.FIRST_MATCH)
    assert chosen_matches(matches) == [("AC", (3, 2))]
    assert lost(matches) == snapshot([("CBB at 2, 1, 0", "AC at 3, 2", 2, "AC was found first, so it wins")])
    matches = match_optimization_patterns(chain(A(), A(), A()), (AA,), OptMatchStrategy.FIRST_MATCH)
    assert chosen_matches(matches) == [("AA", (1, 0))]


def test_the_lowest_cost_wins_whatever_its_size_and_position():
    graph = chain(B(), B(), C(), A())
    cost = {"AC": 1000.0, "CBB": 200.0, "BB": -5000.0}
    matches = match_optimization_patterns(
        graph, (AC, CBB, BB), OptMatchStrategy.LOWEST_COST, cost=lambda match: cost[match.pattern.name]
    )
    assert chosen_matches(matches) == [("BB", (1, 0)), ("AC", (3, 2))]
    assert lost(matches) == snapshot(
        [("CBB at 2, 1, 0", "BB at 1, 0", 1, "BB changes the cost by -5,000, the other by +200, so it wins")]
    )


def test_matches_of_equal_cost_are_decided_by_their_position():
    matches = match_optimization_patterns(
        chain(A(), A(), A()), (AA,), OptMatchStrategy.LOWEST_COST, cost=lambda match: 0.0
    )
    assert chosen_matches(matches) == [("AA", (2, 1))]
    assert [c.reason for c in matches.conflicts] == [
        "equal cost (+0 = +0): the match at node 2 is nearer to the outputs, so it wins"
    ]


def test_a_match_that_lost_frees_its_other_nodes():
    graph = chain(B(), B(), B(), C())  # CB matches 3, 2; BB at 2, 1 loses; BB at 1, 0 shares no node
    matches = match_optimization_patterns(graph, (CB, BB))
    assert chosen_matches(matches) == [("BB", (1, 0)), ("CB", (3, 2))]


def test_a_declined_match_does_not_take_part_in_conflicts():
    def accept(match: GraphOptMatch) -> Refusal | None:
        if match.root != 3:
            return None
        return Refusal(match.pattern.name, match.root, 0, match.root, RefusalKind.DECLINED, found="not today")

    matches = match_optimization_patterns(chain(A(), A(), A(), A()), (AA,), accept=accept)
    assert chosen_matches(matches) == [("AA", (2, 1))]
    assert [str(m) for m in matches.found] == ["AA at 1, 0", "AA at 2, 1"]
    assert [r.reason for r in matches.refusals] == [
        "node 0 reads nothing, and entry 1 is still to be found",
        "the rule declined: not today",
    ]


PATTERNS = (AA, pattern("AB", A, B), pattern("AAB", A, A, B), BB, pattern("A", A), pattern("BAB", B, A, B))


@given(graphs(max_nodes=14), st.sampled_from(OptMatchStrategy))
def test_every_match_is_chosen_or_shares_a_node_with_a_chosen_one(graph: Graph[str], strategy: OptMatchStrategy):
    toys: Graph[Any] = Graph(
        {n: {"a": A, "b": B, "c": A, "d": B}.get(v, Toy)() for n, v in graph.nodes.items()}, graph.inputs, graph.outputs
    )
    matches = match_optimization_patterns(toys, PATTERNS, strategy, cost=lambda match: -float(match.root))
    nodes = [node for match in matches.chosen for node in match.nodes]
    assert len(set(nodes)) == len(nodes)
    assert {node: match.nodes for node, match in matches.match_of.items()} == {
        node: match.nodes for match in matches.chosen for node in match.nodes
    }
    winners = {id(match) for match in matches.chosen}
    assert {id(c.loser) for c in matches.conflicts} == {id(m) for m in matches.found} - winners
    for conflict in matches.conflicts:
        assert id(conflict.winner) in winners
        assert conflict.node in conflict.loser.nodes
        assert conflict.node in conflict.winner.nodes
        assert conflict.reason
        if strategy is OptMatchStrategy.LARGEST_MATCH:
            assert len(conflict.winner) >= len(conflict.loser)
    order = list(toys.nodes)
    assert [order.index(m.root) for m in matches.chosen] == sorted(order.index(m.root) for m in matches.chosen)
    again = match_optimization_patterns(toys, PATTERNS, strategy, cost=lambda match: -float(match.root))
    assert chosen_matches(again) == chosen_matches(matches)
    assert lost(again) == lost(matches)


@pytest.mark.parametrize("strategy", OptMatchStrategy)
def test_a_strategy_is_found_by_its_name_in_either_form(strategy: OptMatchStrategy):
    assert get_strategy(strategy) is get_strategy(strategy.value) is get_strategy(strategy.name) is strategy


def test_an_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(
        UnknownNameError, match="no strategy named 'best'; known are: largest-match, first-match, lowest-cost"
    ):
        get_strategy("best")
