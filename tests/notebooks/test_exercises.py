"""The exercises of all lessons: each solution is right, and an empty answer is not graded."""

import pytest

from tests.notebooks.lessons import NUMBERS, module

PREFIX = "grade_"
EXERCISES = [
    (lesson, name.removeprefix(PREFIX))
    for lesson in NUMBERS
    for name in sorted(vars(module(f"checks.lesson_{lesson}")))
    if name.startswith(PREFIX)
]


def test_every_lesson_has_exercises() -> None:
    assert sorted({lesson for lesson, _ in EXERCISES}) == NUMBERS


@pytest.mark.parametrize(("lesson", "number"), EXERCISES)
def test_the_solution_is_right(lesson: str, number: str) -> None:
    solution = getattr(module(f"solutions.lesson_{lesson}"), f"solution_{number}")()
    feedback = getattr(module(f"checks.lesson_{lesson}"), f"grade_{number}")(solution)
    assert feedback.right, feedback.text
    assert feedback.text.startswith("Right: ")


@pytest.mark.parametrize(("lesson", "number"), EXERCISES)
def test_an_empty_answer_is_not_graded(lesson: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(module(f"checks.lesson_{lesson}"), f"exercise_{number}")(None)
    assert capsys.readouterr().out.startswith("Not answered yet: ")
