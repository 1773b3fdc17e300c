"""Questions about a step and what is right, wrong or missing in an answer, with the trace's own reasons."""

from textwrap import wrap
from typing import Any

import numpy as np
import pytest
from inline_snapshot import snapshot

import explorer
from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.templates import gallery
from explorer.trace import RefusalKind
from explorer.views import TraceIndex, check, picture, question_about, question_view, questions
from tests.views.showing import SMALL, every_step, index_of


def as_data(index, question) -> Any:
    return question_view(index, question)


def lines(verdict):
    return wrap(verdict.text, 100)


def ask(index, step, kind):
    return [question for question in questions(index, step) if question.kind == kind]


def test_the_questions_of_a_trace():
    index = index_of("conflict")
    asked = [f"{step} {question.text}" for step in (3, 10, 12) for question in questions(index, step)]
    assert asked == snapshot(
        [
            "3 Both of these matches claim layer 8. Which one is applied?",
            "3 Does the pattern CategoricalLogSoftmax (Categorical) match at layer 0?",
            "3 Does the pattern Candecomp (Sum over Hadamard) match at layer 5?",
            "3 Does the pattern Mixing (Sum) match at layer 5?",
            "3 Does the pattern SumCollapse (Sum over Sum) match at layer 5?",
            "3 Does the pattern Tucker (Sum over Kronecker) match at layer 5?",
            "3 Does the pattern Candecomp (Sum over Hadamard) match at layer 6?",
            "3 Does the pattern SumCollapse (Sum over Sum) match at layer 6?",
            "3 There are 12 layers now. How many are left after this step (fuse, round 1)?",
            "10 Which layers will be folded together with layer 14 (Categorical)? Click all of them.",
            "10 There are 7 layers now. How many are left after this step (fold, level 0)?",
            "12 Which layers will be folded together with layer 18 (CPT)? Click all of them.",
        ]
    )


def right_answer(index, question) -> Any:
    """The answer by the trace itself, not by what the questions are made of."""
    step = index.trace.steps[question.step]
    if question.kind == "layers-left":
        return len(step.snapshot.graph)
    if question.kind == "matches":
        return index.trace.why_not(question.pattern, question.nodes[0], question.step).matched
    if question.kind == "winner":
        applied = {(w.rule, w.removed) for w in step.rewrites}
        return next(f"{r} at {', '.join(map(str, n))}" for r, n in applied if _named(r, n) in question.choices)
    before = index.trace.steps[question.step - 1].snapshot.graph
    return [n for n in before.nodes if n != question.nodes[0] and _together(index, n, question.nodes[0])]


def _named(rule, nodes):
    return f"{rule} at {', '.join(map(str, nodes))}"


def _together(index, one, other):
    try:
        return bool(index.trace.why_not_folded(one, other))
    except UnknownNameError:
        return False


@pytest.mark.parametrize("name", SMALL)
def test_the_answer_of_the_trace_is_right_and_another_is_not(name):
    index = index_of(name)
    kinds = set()
    for step in every_step(name):
        for question in questions(index, step):
            kinds.add(question.kind)
            answer = right_answer(index, question)
            verdict = check(index, question, answer)
            assert verdict.right, (question, verdict)
            assert verdict.text.startswith("Right")
            assert not check(index, question, other_answer(question, answer)).right
    assert {"fold-with", "matches", "layers-left"} <= kinds


def other_answer(question, answer):
    if question.kind == "layers-left":
        return answer + 1
    if question.kind == "matches":
        return not answer
    if question.kind == "winner":
        return next(choice for choice in question.choices if choice != answer)
    return answer[1:] if answer else [max(question.nodes) - 1]


