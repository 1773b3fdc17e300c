"""The answers of the quiz on fusing, shattering and folding agree with the engine."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

import explorer
from explorer.symbolic import KroneckerParameter, Parameterization
from explorer.templates import CategoricalInput, hmm
from explorer.trace import Trace
from explorer.views import TraceIndex, picture
from tests.notebooks.quiz import ANSWERS, QUESTIONS, SHATTER, handbook, made_by, says

UNOPTIMIZED: dict[str, Any] = {"optimize": False, "levels": "longest-distance"}


def applied(trace: Trace) -> list[str]:
    return [rewrite.rule for step in trace.steps for rewrite in step.rewrites]


def sums_of(widths: Sequence[int]) -> Any:
    """A coin of the first width, and a chain of sums of the others."""
    made = made_by(1)
    builder = explorer.CircuitBuilder()
    node = builder.add(made["CategoricalInput"](2)(0, widths[0]))
    for width in widths[1:]:
        node = builder.sum(node, num_units=width)
    return builder.build(node)


def kronecker_sum(a: tuple[int, int], b: tuple[int, int]) -> Any:
    """A sum with the Kronecker product of matrices of these shapes as weight."""
    builder, matrix = explorer.CircuitBuilder(), Parameterization("softmax")
    x = builder.add(made_by(1)["CategoricalInput"](2)(0, a[1] * b[1]))
    weight = KroneckerParameter((matrix(a), matrix(b)))
    return builder.build(builder.sum(x, num_units=a[0] * b[0], weight=weight))


class TestLessonThree:
    def test_10_what_each_rule_saves(self) -> None:
        names = ("flops", "transcendentals", "parameters", "parameter_flops", "activation_bytes")
        coin = made_by(1)["CategoricalInput"](2)
        for rule, title in (
            ("SumCollapse", "two sums"),
            ("Tucker", "sum over Kronecker"),
            ("Candecomp", "sum over Hadamard"),
        ):
            builder = explorer.CircuitBuilder()
            x0, x1 = (builder.add(coin(v, 6)) for v in (0, 1))
            lower = {
                "SumCollapse": lambda builder=builder, x0=x0: builder.sum(x0, num_units=5),
                "Tucker": lambda builder=builder, x0=x0, x1=x1: builder.kronecker(x0, x1),
                "Candecomp": lambda builder=builder, x0=x0, x1=x1: builder.hadamard(x0, x1),
            }[rule]()
            trace = handbook(builder.build(builder.sum(lower, num_units=4)))
            assert applied(trace) == [rule]
            before, after = trace.stats("compile"), trace.stats(-1)
            words = [MORE[(after[name] > before[name]) - (after[name] < before[name])] for name in names]
            assert f"| `{rule}`, {title} | {' | '.join(words)} |" in ANSWERS[10]

    def test_11_the_winner_is_nearest_to_the_outputs(self) -> None:
        said, fused = [], []
        for words, tower in zip(("Two", "Three", "Four"), made_by(11)["towers"], strict=True):
            trace = handbook(tower)
            said.append(f"{words} sums: {trace.stats(-1)['layers']} layers.")
            rounds = [step for step in trace.steps if step.path.endswith("fuse")]
            fused.append([sorted(rewrite.rule for rewrite in step.rewrites) for step in rounds])
        says(11, " ".join(said))
        assert fused == [
            [["SumCollapse"], ["Candecomp"], []],
            [["Candecomp", "SumCollapse"], []],
            [["SumCollapse"] * 2, ["SumCollapse"], ["Candecomp"], []],
        ]

    def test_12_rounds_halve_a_chain_and_a_preset_limits_them(self) -> None:
        said, warned = [], []
        for preset in ("handbook", "default"):
            left = []
            for chain in made_by(12)["chains"]:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    trace = explorer.record(chain, preset=preset, fold=False)
                left.append(trace.stats(-1)["layers"] - 1)
                warned += [(preset, len(chain.layers) - 1)] * len(caught)
            said.append(f"`{preset}`: {left[0]} and {left[1]}.")
        says(12, " ".join(said))
        assert warned == [("handbook", 33)]

    def test_13_a_strategy_does_not_decline(self) -> None:
        left = {
            (preset, strategy): explorer.record(
                sums_of((512, 8, 512)), preset=preset, strategy=strategy, fold=False
            ).stats(-1)["layers"]
            - 1
            for preset in ("handbook", "default")
            for strategy in ("largest-match", "lowest-cost")
        }
        assert list(left.values()) == [1, 1, 2, 2]
        says(13, "`handbook`: one sum is left with either strategy. `default`: two with either.")


MORE = ("the same", "more", "fewer")
"""Words for the sign of a change; -1 is the last."""


class TestLessonFour:
    def test_14_the_vector_between_the_steps_decides(self) -> None:
        counts, exponentials = [], []
        for a, b in (((1, 16), (16, 1)), ((16, 1), (1, 16)), ((8, 8), (8, 8))):
            assert f"| {a[0]} × {a[1]} | {b[0]} × {b[1]} |" in QUESTIONS[14]
            trace = handbook(kronecker_sum(a, b))
            before, after = trace.stats("compile"), trace.stats(-1)
            # A multiplication and an addition each; the input layer counts one operation per unit.
            one, two = ((stats["flops"] - a[1] * b[1]) // 2 for stats in (before, after))
            counts.append(f"{one:,} and {two:,}")
            exponentials = [before["transcendentals"], after["transcendentals"]]
        says(14, f"{'; '.join(counts)}.", "{} exponentials and logarithms become {}".format(*exponentials))
        declined = explorer.record(kronecker_sum((8, 8), (8, 8)), fold=False).why_not("DenseKronecker", 1, SHATTER)
        assert "does not pay" in declined.reason

    def test_15_a_layer_is_replaced_once_in_a_round(self) -> None:
        layers, rounds = [], []
        for weight in made_by(15)["weights"].values():
            builder = explorer.CircuitBuilder()
            x = builder.add(CategoricalInput(2)(0, weight.shape[1]))
            trace = handbook(builder.build(builder.sum(x, num_units=weight.shape[0], weight=weight)))
            layers.append(trace.stats(-1)["layers"] - 1)
            rounds.append(sum(bool(step.rewrites) for step in trace.steps if step.path.endswith("shatter")))
            assert set(applied(trace)) == {"DenseKronecker", "TensorDotKronecker"}
        says(15, "{}, {} and {} layers, in {}, {} and {} rounds.".format(*layers, *rounds))


class TestLessonFive:
    def test_16_level_and_key_decide_what_folds(self) -> None:
        made = made_by(16)
        names = ("again", "fixed", "kron", "late", "halves")
        for levels, together in (("longest-distance", names[:3]), ("fewest-groups", names[:4])):
            trace = explorer.record(made["circuit"], optimize=False, levels=levels)
            reasons = {name: trace.why_not_folded(made["plain"], made[name]) for name in names}
            assert tuple(name for name in names if reasons[name]) == together
            assert "arity is 1 here and 2 there" in reasons["halves"].reason
            shapes = {trace.circuit_at("compile").graph.nodes[made[name]].weight.shape for name in names}
            assert shapes == {(4, 4)}
        says(16, "`plain`, `again`, `fixed` and `kron`; `late`; `halves`. `default`: `late` joins the four.")

    def test_17_cells_are_slices_and_plates_become_calls(self) -> None:
        builder = explorer.CircuitBuilder()
        x = [builder.add(CategoricalInput(2)(v, 4)) for v in range(6)]
        sums = [builder.sum(builder.hadamard(x[v], x[v + 1]), num_units=4) for v in (0, 2, 4)]
        circuit = builder.build(builder.sum(builder.hadamard(*sums), num_units=1))
        trace = explorer.record(circuit, **UNOPTIMIZED)
        assert picture(TraceIndex(trace), 2, "after", group_by="plates").view["note"] in QUESTIONS[17]
        stats = trace.stats(2)
        says(17, f"`layers` is {stats['layers']}, `folds` is {stats['folds']}")
        says(17, f"at the end `layers` will be {trace.stats(-1)['layers']}")

    def test_18_the_order_decides_how_slices_are_read(self) -> None:
        for name, pairs in made_by(18)["orders"].items():
            trace = products_of(8, pairs)
            (group,) = trace.fold_groups(1)
            copied = trace.stats(-1)["copied_bytes"] // (4 * 4)  # units of four bytes
            (row,) = re.findall(rf"^\| {name} \| (\S+) \| .* \| (\d+) \|$", ANSWERS[18], re.MULTILINE)
            assert row == (group.read, str(copied))

    def test_19_folding_and_waiting_change_no_work(self) -> None:
        says(19, "Only 2 is true.")
        unfolded, ordered, mixed = (
            products_of(4, pairs).stats(step)["copied_bytes"]
            for pairs, step in (
                ([(0, 1), (2, 3)], 0),
                ([(0, 1), (2, 3)], -1),
                ([(0, 1), (3, 2)], -1),
            )
        )
        assert ordered == 0 < mixed <= unfolded
        builder, weight = explorer.CircuitBuilder(), Parameterization("softmax")((6, 5))
        x = [builder.add(CategoricalInput(2)(v, 5)) for v in range(3)]
        shared = explorer.record(
            builder.build(*(builder.sum(one, num_units=6, weight=weight) for one in x)), **UNOPTIMIZED
        )
        assert shared.compiled.tensors[1].shape == (1, 6, 5)
        circuit = hmm(range(6), CategoricalInput(3), num_latent_states=4, homogeneous=True)
        by_levels = [
            explorer.record(circuit, optimize=False, levels=levels).stats(-1)
            for levels in ("longest-distance", "fewest-groups")
        ]
        assert by_levels[0] == by_levels[1]

    def test_20_fusing_can_make_folding_worse(self) -> None:
        made = made_by(20)
        ways: tuple[dict[str, Any], ...] = (
            {"optimize": False, "fold": False},
            {"optimize": False},
            {"fold": False},
            {},
        )
        for name in ("first", "second"):
            left = [explorer.record(made[name], preset="handbook", **how).stats(-1)["layers"] for how in ways]
            assert f"| `{name}` | {' | '.join(map(str, left))} |" in ANSWERS[20]


def products_of(count: int, pairs: Sequence[tuple[int, int]]) -> Trace:
    """Record products of pairs of coins; the coins are outputs too, because dead layers do not fold."""
    builder = explorer.CircuitBuilder()
    coins = [builder.add(made_by(1)["CategoricalInput"](2)(v, 4)) for v in range(count)]
    products = [builder.hadamard(coins[one], coins[other]) for one, other in pairs]
    return explorer.record(builder.build(*products, *coins), **UNOPTIMIZED)
