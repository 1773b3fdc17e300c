"""Pictures of small circuits, literally."""

import json
from time import process_time

import numpy as np
import pytest
from inline_snapshot import snapshot

from explorer import record
from explorer.errors import UnknownNameError
from explorer.files import MAX_VARIABLE
from explorer.symbolic import CategoricalLayer, CircuitBuilder, HadamardLayer, TensorParameter
from explorer.views import TraceIndex, picture, static_svg
from tests.views.showing import every_step, index_of, picture_text


def test_before_and_after_views_show_the_states_and_mark_the_changes():
    index = index_of("blackboard")
    assert picture_text(picture(index, 3, "before").view) == snapshot("""\
Step 3 of 10: fuse, round 1, 4 of 4 matches | 4 layers created, 8 removed | 13 layers. Showing 7 groups.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g5x2-08a98ed1: product Hadamard (2×2 → 2) 2 layers level 1 removed matched
g7x2-aa53fe9f: sum Sum (2 → 2, weight 2×2) 2 layers level 2 removed matched
n9: product Hadamard {0..3} (#9 2×2 → 2) level 3 removed matched
n10: sum Sum {0..3} (#10 2 → 2, weight 2×2) level 4 removed matched
n11: product Hadamard {0..4} (#11 2×2 → 2) level 5 removed matched
n12: sum Sum {0..4} (#12 2 → 1, weight 1×2) level 6 removed matched
g0x5-4c6b0437 -> g5x2-08a98ed1: 4 removed
g5x2-08a98ed1 -> g7x2-aa53fe9f: 2 removed
g7x2-aa53fe9f -> n9: 2 removed
n9 -> n10: 1 removed
g0x5-4c6b0437 -> n11: 1 removed
n10 -> n11: 1 removed
n11 -> n12: 1 removed
match Candecomp: 2 matches: g7x2-aa53fe9f, g5x2-08a98ed1
match Candecomp: n10, n9
match Candecomp: n12, n11\
""")
    assert picture_text(picture(index, 3, "after").view) == snapshot("""\
Step 3 of 10: fuse, round 1, 4 of 4 matches | 4 layers created, 8 removed | 9 layers. Showing 4 groups.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 added
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 added
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 added
g0x5-4c6b0437 -> g13x2-1ef8bd8b: 4 added
g13x2-1ef8bd8b -> n15: 2 added
g0x5-4c6b0437 -> n16: 1 added
n15 -> n16: 1 added\
""")


def test_side_by_side_has_both_states_and_all_coordinates_in_one_array():
    index = index_of("blackboard")
    both, before, after = (picture(index, 3, mode) for mode in ("side", "before", "after"))
    assert both.view["mode"] == "side"
    assert both.view["note"] == f"Before: {before.view['note']}\nAfter: {after.view['note']}"
    assert picture_text({**both.view, "note": before.view["note"]}) == picture_text(before.view)
    assert all(item in both.view["legend"] for item in (*before.view["legend"], *after.view["legend"]))
    assert "other" in both.view
    assert picture_text(both.view["other"]) == picture_text(after.view)
    assert np.array_equal(both.coordinates, np.concatenate([before.coordinates, after.coordinates]))
    assert both.view["width"] == both.view["other"]["width"]


def test_one_box_per_node():
    index = index_of("blackboard")
    assert picture_text(picture(index, 7, group_by="none").view) == snapshot("""\
Step 7 of 10: fold, level 0, 5 layers became 1 | 5 layers folded into 1 | 5 layers and 5 removed.
n0: input Categorical x0 (#0 1 variable → 2) level 0 removed
n1: input Categorical x1 (#1 1 variable → 2) level 0 removed
n2: input Categorical x2 (#2 1 variable → 2) level 0 removed
n3: input Categorical x3 (#3 1 variable → 2) level 0 removed
n4: input Categorical x4 (#4 1 variable → 2) level 0 removed
n17: input Categorical x5 (#17 1 variable → 2) level 0 added
n13: fused CPT {0,2} (#13 2×2 → 2, weight 2×2) level 1 kept
n14: fused CPT {1,3} (#14 2×2 → 2, weight 2×2) level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
n0 -> n13: 1 removed
n2 -> n13: 1 removed
n17 -> n13: 1 added
n1 -> n14: 1 removed
n3 -> n14: 1 removed
n17 -> n14: 1 added
n13 -> n15: 1 kept
n14 -> n15: 1 kept
n4 -> n16: 1 removed
n17 -> n16: 1 added
n15 -> n16: 1 kept\
""")