def test_feedback_on_a_fold_names_wrong_and_missing_layers():
    index = index_of("levels")
    question = ask(index, 10, "fold-with")[0]
    assert question.text == snapshot("Which layers will be folded together with layer 34 (CPT)? Click all of them.")
    wanted = right_answer(index, question)
    before = index.trace.steps[9].snapshot.graph
    folded = next(n for n in before.nodes if n not in wanted and before.nodes[n].num_folds > 1)
    assert lines(check(index, question, [*wanted, *question.nodes])) == snapshot(
        [
            "Right: 2 other layers. They agree on level 3 and on CPT with num_output_units=4, num_input_units=4,",
            "arity=2, weight.shape=(4, 4).",
        ]
    )
    assert lines(check(index, question, wanted[1:])) == snapshot(
        [
            "Missing: 28. They agree on level 3 and on CPT with num_output_units=4, num_input_units=4, arity=2,",
            "weight.shape=(4, 4).",
        ]
    )
    assert lines(check(index, question, [*wanted, folded])) == snapshot(
        [
            "Not these: 45. Layer 45: it is already a folded layer, of 12 layers of level 0. They agree on level",
            "3 and on CPT with num_output_units=4, num_input_units=4, arity=2, weight.shape=(4, 4).",
        ]
    )
    gone = next(
        node for node in index.trace.graph_at("compile").nodes if node not in index.trace.graph_at("fold/level 0").nodes
    )
    assert f"Layer {gone}: it " in check(index, question, [*wanted, gone]).text
    with pytest.raises(UnknownNameError, match="there was never a node 9999"):
        check(index, question, [*wanted, 9999])


def test_a_pattern_matches_even_if_its_guard_declines():
    trace = explorer.record(gallery.load_named("hmm"), explorer.TorchCompiler(semiring="sum-product"))
    index = TraceIndex(trace)
    declined = next(r for s in trace.steps for r in s.refusals if r.refusal.kind is RefusalKind.DECLINED)
    question = question_about(index, "matches", node=declined.refusal.root, pattern=declined.refusal.pattern)
    assert check(index, question, True).text.startswith("Right. The pattern matches; the rule declined: ")
    assert not check(index, question, False).right


def test_feedback_on_an_unfolded_layer_names_the_closest_one():
    index = index_of("levels")
    (question,) = ask(index, 9, "fold-with")
    verdict = check(index, question, [])
    assert verdict.right
    assert lines(verdict) == snapshot(
        [
            "Right. Layer 41 is not folded with any other. The others with its key are on different levels: 1, 3,",
            "4; it is on 2.",
        ]
    )


def test_feedback_on_a_conflict_names_the_strategy():
    index = index_of("conflict")
    (question,) = ask(index, 3, "winner")
    assert (question.text, question.choices) == snapshot(
        ("Both of these matches claim layer 8. Which one is applied?", ("Candecomp at 8, 7", "SumCollapse at 9, 8"))
    )
    assert [lines(check(index, question, choice)) for choice in question.choices] == snapshot(
        [
            [
                "No: SumCollapse at 9, 8 is applied. Candecomp at 8, 7 lost by the strategy largest-match: as good as",
                "the other, which is nearer to the outputs.",
            ],
            [
                "Right. Candecomp at 8, 7 lost by the strategy largest-match: as good as the other, which is nearer",
                "to the outputs.",
            ],
        ]
    )
    with pytest.raises(UnknownNameError, match="no choice 'Tucker at 1'; the choices are: Candecomp at 8, 7"):
        check(index, question, "Tucker at 1")


def test_feedback_on_a_match_quotes_the_matcher():
    index = index_of("conflict")
    asked = [question for question in ask(index, 3, "matches") if question.pattern == "SumCollapse"]
    assert [[question.text, *lines(check(index, question, True))] for question in asked] == snapshot(
        [
            [
                "Does the pattern SumCollapse (Sum over Sum) match at layer 5?",
                "No. Node 4 is a TorchHadamardLayer, not a TorchSumLayer.",
            ],
            [
                "Does the pattern SumCollapse (Sum over Sum) match at layer 6?",
                "Right. It matched and was applied (6, 5).",
            ],
        ]
    )


def test_feedback_on_layers_left_says_what_was_done():
    index = index_of("conflict")
    texts = [lines(check(index, q, 9)) for step in (3, 5, 10) for q in ask(index, step, "layers-left")]
    assert texts == snapshot(
        [
            [
                "Right: 9 layers. CategoricalLogSoftmax 4 times replaced 1 layer by 1; SumCollapse 2 times replaced 2",
                "layers by 1; Candecomp 1 time replaced 2 layers by 1.",
            ],
            ["Right: 9 layers. Nothing was replaced."],
            ["No: 4 layers are left. On this level, 4 layers became 1."],
        ]
    )


