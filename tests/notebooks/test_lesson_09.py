"""The exercises of lesson 9: feedback on wrong answers, and that the solutions are what the engine does."""

from itertools import count
from typing import Any

import pytest

from explorer.levels import StatePass
from explorer.program import parse_program, plan_memory
from explorer.program.editing import Edit
from explorer.program.passes import passes
from tests.notebooks.lessons import module

checks = module("checks.lesson_09")
solutions = module("solutions.lesson_09")


def test_the_engine_writes_the_same_instructions_over_their_inputs() -> None:
    share = passes["ShareBuffers"]
    assert isinstance(share, StatePass)
    edits = share.rule(parse_program(checks.PROGRAM), count(100))
    assert {edit.matched[0] for edit in edits if isinstance(edit, Edit)} == solutions.solution_2() == checks.IN_PLACE


def test_the_engine_finds_a_plan_as_small() -> None:
    plan = plan_memory(parse_program(checks.FIVE_BUFFERS))
    assert plan.size_bytes == plan.lower_bound_bytes == 1280


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        (1, [], "Expected a dictionary"),
        (1, {9: (1, 2)}, "9 is not the number of a buffer"),
        (1, {2: (10, 15)}, "Buffer 3 is missing"),
        (1, solutions.solution_1() | {4: (12, 14)}, "Instruction 14 is not the last one that uses buffer 4"),
        (1, solutions.solution_1() | {4: 12}, "Expected two numbers"),
        (2, {10, 12}, "Not instruction 10: its only input belongs to the caller"),
        (2, {12}, "one more instruction"),
        (2, {14}, "one input is used later"),
        (2, {99}, "is no instruction that computes"),
        (2, {"12"}, "Expected numbers"),
        (3, {2: 0}, "Expected a place for each"),
        (3, {2: 0, 3: 256, 4: 768, 5: 256, 6: 0}, "shares some of them"),
        (3, {2: 0, 3: 256, 4: 768, 5: 256, 6: 1024}, "It is a plan, of 1,792 bytes"),
        (3, {2: 1, 3: 256, 4: 768, 5: 1024, 6: 0}, "not at a multiple of 64"),
        (3, {2: "0", 3: 256, 4: 768, 5: 1024, 6: 0}, "A place is a number of bytes"),
    ],
)
def test_a_wrong_answer_is_told_why(number: int, answer: Any, words: str) -> None:
    feedback = getattr(checks, f"grade_{number}")(answer)
    assert not feedback.right
    assert words in feedback.text