def test_one_box_per_scope():
    index = index_of("blackboard")
    assert picture_text(picture(index, 0, group_by="scope").view) == snapshot("""\
Step 0 of 10: compile | 13 layers compiled | 13 layers. Showing 9 groups.
n0: input Categorical x0 (#0 1 variable → 2) level 0 kept
n1: input Categorical x1 (#1 1 variable → 2) level 0 kept
n2: input Categorical x2 (#2 1 variable → 2) level 0 kept
n3: input Categorical x3 (#3 1 variable → 2) level 0 kept
n4: input Categorical x4 (#4 1 variable → 2) level 0 kept
g5x2-b015e9b4: operator 2 variables (1 Hadamard, 1 Sum) 2 layers level 2 kept
g6x2-66f9fe01: operator 2 variables (1 Hadamard, 1 Sum) 2 layers level 2 kept
g9x2-15d02426: operator 4 variables (1 Hadamard, 1 Sum) 2 layers level 4 kept
g11x2-729e7c87: operator 5 variables (1 Hadamard, 1 Sum) 2 layers level 6 kept
n0 -> g5x2-b015e9b4: 1 kept
n2 -> g5x2-b015e9b4: 1 kept
n1 -> g6x2-66f9fe01: 1 kept
n3 -> g6x2-66f9fe01: 1 kept
g5x2-b015e9b4 -> g9x2-15d02426: 1 kept
g6x2-66f9fe01 -> g9x2-15d02426: 1 kept
n4 -> g11x2-729e7c87: 1 kept
g9x2-15d02426 -> g11x2-729e7c87: 1 kept\
""")


def test_winners_and_losers_of_a_conflict_have_hulls_and_signs():
    view = picture(index_of("conflict"), 3).view
    decided = [hull for hull in view["hulls"] if hull["kind"] in ("winner", "lost")]
    assert all(hull.get("outline") and hull.get("tag") for hull in decided)
    told = [{name: hull[name] for name in hull if name not in ("outline", "tag")} for hull in decided]
    assert told == snapshot(
        [
            {
                "id": "hull-2",
                "kind": "winner",
                "nodes": ["g6x2-de459964", "g5x2-e876f9e2"],
                "rule": "SumCollapse",
                "label": "SumCollapse: 2 matches",
                "reason": "won against Candecomp (largest-match)",
                "count": 2,
            },
            {
                "id": "hull-3",
                "kind": "lost",
                "nodes": ["g5x2-e876f9e2", "g4x2-7cbfe92a"],
                "rule": "Candecomp",
                "label": "Candecomp: 2 matches",
                "reason": "lost to SumCollapse (largest-match: equal size (2 = 2): SumCollapse is nearer to the "
                "outputs, so it wins)",
                "count": 2,
            },
        ]
    )
    assert [(badge["sign"], badge["tone"]) for node in view["nodes"] for badge in node["badges"]] == snapshot(
        [("✕", "warning")]
    )


def test_near_misses_of_a_chosen_pattern_have_hulls():
    view = picture(index_of("near-misses"), 3, group_by="none", near_misses="Candecomp").view
    hulls = [(h["nodes"], h["reason"].partition(":")[0]) for h in view["hulls"] if h["kind"] == "near-miss"]
    assert hulls == snapshot(
        [
            (["n4", "n0"], "stopped at its 2nd layer because that layer has a different type"),
            (["n6", "n5"], "stopped at its 2nd layer because that layer feeds 2 or more layers"),
            (["n7", "n5"], "stopped at its 2nd layer because that layer feeds 2 or more layers"),
            (["n8"], "stopped at its 1st layer because that layer has 2 or more inputs"),
            (["n11", "n10"], "stopped at its 2nd layer because that layer has a different type"),
            (["n13", "n12"], "stopped at its 2nd layer because that layer is an output"),
        ]
    )
    assert "near-miss" not in {hull["kind"] for hull in picture(index_of("near-misses"), 3).view["hulls"]}


def test_colours_by_kind_memory_time_and_fold():
    index = index_of("conflict")

    def fills(colour_by, **more):
        view = picture(index, 12, colour_by=colour_by, **more).view
        found = [(view["looks"][node["look"]]["fill"], node["fill_text"]) for node in view["nodes"]]
        legend = [(item["role"], item["sign"], item["text"]) for item in view["legend"] if item["channel"] == "fill"]
        return found, legend

    assert fills("kind") == snapshot(
        (
            [("input", ""), ("fused", ""), ("fused", "")],
            [],
        )
    )
    assert fills("memory") == snapshot(
        (
            [("value-100", "64 B"), ("value-75", "32 B"), ("value-0", "4 B")],
            [("scale", "min", "4 B (bytes written per example, logarithmic)"), ("scale", "max", "64 B")],
        )
    )
    assert fills("fold") == snapshot(
        (
            [
                ("category-0", "fold group 1 (level 0: node 21, x4)"),
                ("category-1", "fold group 2 (level 1: node 22, x2)"),
                ("category-2", "fold group 3 (level 2: node 18, x1)"),
            ],
            [
                ("category-0", "A", "fold group 1"),
                ("category-1", "B", "fold group 2"),
                ("category-2", "C", "fold group 3"),
            ],
        )
    )
    assert fills("time", times={21: 0.5, 22: 2.0}) == snapshot(
        (
            [("value-0", "500 µs"), ("value-100", "2 ms"), ("fused", "not measured")],
            [("scale", "min", "500 µs (time, logarithmic)"), ("scale", "max", "2 ms"), ("missing", "", "not measured")],
        )
    )
    assert fills("change") == snapshot(([("input", ""), ("fused", ""), ("fused", "")], []))


