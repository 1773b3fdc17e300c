"""The quiz has twenty questions and answers, whose numbers and names agree with the engine."""

import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.errors import UnknownNameError
from explorer.graph import Graph
from explorer.rewrite import match_pattern_graph
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    ConstantValueLayer,
    KroneckerParameter,
    Parameterization,
    SoftmaxParameter,
    TensorParameter,
    constant,
)
from explorer.templates import CategoricalInput, hmm
from explorer.trace import Trace
from explorer.views import TraceIndex, picture

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
COUNT = 20
FUSE, SHATTER = "optimize/round 1/fuse", "optimize/round 1/shatter"
UNOPTIMIZED: dict[str, Any] = {"optimize": False, "levels": "longest-distance"}


def sections(file: Path, title: str) -> dict[int, str]:
    """Return the text of each section with such a title, by its number."""
    found = re.split(rf"^## {title} (\d+)(?=\D)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    numbers = [int(number) for number in found[1::2]]
    assert len(set(numbers)) == len(numbers)
    return dict(zip(numbers, found[2::2], strict=True))


QUESTIONS = sections(NOTEBOOKS / "quiz.md", "Question")
ANSWERS = sections(NOTEBOOKS / "solutions" / "quiz.md", "Answer")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def made_by(number: int) -> dict[str, Any]:
    """Run the code of a question after the code at the top of the quiz; return its names."""
    (head,) = blocks((NOTEBOOKS / "quiz.md").read_text(encoding="utf-8").partition("## Question 1 ")[0])
    (code,) = blocks(QUESTIONS[number])
    made: dict[str, Any] = {}
    exec(head + code, made)  # the quiz is a file of this repository
    return made


def handbook(circuit: Any, **options: Any) -> Trace:
    return explorer.record(circuit, preset="handbook", fold=False, max_rounds=100, **options)


def says(number: int, *phrases: str) -> None:
    """Assert that the answer contains these words, ignoring bold and line breaks."""
    answer = " ".join(ANSWERS[number].replace("**", "").split())
    for words in phrases:
        assert words in answer


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
    """A sum whose weight is the Kronecker product of matrices of these shapes."""
    builder, matrix = explorer.CircuitBuilder(), Parameterization("softmax")
    x = builder.add(made_by(1)["CategoricalInput"](2)(0, a[1] * b[1]))
    weight = KroneckerParameter((matrix(a), matrix(b)))
    return builder.build(builder.sum(x, num_units=a[0] * b[0], weight=weight))


class TestTheFiles:
    def test_there_are_twenty_questions_and_their_answers_in_order(self) -> None:
        assert list(QUESTIONS) == list(ANSWERS) == list(range(1, COUNT + 1))

    @pytest.mark.parametrize("number", range(1, COUNT + 1))
    def test_an_answer_names_a_heading_of_the_lesson_that_its_question_names(self, number: int) -> None:
        asked = re.match(r" \(lesson (\d)\)\n", QUESTIONS[number])
        answer = re.search(r'^\[Lesson (\d), "(.*)"\]\(', ANSWERS[number], re.MULTILINE)
        assert asked
        assert answer
        assert asked[1] == answer[1]
        (lesson,) = NOTEBOOKS.glob(f"0{answer[1]}_*.ipynb")
        cells = json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert f"\n## {answer[2]}\n" in f"\n{text}\n"

    def test_an_answer_begins_with_what_is_asked_for(self) -> None:
        assert [number for number, text in ANSWERS.items() if "**" not in text] == []

    @pytest.mark.parametrize("number", range(1, COUNT + 1))
    def test_a_question_does_not_say_its_answer(self, number: int) -> None:
        """A question that asks why something is so has said that it is so."""
        words = " ".join(re.sub(r"```.*?```", "", QUESTIONS[number], flags=re.DOTALL).lower().split())
        assert re.findall(r"\bwhy\b|\ball three\b|\brefused\b|does not|outweigh", words) == []

    def test_lines_are_short(self) -> None:
        for file in (NOTEBOOKS / "quiz.md", NOTEBOOKS / "solutions" / "quiz.md"):
            assert max(map(len, file.read_text(encoding="utf-8").splitlines())) <= 140


class TestLessonsZeroAndOne:
    def test_1_only_sums_over_a_product_are_fused(self) -> None:
        traces = {kind: handbook(circuit) for kind, circuit in made_by(1)["circuits"].items()}
        before, after = ({kind: trace.stats(step)["layers"] for kind, trace in traces.items()} for step in (0, FUSE))
        says(1, f"`cp-t` has {before['cp-t']} layers, `cp` {before['cp']}", f"it is {after['cp-t']} and {after['cp']}")
        layers = traces["cp"].circuit_at(0).graph
        over_coins = [
            node for node, inputs in layers.inputs.items() if len(inputs) == 1 and not layers.inputs[inputs[0]]
        ]
        assert len(over_coins) == before["cp"] - before["cp-t"]
        assert set(over_coins) <= set(traces["cp"].circuit_at(-1).graph.nodes)

    def test_2_a_circuit_that_lacks_a_property_has_another_sum_than_pass(self) -> None:
        totals = []
        for circuit in (not_smooth(), not_decomposable()):
            values = torch.cartesian_prod(*[torch.tensor([0, 1])] * circuit.num_variables)
            everything = linear(circuit)(values.reshape(-1, circuit.num_variables)).sum().item()
            at_once = linear(sum_out(circuit, set(circuit.scope)))().sum().item()
            totals.append(f"{everything:.2f}".rstrip("0") + f" | {at_once:.1f}")
        for name, total in zip(("first", "second"), totals, strict=True):
            assert f"| {name} | {total} |" in QUESTIONS[2]
        assert not not_smooth().is_smooth
        assert not not_decomposable().is_decomposable
        says(2, "The first column.", "The first circuit is not smooth", "The second is not decomposable")

    def test_3_the_guard_of_a_rule_asks_for_the_semiring(self) -> None:
        made = made_by(3)
        ways = (("handbook", "lse-sum"), ("default", "lse-sum"), ("default", "sum-product"))
        first, second, third = (
            explorer.record(made["circuit"], preset=preset, semiring=semiring, fold=False) for preset, semiring in ways
        )
        with pytest.raises(UnknownNameError, match="no pattern named"):
            first.why_not("CategoricalLogSoftmax", made["x0"], FUSE)
        assert second.why_not("CategoricalLogSoftmax", made["x0"], FUSE).applied
        assert third.why_not("CategoricalLogSoftmax", made["x0"], FUSE).reason.startswith("the rule declined")
        (layers,) = {trace.stats(-1)["layers"] for trace in (first, second, third)}
        says(3, "`sum-product`: the guard declines", f"The number of layers is {layers} in all of them")

    def test_4_the_first_layer_that_uses_a_leaf_owns_it(self) -> None:
        circuit = made_by(4)["circuit"]
        compiled = explorer.TorchCompiler(optimize=False, fold=False).compile(circuit)
        assert list(compiled.leaf_state()) == ["0.probs", "1.weight", f"{circuit.outputs[0]}.weight"]
        assert circuit.graph.inputs[1] == (0,)
        says(4, f"It reads the last variable, {circuit.graph.nodes[0].scope[0]}, and the sum is over this very layer")
        longer = hmm(range(50), CategoricalInput(3), num_latent_states=4, homogeneous=True)
        count = len(explorer.TorchCompiler(optimize=False, fold=False).compile(longer).tensors)
        assert count == len(compiled.tensors)
        says(4, f"{count} tensors, with 50 variables too")

    def test_5_weights_are_plain_numbers_in_every_semiring(self) -> None:
        circuit, rows = made_by(5)["circuit"], torch.tensor([[0], [1]])
        plain, logs, signed = (
            explorer.TorchCompiler(semiring=name).compile(circuit)(rows).flatten()
            for name in ("sum-product", "lse-sum", "complex-lse-sum")
        )
        says(5, f"`sum-product`: {plain[0]:.1f} and {plain[1]:.1f}. `lse-sum`: log {logs[0].exp():.1f} and NaN.")
        assert logs[1].isnan()
        says(5, f"whose real part is $\\log {signed[1].real.exp():.1f}$")
        assert signed[1].imag != 0


def not_smooth() -> Circuit:
    """A sum over x0, and over the product of x0 and x1."""
    builder = explorer.CircuitBuilder()
    x0, x1 = (builder.add(CategoricalInput(2)(v, 1)) for v in (0, 1))
    return builder.build(builder.sum(builder.hadamard(x0, x1), x0, num_units=1, weight=constant([[0.5, 0.5]])))


def not_decomposable() -> Circuit:
    """A product of two distributions of one coin."""
    builder = explorer.CircuitBuilder()
    tables = ([[0.7, 0.3]], [[0.1, 0.9]])
    layers = [
        CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=constant(table)) for table in tables
    ]
    return builder.build(builder.hadamard(*(builder.add(layer) for layer in layers)))


