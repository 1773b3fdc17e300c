"""The matcher: what matches, what is refused, and the reason as text."""

import itertools
from typing import Any

import pytest
from hypothesis import given, strategies as st
from inline_snapshot import snapshot

from explorer.errors import RuleError
from explorer.graph import Graph
from explorer.rewrite import (
    Condition,
    GraphOptMatch,
    GraphOptPattern,
    ParameterOptPattern,
    at_least,
    match_pattern,
    match_pattern_graph,
    questions_of,
)
from explorer.trace import Check, Refusal, RefusalKind
from tests.fuzzing import examples
from tests.rewrite.toys import A, B, C, Inner, Toy, WithInner, chain, pattern, toy_graph
from tests.strategies import graphs

AB = pattern("AB", A, B)
INNER_AB = ParameterOptPattern("InnerAB", (A, B))
INNER_OUT = ParameterOptPattern("InnerOut", (A,), is_output=True)


def refusal(graph: Graph[Any], wanted: GraphOptPattern, root: int) -> Refusal:
    found = match_pattern(graph, wanted, root)
    assert isinstance(found, Refusal)
    return found


def match(graph: Graph[Any], wanted: GraphOptPattern, root: int) -> GraphOptMatch:
    found = match_pattern(graph, wanted, root)
    assert isinstance(found, GraphOptMatch)
    return found


# ---- matches


def test_a_match_is_a_chain_from_the_root_towards_the_inputs():
    graph = chain(C(), B(), A(), C())
    found = match(graph, AB, 2)
    assert found.nodes == (2, 1)
    assert found.entries == (graph.nodes[2], graph.nodes[1])
    assert (found.root, found.entry_point, len(found)) == (2, 1, 2)
    assert str(found) == "AB at 2, 1"


def test_a_subclass_matches_an_entry():
    assert match(chain(B(), A()), pattern("any", Toy, Toy), 1).nodes == (1, 0)


def test_the_last_entry_may_read_several_nodes_and_the_first_may_be_read_by_several():
    nodes = {0: C(), 1: C(), 2: B(), 3: A(), 4: C(), 5: C()}
    graph = toy_graph(nodes, {2: (0, 1), 3: (2,), 4: (3,), 5: (3,)}, (3, 4, 5))
    assert match(graph, AB, 3).nodes == (3, 2)


def test_a_config_pattern_asks_for_a_value_or_a_condition():
    graph = chain(B(size=3), A(size=1))
    assert match(graph, pattern("p", A, B, config_patterns=({"size": 1}, {"size": at_least(3)})), 1)
    assert match(graph, pattern("p", A, B, config_patterns=({}, {"size": Condition("odd", lambda n: n % 2 == 1)})), 1)
    assert match(graph, pattern("p", A, B, config_patterns=({"size": 1},)), 1)  # entries without conditions left out


def test_sub_pattern_is_searched_in_the_whole_parameter_graph():
    inner = chain(B(), A(), C(), B(), A())
    graph = chain(WithInner(inner=Inner(inner)))
    found = match(graph, pattern("p", WithInner, sub_patterns=({"inner": INNER_AB},)), 0)
    assert [m.nodes for m in found.sub_entries[0]["inner"]] == [(1, 0), (4, 3)]
    assert str(found.sub_entries[0]["inner"][0]) == "InnerAB at 1, 0 in 0.inner"


def test_a_sub_pattern_on_outputs_matches_only_the_outputs_of_the_parameter():
    wanted = pattern("p", WithInner, sub_patterns=({"inner": INNER_OUT},))
    assert match(chain(WithInner(inner=Inner(chain(B(), A())))), wanted, 0)
    assert refusal(chain(WithInner(inner=Inner(chain(A(), B())))), wanted, 0).kind is RefusalKind.SUB_PATTERN_FAILED


# ---- refusals: one of every kind, with its reason