def test_layers_that_will_fold_together_have_one_colour_from_the_first_step_on():
    index = index_of("conflict")
    view = picture(index, 0, colour_by="fold", group_by="none").view
    by_group = {}
    for node in view["nodes"]:
        by_group.setdefault(node["fill_text"], []).append(node["ids"][0])
    assert by_group == snapshot(
        {
            "fold group 1 (level 0: node 21, x4)": [0, 1, 2, 3],
            "fold group 2 (level 1: node 22, x2)": [4, 7, 5, 8, 6, 9],
            "fold group 3 (level 2: node 18, x1)": [10, 11],
        }
    )


def test_folded_layers_say_how_they_read_and_what_they_copy():
    view = picture(index_of("digits"), 11).view
    assert [(e["source"], e["target"], e["read"], e["copied_bytes"], e["label"]) for e in view["edges"]] == snapshot(
        [
            ("n255", "n256", "gather", 4096, "gather 4 KiB"),
            ("n256", "n257", "gather", 4096, "gather 4 KiB"),
            ("n257", "n258", "view", 0, "view"),
            ("n258", "n254", "view", 0, "view"),
        ]
    )


def test_bytes_of_edges_add_up_to_the_statistic_of_the_step():
    for name in ("digits", "levels", "hmm", "kronecker"):
        index = index_of(name)
        last = every_step(name)[-1]
        copied = sum(edge["copied_bytes"] for edge in picture(index, last).view["edges"])
        assert copied == index.trace.stats(last)["copied_bytes"]


def test_a_step_without_matches_reports_the_closest_pattern():
    assert picture(index_of("near-misses"), 2).view["message"].split(". ") == snapshot(
        [
            "No pattern matched",
            "2 patterns were tried on 14 layers",
            "Closest: DenseKronecker, 6 times blocked at its 1st layer because its parameter weight does not match.",
        ]
    )


def test_the_legend_keep_only_entries_that_occur():
    roles = [(item["channel"], item["role"]) for item in picture(index_of("blackboard"), 3).view["legend"]]
    assert roles == snapshot(
        [
            ("border", "added"),
            ("border", "removed"),
            ("fill", "matched"),
            ("hull", "match"),
            ("cell", "input"),
            ("cell", "sum"),
            ("cell", "product"),
            ("cell", "fused"),
            ("badge", "count"),
        ]
    )


@pytest.mark.filterwarnings("ignore:Stopped optimizing at the limit")
def test_a_reached_limit_is_the_message_of_its_step():
    index = index_of("sum-chain", max_rounds=5)
    (step,) = [step.index for step in index.trace.steps if step.limits]
    assert picture(index, step).view["message"].startswith("Stopped optimizing at the limit of 5 rounds")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 99}, "no step 99"),
        ({"step": 0, "mode": "upside-down"}, "known are: diff, before, after, side"),
        ({"step": 0, "colour_by": "taste"}, "known are: change, kind"),
        ({"step": 0, "group_by": "size"}, "known are: plates, score, fold, none, scope"),
        ({"step": 0, "near_misses": "Candycomp"}, "no pattern named 'Candycomp'"),
    ],
)
def test_unknown_names_are_typed_errors_that_list_the_known_ones(arguments, message):
    with pytest.raises(UnknownNameError, match=message):
        picture(index_of("blackboard"), **arguments)


def test_a_picture_keep_only_json_types():
    view = picture(index_of("near-misses"), 3, "side", "memory", near_misses="Candecomp").view
    assert json.loads(json.dumps(view)) == view


def test_outputs_are_marked_if_a_circuit_has_several():
    def marked(name):
        nodes = picture(index_of(name), 1, group_by="none").view["nodes"]
        return [node["id"] for node in nodes if "out" in [badge["sign"] for badge in node["badges"]]]

    assert marked("near-misses") == ["n12", "n13"]
    assert marked("conflict") == []


def test_a_variable_with_the_largest_number_is_drawn_in_bounded_time():
    b = CircuitBuilder()
    leaves = [
        b.add(CategoricalLayer(scope=(v,), num_output_units=1, num_categories=2, probs=TensorParameter((1, 2))))
        for v in (0, MAX_VARIABLE)
    ]
    circuit = b.build(b.add(HadamardLayer(num_input_units=1, num_output_units=1, arity=2), leaves))
    index = TraceIndex(record(circuit))
    before = process_time()
    assert static_svg(picture(index, 0))
    assert process_time() - before < 10  # it takes 0.4 s, and took 30 s where each bit of a scope was shifted down
