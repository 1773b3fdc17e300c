"""Known attempts: a search of the next graph finds the same as one that knows nothing, and repeats less."""

from hypothesis import given, strategies as st

from explorer.graph import Graph
from explorer.rewrite import KnownResults, match_pattern_graph
from explorer.trace import RefusalKind
from tests.fuzzing import examples
from tests.rewrite.toys import A, B, C, Toy, chain, pattern, toy_graph
from tests.strategies import graphs

PATTERNS = (
    pattern("AB", A, B),
    pattern("AAB", A, A, B, config_patterns=({}, {"size": 1})),
    pattern("Out", B, is_output=True),
)
TOYS: st.SearchStrategy[Toy] = st.sampled_from([A(), B(), C(), A(size=2)])


@st.composite
def successive_graphs(draw: st.DrawFn) -> tuple[Graph[Toy], Graph[Toy]]:
    """A graph of toys, and one in which some nodes, reads and outputs differ."""
    shape = draw(graphs())
    kinds = {node: draw(TOYS) for node in shape.nodes}
    before = Graph(kinds, shape.inputs, shape.outputs)
    nodes, inputs, earlier = dict(kinds), dict(shape.inputs), list[int]()
    for node in shape.nodes:
        if draw(st.integers(0, 4)) == 0:
            nodes[node] = draw(TOYS)
        if earlier and draw(st.integers(0, 4)) == 0:
            inputs[node] = tuple(draw(st.lists(st.sampled_from(earlier), max_size=2)))
        earlier.append(node)
    outputs = draw(st.lists(st.sampled_from(earlier), max_size=3)) if earlier else []
    return before, Graph(nodes, inputs, draw(st.sampled_from([shape.outputs, tuple(outputs)])))


@examples(100)
@given(successive_graphs())
def test_a_search_with_known_attempts_finds_what_a_fresh_search_finds(pair: tuple[Graph[Toy], Graph[Toy]]):
    known = KnownResults()
    for graph in (*pair, pair[0]):
        found, fresh = match_pattern_graph(graph, PATTERNS, known=known), match_pattern_graph(graph, PATTERNS)
        assert found.refusals == fresh.refusals
        assert [(m.pattern, m.nodes, m.entries) for m in found.matches] == [
            (m.pattern, m.nodes, m.entries) for m in fresh.matches
        ]


def test_only_attempts_whose_chain_changed_are_repeated():
    known = KnownResults()
    nodes = (A(), B(), A(), B(), A(), B())
    before, after = chain(*nodes), chain(*nodes[:4], A(size=2), B())
    first = match_pattern_graph(before, PATTERNS, known=known).matches
    again = match_pattern_graph(after, PATTERNS, known=known).matches
    assert [match.nodes for match in again] == [(2, 1), (4, 3), (5,)]
    assert [match in first for match in again] == [True, False, False]


def test_an_attempt_is_repeated_if_only_an_output_or_a_user_of_its_chain_is_new():
    known = KnownResults()
    nodes = {0: B(), 1: A(), 2: C()}
    alone = toy_graph(nodes, {1: (0,)}, (1, 2))
    kinds: list[RefusalKind | None] = []
    for graph in (alone, toy_graph(nodes, {1: (0,)}, (1, 0)), alone, toy_graph(nodes, {1: (0,), 2: (0,)}, (1, 2))):
        refused = match_pattern_graph(graph, PATTERNS[:1], known=known).refusals
        kinds.append(refused[0].kind if refused else None)
    assert kinds == [None, RefusalKind.INTERIOR_OUTPUT, None, RefusalKind.SEVERAL_USERS]
