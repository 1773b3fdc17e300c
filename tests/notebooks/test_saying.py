"""What the checks of the exercises are made of."""

import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a notebook runs."""
    monkeypatch.syspath_prepend(str(NOTEBOOKS))


def test_what_was_said_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from checks.saying import Said, say  # pyright: ignore[reportMissingImports]

    say(Said(True, "Right: both are of one level."))
    assert capsys.readouterr().out == "Right: both are of one level.\n"


def test_without_an_answer_it_is_said_what_to_give() -> None:
    from checks.saying import Said, not_answered  # pyright: ignore[reportMissingImports]

    assert not_answered("a list of layers") == Said(False, "Not answered yet: a list of layers")


def test_it_is_imported_from_the_folder_of_the_notebooks() -> None:

    assert Path(sys.modules["checks.saying"].__file__ or "").parent == NOTEBOOKS / "checks"
