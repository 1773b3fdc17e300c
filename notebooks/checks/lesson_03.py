"""Lesson 3, fusion: the longest chain for five rounds, the width of a bottleneck, a circuit for three rules."""

import warnings
from collections.abc import Callable
from reprlib import repr as short
from typing import Any

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.errors import CircuitError
from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates import CategoricalInput, sum_chain
from explorer.trace import RefusalKind, Trace

FUSE = "optimize/round 1/fuse"
ROUNDS = 5
LONGEST = 200
UNITS = 256
MAX_LAYERS = 30
WANTED = ("SumCollapse", "Tucker", "Candecomp")
BELOW = {"SumCollapse": "another sum", "Tucker": "a Kronecker layer", "Candecomp": "a Hadamard layer"}


# ---------------------------------------------------------------------- how long a chain


def exercise_1(answer: Any) -> None:
    """The longest chain of sums that five rounds collapse into one."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compile that chain and the chain longer by one."""
    if answer is None:
        return not_answered("a number of sums")
    problem = _no_number(answer, "sums", LONGEST)
    if problem is not None:
        return problem
    answer = int(answer)
    left = _sums_left(answer)
    if left > 1:
        return Feedback(
            False,
            f"Of {answer} sums, {left} are left after {ROUNDS} rounds. How many are left after each single round?",
        )
    if _sums_left(answer + 1) == 1:
        return Feedback(False, f"{answer} sums do become one, but so does a longer chain.")
    return Feedback(
        True,
        f"Right: {answer} sums become one in {ROUNDS} rounds, and of {answer + 1} sums {_sums_left(answer + 1)} are "
        f"left, because each round halves the chain and rounds up. {answer} are finished in the last "
        f"allowed round, so there is no warning; with {answer + 1} there is one.",
    )


def _sums_left(length: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rounds are cut short on purpose
        trace = explorer.record(sum_chain(length, num_units=2), preset="handbook", fold=False, max_rounds=ROUNDS)
    return trace.stats(-1)["layers"] - 1


# ---------------------------------------------------------------------- which bottleneck pays


def exercise_2(answer: Any) -> None:
    """The smallest width at which the default preset collapses a bottleneck."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compile the bottleneck of that width, and the one narrower by one."""
    if answer is None:
        return not_answered("the width of the middle, an integer")
    problem = _no_number(answer, "units", 4 * UNITS)
    if problem is not None:
        return problem
    answer = int(answer)
    trace = explorer.record(_bottleneck(answer), fold=False)
    if not _collapsed(trace):
        return Feedback(False, f"With {answer} units in the middle, it stays two sums: {_declined(trace)}.")
    if answer > 1 and _collapsed(explorer.record(_bottleneck(answer - 1), fold=False)):
        return Feedback(False, f"It collapses with {answer} units in the middle, but so it does with fewer.")
    before = explorer.record(_bottleneck(answer - 1), fold=False)
    return Feedback(
        True,
        f"Right: it collapses with {answer} units; with {answer - 1}, {_declined(before)}. By the operations "
        f"of the layers alone, {UNITS // 2} would break even; computing the product of the weights raises this, and "
        "the saved layer and exponentials lower it.",
    )


def _bottleneck(width: int) -> Circuit:
    b = CircuitBuilder()
    x = b.add(CategoricalInput(2)(0, UNITS))
    return b.build(b.sum(b.sum(x, num_units=width), num_units=UNITS))


def _collapsed(trace: Trace) -> bool:
    return any(stats.applied for stats in trace.rule_stats() if stats.rule == "SumCollapse")


def _declined(trace: Trace) -> str:
    return trace.why_not("SumCollapse", 2, FUSE).reason.removeprefix("the rule declined: it does not pay: ")


# ---------------------------------------------------------------------- a circuit for three rules


def exercise_3(answer: Any) -> None:
    """A circuit in which all three rules are applied in the first round."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Compile the circuit and inspect the first fuse step."""
    what = "a circuit that mine returns, as built by b.build(...)"
    if answer is None:
        return not_answered(what)
    circuit = _made(answer)
    if circuit is None:
        return not_answered(what)
    if isinstance(circuit, Feedback):
        return circuit
    if len(circuit.layers) > MAX_LAYERS:
        return Feedback(False, f"The circuit has {len(circuit.layers)} layers; {MAX_LAYERS} are more than enough.")
    try:
        trace = explorer.record(circuit, preset="handbook", fold=False)
    except CircuitError as error:
        return Feedback(False, f"The circuit cannot be compiled: {error}.")
    step = trace.step(FUSE)
    applied = dict.fromkeys(rewrite.rule for rewrite in step.rewrites)
    missing = [rule for rule in WANTED if rule not in applied]
    if not missing:
        return Feedback(
            True,
            f"Right: all three in one round, {trace.stats('compile')['layers']} layers become "
            f"{trace.stats(step)['layers']}, because no layer is in two of the three matches.",
        )
    done = ", ".join(applied) or "nothing"
    return Feedback(False, f"Round 1 applied {done}. " + " ".join(_why_missing(trace, rule) for rule in missing))


def _made(answer: Callable[[], Any] | Any) -> Circuit | Feedback | None:
    """Return the circuit of an answer, or feedback on what is wrong with it; None if there is none yet."""
    if callable(answer):
        try:
            answer = answer()
        except Exception as error:  # noqa: BLE001 - a student's code may raise anything
            return Feedback(False, f"Building the circuit failed: {type(error).__name__}: {error}")
    if answer is None or isinstance(answer, Circuit):
        return answer
    return something_else("a circuit of b.build(...)", answer)


def _why_missing(trace: Trace, rule: str) -> str:
    step = trace.step(FUSE)
    lost = [conflict for conflict in trace.conflicts(step.index) if conflict.loser.rule == rule]
    if lost:
        return f"{rule} matched at {list(lost[0].loser.nodes)}, but lost to {lost[0].winner.rule}: {lost[0].reason}."
    graph = trace.graph_at("compile")
    (misses,) = trace.near_misses(rule, step.index)
    close = [refusal for refusal in misses.refusals if refusal.kind is not RefusalKind.WRONG_TYPE]
    if close:
        return f"{rule} came close: {max(close, key=lambda refusal: refusal.progress).reason}."
    sums = sum(record.type == "TorchSumLayer" for record in graph.nodes.values())
    if not sums:
        return f"{rule} needs a sum layer as its root; the circuit has none."
    return f"{rule} did not match: no sum with one input reads {BELOW[rule]}."


# ---------------------------------------------------------------------- both numbers


def _no_number(answer: Any, of: str, most: int) -> Feedback | None:
    """Return what is wrong if an answer is not an integer from 1 to `most`."""
    if not is_integer(answer):
        return something_else(f"an integer, the number of {of}", answer)
    if not 1 <= int(answer) <= most:
        return Feedback(False, f"Expected a number of {of} from 1 to {most}; got {short(answer)}.")
    return None
