"""The exercises of lesson 5: feedback on wrong answers."""

import json
import re
from typing import Any

import numpy as np
import pytest

from explorer.fold import fold_key
from tests.notebooks.lessons import NOTEBOOKS, module

checks = module("checks.lesson_05")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([[4, 0], [2, 4]], "These are the numbers of the coins"),
        ([[2, 1], [0, 2]], "Rows and columns are swapped"),
        ([[1, 2], [2, 0]], "The rows are in the wrong order"),
        ([[2, 0], [1, 2], [0, 2]], "There are 3 rows"),
        ([[2, 0, 1], [1, 2, 0]], "It should be one column per input"),
        ([[2, 0], [1, 3]], "There is no such slice"),
        ([[2, 0], [1, 1]], "Row 1, for wide-b, is wrong"),
        ([[0, 2], [1, 2]], "Row 0, for wide-a, is wrong"),
        ("2, 0", "Expected a list of rows"),
        ([[2.0, 0.0]], "Expected a list of rows"),
        ([], "There are 0 rows"),
        (np.zeros((2, 2)), "Expected a list of rows"),
    ],
)
def test_feedback_on_a_wrong_table(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


VIEW, COLUMNS = [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 4), (1, 5), (2, 6), (3, 7)]
ODD = [(0, 7), (1, 6), (2, 5), (3, 4)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"view": COLUMNS, "transpose": VIEW, "gather": ODD}, "the pairs for view are read as transpose"),
        ({"view": VIEW, "transpose": COLUMNS, "gather": VIEW}, "the pairs for gather are read as view"),
        ({"view": VIEW, "transpose": COLUMNS, "gather": ODD[:3]}, "gather: expected 4 pairs"),
        ({"view": VIEW, "transpose": COLUMNS, "gather": [(0, 1)] * 4}, "gather: each coin must be read once"),
        ({"view": VIEW, "transpose": None, "gather": ODD}, "transpose: expected 4 pairs"),
        ({"view": VIEW}, "with the keys view, transpose, gather"),
        (VIEW, "with the keys view, transpose, gather"),
        (np.zeros((4, 2)), "with the keys view, transpose, gather"),
        ({1: 2, "view": VIEW, "gather": ODD}, "with the keys view, transpose, gather"),
    ],
)
def test_feedback_on_wrong_pairs(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


def test_unfilled_templates_are_not_graded() -> None:
    assert checks.grade_2({"view": None, "transpose": None, "gather": None}).text.startswith("Not answered yet")
    assert checks.grade_3(lambda graph: None).text.startswith("Not answered yet")


def _by(key: Any) -> Any:
    """A function that groups layers by key only."""

    def groups(graph: Any) -> list[list[int]]:
        found: dict[Any, list[int]] = {}
        for node, layer in graph.nodes.items():
            found.setdefault(key(graph, node, layer), []).append(node)
        return list(found.values())

    return groups


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_by(lambda graph, node, layer: fold_key(layer)), "which do not fold: equal keys, but level"),
        (_by(lambda graph, node, layer: graph.levels[node]), "which do not fold:"),
        (_by(lambda graph, node, layer: (graph.levels[node], type(layer))), "which do not fold:"),
        (_by(lambda graph, node, layer: node), "are in different groups"),
        (lambda graph: [[0, 1], [1]], "layer 1 is in more than one group"),
        (lambda graph: [[0], [0]], "layer 0 is in more than one group"),
        (lambda graph: [[0, 1, 2, 3, 4]], "layer 5 is in no group"),
        (lambda graph: [[0, 99]], "there is no layer 99"),
        (lambda graph: graph.layers, "It fails for blackboard: AttributeError"),
        (lambda graph: {0: 1}, "Expected a list of groups"),
        ([[0]], "Expected a function of a graph"),
    ],
)
def test_feedback_on_wrong_groups(answer: Any, expected: str) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize("trace", ["by_level", "mixed", "waiting"])
def test_what_folds_together_is_asked_before_it_is_shown(trace: str) -> None:
    cells = json.loads((NOTEBOOKS / "05_folding.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "".join(line for cell in cells if cell["cell_type"] == "code" for line in (*cell["source"], "\n"))
    before, _, after = code.partition(f'explorer.ask({trace}, "fold-with"')
    tells = rf"(print|show)\({trace}\b|\b{trace}\.(\w*fold\w*|compiled)"
    assert after
    assert not re.search(tells, before)
