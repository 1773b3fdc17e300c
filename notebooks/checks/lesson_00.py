"""Lesson 0, circuits: each answer is compiled and evaluated."""

from itertools import product
from typing import Any

import numpy as np
import torch

import explorer
from checks.feedback import Feedback, not_answered, show, something_else
from explorer.errors import CircuitError
from explorer.symbolic import Circuit

CLOSE = 1e-4
"""Tolerance of a value in single precision."""
TYPED = 5e-4
"""Tolerance of a number entered with three digits."""


def exercise_1(answer: Any) -> None:
    """Two fair coins that always agree."""
    show(grade_1(answer))


def exercise_2(answer: Any) -> None:
    """A conditional of the circuit `blackboard`."""
    show(grade_2(answer))


def exercise_3(answer: Any) -> None:
    """The circuit that was not smooth, fixed."""
    show(grade_3(answer))


def grade_1(answer: Any) -> Feedback:
    """Check that a circuit is the distribution of two fair coins that always agree."""
    if answer is None:
        return not_answered("a circuit over variables 0 and 1, as returned by builder.build")
    wrong = _no_distribution(answer)
    if wrong is not None:
        return wrong
    table = _table(answer, 2)
    differ = float(table[0, 1] + table[1, 0])
    if differ > CLOSE:
        hint = "In a single product the coins are independent; a sum of several products makes them dependent."
        return Feedback(False, f"The coins differ with probability {differ:.3g}, but they should always agree. {hint}")
    if abs(float(table[1, 1]) - 0.5) > CLOSE:
        return Feedback(False, f"The coins agree, but are not fair: both show 1 with probability {table[1, 1]:.3g}.")
    return Feedback(
        True, "Right: the sum chooses one of two worlds, and within each of them the coins are independent."
    )


def grade_2(answer: Any) -> Feedback:
    """Check that a number is p(x0 = 1 | x2 = 1) in the circuit `blackboard`."""
    if answer is None:
        return not_answered("a number, the probability that x0 is 1 given that x2 is 1")
    number = _number(answer)
    if number is None:
        return something_else("a number", answer)
    table = _table(explorer.gallery.load_named("blackboard"), 5)
    total, joint = table.sum(), table[1, :, 1].sum()
    evidence, prior = table[:, :, 1].sum(), table[1].sum()
    wrong = (
        (joint, "This is the sum of the values with x0 = 1 and x2 = 1, not divided by anything yet."),
        (joint / total, "This is p(x0 = 1, x2 = 1), the probability of both; but x2 = 1 is given."),
        (prior / total, "This is p(x0 = 1): it does not use that x2 = 1."),
        (joint / prior, "This is p(x2 = 1 | x0 = 1), the other way round."),
        (1 - joint / evidence, "This is the probability that x0 is 0."),
        (evidence / total, "This is p(x2 = 1), the denominator."),
    )
    if abs(number - float(joint / evidence)) <= TYPED:
        return Feedback(True, "Right: a conditional is a ratio of two marginals, so the weights need not sum to one.")
    for value, text in wrong:
        if abs(number - float(value)) <= TYPED * max(1.0, abs(float(value))):
            return Feedback(False, text)
    if not 0 <= number <= 1:
        return Feedback(False, f"{number:.4g} is not a probability; which value must be divided by which?")
    return Feedback(
        False, f"{number:.4g} is not the answer. You need two marginals: one keeps x0 and x2, the other only x2."
    )


def grade_3(answer: Any) -> Feedback:
    """Check that a circuit computes 0.5 f(x0) g(x1) + 0.5 f(x0) h(x1), where h is a fair coin."""
    if answer is None:
        return not_answered("a circuit over variables 0 and 1 that is smooth")
    wrong = _no_distribution(answer)
    if wrong is not None:
        return wrong
    f, g, fair = torch.tensor([0.7, 0.3]), torch.tensor([0.1, 0.9]), torch.tensor([0.5, 0.5])
    wanted = 0.5 * torch.outer(f, g) + 0.5 * torch.outer(f, fair)
    table = _table(answer, 2)
    if float((table.sum(1) - f).abs().max()) > CLOSE:
        heads = f"x0 shows 1 with probability {table[1].sum():.3g}, but both terms have the factor f(x0)"
        return Feedback(False, f"It is smooth, and a distribution, but a different one: {heads}.")
    off = (table - wanted).abs()
    if float(off.max()) > CLOSE:
        a, b = divmod(int(off.argmax()), 2)
        found = f"at x0 = {a}, x1 = {b} the circuit returns {table[a, b]:.4g}"
        advice = "Compute the two terms there by hand, and compare both factors of each, and the weights"
        return Feedback(False, f"It is smooth, and a distribution, but a different one: {found}. {advice}.")
    return Feedback(True, "Right: all inputs of the sum now have the same variables, so one pass is exact.")


def _no_distribution(answer: Any) -> Feedback | None:
    """Return why an answer is not a smooth and decomposable distribution over variables 0 and 1, if so."""
    if not isinstance(answer, Circuit):
        return something_else("a circuit of builder.build(root)", answer)
    if answer.scope != (0, 1):
        return Feedback(False, f"The circuit should read the variables 0 and 1; it reads {list(answer.scope)}.")
    widths = [answer.graph.nodes[output].num_output_units for output in answer.outputs]
    if widths != [1]:
        return Feedback(False, f"The circuit should have one output of one unit; found outputs of {widths} units.")
    for finding in (answer.is_smooth, answer.is_decomposable):
        if not finding:
            name = "smooth" if finding is answer.is_smooth else "decomposable"
            return Feedback(False, f"The circuit is not {name}: {finding.reason}.")
    try:
        table = _table(answer, 2)
    except CircuitError as error:
        return Feedback(False, f"The circuit cannot be evaluated at all four assignments: {error}.")
    if not table.isfinite().all():
        return Feedback(False, f"Not all four values are finite: {table.flatten().tolist()}.")
    if float(table.min()) < 0:
        return Feedback(False, f"One of the four values is {table.min():.3g}; a probability is not negative.")
    if abs(float(table.sum()) - 1) > CLOSE:
        return Feedback(False, f"Over the four assignments the values sum to {table.sum():.4g}, not to 1.")
    return None


def _table(circuit: Circuit, variables: int) -> torch.Tensor:
    """Return the values at all assignments of binary variables, one axis per variable."""
    rows = torch.tensor(list(product((0, 1), repeat=variables)))
    compiled = explorer.TorchCompiler(semiring="sum-product").compile(circuit)
    return compiled(rows).detach().reshape([2] * variables)


def _number(answer: Any) -> float | None:
    """Convert an answer to a float: a number of Python or NumPy, or a tensor or an array with one entry."""
    if isinstance(answer, bool | str):
        return None
    try:
        return float(answer.item() if isinstance(answer, np.ndarray | torch.Tensor) else answer)
    except (ArithmeticError, TypeError, ValueError, RuntimeError):
        return None
