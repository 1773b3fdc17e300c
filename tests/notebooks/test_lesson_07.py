"""The exercises of lesson 7: feedback on wrong answers."""

from typing import Any

import pytest

from explorer.tensor import NodeFinder
from explorer.tensor.ir.scalars import div, mul
from explorer.tensor.rewriting import AddDestroyHandler, MergeRewriter, PatternSub, Rewriter, SequenceDB, in2out
from explorer.tensor.rules.fused import WriteOverInput
from tests.notebooks.lessons import module

checks = module("checks.lesson_07")


class NotYet(Rewriter):
    """The unfilled template of the lesson."""

    def add_requirements(self, graph: Any) -> None:
        graph.attach_feature(NodeFinder())

    def apply(self, graph: Any) -> None:
        return None


@pytest.mark.parametrize(
    ("number", "answer"), [(1, None), (1, NotYet), (2, None), (2, []), (3, None), (3, SequenceDB("yours"))]
)
def test_an_empty_answer_is_not_graded(number: int, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(checks, f"exercise_{number}")(answer)
    assert capsys.readouterr().out.startswith("Not answered yet: ")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("answer", [3, "x", (None,), {}, object(), int, len, div, Rewriter, PatternSub, SequenceDB])
def test_feedback_on_answers_of_a_wrong_type(number: int, answer: Any) -> None:
    feedback = getattr(checks, f"grade_{number}")(answer)
    assert not feedback.right
    assert "xpected" in feedback.text or "Creating the rewriter failed" in feedback.text


# ---------------------------------------------------------------------- looking up divisions


class Walking(NotYet):
    """Walks over the graph, as the lesson's Simplify does."""

    def apply(self, graph: Any) -> None:
        graph.toposort()


class OneSide(NotYet):
    """Recognizes the divisor only as the second factor."""

    def apply(self, graph: Any) -> None:
        for node in graph.get_nodes(div):
            top, bottom = node.inputs
            if top.owner and top.owner.op == mul and bottom is top.owner.inputs[1]:
                graph.replace_validate(node.outputs[0], top.owner.inputs[0])


class WrongFactor(NotYet):
    """Keeps the wrong factor."""

    def apply(self, graph: Any) -> None:
        for node in graph.get_nodes(div):
            top, bottom = node.inputs
            if top.owner and top.owner.op == mul and bottom in top.owner.inputs:
                graph.replace_validate(node.outputs[0], bottom)


class NoOwner(NotYet):
    """Asks an input of the graph for its operator."""

    def apply(self, graph: Any) -> None:
        for node in graph.get_nodes(div):
            assert node.inputs[0].owner.op is not None


class Unprepared(Rewriter):
    """Attaches nothing."""

    def apply(self, graph: Any) -> None:
        graph.get_nodes(div)


class Detached(Rewriter):
    """Finds divisions differently."""

    def apply(self, graph: Any) -> None:
        for _ in graph.nodes:
            pass


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Walking, "calls graph.toposort()"),
        (OneSide, "[add(z, mul(div(mul(y, x), y), div(z, x)))] was left unchanged"),
        (WrongFactor, "The value changed, in "),
        (NoOwner, "AttributeError"),
        (Unprepared, "a FunctionGraph has no 'get_nodes'"),
        (Detached, "The graph has no NodeFinder"),
        (3, "something of type int"),
        (dict, "something of type type"),
    ],
)
def test_feedback_on_a_wrong_rewriter(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


# ---------------------------------------------------------------------- at most one division

TWICE = PatternSub((div, (div, "a", "b"), "c"), (div, "a", (mul, "b", "c")))
BELOW = PatternSub((div, "a", (div, "b", "c")), (div, (mul, "a", "c"), "b"))
BACK = PatternSub((div, "a", (mul, "b", "c")), (div, (div, "a", "b"), "c"))
WRONG = PatternSub((div, "a", (div, "b", "c")), (div, "a", (mul, "b", "c")))
LEFT = PatternSub((mul, (div, "a", "b"), "c"), (div, (mul, "a", "c"), "b"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (TWICE, "which has 2 divisions"),
        ([TWICE, BELOW], "which has 2 divisions"),
        ([TWICE, BELOW, LEFT], "which has 2 divisions"),
        ([TWICE, BACK], "never end"),
        ([TWICE, WRONG], "which is not equal"),
        ([div, mul], "Expected a list of PatternSub"),
        ("div", "Expected a list of PatternSub"),
    ],
)
def test_feedback_on_patterns_that_miss_the_form(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


# ---------------------------------------------------------------------- a database

EITHER = PatternSub((div, (mul, "x", "y"), "y"), "x", name="either", commutative=True)


def _database(merge: tuple[Any, ...], simple: tuple[Any, ...], mark: tuple[Any, ...], over: tuple[Any, ...]) -> Any:
    """A database with the given positions and tags; an empty tuple omits an entry."""
    made = SequenceDB("yours")
    rewriters = (MergeRewriter(), in2out(EITHER), AddDestroyHandler(), in2out(WriteOverInput()))
    names = ("merge1", "either", "add_destroy_handler", "overwrite")
    for name, rewriter, given in zip(names, rewriters, (merge, simple, mark, over), strict=True):
        if given:
            made.register(name, rewriter, *given)
    return made


MERGE, SIMPLE = (0, "fast_run", "fast_compile"), (1, "fast_run")
HANDLER, OVER = (49.5, "fast_run", "inplace"), (50, "fast_run", "inplace")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((MERGE, SIMPLE, (49.5, "fast_run"), OVER), "tag it like the rewriter that overwrites"),
        (((0, "other"), (1, "other"), (), ()), "returns no rewriter"),
        (((), SIMPLE, HANDLER, OVER), "are the two sums merged"),
        (((2, "fast_run", "fast_compile"), SIMPLE, HANDLER, OVER), "What must come after what?"),
        ((MERGE, (1, "fast_run", "fast_compile"), HANDLER, OVER), "more than merging"),
        ((MERGE, SIMPLE, HANDLER, ()), "nothing is overwritten"),
        ((MERGE, SIMPLE, (), OVER), "no entry before it attaches a destroy handler"),
        (
            (MERGE, SIMPLE, (60, "fast_run", "inplace"), OVER),
            "comes before the entry that attaches the destroy handler",
        ),
        ((MERGE, SIMPLE, HANDLER, (50, "fast_run")), "Which tag marks that?"),
        ((MERGE, SIMPLE, HANDLER, (50, "fast_run", "fast_compile", "inplace")), "more than merging"),
        (((0, "fast_compile"), SIMPLE, HANDLER, OVER), "are the two sums merged"),
    ],
)
def test_feedback_on_a_wrong_database_names_the_query(parts: Any, expected: str) -> None:
    feedback = checks.grade_3(_database(*parts))
    assert not feedback.right
    assert expected in feedback.text


def test_a_second_merge_that_comes_late_does_not_help() -> None:
    made = _database((), SIMPLE, HANDLER, OVER)
    made.register("merge3", MergeRewriter(), 100, "fast_run", "fast_compile")
    feedback = checks.grade_3(made)
    assert not feedback.right
    assert "early enough" in feedback.text


def test_feedback_on_a_list_instead_of_a_database() -> None:
    assert "something of type list" in checks.grade_3([1]).text
