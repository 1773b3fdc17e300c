"""The quiz has twenty-eight questions and answers; those on circuits and matches agree with the engine."""

import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
import torch

import explorer
from explorer.backend import TorchSumLayer
from explorer.errors import UnknownNameError
from explorer.graph import Graph
from explorer.rewrite import LayerOptPattern, match_pattern, match_pattern_graph
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
from explorer.trace import Refusal
from tests.notebooks.quiz import ANSWERS, FUSE, NOTEBOOKS, QUESTIONS, SHATTER, handbook, made_by, says, verdicts

COUNT = 28


class TestTheFiles:
    def test_there_are_as_many_questions_as_the_quiz_says_and_their_answers_in_order(self) -> None:
        assert list(QUESTIONS) == list(ANSWERS) == list(range(1, COUNT + 1))

    @pytest.mark.parametrize("number", range(1, COUNT + 1))
    def test_an_answer_names_a_heading_of_the_lesson_that_its_question_names(self, number: int) -> None:
        asked = re.match(r" \(lesson (\d+)\)\n", QUESTIONS[number])
        answer = re.search(r'^\[Lesson (\d+), "(.*)"\]\(', ANSWERS[number], re.MULTILINE)
        assert asked
        assert answer
        assert asked[1] == answer[1]
        (lesson,) = NOTEBOOKS.glob(f"{int(answer[1]):02}_*.ipynb")
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

    def test_half_of_the_statements_are_true_and_no_two_questions_have_one_pattern(self) -> None:
        patterns = [verdicts(number) for number in (19, 24, 26, 28)]
        judged = [verdict for pattern in patterns for verdict in pattern]
        assert abs(2 * sum(judged) - len(judged)) <= 2
        for one, other in combinations(patterns, 2):
            assert one[: len(other)] != other[: len(one)]

    @pytest.mark.parametrize("number", [19, 24, 26, 28])
    def test_a_statement_has_no_word_that_gives_it_away(self, number: int) -> None:
        assert re.findall(r"\b(?:always|never|every|must|sometimes|often)\b", QUESTIONS[number]) == []

    def test_lines_are_short(self) -> None:
        for file in (NOTEBOOKS / "quiz.md", NOTEBOOKS / "solutions" / "quiz.md"):
            assert max(map(len, file.read_text(encoding="utf-8").splitlines())) <= 140


class TestLessonsZeroAndOne:
    def test_1_only_sums_over_a_product_are_fused(self) -> None:
        names = {"CategoricalLayer": "input", "SumLayer": "sum", "HadamardLayer": "product", "CPTLayer": "`CPT`"}
        parts = {}
        for kind, circuit in made_by(1)["circuits"].items():
            trace = handbook(circuit)
            for step in ("compile", FUSE):
                counted = Counter(type(layer).__name__ for layer in trace.circuit_at(step).layers)
                parts[kind, step] = {names[name.removeprefix("Torch")]: count for name, count in counted.items()}
        before, after = (
            {kind: sum(parts[kind, step].values()) for kind in ("cp", "cp-t")} for step in ("compile", FUSE)
        )
        says(1, *(f"`{kind}`: {before[kind]} layers, then {after[kind]}" for kind in before))
        assert parts["cp", "compile"] == {"input": 4, "sum": 7, "product": 3}
        assert parts["cp", FUSE] == {"input": 4, "sum": 4, "`CPT`": 3}
        assert parts["cp-t", "compile"] == {"input": 4, "product": 3, "sum": 3}
        assert parts["cp-t", FUSE] == {"input": 4, "`CPT`": 3}
        says(1, "4 inputs, 7 sums, 3 products", "4 inputs, 3 products, 3 sums")
        says(1, "4 inputs, 4 sums and 3 `CPT` of `cp`, and 4 inputs and 3 `CPT` of `cp-t`")

    def test_2_a_circuit_that_lacks_a_property_has_another_sum_than_pass(self) -> None:
        totals = []
        for circuit in (not_smooth(), not_decomposable()):
            everything = linear(circuit)(values_of(circuit.num_variables)).sum().item()
            at_once = linear(sum_out(circuit, set(circuit.scope)))().sum().item()
            totals.append(f"{everything:.2f}".rstrip("0") + f" | {at_once:.1f}")
        for name, total in zip(("first", "second"), totals, strict=True):
            assert f"| {name} | {total} |" in QUESTIONS[2]
        assert not not_smooth().is_smooth
        assert not not_decomposable().is_decomposable
        says(2, "The first is not smooth, the second is not decomposable.")
        ends = [linear(four_coins(share))(values_of(4)).sum().item() for share in (0.0, 1.0)]
        says(2, "With four coins, the number is between {:.0f} and {:.0f}".format(*ends))

    def test_3_the_guard_of_a_rule_asks_for_the_semiring(self) -> None:
        made = made_by(3)
        ways = (("handbook", "lse-sum"), ("default", "lse-sum"), ("default", "sum-product"))
        traces = [
            explorer.record(made["circuit"], preset=preset, semiring=semiring, fold=False) for preset, semiring in ways
        ]
        applied = [Counter(rewrite.rule for rewrite in trace.step(FUSE).rewrites) for trace in traces]
        assert applied == [{"Candecomp": 1}, {"CategoricalLogSoftmax": 2, "Candecomp": 1}, {"Candecomp": 1}]
        says(3, "`handbook`: `Candecomp` once.", "`lse-sum`: `CategoricalLogSoftmax` twice, `Candecomp` once.")
        says(3, "`sum-product`: `Candecomp` once.")
        with pytest.raises(UnknownNameError, match="no pattern named"):
            traces[0].why_not("CategoricalLogSoftmax", made["x0"], FUSE)
        assert traces[2].why_not("CategoricalLogSoftmax", made["x0"], FUSE).reason.startswith("the rule declined")
        kept = [{*trace.circuit_at(-1).graph.nodes} & {*made["circuit"].graph.nodes} for trace in traces]
        assert kept == [{made["x0"], made["x1"]}, set(), {made["x0"], made["x1"]}]
        (layers,) = {trace.stats(-1)["layers"] for trace in traces}
        says(3, f"There are {layers} layers in each")

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