def linear(circuit: Any) -> Any:
    return explorer.TorchCompiler(semiring="sum-product", optimize=False, fold=False).compile(circuit)


def sum_out(circuit: Any, variables: set[int]) -> Any:
    """The circuit with the constant 1 in place of the inputs of some variables."""
    layers = dict(circuit.graph.nodes)
    for node, layer in layers.items():
        if isinstance(layer, CategoricalLayer) and layer.scope[0] in variables:
            ones = constant([1.0] * layer.num_output_units)
            layers[node] = ConstantValueLayer(num_output_units=layer.num_output_units, value=ones)
    return Circuit(Graph(layers, circuit.graph.inputs, circuit.graph.outputs), circuit.names)


class TestLessonTwo:
    def test_6_every_entry_but_the_last_has_one_input(self) -> None:
        made = made_by(6)
        graph = handbook(made["circuit"]).circuit_at("compile").graph
        for pattern in made["patterns"]:
            search = match_pattern_graph(graph, [pattern])
            expected = {"A": [(made["up"], made["low"])], "C": [(made["root"], made["product"])]}
            assert [match.nodes for match in search.matches] == expected.get(pattern.name, [])
            if pattern.name in "BD":
                assert f"node {made['product']} reads 2 nodes" in str([miss.reason for miss in search.refusals])
        says(6, "A: `up`, `low`. C: `root`, `product`. B and D: nowhere.")

    def test_7_the_matcher_stops_at_the_first_no(self) -> None:
        made = made_by(7)
        trace = handbook(made["circuit"])
        tried = (("SumCollapse", "mixture", FUSE), ("DenseKronecker", "mixture", SHATTER), ("Candecomp", "top", FUSE))
        for pattern, name, step in tried:
            refusal = trace.why_not(pattern, made[name], step).refusal
            assert refusal is not None
            says(7, f"`{pattern}`: {refusal.kind.value}.")
        assert made["seen"] in made["circuit"].outputs
        assert len(made["circuit"].graph.users[made["seen"]]) == 2

    def test_8_the_outlines_are_those_of_the_legend(self) -> None:
        (lesson,) = NOTEBOOKS.glob("02_*.ipynb")
        text = " ".join("".join(cell["source"]) for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"])
        assert "pink dotted outlines surround the layers that a pattern reached before it stopped" in text
        assert "a grey outline marks the one that lost" in text
        says(8, "Pink and dotted is a near miss, grey a match that lost a conflict.")

    def test_9_a_weight_must_end_in_what_a_sub_pattern_looks_for(self) -> None:
        builder, matrix = explorer.CircuitBuilder(), Parameterization("softmax")
        x = builder.add(made_by(1)["CategoricalInput"](2)(0, 4))
        y = builder.add(made_by(1)["CategoricalInput"](2)(0, 8))

        def soft(*shapes: tuple[int, int]) -> Any:
            return SoftmaxParameter((KroneckerParameter(tuple(map(TensorParameter, shapes))),))

        two = KroneckerParameter((matrix((2, 2)), matrix((2, 2))))
        sums = {
            "k": builder.sum(x, num_units=4, weight=two),
            "m": builder.sum(x, num_units=4, weight=soft((2, 2), (2, 2))),
            "n": builder.sum(x, x, num_units=4, weight=soft((2, 2), (2, 4))),
            "o": builder.sum(
                y, num_units=4, weight=KroneckerParameter((two_of(matrix, (2, 2), (1, 2)), matrix((2, 2))))
            ),
        }
        trace = handbook(builder.build(*sums.values()))
        layers = trace.circuit_at("compile").graph.nodes
        for name, node in sums.items():
            text = str(layers[node].weight).partition("(")[0]
            assert f"| `{name}` | {layers[node].arity} | `{text}` |" in QUESTIONS[9]
        found = {name: trace.why_not("DenseKronecker", node, SHATTER) for name, node in sums.items()}
        says(9, " and ".join(f"`{name}`" for name, one in found.items() if one.applied) + " match.")
        for name, one in found.items():
            if one.refusal is not None:
                says(9, f"`{name}`: {one.refusal.kind.value}.")


def two_of(matrix: Any, one: tuple[int, int], other: tuple[int, int]) -> KroneckerParameter:
    return KroneckerParameter((matrix(one), matrix(other)))


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
