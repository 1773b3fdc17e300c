"""The exercises of all lessons: each solution is right, and an empty answer is not graded."""

from collections.abc import Iterator

import pytest

from tests.notebooks.lessons import COMPILED, IGNORED, NUMBERS, module, needs_compiler

PREFIX = "grade_"
EXERCISES = [
    (lesson, name.removeprefix(PREFIX))
    for lesson in NUMBERS
    for name in sorted(vars(module(f"checks.lesson_{lesson}")))
    if name.startswith(PREFIX)
]


def test_every_lesson_has_exercises() -> None:
    assert sorted({lesson for lesson, _ in EXERCISES}) == NUMBERS


@pytest.fixture
def compiler(lesson: str) -> Iterator[None]:
    """A C++ compiler for the lesson that needs one, without a pool of processes that would outlive the test."""
    if lesson != COMPILED:
        yield
        return
    needs_compiler()
    from torch._inductor import config

    with config.patch(compile_threads=1):
        yield


@pytest.mark.filterwarnings(*IGNORED)
@pytest.mark.parametrize(("lesson", "number"), EXERCISES)
def test_the_solution_is_right(lesson: str, number: str, compiler: None) -> None:
    solution = getattr(module(f"solutions.lesson_{lesson}"), f"solution_{number}")()
    feedback = getattr(module(f"checks.lesson_{lesson}"), f"grade_{number}")(solution)
    assert feedback.right, feedback.text
    assert feedback.text.startswith("Right: ")


@pytest.mark.parametrize(("lesson", "number"), EXERCISES)
def test_an_empty_answer_is_not_graded(lesson: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(module(f"checks.lesson_{lesson}"), f"exercise_{number}")(None)
    assert capsys.readouterr().out.startswith("Not answered yet: ")
