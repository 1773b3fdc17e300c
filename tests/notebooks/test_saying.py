"""What the checks of the exercises are made of."""

from pathlib import Path

import numpy as np
import pytest

from tests.notebooks.lessons import NOTEBOOKS, module

saying = module("checks.saying")


def test_what_was_said_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    saying.say(saying.Said(True, "Right: both are of one level."))
    assert capsys.readouterr().out == "Right: both are of one level.\n"


def test_without_an_answer_it_is_said_what_to_give() -> None:
    assert saying.not_answered("a list of layers") == saying.Said(False, "Not answered yet: a list of layers")


def test_an_answer_of_another_kind_is_told_what_is_wanted() -> None:
    said = saying.something_else("a function of a graph", 3)
    assert said == saying.Said(False, "Expected a function of a graph; got something of type int.")


@pytest.mark.parametrize(
    ("answer", "whole"), [(3, True), (np.int64(3), True), (True, False), (3.0, False), ("3", False)]
)
def test_whole_numbers_are_known(answer: object, whole: bool) -> None:
    assert saying.is_whole(answer) is whole


def test_it_is_imported_from_the_folder_of_the_notebooks() -> None:
    assert Path(saying.__file__).parent == NOTEBOOKS / "checks"
