"""Every step of one circuit as text: boxes, edges, hulls and what is said about them."""

from inline_snapshot import snapshot

from explorer.views import picture
from tests.views.showing import every_step, index_of, picture_text


def test_every_step_of_the_blackboard_circuit_is_drawn():
    index = index_of("blackboard")
    texts = {step: picture_text(picture(index, step).view) for step in every_step("blackboard")}
    assert texts == snapshot(
        {
            0: """\
Step 0 of 10: compile | 13 layers compiled | 13 layers. Showing 7 groups.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g5x2-08a98ed1: product Hadamard (2×2 → 2) 2 layers level 1 kept
g7x2-aa53fe9f: sum Sum (2 → 2, weight 2×2) 2 layers level 2 kept
n9: product Hadamard {0..3} (#9 2×2 → 2) level 3 kept
n10: sum Sum {0..3} (#10 2 → 2, weight 2×2) level 4 kept
n11: product Hadamard {0..4} (#11 2×2 → 2) level 5 kept
n12: sum Sum {0..4} (#12 2 → 1, weight 1×2) level 6 kept
g0x5-4c6b0437 -> g5x2-08a98ed1: 4 kept
g5x2-08a98ed1 -> g7x2-aa53fe9f: 2 kept
g7x2-aa53fe9f -> n9: 2 kept
n9 -> n10: 1 kept
g0x5-4c6b0437 -> n11: 1 kept
n10 -> n11: 1 kept
n11 -> n12: 1 kept\
""",
            1: """\
Step 1 of 10: parameters, round 1, nothing changed | Nothing changed | 13 layers. Showing 7 groups.
! Parameters changed nothing in round 1.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g5x2-08a98ed1: product Hadamard (2×2 → 2) 2 layers level 1 kept
g7x2-aa53fe9f: sum Sum (2 → 2, weight 2×2) 2 layers level 2 kept
n9: product Hadamard {0..3} (#9 2×2 → 2) level 3 kept
n10: sum Sum {0..3} (#10 2 → 2, weight 2×2) level 4 kept
n11: product Hadamard {0..4} (#11 2×2 → 2) level 5 kept
n12: sum Sum {0..4} (#12 2 → 1, weight 1×2) level 6 kept
g0x5-4c6b0437 -> g5x2-08a98ed1: 4 kept
g5x2-08a98ed1 -> g7x2-aa53fe9f: 2 kept
g7x2-aa53fe9f -> n9: 2 kept
n9 -> n10: 1 kept
g0x5-4c6b0437 -> n11: 1 kept
n10 -> n11: 1 kept
n11 -> n12: 1 kept\
""",
            2: """\
Step 2 of 10: shatter, round 1, nothing changed | Nothing changed | 13 layers. Showing 7 groups.
! No pattern matched. 2 patterns were tried on 13 layers. Closest: DenseKronecker, 4 times blocked at its 1st
layer because its parameter weight does not match.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g5x2-08a98ed1: product Hadamard (2×2 → 2) 2 layers level 1 kept
g7x2-aa53fe9f: sum Sum (2 → 2, weight 2×2) 2 layers level 2 kept
n9: product Hadamard {0..3} (#9 2×2 → 2) level 3 kept
n10: sum Sum {0..3} (#10 2 → 2, weight 2×2) level 4 kept
n11: product Hadamard {0..4} (#11 2×2 → 2) level 5 kept
n12: sum Sum {0..4} (#12 2 → 1, weight 1×2) level 6 kept
g0x5-4c6b0437 -> g5x2-08a98ed1: 4 kept
g5x2-08a98ed1 -> g7x2-aa53fe9f: 2 kept
g7x2-aa53fe9f -> n9: 2 kept
n9 -> n10: 1 kept
g0x5-4c6b0437 -> n11: 1 kept
n10 -> n11: 1 kept
n11 -> n12: 1 kept\
""",
            3: """\
Step 3 of 10: fuse, round 1, 4 of 4 matches | 4 layers created, 8 removed | 9 layers and 8 removed. Showing 10 groups.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g5x2-08a98ed1: product Hadamard (2×2 → 2) 2 layers level 1 removed matched
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 added
g7x2-aa53fe9f: sum Sum (2 → 2, weight 2×2) 2 layers level 2 removed matched
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 added
n9: product Hadamard {0..3} (#9 2×2 → 2) level 3 removed matched
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 added
n10: sum Sum {0..3} (#10 2 → 2, weight 2×2) level 4 removed matched
n11: product Hadamard {0..4} (#11 2×2 → 2) level 5 removed matched
n12: sum Sum {0..4} (#12 2 → 1, weight 1×2) level 6 removed matched
g0x5-4c6b0437 -> g5x2-08a98ed1: 4 removed
g0x5-4c6b0437 -> g13x2-1ef8bd8b: 4 added
g5x2-08a98ed1 -> g7x2-aa53fe9f: 2 removed
g13x2-1ef8bd8b -> n15: 2 added
g7x2-aa53fe9f -> n9: 2 removed
g0x5-4c6b0437 -> n16: 1 added
n15 -> n16: 1 added
n9 -> n10: 1 removed
g0x5-4c6b0437 -> n11: 1 removed
n10 -> n11: 1 removed
n11 -> n12: 1 removed
match Candecomp: 2 matches: g7x2-aa53fe9f, g5x2-08a98ed1
match Candecomp: n10, n9
match Candecomp: n12, n11\
""",
            4: """\
Step 4 of 10: parameters, round 2, nothing changed | Nothing changed | 9 layers. Showing 4 groups.
! Parameters changed nothing in round 2.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
g0x5-4c6b0437 -> g13x2-1ef8bd8b: 4 kept
g13x2-1ef8bd8b -> n15: 2 kept
g0x5-4c6b0437 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            5: """\
Step 5 of 10: shatter, round 2, nothing changed | Nothing changed | 9 layers. Showing 4 groups.
! Shatter changed nothing in round 2.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
g0x5-4c6b0437 -> g13x2-1ef8bd8b: 4 kept
g13x2-1ef8bd8b -> n15: 2 kept
g0x5-4c6b0437 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            6: """\
Step 6 of 10: fuse, round 2, nothing changed | Nothing changed | 9 layers. Showing 4 groups.
! No pattern matched. 5 patterns were tried on 9 layers. Closest: CategoricalLogSoftmax, 5 times blocked at
its 1st layer because its parameter probs does not match.
g0x5-4c6b0437: input Categorical (1 variable → 2, probs 2×2) 5 layers level 0 kept
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
g0x5-4c6b0437 -> g13x2-1ef8bd8b: 4 kept
g13x2-1ef8bd8b -> n15: 2 kept
g0x5-4c6b0437 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            7: """\
Step 7 of 10: fold, level 0, 5 layers became 1 | 5 layers folded into 1 | 5 layers. Showing 4 groups.
n17: input Categorical x5 (#17 1 variable → 2) level 0 changed
g13x2-1ef8bd8b: fused CPT (2×2 → 2, weight 2×2) 2 layers level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
n17 -> g13x2-1ef8bd8b: 2 kept
g13x2-1ef8bd8b -> n15: 2 kept
n17 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            8: """\
Step 8 of 10: fold, level 1, 2 layers became 1 | 2 layers folded into 1 | 4 layers.
n17: input Categorical x5 (#17 1 variable → 2) level 0 kept
n18: fused CPT x2 (#18 2×2 → 2, weight 2×2) level 1 changed
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
n17 -> n18: 1 kept transpose
n18 -> n15: 1 kept
n17 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            9: """\
Step 9 of 10: fold, level 2, 1 layer not folded | Nothing changed | 4 layers.
n17: input Categorical x5 (#17 1 variable → 2) level 0 kept
n18: fused CPT x2 (#18 2×2 → 2, weight 2×2) level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
n17 -> n18: 1 kept transpose
n18 -> n15: 1 kept view
n17 -> n16: 1 kept
n15 -> n16: 1 kept\
""",
            10: """\
Step 10 of 10: fold, level 3, 1 layer not folded | Nothing changed | 4 layers.
n17: input Categorical x5 (#17 1 variable → 2) level 0 kept
n18: fused CPT x2 (#18 2×2 → 2, weight 2×2) level 1 kept
n15: fused CPT {0..3} (#15 2×2 → 2, weight 2×2) level 2 kept
n16: fused CPT {0..4} (#16 2×2 → 1, weight 1×2) level 3 kept
n17 -> n18: 1 kept transpose
n18 -> n15: 1 kept view
n17 -> n16: 1 kept cat 8 B
n15 -> n16: 1 kept cat 8 B\
""",
        }
    )
