"""What the checks of the exercises are made of."""

from pathlib import Path

import pytest

from tests.notebooks.lessons import NOTEBOOKS, module

saying = module("checks.saying")


def test_what_was_said_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    saying.say(saying.Said(True, "Right: both are of one level."))
    assert capsys.readouterr().out == "Right: both are of one level.\n"


def test_without_an_answer_it_is_said_what_to_give() -> None:
    assert saying.not_answered("a list of layers") == saying.Said(False, "Not answered yet: a list of layers")


def test_it_is_imported_from_the_folder_of_the_notebooks() -> None:
    assert Path(saying.__file__).parent == NOTEBOOKS / "checks"