def reasons() -> dict[RefusalKind, tuple[Graph[Any], GraphOptPattern, int]]:
    """For every kind of refusal a graph, a pattern and a root where it happens."""
    two_users = toy_graph({0: B(), 1: A(), 2: C()}, {1: (0,), 2: (0,)}, (1, 2))
    two_inputs = toy_graph({0: B(), 1: B(), 2: A()}, {2: (0, 1)}, (2,))
    sized = pattern("Sized", A, B, config_patterns=({}, {"size": at_least(2)}))
    with_inner = pattern("WithInner", WithInner, sub_patterns=({"inner": INNER_OUT},))
    return {
        RefusalKind.WRONG_TYPE: (chain(C(), A()), AB, 1),
        RefusalKind.NO_INPUT: (chain(A()), AB, 0),
        RefusalKind.SEVERAL_INPUTS: (two_inputs, AB, 2),
        RefusalKind.SEVERAL_USERS: (two_users, AB, 1),
        RefusalKind.INTERIOR_OUTPUT: (chain(B(), A(), outputs=(1, 0)), AB, 1),
        RefusalKind.NOT_AN_OUTPUT: (chain(A(), C()), pattern("Out", A, is_output=True), 0),
        RefusalKind.CONFIG_DIFFERS: (chain(B(size=1), A()), sized, 1),
        RefusalKind.SUB_PATTERN_FAILED: (chain(WithInner(inner=Inner(chain(A(), C())))), with_inner, 0),
    }


def test_refusals_have_reasons_in_words():
    found = {kind.value: refusal(*case).reason for kind, case in reasons().items()}
    assert found == snapshot(
        {
            "wrong type": "node 0 is a C, not a B",
            "no input": "node 0 reads nothing, and entry 1 is still to be found",
            "several inputs": "node 2 reads 2 nodes; only the last entry may read more than one",
            "several users": "node 0 is read by 2 nodes; only the first entry may be read by more than one",
            "output inside": "node 0 is an output and would be lost inside the match",
            "not an output": "node 0 is not an output, which the pattern asks for",
            "config differs": "node 0 has size 1, wanted at least 2",
            "sub-pattern failed": ("the parameter 'inner' of node 0 does not match InnerOut (node 1 is a C, not an A)"),
        }
    )


OF_RULES = (RefusalKind.DECLINED, RefusalKind.OTHER_VALUE, RefusalKind.REVERTED)  # not made by this matcher


@pytest.mark.parametrize("kind", [kind for kind in RefusalKind if kind not in OF_RULES])
def test_a_refusal_says_which_pattern_where_and_at_which_entry(kind: RefusalKind):
    graph, wanted, root = reasons()[kind]
    found = refusal(graph, wanted, root)
    below = kind in (
        RefusalKind.WRONG_TYPE,
        RefusalKind.SEVERAL_USERS,
        RefusalKind.INTERIOR_OUTPUT,
        RefusalKind.CONFIG_DIFFERS,
    )
    assert (found.kind, found.pattern, found.root) == (kind, wanted.name, root)
    assert (found.entry, found.node) == ((1, 0) if below else (0, root))
    assert Refusal.from_json(found.to_json()).reason == found.reason


def test_a_parameter_that_a_node_does_not_have_is_a_refusal():
    found = refusal(chain(WithInner()), pattern("p", WithInner, sub_patterns=({"inner": INNER_OUT},)), 0)
    assert found.reason == snapshot("the parameter 'inner' of node 0 does not match InnerOut (it has none)")


def test_a_node_read_twice_by_one_reader_counts_as_several_inputs():
    graph = toy_graph({0: B(), 1: A()}, {1: (0, 0)}, (1,))
    assert refusal(graph, AB, 1).kind is RefusalKind.SEVERAL_INPUTS


def test_an_output_inside_of_a_match_is_refused_and_not_lost():
    graph = chain(C(), B(), A(), outputs=(1, 2))
    assert refusal(graph, AB, 2).kind is RefusalKind.INTERIOR_OUTPUT
    assert match(chain(C(), B(), A(), outputs=(2, 2)), AB, 2)  # the root may be an output, and twice


def test_an_unknown_field_in_a_pattern_is_an_error():
    wanted = pattern("p", A, config_patterns=({"sice": 1},))
    with pytest.raises(
        RuleError, match=r"the pattern p \(tests/rewrite/toys.py:\d+\) reads .sice. of a A.* name, size"
    ):
        match_pattern(chain(A()), wanted, 0)


def test_questions_are_recorded_until_the_first_negative_answer():
    graph, wanted, root = reasons()[RefusalKind.CONFIG_DIFFERS]
    checks: list[Check] = []
    match_pattern(graph, wanted, root, checks=checks)
    assert [(check.entry, check.node, check.question, check.passed) for check in checks] == snapshot(
        [
            (0, 1, "is it an A?", True),
            (0, 1, "does it read at most one node?", True),
            (0, 1, "does it read a node?", True),
            (1, 0, "is it a B?", True),
            (1, 0, "is it read by at most one node?", True),
            (1, 0, "is it not an output?", True),
            (1, 0, "is size at least 2?", False),
        ]
    )


