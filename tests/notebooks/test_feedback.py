"""The parts that the checks of the exercises share."""

from pathlib import Path

import numpy as np
import pytest

from tests.notebooks.lessons import NOTEBOOKS, module

feedback = module("checks.feedback")


def test_feedback_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    feedback.show(feedback.Feedback(True, "Right: both are of one level."))
    assert capsys.readouterr().out == "Right: both are of one level.\n"


def test_feedback_without_an_answer_says_what_is_expected() -> None:
    assert feedback.not_answered("a list of layers") == feedback.Feedback(False, "Not answered yet: a list of layers")


def test_feedback_on_a_wrong_type_says_what_is_expected() -> None:
    answer = feedback.something_else("a function of a graph", 3)
    assert answer == feedback.Feedback(False, "Expected a function of a graph; got something of type int.")


@pytest.mark.parametrize(
    ("answer", "whole"), [(3, True), (np.int64(3), True), (True, False), (3.0, False), ("3", False)]
)
def test_integers_are_recognized(answer: object, whole: bool) -> None:
    assert feedback.is_integer(answer) is whole


def test_it_is_imported_from_the_notebooks_folder() -> None:
    assert Path(feedback.__file__).parent == NOTEBOOKS / "checks"
