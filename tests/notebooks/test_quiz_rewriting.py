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
from tests.notebooks.quiz import ANSWERS, FUSE, QUESTIONS, SHATTER, handbook, judges, made_by, says

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
        for kind, circuit in made_by(10)["pairs"].items():
            trace = handbook(circuit)
            (rule,) = applied(trace)
            before, after = trace.stats("compile"), trace.stats(FUSE)
            words = [MORE[(after[name] > before[name]) - (after[name] < before[name])] for name in names]
            assert f"| `{kind}` | `{rule}` | {' | '.join(words)} |" in ANSWERS[10]

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
        warned = []
        for preset in ("handbook", "default"):
            left, rounds = [], []
            for chain in made_by(12)["chains"]:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    trace = explorer.record(chain, preset=preset, fold=False)
                left.append(trace.stats(-1)["layers"] - 1)
                rounds.append(sum(step.path.endswith("fuse") for step in trace.steps))
                warned += [(preset, len(chain.layers) - 1)] * len(caught)
            says(12, f"`{preset}`: {left[0]} and {left[1]}, after {rounds[0]} and {rounds[1]} rounds.")
        assert warned == [("handbook", 100)]

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
        shapes = re.findall(r"^\| (\w+) \| (\d+) × (\d+) \| (\d+) × (\d+) \|$", QUESTIONS[14], flags=re.MULTILINE)
        shattered = []
        for name, *sizes in shapes:
            p, j, r, q = map(int, sizes)
            trace = handbook(kronecker_sum((p, j), (r, q)))
            units = ", ".join(f"{layer.num_output_units:,}" for layer in trace.circuit_at(SHATTER).layers)
            # A multiplication and an addition each; the input layer counts one operation per unit.
            one, two = ((trace.stats(step)["flops"] - j * q) // 2 for step in ("compile", SHATTER))
            assert f"| {name} | {units} | {one:,} | {two:,} |" in ANSWERS[14]
            if name == "third":
                exponentials = [trace.stats(step)["transcendentals"] for step in ("compile", SHATTER)]
                says(14, "in the third, {} become {}".format(*exponentials))
            guarded = explorer.record(kronecker_sum((p, j), (r, q)), fold=False)
            if guarded.why_not("DenseKronecker", 1, SHATTER).applied:
                shattered.append(name)
        assert [name for name, *_ in shapes] == ["first", "second", "third", "fourth"]
        says(14, f"`default` shatters only the {' and '.join(shattered)}.")

    def test_15_a_layer_is_replaced_once_in_a_round(self) -> None:
        said, rules = [], []
        for weight in made_by(15)["weights"].values():
            builder = explorer.CircuitBuilder()
            x = builder.add(CategoricalInput(2)(0, weight.shape[1]))
            trace = handbook(builder.build(builder.sum(x, num_units=weight.shape[0], weight=weight)))
            steps = [step for step in trace.steps if step.path.endswith("shatter") and step.rewrites]
            layers = [str(trace.stats(step)["layers"] - 1) for step in steps]
            said.append(f"{', '.join(layers[:-1])} and {layers[-1]} layers")
            rules.append([[rewrite.rule for rewrite in step.rewrites] for step in steps])
        says(15, f"{'; '.join(said)}.")
        assert [rule[0] for rule in rules] == [["DenseKronecker"]] * 3
        assert [[len(step) for step in rule[1:]] for rule in rules] == [[1], [2], [1, 1]]
        assert {name for rule in rules for step in rule[1:] for name in step} == {"TensorDotKronecker"}


class TestLessonFive:
    def test_16_level_and_key_decide_what_folds(self) -> None:
        made = made_by(16)
        names = {number: f"`s{at}`" for at, number in enumerate(made["sums"])}
        for preset in ("handbook", "default"):
            trace = explorer.record(made["circuit"], preset=preset, optimize=False)
            groups = [[names[one] for one in group.members if one in names] for group in trace.fold_groups()]
            says(16, f"`{preset}`: {'; '.join(', '.join(group) for group in sorted(filter(None, groups)))}.")
            reason = trace.why_not_folded(made["s0"], made["s5"]).reason
            assert "arity is 1 here and 2 there" in reason
        shapes = {trace.circuit_at("compile").graph.nodes[number].weight.shape for number in names}
        assert shapes == {(4, 4)}

    def test_17_cells_are_slices_and_plates_become_calls(self) -> None:
        circuit = made_by(17)["circuit"]
        plain, fused = (explorer.record(circuit, preset="handbook", optimize=how) for how in (False, True))
        lines, numbers = [], []
        for trace, step in ((plain, "fold/level 1"), (plain, -1), (fused, -1)):
            at = trace.step(step).index
            line = picture(TraceIndex(trace), at, "after", group_by="plates").view["note"].partition(",")[0]
            stats = trace.stats(step)
            cells, calls = (int(number) for number in re.findall(r"\d+", line)[::2])
            assert (cells, calls) == (stats["folds"], stats["layers"])
            lines.append(f"`{line}`")
            numbers.append(f"{stats['layers']} and {stats['folds']}")
        says(17, f"{lines[0]}, then {lines[1]}, and optimized {lines[2]}")
        says(17, f"`layers` and `folds` are {', '.join(numbers)}")

    def test_18_the_order_decides_how_slices_are_read(self) -> None:
        for name, pairs in made_by(18)["orders"].items():
            trace = products_of(8, pairs)
            (group,) = trace.fold_groups(1)
            assert group.read is not None
            copied = trace.stats(-1)["copied_bytes"] // (4 * 4)  # units of four bytes
            (row,) = re.findall(rf"^\| {name} \| (\S+) \| .* \| (\d+) \|$", ANSWERS[18], re.MULTILINE)
            assert row == (group.read, str(copied))
            by_rows, by_columns = (
                ",".join(str(v) for line in lines for v in line) for lines in (pairs, zip(*pairs, strict=True))
            )
            decides = {"slice": [by_rows], "transpose": [by_columns], "gather": [by_rows, by_columns]}
            for numbers in decides.get(group.read, [",".join(map(str, pairs[0]))]):
                assert f" {numbers}" in re.findall(rf"^\| {name} \| .*$", ANSWERS[18], re.MULTILINE)[0]

    def test_19_what_folding_leaves_as_it_is(self) -> None:
        unfolded, ordered, mixed = (
            products_of(4, pairs).stats(step)["copied_bytes"]
            for pairs, step in (
                ([(0, 1), (2, 3)], 0),
                ([(0, 1), (2, 3)], -1),
                ([(0, 1), (3, 2)], -1),
            )
        )
        builder, weight = explorer.CircuitBuilder(), Parameterization("softmax")((6, 5))
        x = [builder.add(CategoricalInput(2)(v, 5)) for v in range(3)]
        circuit = builder.build(*(builder.sum(one, num_units=6, weight=weight) for one in x))
        shared = explorer.record(circuit, **UNOPTIMIZED).compiled
        apart = explorer.record(circuit, fold=False, **UNOPTIMIZED).compiled
        leaves = [{name: tuple(value.shape) for name, value in one.leaf_state().items()} for one in (shared, apart)]
        shapes = [{tuple(tensor.shape) for tensor in one.tensors} for one in (shared, apart)]
        chain = explorer.record(
            hmm(range(6), CategoricalInput(3), num_latent_states=4, homogeneous=True), optimize=False
        )
        sums = [len(group.members) for group in chain.fold_groups() if "Sum" in group.type]
        judges(
            19,
            unfolded == 0,
            ordered == 0 < mixed,
            (1, 6, 5) in shapes[0],
            leaves[0] == leaves[1] and shapes[0] != shapes[1],
            max(sums) > 1,
        )

    def test_20_fusing_can_make_folding_worse(self) -> None:
        made = made_by(20)
        ways: tuple[dict[str, Any], ...] = (
            {"optimize": False, "fold": False},
            {"optimize": False},
            {"fold": False},
            {},
        )
        said = []
        for name in ("first", "second", "third"):
            left = [explorer.record(made[name], preset="handbook", **how).stats(-1)["layers"] for how in ways]
            assert f"| `{name}` | {' | '.join(map(str, left))} |" in ANSWERS[20]
            types = [type(layer).__name__ for layer in explorer.record(made[name], preset="handbook").compiled.layers]
            said.append([one.removeprefix("Torch").removesuffix("Layer") for one in types])
        assert [sorted(types) for types in said] == [
            ["CPT", "Categorical"],
            ["CPT", "Categorical", "Hadamard", "Sum"],
            ["Categorical", "Hadamard", "Sum"],
        ]


def products_of(count: int, pairs: Sequence[tuple[int, int]]) -> Trace:
    """Record products of pairs of coins; the coins are outputs too, because dead layers do not fold."""
    builder = explorer.CircuitBuilder()
    coins = [builder.add(made_by(1)["CategoricalInput"](2)(v, 4)) for v in range(count)]
    products = [builder.hadamard(coins[one], coins[other]) for one, other in pairs]
    return explorer.record(builder.build(*products, *coins), **UNOPTIMIZED)
