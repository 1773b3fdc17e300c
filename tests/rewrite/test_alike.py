"""Nodes that are alike are refused alike: a search finds what single attempts find, and makes fewer of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.errors import RuleError
from explorer.graph import PARAMETER, Graph
from explorer.rewrite import GraphOptPattern, ParameterOptPattern, match_pattern, match_pattern_graph
from explorer.rewrite.matching import KnownResults
from explorer.rewrite.patterns import Condition, at_least
from explorer.trace import Refusal
from tests.fuzzing import examples
from tests.rewrite.toys import A, B, C, Inner, Toy, WithInner, chain, pattern, toy_graph
from tests.strategies import graphs


@dataclass(frozen=True, eq=False)
class Doubled(Toy):
    """A toy with a computed value."""

    half: int = 1

    @property
    def twice(self) -> int:
        return 2 * self.half


@dataclass(frozen=True, eq=False)
class WithTwo(WithInner):
    other: Inner | None = field(default=None, metadata=PARAMETER)

    @property
    def twice(self) -> int:
        return 2 * self.size


@dataclass(frozen=True, eq=False, slots=True)
class Slotted(Toy):
    kind: int = 0


INNER_AB = ParameterOptPattern("InnerAB", (A, B))
OUTER_B = ParameterOptPattern("OuterB", (B,), is_output=True)
OUTER_B2 = ParameterOptPattern("OuterB2", (B,), is_output=True, config_patterns=({"size": 2},))
PATTERNS = (
    pattern("AB", A, B),
    pattern("AnyC", Toy, C, config_patterns=({"size": 2},)),
    pattern("BigAny", Toy, Toy, config_patterns=({"size": at_least(2)}, {"size": 1})),
    pattern("NamedD", Doubled, config_patterns=({"name": "d"},)),
    pattern("NamedC", C, config_patterns=({"name": "c"},)),
    pattern("Twice", Doubled, config_patterns=({"size": at_least(1), "twice": 4, "name": "d"},)),
    pattern("OfInner", WithInner, sub_patterns=({"inner": INNER_AB},)),
    pattern("OfOuter", WithInner, Toy, sub_patterns=({"inner": OUTER_B},)),
    pattern("OfOuter2", WithInner, sub_patterns=({"inner": OUTER_B2},)),
    pattern("OfTwo", WithTwo, B, sub_patterns=({"inner": OUTER_B, "other": OUTER_B},)),
    pattern("TwiceOfB", WithTwo, config_patterns=({"size": 1, "twice": 2},), sub_patterns=({"inner": OUTER_B},)),
    pattern("Kind", Slotted, A, config_patterns=({"kind": at_least(1)},)),
    pattern("OfAny", Toy, sub_patterns=({"inner": INNER_AB},)),
    pattern("Out", B, is_output=True),
)
MAKERS: tuple[Callable[[], Toy], ...] = (
    A,
    B,
    C,
    lambda: C(size=2),
    lambda: C(size=True),
    lambda: C(size=1.0),  # type: ignore[arg-type]  # equal to 1, and shown as 1.0
    lambda: C(name="c"),
    Doubled,
    lambda: Doubled(half=2),
    lambda: Doubled(half=2, name="d"),
    WithInner,
    lambda: WithInner(inner=Inner(chain(A(), A()))),
    lambda: WithInner(inner=Inner(chain(B(), A()))),
    lambda: WithInner(inner=Inner(chain(B()))),
    lambda: WithInner(inner=Inner(chain(B(size=2)))),
    lambda: WithInner(inner=Inner(chain(B(size=3)))),
    lambda: WithInner(inner=Inner(chain(A(), A(), outputs=(1, 0)))),
    lambda: WithInner(inner=Inner(chain(B(), A(), outputs=(1, 0)))),
    lambda: WithInner(inner=Inner(chain(A(), A(), C()))),
    lambda: WithInner(inner=Inner(chain(B(), A(), C()))),
    lambda: WithTwo(inner=Inner(chain(B())), other=Inner(chain(B()))),
    lambda: WithTwo(inner=Inner(chain(B())), other=Inner(chain(A()))),
    lambda: WithTwo(inner=Inner(chain(A())), other=Inner(chain(A()))),
    lambda: WithTwo(inner=Inner(chain(B())), size=3),
    Slotted,
    lambda: Slotted(kind=2),
    lambda: WithInner(inner=Inner(chain(A(), B(size=2)))),
    lambda: WithInner(inner=Inner(chain(A(), B(), outputs=(0, 1)))),
)


@st.composite
def toy_graphs(draw: st.DrawFn) -> Graph[Any]:
    """A graph of a few types of toys."""
    makers = draw(st.lists(st.sampled_from(MAKERS), min_size=1, max_size=4, unique=True))
    shape = draw(graphs())
    return Graph({node: draw(st.sampled_from(makers))() for node in shape.nodes}, shape.inputs, shape.outputs)


def assert_finds_what_single_attempts_find(graph: Graph[Any]) -> None:
    expected = [
        match_pattern(graph, one, root)
        for root, node in graph.nodes.items()
        for one in PATTERNS
        if isinstance(node, one.entries[0]) and not (one.is_output and root not in graph.output_set)
    ]
    refused = [one for one in expected if isinstance(one, Refusal)]
    matched = {(one.pattern, one.nodes) for one in expected if not isinstance(one, Refusal)}
    assert all(match.parameter_path == "p" for match in match_pattern_graph(graph, PATTERNS, "p").matches)
    known = KnownResults()
    few = match_pattern_graph(graph, PATTERNS, known=known, all_refusals=False)
    for search in (match_pattern_graph(graph, PATTERNS), match_pattern_graph(graph, PATTERNS, known=known)):
        assert [*map(repr, search.refusals)] == [*map(repr, refused)], "1 and 1.0 are not the same"
    for search in (few, match_pattern_graph(graph, PATTERNS, known=known, all_refusals=False)):
        assert {(match.pattern, match.nodes) for match in search.matches} == matched
        assert len(search.matches) == len(matched)
        assert set(search.refusals) <= set(refused)


@examples(300)
@given(toy_graphs())
def test_a_search_finds_what_single_attempts_find(graph: Graph[Any]):
    assert_finds_what_single_attempts_find(graph)


@pytest.mark.parametrize("first", MAKERS)
def test_a_node_is_not_taken_for_another(first: Callable[[], Toy]):
    for second in MAKERS:
        assert_finds_what_single_attempts_find(chain(A(), first(), B(), second(), A()))
        assert_finds_what_single_attempts_find(loose(first(), second()))


def loose(*nodes: Any) -> Graph[Any]:
    """Nodes that read nothing."""
    return toy_graph(dict(enumerate(nodes)), {}, tuple(range(len(nodes))))


def of(*parameters: Graph[Any] | None) -> Graph[Any]:
    """Nodes with these parameters, which read nothing."""
    return loose(*(WithInner(inner=None if one is None else Inner(one)) for one in parameters))


SEVERAL = toy_graph(
    dict.fromkeys(range(7), B()), {2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (0, 1, 2), 6: (0, 1, 2)}, (2, 3, 4, 5, 6)
)
SIZE_2 = pattern("Size2", C, config_patterns=({"size": 2},))
LARGE = pattern("Large", C, config_patterns=({"size": at_least(2)},))
TWICE = pattern("Twice", Doubled, config_patterns=({"twice": 4},))
OF_B = pattern("OfB", WithInner, sub_patterns=({"inner": OUTER_B},))
OF_AB = pattern("OfAB", WithInner, sub_patterns=({"inner": INNER_AB},))


@pytest.mark.parametrize(
    ("graph", "one", "number"),
    [
        (loose(A(), A(), A()), pattern("A", A), 3),
        (loose(A(), A(), A()), pattern("AB", A, B), 1),
        (chain(C(), A(), A(), A(), A()), pattern("AB", A, B), 2),
        (SEVERAL, pattern("BB", B, B), 3),
        (loose(C(), C(), C(), C(size=3), C(size=3), C(size=2)), SIZE_2, 3),
        (loose(C(), C(), C(size=3), C(size=2)), LARGE, 3),
        (loose(Doubled(), Doubled(), Doubled()), TWICE, 3),
        (of(None, None), OF_B, 1),
        (of(chain(A()), chain(A()), chain(A()), chain(B()), chain(B())), OF_B, 3),
        (of(chain(A()), chain(B(), A()), chain(C()), chain(A())), OF_B, 3),
        (of(chain(A()), chain(A())), OF_AB, 2),
        (loose(Slotted(), Slotted(), Slotted(kind=1)), pattern("Kind", Slotted, config_patterns=({"kind": 1},)), 2),
        (loose(A(name=("t",)), A(name=("t",))), pattern("AB", A, B), 1),  # type: ignore[arg-type]
    ],
)
def test_one_attempt_is_made_for_nodes_that_are_alike(graph: Graph[Any], one: GraphOptPattern, number: int):
    search = match_pattern_graph(graph, (one,), all_refusals=False)
    assert len(search.matches) + len(search.refusals) == number


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Long(Toy):
    length: int


class Bare(Long):
    """A toy without a length."""

    def __init__(self) -> None:
        object.__setattr__(self, "name", "x")


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
        (Bare(), {"length": 1}, RuleError),
        (A(), {"size": np.ones(2)}, ValueError),
    ],
)
def test_an_error_of_a_pattern_is_raised_whether_watched_or_not(node: Toy, config: dict[str, object], error: type):
    wanted = pattern("Raises", type(node), B, config_patterns=(config,))
    for watched in (True, False):
        with pytest.raises(error):
            match_pattern_graph(chain(node, node), (wanted,), all_refusals=watched)


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (A(), pattern("LaterEntry", A, Odd, config_patterns=({}, {"ratio": 1}))),
        (Odd(), pattern("LaterCondition", Odd, config_patterns=({"size": 2, "ratio": 1},))),
        (Bare(), pattern("Unset", Bare, config_patterns=({"name": "y", "length": 1},))),
        (Late(), pattern("NotSet", Late, config_patterns=({"size": 2, "shape": 1},))),
        (A(), pattern("NoParameter", A, config_patterns=({"size": 2},), sub_patterns=({"name": OUTER_B},))),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_question_that_is_never_reached_is_not_asked(node: Toy, wanted: GraphOptPattern):
    for watched in (True, False):
        search = match_pattern_graph(loose(node, node), (wanted,), all_refusals=watched)
        assert search.refusals
        assert search.matches == []
