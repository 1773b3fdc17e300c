"""Questions about the calls that a compiler which is watched makes one."""

import pytest

from explorer.errors import CircuitError
from explorer.views import TraceIndex, check, question_about, question_view, questions
from tests.views.score.compiling import compiled, compiled_index
from tests.views.showing import index_of


def test_each_round_that_fuses_raises_one_question() -> None:
    index = compiled_index()
    asked = {
        step.index: [one.text for one in questions(index, step.index) if one.kind == "fused-with"]
        for step in index.trace.steps
    }
    assert asked == {
        0: [],
        1: [],
        2: ["Which calls become one with call 13 (gelu) in this step (fuse, round 1)? Click all of them."],
        3: [],
        4: [],  # nothing was judged in it
    }


def test_the_feedback_names_scores_refusals_and_what_was_never_tried() -> None:
    index = compiled_index()
    question = question_about(index, "fused-with", node=12)
    assert check(index, question, [13]).text == (
        "Right: 1 other call. The compiler fused pairs, the best score first: 12 and 13."
    )
    assert not check(index, question, []).right
    said = {
        11: "refused: the loops differ.",
        10: "never tried: extern_kernels.addmm is a library call.",
        0: "it is an input.",
        14: "never tried.",
        20: "it does not exist when this step begins.",
    }
    for node, words in said.items():
        assert check(index, question, [13, node]).text.startswith(f"Not these: {node}. Call {node}: {words} ")


def test_a_call_that_stays_alone_has_an_empty_answer() -> None:
    index = compiled_index()
    question = question_about(index, "fused-with", "fuse/round 1", node=14)
    assert check(index, question, []).text == "Right. Call 14 is fused with no other in this step."
    assert check(index, question, [13]).text.startswith("Not these: 13. Call 13: put off")


def test_the_answer_shows_the_new_call_and_nothing_of_later_rounds() -> None:
    """The seams of a score would tell what is fused next."""
    index = compiled_index()
    view = question_view(index, question_about(index, "fused-with"))
    assert (view["asking"]["group_by"], view["asking"]["selection"]) == ("plates", ["n13"])
    assert (view["revealing"]["group_by"], view["revealing"]["selection"]) == ("plates", ["n20"])
    clicks = view.get("clicks")
    assert clicks is not None
    assert (clicks["noun"], clicks["about"], clicks["wanted"]) == ("Call", 13, [12])
    assert set(clicks["apart"]) == {"0", "10", "11", "14"}


def test_other_steps_calls_and_traces_raise_no_such_question() -> None:
    index = compiled_index()
    with pytest.raises(CircuitError, match=r"no pairs of calls are fused in step 1 \(lower\)"):
        question_about(index, "fused-with", "lower")
    with pytest.raises(CircuitError, match=r"node 20 is not a call when step 2 \(fuse/round 1\) begins"):
        question_about(index, "fused-with", node=20)
    with pytest.raises(CircuitError, match="node 0 is not a call"):
        question_about(index, "fused-with", node=0)
    with pytest.raises(CircuitError, match="no pairs of calls are fused in the trace"):
        question_about(index_of("conflict"), "fused-with")
    assert question_about(TraceIndex(compiled(fuses_last=False)), "fused-with").step == 2
