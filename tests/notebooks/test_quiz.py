"""The quiz has twenty-eight questions and answers; those on circuits and matches agree with the engine."""

import json
import re
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
from tests.notebooks.quiz import ANSWERS, FUSE, NOTEBOOKS, QUESTIONS, SHATTER, handbook, made_by, says

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
        cells = json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        text = " ".join(word for cell in cells for word in "".join(cell["source"]).split())
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