@pytest.mark.parametrize("name", SMALL)
def test_the_picture_of_a_question_does_not_reveal_the_answer(name):
    index = index_of(name)
    for step in every_step(name):
        for question in questions(index, step):
            assert question.after_step == step - 1
            view = picture(index, question.after_step, "plain", "kind", question.group_by).view
            assert {part["change"] for part in (*view["nodes"], *view["edges"])} <= {"kept"}
            assert {item["channel"] for item in view["legend"]} <= {"fill", "shape", "edge", "badge"}
            assert {badge["sign"] for node in view["nodes"] for badge in node["badges"]} <= {"out"}
            assert (view["caption"], view["message"]) == ("", "")
            rows = [dict(zip(view["table"]["columns"], row, strict=True)) for row in view["table"]["rows"]]
            assert {(row["change"], row["matched"], row["matches"]) for row in rows} == {("kept", "", "")}
            assert not any("added" in row["reads"] for row in rows)
            assert view["hulls"] == []
            assert not any(node["matched"] for node in view["nodes"])
            assert all(node["count"] == 1 for node in view["nodes"])
            drawn = {node for box in view["nodes"] for node in box["ids"]}
            assert set(question.nodes) <= drawn
            assert drawn == set(index.trace.steps[step - 1].snapshot.graph.nodes)


def test_nothing_is_asked_about_the_first_step():
    assert questions(index_of("conflict"), 0) == ()


def test_no_clicks_are_asked_if_layers_cannot_be_drawn_one_by_one():
    index = index_of("mnist")
    fold = index.trace.step("fold/level 0").index
    assert [question.kind for question in questions(index, fold)] == ["layers-left"]
    assert {question.group_by for question in questions(index, 3)} == {"fold"}


@pytest.mark.parametrize(
    ("kind", "step", "answer", "message"),
    [
        ("fold-with", 10, 3, "the answer must be a list of layers; got 3"),
        ("fold-with", 10, "3", "the answer must be a list of layers"),
        ("fold-with", 10, None, "the answer must be a list of layers; got None"),
        ("fold-with", 10, [3, "a"], "the answer must be a list of layer ids; got 'a' in it"),
        ("fold-with", 10, [True], "list of layer ids; got True in it"),
        ("fold-with", 10, [None], "list of layer ids; got None in it"),
        ("fold-with", 10, np.array(3), r"the answer must be a list of layers; got array\(3\)"),
        (
            "winner",
            3,
            np.array([1, 2]),
            "the answer must be one of the choices: Candecomp at 8, 7; SumCollapse at 9, 8; got",
        ),
        ("matches", 3, "perhaps", "the answer must be yes or no"),
        ("matches", 3, 1, "the answer must be yes or no"),
        ("layers-left", 3, True, "the answer must be a number of layers; got True"),
        ("layers-left", 3, "9", "the answer must be a number of layers; got '9'"),
    ],
)
def test_an_answer_of_the_wrong_type_is_refused(kind, step, answer, message):
    index = index_of("conflict")
    with pytest.raises(DataTypeError, match=message):
        check(index, ask(index, step, kind)[0], answer)


def test_answers_may_be_numpy_values_or_choices():
    index = index_of("conflict")
    nine: Any = np.int64(9)
    layers: Any = np.array([12, 13, 15])
    said: list[Any] = [True, np.bool_(True), "yes", "no"]
    assert check(index, ask(index, 3, "layers-left")[0], nine).right
    fourteen: Any = np.int64(14)
    assert check(index, question_about(index, "fold-with", node=fourteen), layers).right
    assert type(question_about(index, "fold-with", node=fourteen).nodes[0]) is int
    match = question_about(index, "matches", node=6, pattern="SumCollapse")
    assert [check(index, match, answer).right for answer in said] == [True, True, True, False]


