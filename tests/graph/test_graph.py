"""Graphs: checks at construction, order of nodes, users."""

import copy
import pickle

import pytest
from hypothesis import given, strategies as st

from explorer.errors import CircuitError, CycleError, GraphError
from explorer.graph import Graph, group_levels, heights, levels
from tests.strategies import graphs

DIAMOND = Graph({5: "x", 2: "l", 9: "r", 1: "top"}, {5: (), 2: (5,), 9: (5, 5), 1: (2, 9)}, (1, 9, 1))


def test_a_graph_keeps_the_given_order_whatever_the_ids():
    assert list(DIAMOND.nodes) == [5, 2, 9, 1]
    assert len(DIAMOND) == 4


def test_users_are_in_topological_order_without_duplicates():
    assert DIAMOND.users == {5: (2, 9), 2: (1,), 9: (1,), 1: ()}


def test_outputs_keep_order_and_repetition():
    assert DIAMOND.outputs == (1, 9, 1)
    assert DIAMOND.output_set == {1, 9}


def test_next_id_is_above_all_used_ids():
    assert DIAMOND.next_id == 10
    assert Graph({}, {}, ()).next_id == 0


def test_the_level_is_the_longest_distance_from_the_inputs():
    graph = Graph({0: "a", 1: "b", 2: "c", 3: "d"}, {0: (), 1: (0,), 2: (1,), 3: (0, 2)}, (3,))
    assert graph.levels == levels(graph) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_the_height_is_the_longest_distance_to_a_node_without_users():
    graph = Graph({0: "a", 1: "b", 2: "c", 3: "d", 4: "dead"}, {0: (), 1: (0,), 2: (), 3: (1, 2), 4: (0,)}, (3,))
    assert heights(graph) == {0: 2, 1: 1, 2: 1, 3: 0, 4: 0}


def test_group_levels_ascend_and_keep_the_order_of_the_mapping():
    assert group_levels({7: 1, 3: 0, 2: 1, 9: 0}) == ((3, 9), (7, 2))
    assert group_levels({}) == ()


def test_reading_a_missing_node_is_refused():
    with pytest.raises(GraphError, match="node 1 reads node 7, which does not exist"):
        Graph({0: "a", 1: "b"}, {0: (), 1: (7,)}, (1,))


def test_reading_a_later_node_is_refused_with_advice():
    with pytest.raises(GraphError, match=r"node 0 reads node 1, which comes later; .*Graph\.from_unordered"):
        Graph({0: "a", 1: "b"}, {0: (1,), 1: ()}, (0,))


def test_a_missing_output_is_refused():
    with pytest.raises(GraphError, match="output 4 is not a node"):
        Graph({0: "a"}, {0: ()}, (4,))


def test_nodes_without_inputs_entry_and_entries_without_node_are_refused():
    with pytest.raises(GraphError, match=r"only one of the two: \[1\]"):
        Graph({0: "a", 1: "b"}, {0: ()}, (0,))
    with pytest.raises(GraphError, match=r"only one of the two: \[3\]"):
        Graph({0: "a"}, {0: (), 3: ()}, (0,))


def test_different_ids_in_inputs_and_nodes_are_refused():
    with pytest.raises(GraphError, match=r"only one of the two: \[1, 2\]"):
        Graph({0: "a", 1: "b"}, {0: (), 2: ()}, (0,))


def test_from_unordered_refuses_a_node_without_inputs_entry():
    with pytest.raises(GraphError, match=r"only one of the two: \[1\]"):
        Graph.from_unordered({0: "a", 1: "b"}, {0: ()}, (0,))
    with pytest.raises(GraphError, match=r"only one of the two: \[2\]"):
        Graph.from_unordered({0: "a"}, {0: (), 2: ()}, (0,))


def test_a_node_that_reads_itself_is_refused_as_a_cycle():
    with pytest.raises(CycleError, match="node 0 reads itself"):
        Graph({0: "a"}, {0: (0,)}, (0,))


def test_a_graph_copies_its_mappings():
    nodes, inputs, outputs = {0: "a", 1: "b"}, {1: [0], 0: []}, [1]
    graph = Graph(nodes, inputs, outputs)  # type: ignore[arg-type]
    nodes[2] = "c"
    inputs[1].append(0)
    outputs.append(0)
    assert (graph.nodes, graph.inputs, graph.outputs) == ({0: "a", 1: "b"}, {0: (), 1: (0,)}, (1,))
    assert list(graph.inputs) == [0, 1]


def test_a_graph_is_copied_and_pickled():
    for again in (copy.deepcopy(DIAMOND), pickle.loads(pickle.dumps(DIAMOND))):
        assert (again.nodes, again.inputs, again.outputs) == (DIAMOND.nodes, DIAMOND.inputs, DIAMOND.outputs)


