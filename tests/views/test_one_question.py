"""One question, asked for by kind; and the data that a drawing receives."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.views import check, picture, question_about, question_view, questions
from tests.views.showing import SMALL, every_step, index_of, lines


def as_data(index, question) -> Any:
    return question_view(index, question)


class TestOneQuestion:
    """Asked for by kind, with a step, a node, a pattern or a statistic."""

    def test_defaults_are_chosen(self):
        index = index_of("conflict")
        listed = [
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
        assert [f"{question.step} {question.text}" for question in listed] == snapshot(
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
                "3 Calls: 12 now. More, the same, or fewer after this step (fuse, round 1)?",
                "10 Copied by reads: 96 B now. More, the same, or fewer after this step (fold, level 0)?",
                "11 Calls: 4 now. More, the same, or fewer after this step (fold, level 1)?",
            ]
        )

    def test_a_statistic_question_has_three_choices(self):
        index = index_of("conflict")
        feedback = {}
        for step, stat in ((3, "flops"), (10, "layers"), (11, "copied_bytes"), (10, "parameters")):
            question = question_about(index, "stat", step, stat=stat)
            before, after = (index.trace.stats(at)[stat] for at in (step - 1, step))
            true = "more" if after > before else "fewer" if after < before else "the same"
            assert [choice for choice in question.choices if check(index, question, choice).right] == [true]
            feedback[question.text] = [*lines(check(index, question, true)), check(index, question, "more").text[:15]]
        assert feedback == snapshot(
            {
                "Operations: 164 now. More, the same, or fewer after this step (fuse, round 1)?": [
                    "Right: operations, 164 before, 100 after. CategoricalLogSoftmax 4 times replaced 1 layer by 1;",
                    "SumCollapse 2 times replaced 2 layers by 1; Candecomp 1 time replaced 2 layers by 1.",
                    "No, fewer: oper",
                ],
                "Calls: 7 now. More, the same, or fewer after this step (fold, level 0)?": [
                    "Right: calls, 7 before, 4 after. On this level, 4 layers became 1.",
                    "No, fewer: call",
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
            (
                ("folds",),
                {},
                UnknownNameError,
                "no kind of question named 'folds'; known are: fold-with, fused-with, winner",
            ),
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

    def test_there_are_no_click_questions_if_layers_cannot_be_drawn_individually(self):
        index = index_of("mnist")
        member = index.trace.fold_groups(0)[0].members[0]
        cases: list[dict[str, Any]] = [{"node": member}, {"step": "fold/level 0"}]
        for options in cases:
            with pytest.raises(CircuitError, match=r"at most 1,000 can be drawn one by one"):
                question_about(index, "fold-with", **options)


class TestAsData:
    """The data of a drawing."""

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

    @pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.fuzz) if name == "digits" else name for name in SMALL]
    )
    def test_it_switches_from_the_question_picture_to_the_answer_picture(self, name):
        index = index_of(name)
        for step in every_step(name):
            for question in questions(index, step):
                view = question_view(index, question)
                assert (view["asking"]["step"], view["revealing"]["step"]) == (step - 1, step)
                for place in (view["asking"], view["revealing"]):
                    shown = picture(index, place["step"], place["mode"], place["colour_by"], place["group_by"]).view
                    assert set(place["selection"]) <= {box["id"] for box in shown["nodes"]}
                assert bool(view["asking"]["selection"]) == bool(question.nodes)
