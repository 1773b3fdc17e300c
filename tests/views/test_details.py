"""The inspector's descriptions of layers, groups and matches."""

import re
from typing import Any

from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.views import (
    TraceIndex,
    details,
    match_details,
    picture,
)
from tests.views.showing import index_of, section


def test_details_of_a_layer_that_was_fused():
    view = details(index_of("conflict"), 3, [5])
    assert view["id"] == "3/n5"
    sections: dict[str, list[Any]] = {s["heading"]: [*s["rows"], *s["lines"]] for s in view["sections"]}
    for row in sections["Code"]:
        row[1] = re.sub(r"\.py:\d+$", ".py", row[1])  # the line of a rule is not this test's business
    assert sections == snapshot(
        {
            "Rule SumCollapse": [
                ["meaning", "Two sums in a row are one: W2 (W1 x) = (W2 W1) x."],
                ["looks for → makes", "Sum over Sum → Sum"],
                ["in this step", "2 of 2 matches applied"],
                ["saved", "2 layers"],
            ],
            "Rule Candecomp": [
                ["meaning", "A sum over a Hadamard product is one layer: a product, then a matrix."],
                ["looks for → makes", "Sum over Hadamard → CPT"],
                ["in this step", "1 of 3 matches applied"],
                ["saved", "1 layer"],
            ],
            "Node": [
                ["id", "5"],
                ["name", "middle-left"],
                ["type", "Sum (TorchSumLayer)"],
                ["kind", "sum"],
                ["level", "2"],
                ["in (F, H, B, I)", "(1, 1, B, 4)"],
                ["out (F, B, O)", "(1, B, 4)"],
                ["num_output_units", "4"],
                ["num_input_units", "4"],
                ["arity", "1"],
                ["reads", "4"],
                ["read by", "6"],
            ],
            "Parameter weight": [
                ["shape", "(4, 4)"],
                ["output", "%1, slice 0"],
                "%0 = Tensor (4, 4), leaf 5.weight",
                "%1 = Softmax (4, 4) of %0",
            ],
            "Match": [
                ["SumCollapse", "match 0, nodes 6, 5: applied"],
                [
                    "Candecomp",
                    "match 2, nodes 5, 4: lost to SumCollapse: largest-match, equal size (2 = 2): SumCollapse is "
                    "nearer to the outputs, so it wins",
                ],
            ],
            "Why not": [
                ["SumCollapse", "match 0, nodes 6, 5: applied"],
                [
                    "Candecomp",
                    "match 2, nodes 5, 4: lost to SumCollapse: largest-match, equal size (2 = 2): SumCollapse is "
                    "nearer to the outputs, so it wins",
                ],
                ["SumCollapse", "node 4 is a Hadamard layer, not a Sum layer"],
                ["Tucker", "node 4 is a Hadamard layer, not a Kronecker layer"],
                ["Tucker", "node 5 is a Sum layer, not a Kronecker layer (tried at 6)"],
                ["Mixing", "node 5 has arity 1, wanted at least 2"],
                ["Candecomp", "node 5 is a Sum layer, not a Hadamard layer (tried at 6)"],
                "In step 3, fuse, round 1.",
                "More in step 2.",
            ],
            "Lineage": [
                ["symbolic layers", "5 (middle-left)"],
                ["exists", "from step 0 to step 2"],
                ["at the end", "part of 22, slice 0"],
                "replaced in step 3 (fuse, round 1): SumCollapse: 6, 5 → 16",
            ],
            "Code": [
                ["rule", "SumCollapse"],
                ["meaning", "Two sums in a row are one: W2 (W1 x) = (W2 W1) x."],
                ["exactness", "real"],
                ["written in", "explorer/optimize/default_rules.py"],
                ["rule", "Candecomp"],
                ["meaning", "A sum over a Hadamard product is one layer: a product, then a matrix."],
                ["exactness", "real"],
                ["written in", "explorer/optimize/default_rules.py"],
            ],
            "Numbers": [["written per example", "16 B"], ["parameter entries", "16"]],
        }
    )


def test_details_of_a_group_cover_all_its_nodes():
    index = index_of("digits")
    box = next(node for node in picture(index, 0).view["nodes"] if node["count"] == 64)
    view = details(index, 0, box["ids"])
    assert view["id"] == f"0/{box['id']}"
    assert view["title"] == snapshot("Categorical #0 and 63 nodes like it")
    nodes = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 ... (64 in all)"
    assert ["nodes in this box", nodes] in section(view, "Node")["rows"]


def test_details_follow_a_folded_layer_back_to_the_symbolic_ones():
    index = index_of("conflict")
    view = details(index, 12, [22])
    assert [[name, *text.split(", ")] for name, text in section(view, "Lineage")["rows"]] == snapshot(
        [
            [
                "symbolic layers",
                "4 (product-left)",
                "5 (middle-left)",
                "6 (upper-left)",
                "7 (product-right)",
                "8 (middle-right)",
                "9 (upper-right)",
            ],
            ["exists", "from step 11 to step 12"],
            ["at the end", "22"],
        ]
    )
    assert section(view, "Numbers")["rows"] == snapshot(
        [
            ["written per example", "32 B"],
            ["parameter entries", "64"],
            ["read", "view"],
            ["copied per example", "0 B"],
        ]
    )


def test_details_show_measured_times():
    rows = section(details(index_of("conflict"), 12, [22], times={22: 1.5}), "Numbers")["rows"]
    assert ["measured", "1.5 ms (1 of 1 node)"] in rows
    recorded = details(index_of("conflict"), 12, [22], times={22: 1.5}, lane="recorded-cuda")
    assert ["measured", "1.5 ms on CUDA, recorded (1 of 1 node)"] in section(recorded, "Numbers")["rows"]


def test_a_match_shows_its_result_and_the_matches_it_won_against():
    view = match_details(index_of("conflict"), 3, 0)
    assert [line.partition(" (")[0] for line in section(view, "Conflicts")["lines"]] == snapshot(
        ["won against Candecomp at [5, 4]: both claim node 5"]
    )
    assert ["result", "16"] in section(view, "Match")["rows"]
    assert section(view, "Code")["rows"][0] == ["rule", "SumCollapse"]


def test_bytes_written_follow_the_type_of_the_numbers():
    index = TraceIndex(explorer.record(gallery.load_named("conflict"), semiring="complex-lse-sum"))
    numbers = dict(details(index, 0, [5])["sections"][-1]["rows"])
    assert numbers["written per example"] == "32 B"  # 4 complex numbers of 8 bytes
