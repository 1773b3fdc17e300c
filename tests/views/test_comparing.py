"""Two traces side by side: counterparts by lineage or by kind, figures, and the first step in which they differ."""

from textwrap import wrap

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.symbolic.operators import conjugate, evidence
from explorer.templates import load_named
from explorer.trace import Trace
from explorer.views import TraceIndex, compare_table, counterparts, first_difference_of_traces, same_circuit
from tests.views.showing import index_of


def last(index):
    return len(index.trace.steps) - 1


def test_a_layer_is_its_own_counterpart():
    index, other = index_of("digits"), TraceIndex(explorer.record(load_named("digits")))
    for step in (0, 3, last(index)):
        for node in index.trace.steps[step].snapshot.graph.nodes:
            assert counterparts(index, step, [node], other, step).ids == (node,)


def test_counterparts_in_one_circuit_are_found_by_lineage():
    index, other = index_of("conflict"), index_of("conflict", disable=("SumCollapse",))
    assert counterparts(index, 3, [16], other, 0) == counterparts(index, 3, [16], index, 0)
    found = counterparts(index, 3, [16], other, 0)
    assert found.ids == (5, 6)
    assert found.matched_by == "by lineage: both come from symbolic layers 5, 6"
    folded = counterparts(index, 0, [5], index, last(index))
    assert folded.ids == (22,)
    assert set(counterparts(index, last(index), folded.ids, index, 0).ids) >= {5}


def test_the_two_layers_of_a_shattered_one_are_distinguished():
    index, other = index_of("kronecker"), TraceIndex(explorer.record(load_named("kronecker"), fold=False))
    first, second = index.trace.steps[2].rewrites[0].added
    assert counterparts(index, 2, [first], other, 2).ids == (first,)
    assert counterparts(index, 2, [second], other, 2).ids == (second,)
    assert counterparts(index, 0, index.trace.steps[2].rewrites[0].removed, other, 2).ids == (first, second)


def test_removed_layers_have_counterparts():
    index = index_of("conflict")
    assert counterparts(index, 3, [6], index_of("conflict", optimize=False), 0).ids == (6,)


def test_a_loaded_trace_has_the_same_counterparts(tmp_path):
    index = index_of("conflict")
    index.trace.save(tmp_path / "c.json")
    loaded = TraceIndex(Trace.load(tmp_path / "c.json"))
    assert same_circuit(index, loaded)
    assert same_circuit(loaded, index)
    assert first_difference_of_traces(index, loaded) is None
    for node in index.trace.steps[6].snapshot.graph.nodes:
        assert counterparts(loaded, 6, [node], index, last(index)) == counterparts(index, 6, [node], index, last(index))


def test_counterparts_in_two_circuits_are_found_by_kind():
    index, other = index_of("digits"), index_of("hmm")
    assert not same_circuit(index, other)
    top = other.trace.graph_at(0).outputs
    found = counterparts(other, 0, top, index, 0)
    assert found.matched_by == "the circuits differ; by type"
    assert {index.trace.graph_at(0).nodes[node].title for node in found.ids} == {"Sum"}
    assert counterparts(index, 0, [0], other, 0).matched_by == "the circuits differ; by type and level"
    cpt = [n for n, v in index.trace.graph_at(3).nodes.items() if v.title == "CPT"]
    missing = counterparts(index, 3, cpt[:1], other, 0)
    assert missing.ids == ()
    assert missing.matched_by == "no counterpart: the circuits differ, and there is no CPT there"


def test_counterparts_in_two_circuits_with_equal_variables_match_variables():
    def coins(units):
        from explorer.templates import fully_factorized

        return TraceIndex(explorer.record(fully_factorized(3, num_categories=units)))

    found = counterparts(coins(2), 0, [1], coins(3), 0)
    assert (found.ids, found.matched_by) == ((1,), "the circuits differ; by variables, type and level")


def test_unknown_layers_have_no_counterpart():
    index = index_of("conflict")
    assert counterparts(index, 0, [], index, 0).matched_by == "nothing is selected"
    assert counterparts(index, 0, [9999], index, 0).matched_by == (
        "no counterpart: these layers do not exist at this step"
    )
    assert counterparts(index, 0, [9999], index_of("hmm"), 0).ids == ()


def test_the_table_has_both_final_states_and_the_change():
    table = compare_table(index_of("conflict"), index_of("conflict", disable=("SumCollapse",)), ("all", "without"))
    assert table["columns"] == ["at the end", "all", "without", "change"]
    assert table["rows"] == snapshot(
        [
            ["calls", "3", "4", "+1 (+33%)"],
            ["layers", "7", "9", "+2 (+29%)"],
            ["parameters", "100", "100", "equal"],
            ["operations", "100", "164", "+64 (+64%)"],
            ["exponentials and logarithms", "21", "37", "+16 (+76%)"],
            ["operations on parameters", "356", "100", "−256 (−72%)"],
            ["activations", "100 B", "132 B", "+32 B (+32%)"],
            ["copied by reads", "0 B", "0 B", "equal"],
            ["rounds of optimization", "3", "2", "−1 (−33%)"],
            ["matches", "11", "7", "−4 (−36%)"],
            ["matches applied", "9", "7", "−2 (−22%)"],
            ["matches that lost a conflict", "2", "0", "−2 (−100%)"],
            ["near misses", "36", "29", "−7 (−19%)"],
            ["folded groups", "2", "3", "+1 (+50%)"],
            ["steps", "13", "11", "−2 (−15%)"],
        ]
    )
    for row in table["rows"]:
        assert len(row) == 4


