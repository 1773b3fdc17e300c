"""Questions about a step and what is right, wrong or missing in an answer, with the trace's own reasons."""

from typing import Any

import numpy as np
import pytest
from inline_snapshot import snapshot

import explorer
from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.templates import gallery
from explorer.trace import RefusalKind
from explorer.views import TraceIndex, check, picture, question_about, questions
from tests.views.showing import SMALL, every_step, index_of, lines


def ask(index, step, kind):
    return [question for question in questions(index, step) if question.kind == kind]


def test_the_questions_of_a_trace():
    index = index_of("conflict")
    listed = [f"{step} {question.text}" for step in (3, 10, 12) for question in questions(index, step)]
    assert listed == snapshot(
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
        return next(f"{r} at {', '.join(map(str, n))}" for r, n in applied if _with_name(r, n) in question.choices)
    before = index.trace.steps[question.step - 1].snapshot.graph
    return [n for n in before.nodes if n != question.nodes[0] and _together(index, n, question.nodes[0])]


def _with_name(rule, nodes):
    return f"{rule} at {', '.join(map(str, nodes))}"


def _together(index, one, other):
    try:
        return bool(index.trace.why_not_folded(one, other))
    except UnknownNameError:
        return False


@pytest.mark.parametrize("name", SMALL)
def test_only_the_answer_of_the_trace_is_right(name):
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
                "No: SumCollapse at 9, 8 is applied. Candecomp at 8, 7 lost by the strategy largest-match: equal size",
                "(2 = 2): SumCollapse is nearer to the outputs, so it wins.",
            ],
            [
                "Right. Candecomp at 8, 7 lost by the strategy largest-match: equal size (2 = 2): SumCollapse is",
                "nearer to the outputs, so it wins.",
            ],
        ]
    )
    with pytest.raises(UnknownNameError, match="no choice 'Tucker at 1'; the choices are: Candecomp at 8, 7"):
        check(index, question, "Tucker at 1")


def test_feedback_on_a_match_quotes_the_matcher():
    index = index_of("conflict")
    listed = [question for question in ask(index, 3, "matches") if question.pattern == "SumCollapse"]
    assert [[question.text, *lines(check(index, question, True))] for question in listed] == snapshot(
        [
            [
                "Does the pattern SumCollapse (Sum over Sum) match at layer 5?",
                "No. Node 4 is a Hadamard layer, not a Sum layer.",
            ],
            [
                "Does the pattern SumCollapse (Sum over Sum) match at layer 6?",
                "Right. It matched and was applied (6, 5).",
            ],
        ]
    )


def test_feedback_on_layers_left_describes_the_step():
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
            assert {item["channel"] for item in view["legend"]} <= {"cell", "shape", "edge", "badge"}
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


def test_there_are_no_questions_about_the_first_step():
    assert questions(index_of("conflict"), 0) == ()


def test_there_are_no_click_questions_if_layers_cannot_be_drawn_individually():
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
    answers: list[Any] = [True, np.bool_(True), "yes", "no"]
    assert check(index, ask(index, 3, "layers-left")[0], nine).right
    fourteen: Any = np.int64(14)
    assert check(index, question_about(index, "fold-with", node=fourteen), layers).right
    assert type(question_about(index, "fold-with", node=fourteen).nodes[0]) is int
    match = question_about(index, "matches", node=6, pattern="SumCollapse")
    assert [check(index, match, answer).right for answer in answers] == [True, True, True, False]


@pytest.mark.parametrize(
    ("step", "message"), [(1, "step 1 .multiply. comes before"), (2, "step 2 .compile. is the start")]
)
def test_operators_before_the_compilation_have_no_questions(step, message):
    index = index_of("squared")
    assert questions(index, step) == ()
    with pytest.raises(CircuitError, match=message):
        question_about(index, "layers-left", step=step)
