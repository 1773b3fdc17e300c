"""The quiz has twenty questions and answers, whose numbers and names agree with the engine."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.optimize.cost import BATCH_SIZE, LAYER_OVERHEAD_FLOPS, TRANSCENDENTAL_FLOPS
from explorer.symbolic import KroneckerParameter, Parameterization, SoftmaxParameter, TensorParameter
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

    def test_2_the_guard_of_a_rule_asks_for_the_semiring(self) -> None:
        made = made_by(2)
        traces = {name: explorer.record(made["circuit"], semiring=name) for name in ("lse-sum", "sum-product")}
        for node in (made["x0"], made["x1"]):
            assert traces["lse-sum"].why_not("CategoricalLogSoftmax", node, FUSE).applied
            declined = traces["sum-product"].why_not("CategoricalLogSoftmax", node, FUSE)
            assert declined.reason.startswith("the rule declined")
        (layers,) = {trace.stats(-1)["layers"] for trace in traces.values()}
        says(2, "Only under `lse-sum`", f"Both end with {layers} layers")


class TestLessonTwo:
    def test_3_readers_of_the_root_read_what_replaces_it(self) -> None:
        made = made_by(3)
        trace = handbook(made["circuit"])
        assert trace.why_not("SumCollapse", made["up"], FUSE).applied
        graph = trace.circuit_at(FUSE).graph
        (new,) = set(graph.nodes) - set(trace.circuit_at("compile").graph.nodes)
        assert set(graph.users[new]) == {made["p"], made["q"]}
        says(3, "It matches", "both `p` and `q` read the new sum")

    def test_4_a_lower_entry_with_two_readers_blocks(self) -> None:
        made = made_by(4)
        refusal = handbook(made["circuit"]).why_not("SumCollapse", made["up"], FUSE).refusal
        assert refusal is not None
        assert (refusal.kind.value, refusal.node) == ("several users", made["low"])
        says(4, "It does not match", "`low`, is read by two layers, `up` and `q`")

    def test_5_near_misses_are_where_the_first_type_fits(self) -> None:
        made = made_by(5)
        step = handbook(made["circuit"]).step(FUSE)
        missed = {one.refusal.root for one in step.refusals if one.refusal.pattern == "SumCollapse"}
        matched = {match.root for match in step.matches if match.rule == "SumCollapse"}
        assert matched == {made["v"]}
        assert missed == {made[name] for name in ("u", "w", "root")}
        says(5, "A match at `v`; near misses at `u`, `w` and `root`; nothing at `r`, `x0` and `x1`")

    def test_6_where_the_matcher_stops(self) -> None:
        made = made_by(6)
        trace = handbook(made["circuit"])
        tried = (("SumCollapse", "mixture", FUSE), ("DenseKronecker", "mixture", SHATTER), ("Candecomp", "top", FUSE))
        for pattern, name, step in tried:
            refusal = trace.why_not(pattern, made[name], step).refusal
            assert refusal is not None
            says(6, f"`{pattern}`: {refusal.kind.value}.")

    def test_7_a_weight_must_end_in_what_a_sub_pattern_looks_for(self) -> None:
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
            assert f"| `{name}` | {layers[node].arity} | `{text}` |" in QUESTIONS[7]
        (match,) = [name for name, node in sums.items() if trace.why_not("DenseKronecker", node, SHATTER).applied]
        says(7, f"Only at `{match}`.")


class TestLessonThree:
    def test_8_tucker_saves_exponentials_and_no_multiplication(self) -> None:
        trace = handbook(made_by(8)["circuit"])
        assert applied(trace) == ["Tucker"]
        before, after = trace.stats("compile"), trace.stats(-1)
        assert before["flops"] == after["flops"]
        says(8, f"{before['transcendentals']} before, {after['transcendentals']} after; the flops stay the same")

    def test_9_the_loser_comes_back_in_the_next_round(self) -> None:
        trace = handbook(made_by(9)["circuit"])
        (lost,) = trace.conflicts()
        assert lost.loser.rule == "Candecomp"
        assert applied(trace) == ["SumCollapse", "Candecomp"]
        assert [rewrite.rule for rewrite in trace.step("optimize/round 2/fuse").rewrites] == ["Candecomp"]
        says(9, f"`SumCollapse`; {trace.stats(-1)['layers']} layers are left")

    def test_10_rounds_halve_a_chain(self) -> None:
        trace = handbook(made_by(10)["circuit"])
        rounds = [step for step in trace.steps if step.path.endswith("fuse")]
        left = [trace.stats(step)["layers"] - 1 for step in rounds]
        assert len(rounds) == 5
        says(10, f"{', '.join(map(str, left))}: five rounds")

    def test_11_only_a_wide_middle_is_collapsed(self) -> None:
        collapsed = []
        for name, widths in (("wide", (64, 512, 64)), ("narrow", (512, 8, 512))):
            assert f"| {name} | {' | '.join(map(str, widths))} |" in QUESTIONS[11]
            trace, either = handbook(sums_of(widths)), explorer.record(sums_of(widths), fold=False)
            # A multiplication and an addition each; the input layer counts one operation a unit.
            two, one = ((trace.stats(step)["flops"] - widths[0]) // 2 for step in ("compile", -1))
            assert f"| {name} | {two:,} | {one:,} |" in ANSWERS[11]
            collapsed += [name] * (either.stats(-1)["layers"] == 2)
        (name,) = collapsed
        says(11, f"Only *{name}* is collapsed")

    def test_12_the_strategies_choose_different_winners(self) -> None:
        made = made_by(12)
        layers = {}
        for strategy in ("largest-match", "lowest-cost"):
            trace = handbook(made["circuit"], strategy=strategy)
            says(12, f"`{strategy}`: `{applied(trace)[0]}`")
            layers[strategy] = trace.stats(-1)["layers"]
            told = str(trace.conflicts())
        changes = re.search(r"the other changes the cost by (\S+), this one by (\S+)\)", told)
        assert changes
        assert f"| `SumCollapse` at `wide`, `narrow` | {changes[2]} |" in QUESTIONS[12]
        assert f"| `Candecomp` at `narrow` and the product | {changes[1]} |" in QUESTIONS[12]
        most, fewest = layers["lowest-cost"], layers["largest-match"]
        says(12, f"`lowest-cost` ends with {most} layers, `largest-match` with {fewest}")

    def test_13_a_strategy_leaves_no_match_without_a_rival_alone(self) -> None:
        circuit = sums_of((512, 8, 512))
        assert applied(handbook(circuit, strategy="lowest-cost")) == ["SumCollapse"]
        guarded = explorer.record(circuit, fold=False)
        assert "does not pay" in guarded.why_not("SumCollapse", 2, FUSE).reason
        says(13, "It is applied")


class TestLessonFour:
    def test_14_two_steps_save_multiplications_and_double_exponentials(self) -> None:
        circuit = kronecker_sum((8, 8), (8, 8))
        trace = handbook(circuit)
        before, after = trace.stats("compile"), trace.stats(-1)
        one, two = ((stats["flops"] - 64) // 2 for stats in (before, after))
        says(14, f"{one:,} in one step, {two:,} in two")
        says(14, f"{after['transcendentals']} exponentials and logarithms instead of {before['transcendentals']}")
        assert after["layers"] == before["layers"] + 1
        assert cost(after) > cost(before)
        assert "does not pay" in explorer.record(circuit, fold=False).why_not("DenseKronecker", 1, SHATTER).reason

    def test_15_the_vector_between_the_steps_decides(self) -> None:
        found = []
        for a, b in (((1, 16), (16, 1)), ((16, 1), (1, 16))):
            trace = handbook(kronecker_sum(a, b))
            found += [(trace.stats(-1)["flops"] - 16) // 2]
            assert f"| {a[0]} × {a[1]} | {b[0]} × {b[1]} |" in QUESTIONS[15]
            large = (trace.stats("compile")["flops"] - 16) // 2
        says(15, f"{found[0]} and {found[1]}; the matrix product takes {large}")


def cost(stats: Any) -> float:
    work = stats["flops"] + TRANSCENDENTAL_FLOPS * stats["transcendentals"]
    return work + stats["parameter_flops"] / BATCH_SIZE + LAYER_OVERHEAD_FLOPS * stats["layers"]


class TestLessonFive:
    def test_16_level_and_key_decide_what_folds(self) -> None:
        made = made_by(16)
        trace = explorer.record(made["circuit"], **UNOPTIMIZED)
        reasons = {name: trace.why_not_folded(made["plain"], made[name]) for name in ("fixed", "small", "late")}
        (together,) = [name for name, reason in reasons.items() if reason]
        says(16, f"`plain` and `{together}` fold together")
        assert "num_output_units is 4 here and 2 there" in reasons["small"].reason
        assert "equal keys, but level 1 here and level 2 there" in reasons["late"].reason

    def test_17_rows_are_slices_and_columns_are_inputs(self) -> None:
        table = made_by(17)["table"]
        answer = " ".join(ANSWERS[17].split())
        pairs = re.findall(r"lice (\d)(?: multiplies)? `x(\d)` and `x(\d)`", answer)
        assert [int(piece) for piece, _, _ in pairs] == list(range(len(table)))
        made = made_by(1)
        builder = explorer.CircuitBuilder()
        coins = [builder.add(made["CategoricalInput"](2)(v, 4)) for v in range(4)]
        products = [builder.hadamard(coins[int(one)], coins[int(other)]) for _, one, other in pairs]
        (group,) = explorer.record(builder.build(*products), **UNOPTIMIZED).fold_groups(1)
        assert [[tuple(pair) for pair in row] for row in group.index or ()] == table
        says(17, f"$F = {len(table)}$ and $H = {len(table[0])}$")

    def test_18_the_order_decides_how_slices_are_read(self) -> None:
        copying = []
        for name, pairs in made_by(18)["orders"].items():
            made = made_by(1)
            builder = explorer.CircuitBuilder()
            coins = [builder.add(made["CategoricalInput"](2)(v, 4)) for v in range(8)]
            products = [builder.hadamard(coins[i], coins[j]) for i, j in pairs]
            trace = explorer.record(builder.build(*products, *coins), **UNOPTIMIZED)  # dead layers do not fold
            (group,) = trace.fold_groups(1)
            says(18, f"{name}: {group.read}.")
            copying += [name] * (trace.stats(-1)["copied_bytes"] > 0)
        says(18, f"Only {copying[0]} copies")
        assert len(copying) == 1

    def test_19_a_chain_does_not_fold(self) -> None:
        trace = explorer.record(made_by(19)["circuit"], **UNOPTIMIZED)
        before, after = trace.stats("compile"), trace.stats(-1)
        assert before["layers"] == 17
        assert [len(group.members) for group in trace.fold_groups()] == [6] + [1] * 11
        says(19, f"The six input layers fold, the other eleven do not: {after['layers']} layers")
        says(19, f"{len(trace.compiled.tensors)} tensors")
        (changed,) = [name for name in ("layers", "folds", "flops") if before[name] != after[name]]
        says(19, f"Only `{changed}` changes")

    def test_20_a_layer_that_is_ready_early_may_wait(self) -> None:
        made = made_by(20)
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
        says(20, "Not by longest distance", "but with `fewest-groups`", "no order could fold them")
