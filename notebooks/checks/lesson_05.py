"""Lesson 5, folding: an index table, orders for a given kind of read, and the grouping by level and key."""

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any, TypeGuard

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates import CategoricalInput
from explorer.trace import Trace

COINS = 8
KINDS = ("view", "transpose", "gather")
NAMES = ("blackboard", "near-misses", "levels")


# ---------------------------------------------------------------------- an index table


def exercise_1(answer: Any) -> None:
    """The slices that the wide products read."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compile the circuit and compare with its index table."""
    if answer is None:
        return not_answered("the rows of the table, each a list of slice numbers")
    if not _is_table(answer):
        return Feedback(False, f"Expected a list of rows, each a list of integers; got {short(answer)}.")
    circuit = _two_widths()
    trace = explorer.record(circuit, optimize=False)
    group = next(group for group in trace.fold_groups(1) if group.key["num_input_units"] == "4")
    wanted = [[piece for _, piece in row] for row in group.index]
    given = [list(row) for row in answer]
    if given == wanted:
        members = ", ".join(circuit.names[member] for member in group.members)
        return Feedback(True, f"Right: one row each for {members}, with slices counted among the wide coins only.")
    rows, columns = len(wanted), len(wanted[0])
    if len(given) != rows:
        return Feedback(
            False,
            f"There are {len(given)} rows. It should be one row per product of the group: which products share a key?",
        )
    if any(len(row) != columns for row in given):
        return Feedback(False, "It should be one column per input: the arity says how many inputs each product has.")
    if given == [list(trace.graph_at("compile").inputs[member]) for member in group.members]:
        return Feedback(False, "These are the numbers of the coins. A slice is the position within the folded layer.")
    if given == [list(column) for column in zip(*wanted, strict=True)]:
        return Feedback(False, "Rows and columns are swapped: it should be one row per product, one column per input.")
    if given == wanted[::-1]:
        return Feedback(False, "The rows are in the wrong order: slices follow the numbers of the layers.")
    largest = len(trace.fold_groups(0)[0].members) - 1
    if any(not 0 <= piece <= largest for row in given for piece in row):
        return Feedback(
            False, "There is no such slice. Which coins are in the folded layer that the wide products read?"
        )
    odd = next(i for i in range(rows) if given[i] != wanted[i])
    name = circuit.names[group.members[odd]]
    return Feedback(False, f"Row {odd}, for {name}, is wrong: which coins does it read, and in which order?")


def _two_widths() -> Circuit:
    b = CircuitBuilder()
    coins = [b.add(CategoricalInput(2)(v, 2 if v % 2 else 4), name=f"x{v}") for v in range(6)]
    wide_a = b.hadamard(coins[4], coins[0], name="wide-a")
    narrow = b.hadamard(coins[1], coins[5], name="narrow")
    wide_b = b.hadamard(coins[2], coins[4], name="wide-b")
    return b.build(*(b.sum(product, num_units=1) for product in (wide_a, narrow, wide_b)))


def _is_table(given: Any) -> TypeGuard[Sequence[Sequence[int]]]:
    return isinstance(given, list | tuple) and all(
        isinstance(row, list | tuple) and all(is_integer(piece) for piece in row) for row in given
    )


# ---------------------------------------------------------------------- orders


def exercise_2(answer: Any) -> None:
    """Pairs of coins whose products are read in a given way."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compile the products of each answer and check how they read."""
    what = f"four pairs each for {', '.join(KINDS[:-1])} and {KINDS[-1]}"
    if answer is None:
        return not_answered(what)
    if not isinstance(answer, dict) or set(answer) != set(KINDS):
        return Feedback(False, f"Expected a dictionary with the keys {', '.join(KINDS)}; got {short(answer)}.")
    if all(given is None for given in answer.values()):
        return not_answered(what)
    for kind in KINDS:
        problem = _no_pairs(answer[kind])
        if problem:
            return Feedback(False, f"{kind}: {problem}")
    found = {kind: _read_of(answer[kind]) for kind in KINDS}
    wrong = {kind: read for kind, read in found.items() if read != kind}
    if wrong:
        text = "; ".join(f"the pairs for {kind} are read as {read}" for kind, read in wrong.items())
        return Feedback(
            False,
            f"Not yet: {text}. Write the slices as a table, and go through it row by row, and column by column.",
        )
    return Feedback(
        True, "Right: row by row it is a view, column by column a transpose, and any other order is copied."
    )


def _no_pairs(given: Any) -> str:
    """Return what is wrong with pairs of coins; empty if nothing is."""
    form = f"expected {COINS // 2} pairs of numbers from 0 to {COINS - 1}"
    if not _is_table(given) or any(len(pair) != 2 for pair in given) or len(given) != COINS // 2:
        return f"{form}; got {short(given)}."
    coins = [coin for pair in given for coin in pair]
    if sorted(coins) != list(range(COINS)):
        return f"each coin must be read once; got {list(given)!r}."
    return ""


def _read_of(pairs: Sequence[Sequence[int]]) -> str | None:
    b = CircuitBuilder()
    x = [b.add(CategoricalInput(2)(v, 4)) for v in range(COINS)]
    trace = explorer.record(b.build(*(b.hadamard(x[i], x[j]) for i, j in pairs)), optimize=False)
    return trace.fold_groups(1)[0].read


# ---------------------------------------------------------------------- the grouping


def exercise_3(answer: Any) -> None:
    """A function that groups the layers of a graph as folding does."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Run it on three circuits and compare with the compiler's groups."""
    what = "a list of groups that my_groups returns, each a list of layer numbers"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of a graph", answer)
    for name in NAMES:
        trace = explorer.record(explorer.gallery.load_named(name), optimize=False, levels="longest-distance")
        try:
            given = answer(trace.circuit_at("compile").graph)
        except Exception as error:  # noqa: BLE001 - a student's code may raise anything
            return Feedback(False, f"It fails for {name}: {type(error).__name__}: {error}")
        if given is None:
            return not_answered(what)
        if not _is_table(given):
            return Feedback(False, f"Expected a list of groups, each a list of layer numbers; got {short(given)}.")
        problem = _other_groups(trace, given)
        if problem:
            return Feedback(False, f"In {name}: {problem}")
    return Feedback(
        True, f"Right: the same groups as the compiler's in {', '.join(NAMES)}, because level and key alone decide."
    )


def _other_groups(trace: Trace, given: Sequence[Sequence[int]]) -> str:
    """Return how groups differ from the compiler's; empty if they do not."""
    groups = trace.fold_groups()
    nodes = [member for group in groups for member in group.members]
    flat = [node for group in given for node in group]
    if twice := [node for node in flat if flat.count(node) > 1]:
        return f"layer {twice[0]} is in more than one group."
    if unknown := [node for node in flat if node not in nodes]:
        return f"there is no layer {unknown[0]}."
    if missing := [node for node in nodes if node not in flat]:
        return f"layer {missing[0]} is in no group; a layer that is not folded is a group of one."
    for group in given:
        for other in group[1:]:
            together = trace.why_not_folded(group[0], other)
            if not together:
                return f"your group has layers {group[0]} and {other}, which do not fold: {together.why}."
    place = {node: i for i, group in enumerate(given) for node in group}
    for group in groups:
        for other in group.members[1:]:
            if place[other] != place[group.members[0]]:
                return (
                    f"layers {group.members[0]} and {other} are in different groups, but have the same level and key."
                )
    return ""
