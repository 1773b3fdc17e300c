"""Lesson 7, rewriting: a rewriter that looks up divisions, patterns towards one form, a database with tags."""

import sys
import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import torch

from checks.feedback import Feedback, not_answered, show, something_else
from explorer.errors import LimitWarning
from explorer.rewrite import Query
from explorer.tensor import FunctionGraph, NodeFinder, Variable, call, doubles, to_module
from explorer.tensor.ir.scalars import add, div, mul
from explorer.tensor.rewriting import AddDestroyHandler, EquilibriumRewriter, PatternSub, Rewriter, SequenceDB

aten = torch.ops.aten
NUMBERS = (2.0, 3.0, 5.0, 7.0)
SEEDS = 60
MARK = 49.5


def _named() -> tuple[Variable, ...]:
    return doubles("x y z u")


def _graph(inputs: Sequence[Variable], output: Variable) -> FunctionGraph:
    return FunctionGraph(list(inputs), [output])


def _value(graph: FunctionGraph) -> float:
    given = [torch.tensor(number, dtype=torch.float64) for number in NUMBERS[: len(graph.inputs)]]
    return float(to_module(graph)(*given))


# ---------------------------------------------------------------------- looking up divisions


class WalkedOverError(Exception):
    """The graph was traversed, which the exercise forbids."""


class Unwalked(FunctionGraph):
    """A graph that only the engine may traverse, not a student's code."""

    def toposort(self) -> Any:
        """Return the applications in order. Raises: WalkedOverError if the caller is not part of the engine."""
        if not str(sys._getframe(1).f_globals.get("__name__", "")).startswith("explorer."):
            raise WalkedOverError
        return super().toposort()


def exercise_1(answer: Any) -> None:
    """The simplification with a NodeFinder."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Run the rewriter on four graphs that it must not traverse."""
    if answer is None:
        return not_answered("a class SimplifyFound whose apply does the simplification")
    made = _rewriter(answer)
    if isinstance(made, Feedback):
        return made
    cases = _divisions()
    outcomes = [_tried(made, graph) for graph, _ in cases]
    problem = next((found for found in outcomes if isinstance(found, Feedback)), None)
    if problem is not None:
        return problem
    if outcomes == [before for _, (before, _) in cases]:
        return not_answered("the body of apply; it leaves every graph unchanged")
    for outcome, (_, (before, wanted)) in zip(outcomes, cases, strict=True):
        if outcome != wanted:
            what = "was left unchanged" if outcome == before else f"became {outcome}"
            hint = " It contains no product divided by one of its factors." if before == wanted else ""
            return Feedback(False, f"{before} {what}.{hint}")
    return Feedback(
        True,
        "Right: it simplifies the same as Simplify without visiting any other operator, because the NodeFinder is "
        "notified of every operator that is added or removed.",
    )


def _rewriter(answer: Any) -> Rewriter | Feedback:
    try:
        made = answer() if isinstance(answer, type) and issubclass(answer, Rewriter) else answer
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"Creating the rewriter failed: {type(error).__name__}: {error}")
    if isinstance(made, Rewriter):
        return made
    return something_else("a subclass of Rewriter", answer)


def _divisions() -> list[tuple[FunctionGraph, tuple[str, str]]]:
    """Return graphs with their text before and the expected text after."""
    x, y, z, _ = _named()
    both = add(div(mul(x, y), x), div(mul(x, y), y))
    texts: list[tuple[Variable, str]] = [
        (add(z, mul(div(mul(y, x), y), div(z, x))), "[add(z, mul(x, div(z, x)))]"),
        (both, "[add(y, x)]"),
        (div(mul(x, y), z), "[div(mul(x, y), z)]"),
        (div(add(x, y), y), "[div(add(x, y), y)]"),
    ]
    found: list[tuple[FunctionGraph, tuple[str, str]]] = []
    for output, wanted in texts:
        graph = Unwalked([x, y, z], [output])
        found.append((graph, (repr(graph), wanted)))
    return found


def _tried(made: Rewriter, graph: FunctionGraph) -> str | Feedback:
    """Return the rewritten graph as text, or feedback on what is wrong."""
    before = _value(graph)
    try:
        made.rewrite(graph)
    except WalkedOverError:
        return Feedback(False, "It calls graph.toposort(), which visits everything; use graph.get_nodes(div).")
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"It fails on {graph}: {type(error).__name__}: {error}")
    if graph.feature(NodeFinder) is None:
        return Feedback(False, "The graph has no NodeFinder; attach one in add_requirements.")
    after = _value(graph)
    if not abs(before - after) <= 1e-9 * abs(before):
        return Feedback(False, f"The value changed, in {graph}.")
    return repr(graph)


# ---------------------------------------------------------------------- at most one division


def exercise_2(answer: Any) -> None:
    """Patterns that leave at most one division."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Apply the patterns to the fixpoint, on expressions of products and quotients."""
    if answer is None:
        return not_answered("a list of PatternSub")
    if isinstance(answer, PatternSub):
        answer = [answer]
    if not isinstance(answer, list | tuple) or not all(isinstance(one, PatternSub) for one in answer):
        return Feedback(False, f"Expected a list of PatternSub; got {answer!r}.")
    if not answer:
        return not_answered("a list of PatternSub")
    for inputs, output in _quotients():
        problem = _brought(list(answer), _graph(inputs, output))
        if problem is not None:
            return problem
    return Feedback(
        True,
        f"Right: all {SEEDS} expressions end with at most one division, because each pattern moves a division towards "
        "the output or merges two of them, and none moves one back.",
    )