class TestOneQuestion:
    """Asked for by kind, with a step, a node, a pattern or a statistic."""

    def test_defaults_are_chosen(self):
        index = index_of("conflict")
        asked = [
            question_about(index, "fold-with"),
            question_about(index, "fold-with", node=19),
            question_about(index, "fold-with", 12),
            question_about(index, "matches"),
            question_about(index, "matches", 3, node=6),
            question_about(index, "matches", pattern="Candecomp"),
            question_about(index, "matches", node=11, pattern="Candecomp"),
            question_about(index, "winner"),
            question_about(index, "winner", node=5),
            question_about(index, "layers-left"),
            question_about(index, "layers-left", 5),
            question_about(index, "stat", "optimize/round 1/fuse", stat="flops"),
            question_about(index, "stat"),
            question_about(index, "stat", stat="copied_bytes"),
            question_about(index, "stat", 11),
        ]
        assert [f"{question.step} {question.text}" for question in asked] == snapshot(
            [
                "10 Which layers will be folded together with layer 14 (Categorical)? Click all of them.",
                "11 Which layers will be folded together with layer 19 (CPT)? Click all of them.",
                "12 Which layers will be folded together with layer 18 (CPT)? Click all of them.",
                "2 Does the pattern DenseKronecker (Sum) match at layer 5?",
                "3 Does the pattern Candecomp (Sum over Hadamard) match at layer 6?",
                "3 Does the pattern Candecomp (Sum over Hadamard) match at layer 5?",
                "3 Does the pattern Candecomp (Sum over Hadamard) match at layer 11?",
                "3 Both of these matches claim layer 8. Which one is applied?",
                "3 Both of these matches claim layer 5. Which one is applied?",
                "3 There are 12 layers now. How many are left after this step (fuse, round 1)?",
                "5 There are 9 layers now. How many are left after this step (shatter, round 2)?",
                "3 Operations: 164 now. More, the same, or fewer after this step (fuse, round 1)?",
                "3 Layers: 12 now. More, the same, or fewer after this step (fuse, round 1)?",
                "10 Copied by reads: 96 B now. More, the same, or fewer after this step (fold, level 0)?",
                "11 Layers: 4 now. More, the same, or fewer after this step (fold, level 1)?",
            ]
        )

    def test_a_statistic_is_more_the_same_or_fewer(self):
        index = index_of("conflict")
        said = {}
        for step, stat in ((3, "flops"), (10, "layers"), (11, "copied_bytes"), (10, "parameters")):
            question = question_about(index, "stat", step, stat=stat)
            before, after = (index.trace.stats(at)[stat] for at in (step - 1, step))
            true = "more" if after > before else "fewer" if after < before else "the same"
            assert [choice for choice in question.choices if check(index, question, choice).right] == [true]
            said[question.text] = [*lines(check(index, question, true)), check(index, question, "more").text[:15]]
        assert said == snapshot(
            {
                "Operations: 164 now. More, the same, or fewer after this step (fuse, round 1)?": [
                    "Right: operations, 164 before, 100 after. CategoricalLogSoftmax 4 times replaced 1 layer by 1;",
                    "SumCollapse 2 times replaced 2 layers by 1; Candecomp 1 time replaced 2 layers by 1.",
                    "No, fewer: oper",
                ],
                "Layers: 7 now. More, the same, or fewer after this step (fold, level 0)?": [
                    "Right: layers, 7 before, 4 after. On this level, 4 layers became 1.",
                    "No, fewer: laye",
                ],
                "Copied by reads: 32 B now. More, the same, or fewer after this step (fold, level 1)?": [
                    "Right: copied by reads, 32 B before, 0 B after. On this level, 2 layers became 1.",
                    "No, fewer: copi",
                ],
                "Parameters: 100 now. More, the same, or fewer after this step (fold, level 0)?": [
                    "Right: parameters, 100 before and after. On this level, 4 layers became 1.",
                    "No, the same: p",
                ],
            }
        )

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            (("folds",), {}, UnknownNameError, "no kind of question named 'folds'; known are: fold-with, winner"),
            (("layers-left", 99), {}, UnknownNameError, "there is no step 99"),
            (("fold-with",), {"node": 999}, UnknownNameError, "999"),
            (("fold-with",), {"node": "14"}, DataTypeError, "node must be the id of a layer; got '14'"),
            (("fold-with",), {"node": 14.0}, DataTypeError, "got 14.0"),
            (
                ("matches",),
                {"pattern": "LogSoftmax"},
                CircuitError,
                "is tried inside parameters; ask about a pattern",
            ),
            (("matches",), {"pattern": "Nosuch"}, UnknownNameError, "no pattern named 'Nosuch'"),
            (("stat", 3), {"stat": "smell"}, UnknownNameError, "no statistic of step 3"),
            (("stat", 9), {}, CircuitError, "no statistic changes in step 9 .*; choose one of: layers, "),
            (("layers-left", 0), {}, CircuitError, "step 0 .* is the start of the trace"),
            (("layers-left", 3), {"node": 3}, CircuitError, "does not accept node; omit node=3"),
            (("fold-with", 3), {}, CircuitError, "step 3 .* folds no layers together"),
            (("fold-with", 11), {"node": 14}, CircuitError, "layer 14 is folded in step 10 .*, not in step 11"),
            (("fold-with",), {"node": 8}, CircuitError, "layer 8 does not exist when folding begins"),
            (("winner", 5), {}, CircuitError, "no conflict between two matches in step 5"),
            (("winner",), {"node": 0}, CircuitError, "that node 0 is part of in the trace"),
            (
                ("matches", 10),
                {"node": 14},
                CircuitError,
                "no pattern matched or nearly matched at node 14 in step 10",
            ),
            (("matches", 10), {"node": 14, "pattern": "Candecomp"}, CircuitError, "was not tried in step 10"),
        ],
    )
    def test_invalid_questions_are_refused(self, arguments, options, error, message):
        with pytest.raises(error, match=message):
            question_about(index_of("conflict"), *arguments, **options)

    def test_no_clicks_are_asked_if_layers_cannot_be_drawn_one_by_one(self):
        index = index_of("mnist")
        member = index.trace.fold_groups(0)[0].members[0]
        asked: list[dict[str, Any]] = [{"node": member}, {"step": "fold/level 0"}]
        for options in asked:
            with pytest.raises(CircuitError, match=r"at most 1,000 can be drawn one by one"):
                question_about(index, "fold-with", **options)