def test_a_field_of_a_graph_cannot_be_set():
    with pytest.raises(AttributeError):
        DIAMOND.outputs = (5,)  # type: ignore[misc]


# ---- from_unordered


def test_from_unordered_puts_inputs_first_and_follows_the_given_order_otherwise():
    nodes = {1: "top", 9: "r", 2: "l", 5: "x", 4: "dead"}
    graph = Graph.from_unordered(nodes, {1: (2, 9), 9: (5,), 2: (5,), 5: (), 4: ()}, [1])
    assert list(graph.nodes) == [5, 2, 9, 1, 4]
    assert graph.outputs == (1,)


def test_from_unordered_keeps_a_legal_order_of_a_chain():
    assert list(Graph.from_unordered(DIAMOND.nodes, DIAMOND.inputs, DIAMOND.outputs).nodes) == [5, 2, 9, 1]


def test_a_cycle_is_refused_with_its_nodes():
    with pytest.raises(CycleError, match="the nodes form a cycle: 1 <- 2 <- 3 <- 1"):
        Graph.from_unordered({0: "a", 1: "b", 2: "c", 3: "d"}, {0: (1,), 1: (2,), 2: (3,), 3: (1,)}, (0,))


def test_a_node_that_reads_itself_is_a_cycle():
    with pytest.raises(CycleError, match="cycle: 0 <- 0"):
        Graph.from_unordered({0: "a"}, {0: (0,)}, (0,))


def test_from_unordered_refuses_a_missing_input():
    with pytest.raises(GraphError, match="node 1 reads node 7, which does not exist"):
        Graph.from_unordered({1: "a"}, {1: (7,)}, (1,))


def test_a_chain_of_many_nodes_is_sorted_without_recursion():
    n = 20_000
    graph = Graph.from_unordered({i: i for i in range(n)}, {i: (i + 1,) if i + 1 < n else () for i in range(n)}, (0,))
    assert next(iter(graph.nodes)) == n - 1
    assert graph.levels[0] == n - 1


def test_every_error_of_a_graph_is_a_circuit_error():
    assert issubclass(CycleError, GraphError)
    assert issubclass(GraphError, CircuitError)


# ---- random graphs


@given(graphs(), st.randoms(use_true_random=False))
def test_from_unordered_returns_a_legal_graph_for_any_order_of_the_nodes(graph, random):
    shuffled = list(graph.nodes)
    random.shuffle(shuffled)
    again = Graph.from_unordered({n: graph.nodes[n] for n in shuffled}, graph.inputs, graph.outputs)
    assert dict(again.nodes) == dict(graph.nodes)
    assert again.levels == graph.levels


@given(graphs())
def test_level_is_above_the_highest_input_and_height_above_the_highest_user(graph):
    height = heights(graph)
    for node, sources in graph.inputs.items():
        assert graph.levels[node] == max((graph.levels[s] + 1 for s in sources), default=0)
        assert height[node] == max((height[u] + 1 for u in graph.users[node]), default=0)


@given(graphs())
def test_users_are_the_inverse_of_inputs(graph):
    assert {(s, n) for n, sources in graph.inputs.items() for s in sources} == {
        (s, n) for s, users in graph.users.items() for n in users
    }


@given(graphs())
def test_the_groups_of_levels_contain_every_node_once_after_its_inputs(graph):
    groups = group_levels(graph.levels)
    assert sorted(node for group in groups for node in group) == sorted(graph.nodes)
    at = {node: i for i, group in enumerate(groups) for node in group}
    assert all(at[source] < at[node] for node, sources in graph.inputs.items() for source in sources)


def test_other_nodes_on_the_same_edges_share_what_is_known_of_these():
    graph = Graph({0: "x", 1: "y", 2: "z"}, {0: (), 1: (0,), 2: (0, 1)}, (2,))
    users = graph.users
    other = graph.with_nodes({0: 1.0, 1: 2.0, 2: 3.0})
    assert (other.nodes, other.inputs, other.outputs) == ({0: 1.0, 1: 2.0, 2: 3.0}, graph.inputs, graph.outputs)
    assert other.users is users
    assert graph.nodes == {0: "x", 1: "y", 2: "z"}
    with pytest.raises(GraphError, match="got 2: at position 2 comes none instead of 2"):
        graph.with_nodes({0: 1.0, 1: 2.0})
    with pytest.raises(GraphError, match="got 3: at position 0 comes 1 instead of 0"):
        graph.with_nodes({1: 2.0, 0: 1.0, 2: 3.0})
