"""Occurring patterns: a search that nobody watches finds the same matches, and tries no pattern that cannot match."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from explorer.errors import RuleError
from explorer.graph import Graph
from explorer.rewrite import GraphOptPattern, ParameterOptPattern, match_pattern_graph
from explorer.rewrite.occurrence import SMALL_GRAPH
from tests.fuzzing import examples
from tests.rewrite.toys import A, B, C, Inner, Toy, WithInner, chain, pattern
from tests.strategies import graphs

INNER_AB = ParameterOptPattern("InnerAB", (A, B))
PATTERNS = (
    pattern("AB", A, B),
    pattern("AnyC", Toy, C, config_patterns=({"size": 2},)),
    pattern("OfInner", WithInner, sub_patterns=({"inner": INNER_AB},)),
    pattern("OfAny", Toy, sub_patterns=({"inner": INNER_AB},)),
    pattern("Out", B, is_output=True),
)
MAKERS: tuple[Callable[[], Toy], ...] = (
    A,
    B,
    C,
    lambda: C(size=2),
    WithInner,
    lambda: WithInner(inner=Inner(chain(A(), A()))),
    lambda: WithInner(inner=Inner(chain(B(), A()))),
)


@st.composite
def large_graphs(draw: st.DrawFn) -> Graph[Any]:
    """A graph of a few types of toys, with a tail of one type that makes it large enough."""
    makers = draw(st.lists(st.sampled_from(MAKERS), min_size=1, max_size=3, unique=True))
    shape = draw(graphs())
    nodes = {node: draw(st.sampled_from(makers))() for node in shape.nodes}
    tail = {shape.next_id + i: makers[0]() for i in range(SMALL_GRAPH)}
    return Graph({**nodes, **tail}, {**shape.inputs, **dict.fromkeys(tail, ())}, (*shape.outputs, *tail))


@examples(200)
@given(large_graphs())
def test_without_near_misses_a_search_finds_the_same_matches(graph: Graph[Any]):
    found = match_pattern_graph(graph, PATTERNS, near_misses=False)
    every = match_pattern_graph(graph, PATTERNS)
    assert [(m.pattern, m.nodes) for m in found.matches] == [(m.pattern, m.nodes) for m in every.matches]
    assert set(found.refusals) <= set(every.refusals)


def tried(graph: Graph[Any], one: GraphOptPattern) -> int:
    """The number of attempts that a search without near misses makes."""
    search = match_pattern_graph(graph, (one,), near_misses=False)
    return len(search.matches) + len(search.refusals)


def test_a_pattern_is_tried_only_where_all_of_its_types_occur():
    many = [A() for _ in range(SMALL_GRAPH)]
    assert tried(chain(*many), pattern("AB", A, B)) == 0
    assert tried(chain(B(), *many), pattern("AB", A, B)) == len(many)
    assert tried(chain(*many[1:]), pattern("AB", A, B)) == len(many) - 1, "the graph is small"


def test_a_field_that_does_not_exist_is_an_error_whether_watched_or_not():
    wanted = pattern("Odd", A, B, config_patterns=({"sizes": 1},))
    for near_misses in (True, False):
        with pytest.raises(RuleError, match="reads 'sizes' of a A"):
            match_pattern_graph(chain(*[A() for _ in range(SMALL_GRAPH)]), (wanted,), near_misses=near_misses)