def _quotients() -> list[tuple[tuple[Variable, ...], Variable]]:
    """Return simple expressions, followed by random ones."""
    named = _named()
    x, y, z, u = named
    simple = [div(div(x, y), z), div(x, div(y, z)), mul(div(x, y), z), mul(x, div(y, z)), mul(div(x, y), div(z, u))]
    return [(named, output) for output in [*simple, *(_random(Random(seed), named, 4) for seed in range(SEEDS - 5))]]


def _random(random: Random, named: Sequence[Variable], depth: int) -> Variable:
    if depth == 0 or random.random() < 0.15:
        return random.choice(named)
    operator = random.choice((mul, div))
    return operator(_random(random, named, depth - 1), _random(random, named, depth - 1))


def _brought(patterns: list[PatternSub], graph: FunctionGraph) -> Feedback | None:
    """Return what is wrong with the result of the patterns on a graph, if anything."""
    before, value = repr(graph), _value(graph)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LimitWarning)
            EquilibriumRewriter(patterns).rewrite(graph)
    except LimitWarning:
        return Feedback(False, f"On {before} the patterns never end: two of them undo each other's work.")
    except Exception as error:  # noqa: BLE001 - a student's patterns may raise anything
        return Feedback(False, f"On {before} they failed: {type(error).__name__}: {error}")
    found = _value(graph)
    if not abs(found - value) <= 1e-9 * abs(value):
        return Feedback(False, f"{before} became {graph}, which is not equal: it has a different value.")
    divisions = sum(node.op == div for node in graph.nodes)
    if divisions > 1:
        return Feedback(
            False, f"{before} became {graph}, which has {divisions} divisions. Which pattern would match there?"
        )
    return None


# ---------------------------------------------------------------------- a database


def exercise_3(answer: Any) -> None:
    """A database with three queries."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Run the results of the queries on two expressions."""
    if answer is None or (isinstance(answer, SequenceDB) and not list(answer.entries())):
        return not_answered("a SequenceDB with rewriters registered")
    if not isinstance(answer, SequenceDB):
        return something_else("a SequenceDB", answer)
    fast_run, fast_compile = Query(include=["fast_run"]), Query(include=["fast_compile"])
    problems = (
        lambda: _wrong_result(answer, fast_run, "fast_run", "[x]"),
        lambda: _wrong_result(answer, fast_compile, "fast_compile", "[div(mul(*1 -> add(y, z), x), *1)]"),
        lambda: _looked_after(answer),
        lambda: _overwrites(answer, fast_run, True),
        lambda: _overwrites(answer, fast_run.excluding("inplace"), False),
        lambda: _overwrites(answer, fast_compile, False),
    )
    try:
        problem = next((found for check in problems if (found := check()) is not None), None)
    except Exception as error:  # noqa: BLE001 - a student's database may contain anything
        return Feedback(False, f"Running a query failed: {type(error).__name__}: {error}")
    if problem is not None:
        return problem
    return Feedback(
        True,
        "Right: one database serves three queries, because tags select what is applied and positions define the "
        "order, with overwriting after the marker.",
    )


def _looked_after(database: SequenceDB) -> Feedback | None:
    marks = [entry for entry in database.entries() if isinstance(entry.item, AddDestroyHandler)]
    if any("inplace" not in entry.tags for entry in marks):
        return Feedback(
            False, "AddDestroyHandler() is only needed for overwriting: tag it like the rewriter that overwrites."
        )
    first = min((entry.position for entry in marks), default=None)
    for entry in database.entries():
        if "inplace" not in entry.tags or entry in marks:
            continue
        if first is None:
            return Feedback(False, f"{entry.item.name} overwrites, but no entry before it attaches a destroy handler.")
        if entry.position <= first:
            return Feedback(
                False, f"{entry.item.name} overwrites, but comes before the entry that attaches the destroy handler."
            )
    return None


def _rewritten(database: SequenceDB, query: Query, graph: FunctionGraph) -> FunctionGraph:
    database.query(query).rewrite(graph)
    return graph


def _wrong_result(database: SequenceDB, query: Query, name: str, wanted: str) -> Feedback | None:
    x, y, z, _ = _named()
    graph = _graph((x, y, z), div(mul(add(y, z), x), add(y, z)))
    before = repr(graph)
    found = repr(_rewritten(database, query, graph))
    if found == wanted:
        return None
    if not database.query(query).rule_names():
        return Feedback(False, f"The query {name} returns no rewriter; which entries have this tag?")
    if "*1" not in found and found != "[x]":
        return Feedback(
            False, f"The query {name} rewrites {before} to {found}: are the two sums merged, and early enough?"
        )
    if name == "fast_run":
        return Feedback(
            False,
            f"The query fast_run rewrites {before} to {found}: there is still a division. What must come after what?",
        )
    return Feedback(False, f"The query {name} does more than merging: {before} became {found}.")


def _overwrites(database: SequenceDB, query: Query, wanted: bool) -> Feedback | None:
    """Return what is wrong with the overwriting of inputs in max(e^x, 0) + e^x, if anything."""
    (x,) = doubles("x")
    graph = _graph((x,), add(call(aten.relu.default, _exp(x)), _exp(x)))
    value = _value(graph)
    found = _rewritten(database, query, graph)
    overwriting = [node.op.name for node in found.nodes if node.op.name.endswith("_")]
    if wanted and not overwriting:
        return Feedback(False, f"With {query}, nothing is overwritten in {found}.")
    if not wanted and overwriting:
        return Feedback(False, f"With {query}, {overwriting[0]} overwrites its input: {found}. Which tag marks that?")
    if wanted and sum(node.op.name == "exp" for node in found.nodes) > 1:
        return Feedback(False, f"With {query}, two equal exponentials are left: {found}. What must come before what?")
    if _value(found) != value:
        return Feedback(False, f"With {query}, the value changed, in {found}.")
    return None


def _exp(variable: Variable) -> Variable:
    return call(aten.exp.default, variable)
