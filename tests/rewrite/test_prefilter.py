"""Searches without listeners find the same matches, and make no attempt that fails by types."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.errors import RuleError
from explorer.graph import Graph
from explorer.rewrite import GraphOptPattern, ParameterOptPattern, match_pattern_graph
from explorer.rewrite.patterns import Condition
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
def toy_graphs(draw: st.DrawFn) -> Graph[Any]:
    """A graph of a few types of toys."""
    makers = draw(st.lists(st.sampled_from(MAKERS), min_size=1, max_size=3, unique=True))
    shape = draw(graphs())
    return Graph({node: draw(st.sampled_from(makers))() for node in shape.nodes}, shape.inputs, shape.outputs)


@examples(200)
@given(toy_graphs())
def test_without_all_refusals_a_search_finds_the_same_matches(graph: Graph[Any]):
    found = match_pattern_graph(graph, PATTERNS, all_refusals=False)
    every = match_pattern_graph(graph, PATTERNS)
    assert [(m.pattern, m.nodes) for m in found.matches] == [(m.pattern, m.nodes) for m in every.matches]
    assert set(found.refusals) <= set(every.refusals)


def tried(graph: Graph[Any], one: GraphOptPattern) -> int:
    """The number of attempts that a search without all refusals makes."""
    search = match_pattern_graph(graph, (one,), all_refusals=False)
    return len(search.matches) + len(search.refusals)


def test_a_pattern_is_tried_only_where_its_first_types_are():
    assert tried(chain(A(), A(), A()), pattern("AB", A, B)) == 0
    assert tried(chain(B(), A(), A(), B()), pattern("AB", A, B)) == 1
    assert tried(chain(B(), A(), A()), pattern("A", A)) == 2
    several = Graph({0: B(), 1: B(), 2: A()}, {0: (), 1: (), 2: (0, 1)}, (2,))
    assert tried(several, pattern("AB", A, B)) == 0, "the chain ends at a node with several inputs"


@dataclass(frozen=True, eq=False)
class Odd(Toy):
    @property
    def ratio(self) -> float:
        return 1 / 0


class Computed(A):
    size = property(lambda self: 1 / 0, lambda self, value: None)  # pyright: ignore[reportAssignmentType]


@dataclass(frozen=True, eq=False)
class Late(A):
    shape: int = field(init=False)


def fails(value: object) -> bool:
    raise OverflowError


@pytest.mark.parametrize(
    ("node", "config", "error"),
    [
        (A(), {"sizes": 1}, RuleError),
        (A(), {"size": Condition("odd", fails)}, OverflowError),
        (Odd(), {"ratio": 1}, ZeroDivisionError),
        (Computed(), {"size": 1}, ZeroDivisionError),
        (Late(), {"shape": 1}, RuleError),
        (A(), {"size": np.ones(2)}, ValueError),
    ],
)
def test_an_error_of_a_pattern_is_raised_whether_watched_or_not(node: Toy, config: dict[str, object], error: type):
    wanted = pattern("Raises", type(node), B, config_patterns=(config,))
    for watched in (True, False):
        with pytest.raises(error):
            match_pattern_graph(chain(node, node), (wanted,), all_refusals=watched)


def test_a_property_of_an_entry_that_is_never_reached_is_not_read():
    wanted = pattern("Unreached", A, Odd, config_patterns=({}, {"ratio": 1}))
    search = match_pattern_graph(chain(Odd(), B(), A()), (wanted,), all_refusals=False)
    assert (search.matches, search.refusals) == ([], [])