@pytest.mark.parametrize("kind", reasons(), ids=lambda kind: kind.value)
def test_questions_of_a_pattern_are_asked_in_order_up_to_the_first_no(kind: RefusalKind):
    graph, wanted, root = reasons()[kind]
    checks: list[Check] = []
    found = match_pattern(graph, wanted, root, checks=checks)
    asked = [(entry, question) for entry, questions in enumerate(questions_of(wanted)) for question in questions]
    assert isinstance(found, Refusal)
    assert [(check.entry, check.question) for check in checks] == [(e, q.text) for e, q in asked[: len(checks)]]
    assert (asked[len(checks) - 1][1].kind, asked[len(checks) - 1][1].what) == (kind.value, found.what)


def test_a_match_has_answered_all_questions_of_its_pattern_with_yes():
    for wanted in (AB, pattern("p", A, B, config_patterns=({"size": 1}, {"size": at_least(1)}))):
        checks: list[Check] = []
        assert isinstance(match_pattern(chain(B(), A()), wanted, 1, checks=checks), GraphOptMatch)
        assert [check.question for check in checks] == [q.text for entry in questions_of(wanted) for q in entry]


# ---- searching a graph


def test_matches_are_ordered_by_pattern_and_position():
    graph = chain(B(), A(), B(), A())
    alone = pattern("Alone", A)
    search = match_pattern_graph(graph, (alone, AB))
    assert [(m.pattern.name, m.root) for m in search.matches] == [("Alone", 1), ("Alone", 3), ("AB", 1), ("AB", 3)]
    assert search.refusals == []


def test_only_attempts_that_get_beyond_the_first_type_are_near_misses():
    search = match_pattern_graph(chain(C(), B(), A(), C(), A()), (AB, pattern("C", C)))
    assert [(r.pattern, r.root, r.kind) for r in search.refusals] == [("AB", 4, RefusalKind.WRONG_TYPE)]


def test_a_pattern_on_outputs_finds_outputs_only():
    search = match_pattern_graph(chain(A(), A(), A()), (pattern("Out", A, is_output=True),))
    assert [m.root for m in search.matches] == [2]
    assert search.refusals == []


@given(graphs())
def test_the_matches_in_a_random_graph_are_all_chains_that_may_be_cut_out(graph: Graph[str]):
    kinds = {"a": A, "b": B, "c": C}
    toys = Graph({n: kinds.get(v, Toy)() for n, v in graph.nodes.items()}, graph.inputs, graph.outputs)
    patterns = tuple(
        pattern("".join(k.__name__ for k in p), *p) for n in (1, 2, 3) for p in itertools.product((A, B), repeat=n)
    )
    search = match_pattern_graph(toys, patterns)
    found = {(m.pattern.name, m.nodes) for m in search.matches}
    assert len(found) == len(search.matches)
    for wanted in patterns:
        for root in toys.nodes:
            nodes = [root]
            while len(nodes) < len(wanted.entries) and len(toys.inputs[nodes[-1]]) == 1:
                nodes.append(toys.inputs[nodes[-1]][0])
            inside = nodes[1:]
            legal = (
                len(nodes) == len(wanted.entries)
                and all(isinstance(toys.nodes[n], e) for n, e in zip(nodes, wanted.entries, strict=True))
                and all(len(toys.users[n]) == 1 and n not in toys.outputs for n in inside)
            )
            assert ((wanted.name, tuple(nodes)) in found) == legal


# ---- patterns


def test_a_pattern_has_its_source_location():
    assert AB.source.startswith("tests/rewrite/toys.py:")  # where `pattern` calls the class
    here = ParameterOptPattern("Here", (A,))
    assert here.source.startswith("tests/rewrite/test_matching.py:")
    assert here.source != INNER_OUT.source


def test_a_pattern_without_entries_is_refused():
    with pytest.raises(RuleError, match="the pattern Empty has no entries; pass at least one node type"):
        pattern("Empty")


@pytest.mark.parametrize("what", ["config_patterns", "sub_patterns"])
def test_a_pattern_with_more_conditions_than_entries_is_refused(what: str):
    with pytest.raises(RuleError, match=f"the pattern Long has 2 {what} for 1 entries"):
        pattern("Long", A, **{what: ({}, {})})