def four_coins(share: float) -> Circuit:
    """A sum over a product of four coins and, with a share of the weight, over one of them."""
    builder = explorer.CircuitBuilder()
    coins = [builder.add(CategoricalInput(2)(v, 1)) for v in range(4)]
    weight = constant([[1 - share, share]])
    return builder.build(builder.sum(builder.hadamard(*coins), coins[0], num_units=1, weight=weight))


def values_of(count: int) -> torch.Tensor:
    """All assignments of some coins, one per row."""
    return torch.cartesian_prod(*[torch.tensor([0, 1])] * count).reshape(-1, count)


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
        tried = (("SumCollapse", "mixture"), ("DenseKronecker", "mixture"), ("Candecomp", "top"))
        rules = explorer.TorchCompiler(preset="handbook").rules
        found: dict[str, list[str]] = {pattern: [] for pattern, _ in tried}
        for code in ("b.sum(seen, q, num_units=4)", "b.sum(q, num_units=4)"):
            made = made_by(7, {"b.sum(seen, q, num_units=4)": code})
            graph = handbook(made["circuit"]).circuit_at("compile").graph
            for pattern, name in tried:
                rule = rules.shatter[pattern] if pattern == "DenseKronecker" else rules.fuse[pattern]
                checks: list[Any] = []
                refusal = match_pattern(graph, rule.pattern, made[name], checks=checks)
                assert isinstance(refusal, Refusal)
                found[pattern] += [str(len(checks)), refusal.kind.value]
        for pattern, cells in found.items():
            assert f"| `{pattern}` | {' | '.join(cells)} |" in ANSWERS[7]

    def test_8_a_near_miss_stays_and_the_loser_of_a_conflict_may_return(self) -> None:
        tower = made_by(11)["tower"](2)
        trace = handbook(tower)
        (lost,) = trace.conflicts()
        first, second = (trace.step(f"optimize/round {number}/fuse") for number in (1, 2))
        assert lost.loser.rule not in [rewrite.rule for rewrite in first.rewrites]
        assert lost.loser.rule in [rewrite.rule for rewrite in second.rewrites]
        made = made_by(7, {"top = b.sum(seen,": "top = b.sum(b.sum(x0, num_units=4),"})
        trace = handbook(made["circuit"])
        reasons = [
            trace.why_not("SumCollapse", made["mixture"], f"optimize/round {number}/fuse").reason for number in (1, 2)
        ]
        assert reasons[0] == reasons[1]
        search = match_pattern_graph(trace.circuit_at("compile").graph, [LayerOptPattern("S", (TorchSumLayer,) * 2)])
        assert made["seen"] not in [refusal.root for refusal in search.refusals]
        (lesson,) = NOTEBOOKS.glob("02_*.ipynb")
        cells = json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        text = " ".join(word for cell in cells for word in "".join(cell["source"]).split())
        assert "pink dotted outlines surround the layers that a pattern reached before it stopped" in text
        assert "a grey outline marks the one that lost" in text
        says(8, "Pink and dotted is a near miss, grey a match that lost a conflict.", "it is the grey pair")

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
