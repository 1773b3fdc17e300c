"""Lesson 4, shattering: the two-step product, the smallest size at which it pays off, and the best and worst shapes."""

from collections.abc import Callable
from math import prod
from reprlib import repr as short
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.symbolic import Circuit, CircuitBuilder, KroneckerParameter, Parameterization
from explorer.templates import CategoricalInput
from explorer.trace import Trace

SHATTER = "optimize/round 1/shatter"
SHAPES = ((7, 8), (9, 6))
BATCH = 5
LARGEST = 40
SIDE = 256
KINDS = ("fewest", "more")


# ---------------------------------------------------------------------- the two-step product


def exercise_1(answer: Any) -> None:
    """A function that multiplies by a Kronecker product without building it."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Run it on factors that are not square, and track the sizes of the tensors that it creates."""
    what = "a tensor (batch, P * R) that two_steps returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of A, B and x", answer)
    generator = torch.Generator().manual_seed(4)
    (P, J), (R, Q) = SHAPES
    A, B, x = (torch.rand(shape, generator=generator) for shape in ((P, J), (R, Q), (BATCH, J * Q)))
    watch = _Sizes()
    try:
        with watch:
            found = answer(A.clone(), B.clone(), x.clone())
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(
            False, f"It fails for A {(P, J)}, B {(R, Q)}, x {(BATCH, J * Q)}: {type(error).__name__}: {error}"
        )
    if found is None:
        return not_answered(what)
    if not isinstance(found, Tensor):
        return something_else("a tensor", found)
    if tuple(found.shape) != (BATCH, P * R):
        return Feedback(False, f"For {BATCH} rows the shape must be {(BATCH, P * R)}; got {tuple(found.shape)}.")
    if not found.is_floating_point():
        return Feedback(False, f"Expected floating-point numbers like those of x; got {found.dtype}.")
    found, wanted = found.to(x.dtype), x @ torch.kron(A, B).T
    if not torch.allclose(found, wanted, rtol=1e-4):
        ordered = found.reshape(BATCH, R, P).transpose(1, 2).reshape(BATCH, P * R)
        if torch.allclose(ordered, wanted, rtol=1e-4):
            return Feedback(
                False, "The numbers are right, but in the wrong order: p must be the slow index of the result."
            )
        return Feedback(
            False, "The values differ from those of (A kron B) x. Which index of x is the slow one, j or q?"
        )
    if watch.largest >= P * R * J * Q:
        return Feedback(False, f"The values are right, but a tensor of {watch.largest:,} numbers was built on the way.")
    return Feedback(
        True, f"Right: no tensor on the way had more than {watch.largest:,} of the {P * R * J * Q:,} numbers."
    )


class _Sizes(TorchDispatchMode):
    """Track the size of the largest tensor that is created."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.largest = max(self.largest, result.numel())
        return result


# ---------------------------------------------------------------------- from which size on


def exercise_2(answer: Any) -> None:
    """The smallest size of the factors that the default preset shatters."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compile the sum of that size, and the one smaller by one."""
    if answer is None:
        return not_answered("the size p, an integer")
    if not is_integer(answer):
        return something_else("an integer", answer)
    if not 1 <= int(answer) <= LARGEST:
        return Feedback(False, f"Expected a size from 1 to {LARGEST}; got {short(answer)}.")
    answer = int(answer)
    applied, reason = _decision(answer)
    if not applied:
        return Feedback(False, f"At p = {answer} the sum is not shattered: {reason}. The factors must be larger.")
    if answer > 1:
        applied, reason = _decision(answer - 1)
        if applied:
            return Feedback(False, f"At p = {answer} it is shattered, but so it is for smaller factors.")
    return Feedback(
        True,
        f"Right: one below, {reason}, because one more layer and twice the exponentials outweigh the saved "
        "multiplications.",
    )


def _decision(size: int) -> tuple[bool, str]:
    trace = explorer.record(_one_sum((size, size), (size, size)), fold=False)
    found = trace.why_not("DenseKronecker", 1, SHATTER)
    return found.applied, found.reason.removeprefix("the rule declined: it does not pay: ")


def _one_sum(a: tuple[int, int], b: tuple[int, int]) -> Circuit:
    builder, matrix = CircuitBuilder(), Parameterization("softmax")
    x = builder.add(CategoricalInput(2)(0, a[1] * b[1]))
    return builder.build(builder.sum(x, num_units=a[0] * b[0], weight=KroneckerParameter((matrix(a), matrix(b)))))


# ---------------------------------------------------------------------- shapes


def exercise_3(answer: Any) -> None:
    """Shapes of two factors for which shattering leaves the fewest operations, and for which it needs more."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Compile both and compare their operations before and after the step."""
    what = f"shapes ((P, J), (R, Q)) for {' and for '.join(KINDS)}"
    if answer is None:
        return not_answered(what)
    if not isinstance(answer, dict) or set(answer) != set(KINDS):
        return Feedback(False, f"Expected a dictionary with the keys {' and '.join(KINDS)}; got {short(answer)}.")
    if all(given is None for given in answer.values()):
        return not_answered(what)
    for kind in KINDS:
        problem = _no_shapes(answer[kind])
        if problem:
            return Feedback(False, f"{kind}: {problem}")
    before, fewest = _operations(answer["fewest"])
    _, more = _operations(answer["more"])
    least = min(_operations_by_formula(rows, columns) for rows in _divisors() for columns in _divisors())
    counts = f"fewest: {before:,} operations become {fewest:,}; more: {before:,} become {more:,}."
    if fewest > before > more:
        return Feedback(False, f"{counts} The two keys are swapped.")
    if fewest > least:
        return Feedback(False, f"{counts} The first can be smaller: which sizes are in both terms of the formula?")
    if more <= before:
        return Feedback(
            False, f"{counts} The second must need more than the large matrix: what makes the vector in between long?"
        )
    return Feedback(
        True,
        f"Right: {counts} The vector between the steps has P * Q units, so the first factor should be wide, not tall.",
    )


def _no_shapes(given: Callable[[], Any] | Any) -> str:
    """Return what is wrong with the shapes of two factors; empty if nothing is."""
    form = "expected shapes ((P, J), (R, Q)) of integers"
    if not isinstance(given, tuple | list) or len(given) != 2:
        return f"{form}; got {short(given)}."
    for shape in given:
        if not isinstance(shape, tuple | list) or len(shape) != 2:
            return f"{form}; got {short(given)}."
        if not all(is_integer(size) and size > 0 for size in shape):
            return f"{form}; got {short(given)}."
    (P, J), (R, Q) = given
    if (P * R, J * Q) != (SIDE, SIDE):
        return f"the Kronecker product of these is {P * R} x {J * Q}; it must be {SIDE} x {SIDE}."
    return ""


def _operations(shapes: Any) -> tuple[int, int]:
    """Return the engine's count of operations of the sum before and after it is shattered."""
    a, b = (tuple(shape) for shape in shapes)
    trace: Trace = explorer.record(_one_sum(a, b), preset="handbook", fold=False, max_rounds=1)
    index = trace.step(SHATTER).index
    read = prod((a[1], b[1]))  # the input layer counts one operation per unit
    return trace.stats(index - 1)["flops"] - read, trace.stats(index)["flops"] - read


def _operations_by_formula(P: int, J: int) -> int:
    R, Q = SIDE // P, SIDE // J
    return 2 * (P * J * Q + P * R * Q)


def _divisors() -> tuple[int, ...]:
    return tuple(size for size in range(1, SIDE + 1) if SIDE % size == 0)
