"""The quiz has twenty questions and answers, whose numbers and names agree with the engine."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.graph import Graph
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
from explorer.templates import fully_factorized
from explorer.trace import Trace

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
    def test_1_layers_after_fusing_and_folding(self) -> None:
        trace = explorer.record(made_by(1)["circuit"], preset="handbook")
        assert trace.stats("compile")["layers"] == 10
        fused, folded = (trace.stats(step)["layers"] for step in (FUSE, -1))
        says(1, f"{fused} layers after the first fuse step, {folded} after folding")
        assert [len(group.members) for group in trace.fold_groups()] == [4, 2, 1]

    def test_2_sums_are_pushed_down_where_scopes_allow_it(self) -> None:
        made = made_by(2)
        right = []
        for name in "ABCD":
            circuit = made[name]
            values = torch.cartesian_prod(*[torch.tensor([0, 1])] * circuit.num_variables)
            values = values.reshape(-1, circuit.num_variables)
            rows = values[(values[:, 2:] == 0).all(dim=1)]  # what is not summed out is 0
            added = linear(circuit)(rows).sum()
            at_once = linear(sum_out(circuit, {0, 1}))(*[rows[:1]] * (circuit.num_variables > 2)).sum()
            right += [name] * bool(torch.isclose(added, at_once))
        assert [not made[name].is_smooth for name in "ABCD"] == [False, True, False, False]
        assert [not made[name].is_decomposable for name in "ABCD"] == [False, False, False, True]
        says(2, f"For {' and '.join(right)}.", "B is not smooth", "D is not decomposable")

    def test_3_the_guard_of_a_rule_asks_for_the_semiring(self) -> None:
        made = made_by(3)
        traces = {name: explorer.record(made["circuit"], semiring=name) for name in ("lse-sum", "sum-product")}
        for node in (made["x0"], made["x1"]):
            assert traces["lse-sum"].why_not("CategoricalLogSoftmax", node, FUSE).applied
            declined = traces["sum-product"].why_not("CategoricalLogSoftmax", node, FUSE)
            assert declined.reason.startswith("the rule declined")
        (layers,) = {trace.stats(-1)["layers"] for trace in traces.values()}
        says(3, "only under `lse-sum`", f"Both end with {layers} layers")

    def test_4_a_product_of_many_underflows(self) -> None:
        fair = made_by(1)["CategoricalInput"](2, probs=lambda shape: constant([[0.5, 0.5]]))
        coins = fully_factorized(200, fair)
        values = {
            name: explorer.TorchCompiler(semiring=name).compile(coins)(torch.zeros(1, 200)).item()
            for name in ("sum-product", "lse-sum")
        }
        says(4, f"`sum-product` returns {values['sum-product']:.0f}, `lse-sum` returns about {values['lse-sum']:.1f}")
        tiny = torch.finfo(torch.float32)
        assert tiny.smallest_normal * tiny.eps == 2.0**-149


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
    def test_5_the_root_may_have_users_the_other_entries_may_not(self) -> None:
        made = made_by(5)
        matched = {name: handbook(made[name]).step(FUSE).matches for name in "ABCD"}
        found = [name for name, matches in matched.items() if [one for one in matches if one.rule == "SumCollapse"]]
        says(5, f"It matches in {' and '.join(found)}, not in B and D")
        trace = handbook(made["A"])
        graph = trace.circuit_at(FUSE).graph
        (new,) = set(graph.nodes) - set(trace.circuit_at("compile").graph.nodes)
        assert len(graph.users[new]) == 2

    def test_6_near_misses_are_where_the_first_type_fits(self) -> None:
        made = made_by(6)
        step = handbook(made["circuit"]).step(FUSE)
        missed = {one.refusal.root for one in step.refusals if one.refusal.pattern == "SumCollapse"}
        matched = {match.root for match in step.matches if match.rule == "SumCollapse"}
        assert matched == {made["v"]}
        assert missed == {made[name] for name in ("u", "w", "root")}
        says(6, "A match at `v`; near misses at `u`, `w` and `root`; nothing at `r`, `x0` and `x1`")

    def test_7_where_the_matcher_stops(self) -> None:
        made = made_by(7)
        trace = handbook(made["circuit"])
        tried = (("SumCollapse", "mixture", FUSE), ("DenseKronecker", "mixture", SHATTER), ("Candecomp", "top", FUSE))
        for pattern, name, step in tried:
            refusal = trace.why_not(pattern, made[name], step).refusal
            assert refusal is not None
            says(7, f"`{pattern}`: {refusal.kind.value}.")

    def test_8_a_weight_must_end_in_what_a_sub_pattern_looks_for(self) -> None:
        builder, matrix = explorer.CircuitBuilder(), Parameterization("softmax")
        x = builder.add(made_by(1)["CategoricalInput"](2)(0, 4))
        tensors = KroneckerParameter((TensorParameter((2, 2)), TensorParameter((2, 2))))
        weights: dict[str, Any] = {
            "a": matrix((4, 4)),
            "k": KroneckerParameter((matrix((2, 2)), matrix((2, 2)))),
            "m": SoftmaxParameter((tensors,)),
            "n": KroneckerParameter((matrix((2, 2)), matrix((2, 4)))),
        }
        sums = {
            name: builder.sum(*[x] * (1 + (name == "n")), num_units=4, weight=weight)
            for name, weight in weights.items()
        }
        trace = handbook(builder.build(*sums.values()))
        layers = trace.circuit_at("compile").graph.nodes
        for name, node in sums.items():
            text = str(layers[node].weight).partition("(")[0]
            assert f"| `{name}` | {layers[node].arity} | `{text}` |" in QUESTIONS[8]
        (match,) = [name for name, node in sums.items() if trace.why_not("DenseKronecker", node, SHATTER).applied]
        says(8, f"Only at `{match}`.")


class TestLessonThree:
    def test_9_tucker_saves_exponentials_and_no_multiplication(self) -> None:
        trace = handbook(made_by(9)["circuit"])
        assert applied(trace) == ["Tucker"]
        before, after = trace.stats("compile"), trace.stats(-1)
        assert before["flops"] == after["flops"]
        says(9, f"{before['transcendentals']} before, {after['transcendentals']} after; the flops stay the same")

    def test_10_the_loser_comes_back_in_the_next_round(self) -> None:
        trace = handbook(made_by(10)["circuit"])
        (lost,) = trace.conflicts()
        assert lost.loser.rule == "Candecomp"
        assert applied(trace) == ["SumCollapse", "Candecomp"]
        assert [rewrite.rule for rewrite in trace.step("optimize/round 2/fuse").rewrites] == ["Candecomp"]
        says(10, f"`SumCollapse`; {trace.stats(-1)['layers']} layers are left")

    def test_11_rounds_halve_a_chain(self) -> None:
        trace = handbook(made_by(11)["circuit"])
        rounds = [step for step in trace.steps if step.path.endswith("fuse")]
        left = [trace.stats(step)["layers"] - 1 for step in rounds]
        assert len(rounds) == 5
        says(11, f"{', '.join(map(str, left))}: five rounds")

    def test_12_only_a_wide_middle_is_collapsed(self) -> None:
        collapsed = []
        for name, widths in (("wide", (64, 512, 64)), ("narrow", (512, 8, 512))):
            assert f"| {name} | {' | '.join(map(str, widths))} |" in QUESTIONS[12]
            trace, either = handbook(sums_of(widths)), explorer.record(sums_of(widths), fold=False)
            # A multiplication and an addition each; the input layer counts one operation a unit.
            two, one = ((trace.stats(step)["flops"] - widths[0]) // 2 for step in ("compile", -1))
            assert f"| {name} | {two:,} | {one:,} |" in ANSWERS[12]
            collapsed += [name] * (either.stats(-1)["layers"] == 2)
        (name,) = collapsed
        says(12, f"Only *{name}* is collapsed")

    def test_13_strategies_choose_winners_and_guards_decline(self) -> None:
        circuit = made_by(13)["circuit"]
        said = []
        for preset, strategy in (
            ("handbook", "largest-match"),
            ("handbook", "lowest-cost"),
            ("default", "lowest-cost"),
        ):
            trace = explorer.record(circuit, preset=preset, strategy=strategy, fold=False)
            rule = next(name for name in applied(trace) if name in ("SumCollapse", "Candecomp"))
            clash = "a conflict" if trace.conflicts() else "no conflict"
            title = f"`{preset}`, `{strategy}`" if preset == "handbook" else f"`{preset}`"
            said.append(f"{title}: {clash}, `{rule}`, {trace.stats(-1)['layers']} layers.")
        says(13, " ".join(said))


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
        says(14, f"{'; '.join(counts)}.", "{} exponentials and logarithms become {},".format(*exponentials))
        declined = explorer.record(kronecker_sum((8, 8), (8, 8)), fold=False).why_not("DenseKronecker", 1, SHATTER)
        assert "does not pay" in declined.reason


class TestLessonFive:
    def test_15_level_and_key_decide_what_folds(self) -> None:
        made = made_by(15)
        trace = explorer.record(made["circuit"], **UNOPTIMIZED)
        names = ("again", "fixed", "kron", "small", "late")
        reasons = {name: trace.why_not_folded(made["plain"], made[name]) for name in names}
        together = [f"`{name}`" for name in ("plain", *names) if name == "plain" or reasons[name]]
        says(15, f"{', '.join(together[:-1])} and {together[-1]} fold together; `small` and `late` stay alone.")
        assert "num_output_units is 4 here and 2 there" in reasons["small"].reason
        assert "equal keys, but level 1 here and level 2 there" in reasons["late"].reason
        assert "Pointer" in str(trace.circuit_at("compile").graph.nodes[made["again"]].weight)

    def test_16_rows_are_slices_and_columns_are_inputs(self) -> None:
        table = made_by(16)["table"]
        pairs = re.findall(r"`b\.hadamard\(x(\d), x(\d)\)`", ANSWERS[16])
        (group,) = products_of(4, [(int(one), int(other)) for one, other in pairs]).fold_groups(1)
        assert [[tuple(pair) for pair in row] for row in group.index or ()] == table
        says(16, "row 0 `[(7, 3), (7, 3)]`")

    def test_17_the_order_decides_how_slices_are_read(self) -> None:
        copying = []
        for name, pairs in made_by(17)["orders"].items():
            trace = products_of(8, pairs)
            (group,) = trace.fold_groups(1)
            says(17, f"{name}: {group.read}.")
            copying += [name] * (trace.stats(-1)["copied_bytes"] > 0)
        says(17, f"Only {' and '.join(copying)} copy")

    def test_18_a_chain_does_not_fold(self) -> None:
        circuit = made_by(18)["circuit"]
        trace = explorer.record(circuit, **UNOPTIMIZED)
        before, after = trace.stats("compile"), trace.stats(-1)
        drawn = {"TorchCategoricalLayer": "E", "TorchSumLayer": "S", "TorchHadamardLayer": "P"}
        levels: dict[int, str] = {}
        for group in trace.fold_groups():
            letters = [drawn[group.type.rpartition(".")[2]]] * len(group.members)
            levels[group.level] = levels.get(group.level, "") + f"[{'|'.join(letters)}]"
        assert (
            f"after    {levels[0]}        {''.join(levels[level] for level in sorted(levels)[1:])}\n" in QUESTIONS[18]
        )
        assert before["layers"] == 17
        says(18, f"There are {after['layers']} layers, but still {after['folds']} slices")
        says(18, f"there are {len(trace.compiled.tensors)} tensors in all")
        sums = [node for node, layer in circuit.graph.nodes.items() if type(layer).__name__ == "SumLayer"]
        different = [node for node in sums if "num_output_units" in trace.why_not_folded(sums[0], node).reason]
        assert different == [sums[-1]]
        scheduled = explorer.record(circuit, optimize=False, levels="fewest-groups")
        assert scheduled.stats(-1)["layers"] == after["layers"]

    def test_19_a_layer_that_is_ready_early_may_wait(self) -> None:
        made = made_by(19)
        by_distance = explorer.record(made["circuit"], **UNOPTIMIZED)
        scheduled = explorer.record(made["circuit"], optimize=False, levels="fewest-groups")
        assert not by_distance.why_not_folded(made["s"], made["t"])
        assert "level 2 here and level 1 there" in by_distance.why_not_folded(made["s"], made["t"]).reason
        assert scheduled.why_not_folded(made["s"], made["t"])
        builder = explorer.CircuitBuilder()
        x = [builder.add(made["CategoricalInput"](2)(v, 4)) for v in range(3)]
        s = builder.sum(builder.hadamard(x[0], x[1]), num_units=4)
        t = builder.sum(s, num_units=4)
        waiting = explorer.record(builder.build(builder.hadamard(t, x[2])), optimize=False, levels="fewest-groups")
        assert not waiting.why_not_folded(s, t)
        says(19, "Not by longest distance", "but with `fewest-groups`", "no order could fold them")

    def test_20_fusing_can_make_folding_worse(self) -> None:
        circuit = made_by(20)["circuit"]
        folded = explorer.record(circuit, optimize=False).stats(-1)["layers"]
        both = explorer.record(circuit).stats(-1)["layers"]
        says(20, f"{folded} if it is only folded, {both} if it is fused and folded")


def products_of(count: int, pairs: Sequence[tuple[int, int]]) -> Trace:
    """Record products of pairs of coins; the coins are outputs too, because dead layers do not fold."""
    builder = explorer.CircuitBuilder()
    coins = [builder.add(made_by(1)["CategoricalInput"](2)(v, 4)) for v in range(count)]
    products = [builder.hadamard(coins[one], coins[other]) for one, other in pairs]
    return explorer.record(builder.build(*products, *coins), **UNOPTIMIZED)