class TestAsData:
    """What a drawing is given."""

    def test_each_choice_has_its_verdict(self):
        index = index_of("conflict")
        for question in (
            question_about(index, "winner"),
            question_about(index, "matches", node=6, pattern="SumCollapse"),
        ):
            choices = as_data(index, question)["choices"]
            assert list(choices) == list(question.choices)
            assert [verdict["right"] for verdict in choices.values()].count(True) == 1
            for choice, verdict in choices.items():
                answer = choice == "yes" if question.kind == "matches" else choice
                assert verdict["text"] == check(index, question, answer).text

    def test_a_number_is_right_or_wrong(self):
        index = index_of("conflict")
        assert as_data(index, question_about(index, "layers-left", 10))["number"] == snapshot(
            {
                "noun": "Layers",
                "answer": 4,
                "right": "Right: 4 layers. On this level, 4 layers became 1.",
                "wrong": "No: 4 layers are left. On this level, 4 layers became 1.",
            }
        )

    def test_each_wrongly_clicked_layer_has_its_reason(self):
        index = index_of("conflict")
        question = question_about(index, "fold-with", node=14)
        clicks = as_data(index, question)["clicks"]
        assert {clicks["about"], *clicks["wanted"], *map(int, clicks["apart"])} == set(clicks["boxes"].values())
        for other, reason in clicks["apart"].items():
            assert f"Layer {other}: {reason}" in check(index, question, [int(other)]).text

    @pytest.mark.parametrize("name", SMALL)
    def test_it_goes_from_the_asking_to_the_revealing_picture(self, name):
        index = index_of(name)
        for step in every_step(name):
            for question in questions(index, step):
                view = question_view(index, question)
                assert (view["asking"]["step"], view["revealing"]["step"]) == (step - 1, step)
                for place in (view["asking"], view["revealing"]):
                    shown = picture(index, place["step"], place["mode"], place["colour_by"], place["group_by"]).view
                    assert set(place["selection"]) <= {box["id"] for box in shown["nodes"]}
                assert bool(view["asking"]["selection"]) == bool(question.nodes)