@pytest.mark.parametrize("what", ["config_patterns", "sub_patterns"])
def test_conditions_must_be_a_tuple(what: str):
    with pytest.raises(RuleError, match=f"{what} of the pattern One: expected a tuple with one dictionary per entry"):
        pattern("One", A, **{what: {"arity": 2}})


def test_an_invalid_sub_pattern_is_refused():
    sub_patterns: Any = ({"weight": A},)
    with pytest.raises(RuleError, match="pattern One: expected a ParameterOptPattern for the parameter"):
        pattern("One", A, sub_patterns=sub_patterns)


def test_a_type_in_place_of_a_tuple_of_types_is_refused():
    entries: Any = A
    with pytest.raises(RuleError, match=r"entries of the pattern One: expected a tuple of types, as in \(A,\); got"):
        ParameterOptPattern("One", entries)


WITH_AB = WithInner("with", 2, Inner(chain(B(), A())))
WITH_B = WithInner("with", 2, Inner(chain(A(), B())))


MANY = st.lists(
    st.tuples(graphs(max_nodes=6), st.lists(st.sampled_from([A(), B(size=2), B(size=3), WITH_AB, WITH_B]), min_size=6)),
    min_size=30,
    max_size=30,
)


@examples(20)
@given(MANY)
def test_attempts_rank_by_how_many_questions_were_answered(many: list[tuple[Graph[int], list[Toy]]]):
    wanted = pattern(
        "Long",
        Toy,
        Toy,
        WithInner,
        is_output=True,
        config_patterns=({}, {"size": 2}, {"size": 2}),
        sub_patterns=({}, {}, {"inner": INNER_AB}),
    )
    attempts: dict[int, set[tuple[int, tuple[int, int]]]] = {}
    for graph, kinds in many:
        toys = Graph({node: kinds[i] for i, node in enumerate(graph.nodes)}, graph.inputs, graph.outputs)
        for root in toys.nodes:
            checks: list[Check] = []
            found = match_pattern(toys, wanted, root, checks=checks)
            if isinstance(found, Refusal):
                num_questions = sum(check.entry == found.entry for check in checks)
                attempts.setdefault(found.entry, set()).add((num_questions, found.progress))
    for found in attempts.values():
        ordered = sorted(found)
        assert [progress for _, progress in ordered] == sorted(progress for _, progress in ordered)
        assert (
            len({num_questions for num_questions, _ in found}) == len({progress for _, progress in found}) == len(found)
        )


def test_every_kind_of_refusal_has_a_rank():
    ranks = [Refusal("P", 1, 0, 1, kind).progress for kind in RefusalKind]
    assert len(set(ranks)) == len(RefusalKind)


# ---- a waived question


def test_a_waived_question_passes_and_the_others_do_not():
    shared = toy_graph({0: B(), 1: A(), 2: A()}, {1: (0,), 2: (0,)}, (1, 2))
    users = refusal(shared, AB, 1)
    assert users.kind is RefusalKind.SEVERAL_USERS
    again = match_pattern(shared, AB, 1, waived=users)
    assert isinstance(again, GraphOptMatch)
    assert again.nodes == (1, 0)
    assert [match.nodes for match in match_pattern_graph(shared, (AB,), waived=users).matches] == [(1, 0), (2, 0)]

    small = pattern("p", A, B, config_patterns=({"size": 2}, {"size": 3}))
    first = refusal(chain(B(size=1), A(size=1)), small, 1)
    second = match_pattern(chain(B(size=1), A(size=1)), small, 1, waived=first)
    assert isinstance(second, Refusal)
    assert (second.entry, second.what) == (1, "size")


def test_a_search_waives_that_a_node_is_not_an_output():
    graph, top = chain(A(), A()), pattern("top", A, is_output=True)
    inside = refusal(graph, top, 0)
    assert inside.kind is RefusalKind.NOT_AN_OUTPUT
    assert [match.nodes for match in match_pattern_graph(graph, (top,), waived=inside).matches] == [(0,), (1,)]


def test_a_waived_sub_pattern_binds_nothing():
    graph = chain(WithInner(inner=Inner(chain(C()))))
    wanted = pattern("p", WithInner, sub_patterns=({"inner": INNER_AB},))
    found = match_pattern(graph, wanted, 0, waived=refusal(graph, wanted, 0))
    assert isinstance(found, GraphOptMatch)
    assert found.sub_entries == ({},)