@pytest.mark.parametrize(
    ("options", "steps", "text"),
    [
        (
            {"disable": ("SumCollapse",)},
            (3, 3),
            snapshot(
                [
                    "In fuse, round 1 (step 3), SumCollapse at 6, 5 was applied only here (and 1 more): the",
                    "other trace has no such rule; Candecomp at 5, 4 was applied only there (and 1 more): in",
                    "the other, it matched, but lost node 5 to SumCollapse at [6, 5] (largest-match: equal size",
                    "(2 = 2): SumCollapse is nearer to the outputs, so it wins).",
                ]
            ),
        ),
        (
            {"skip": ("SumCollapse@9",)},
            (3, 3),
            snapshot(
                [
                    "In fuse, round 1 (step 3), SumCollapse at 9, 8 was applied only here: in the other, it",
                    "matched, and was switched off; Candecomp at 8, 7 was applied only there: in the other, it",
                    "matched, but lost node 8 to SumCollapse at [9, 8] (largest-match: equal size (2 = 2):",
                    "SumCollapse is nearer to the outputs, so it wins).",
                ]
            ),
        ),
        (
            {"max_rounds": 2},
            (7, 7),
            snapshot(["Next is parameters, round 3 in this trace, fold, level 0 in the other."]),
        ),
        ({"fold": False}, (10, None), snapshot(["Only this trace continues, with fold, level 0."])),
        (
            {"skip": ("fold/level 0",)},
            (10, 10),
            snapshot(["In fold, level 0 (step 10), 4 layers became 1 here, 4 layers became 4 there."]),
        ),
        (
            {"preset": "handbook"},
            (3, 3),
            snapshot(
                [
                    "In fuse, round 1 (step 3), CategoricalLogSoftmax at 0 was applied only here (and 3 more):",
                    "the other trace has no such rule.",
                ]
            ),
        ),
    ],
)
def test_the_first_difference_has_its_reason(options, steps, text):
    found = first_difference_of_traces(index_of("conflict"), index_of("conflict", **options))
    assert found is not None
    assert (found.step, found.other_step) == steps
    assert wrap(found.text, 90) == text


def test_a_different_seed_does_not_count_as_a_difference():
    assert first_difference_of_traces(index_of("conflict"), index_of("conflict", seed=9)) is None


def test_two_circuits_differ_from_the_start():
    found = first_difference_of_traces(index_of("digits"), index_of("hmm"))
    assert found is not None
    assert found.text == "The circuits differ: 170 layers here, 35 layers there."


def test_layers_that_operators_made_have_counterparts_by_lineage_at_every_step():
    index, other = index_of("squared"), TraceIndex(explorer.record(load_named("squared"), fold=False))
    assert index.trace.start == 2
    for step in (0, 1, 2, len(other.trace.steps) - 1):
        for node in other.trace.steps[step].snapshot.graph.nodes:
            assert counterparts(other, step, [node], other, step).ids == (node,)
            assert node in counterparts(index, step, [node], other, step).ids
    made = counterparts(other, 5, other.trace.steps[5].rewrites[0].added, index, 2)
    assert made.ids == tuple(sorted(other.trace.steps[5].rewrites[0].removed))
    assert made.matched_by.startswith("by lineage")


def test_the_compiled_circuits_are_compared_not_their_operands():
    """Evidence keeps the ids of its operand: the states before are equal, the compiled circuits are not."""
    circuit = load_named("conflict")
    one, two, built = (
        TraceIndex(explorer.record(made))
        for made in (evidence(circuit, {0: 0}), evidence(circuit, {0: 1, 1: 1}), circuit)
    )
    assert not same_circuit(one, two)
    assert not same_circuit(one, built)
    difference = first_difference_of_traces(one, two)
    assert difference is not None
    assert (difference.step, difference.other_step) == (2, 2)
    assert counterparts(one, 0, [0], built, 0).matched_by.startswith("the circuits differ; by")


def test_circuits_of_equal_layers_that_different_operators_made_differ_in_these():
    circuit = load_named("conflict")
    one, other, built = (
        TraceIndex(explorer.record(made)) for made in (evidence(circuit, {0: 0}), evidence(circuit, {0: 1}), circuit)
    )
    assert same_circuit(one, other)
    found = first_difference_of_traces(one, other)
    assert found is not None
    assert (found.step, found.other_step) == (1, 1)
    assert found.text == (
        "In evidence (step 1), evidence(A, variables=(0,), values=(0,)) has 12 layers here, "
        "evidence(A, variables=(0,), values=(1,)) has 12 layers there."
    )
    assert first_difference_of_traces(one, TraceIndex(explorer.record(evidence(circuit, {0: 0})))) is None
    unlike = first_difference_of_traces(TraceIndex(explorer.record(conjugate(circuit))), built)
    assert unlike is not None
    assert unlike.text == "Next is operands in this trace, compile in the other."
