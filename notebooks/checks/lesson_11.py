"""Lesson 11, products and queries: the normalized square, a conditional probability, an estimate from samples."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from checks.feedback import Feedback, not_answered, show, something_else
from explorer import CircuitBuilder, TorchCompiler, gallery
from explorer.backend import TorchCircuit
from explorer.symbolic import Circuit, ConstantInitializer, EmbeddingLayer, TensorParameter
from explorer.symbolic.operators import evidence, integrate, multiply

BITS = (3, 4, 40)
TOLERANCE = 0.03
COINS = 5


# ---------------------------------------------------------------------- the normalized square


def exercise_1(answer: Any) -> None:
    """A function that returns the probabilities of rows under the normalized square."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Run it on circuits of three numbers of bits, of which the last is too large to enumerate."""
    what = "a tensor (batch,) that probability returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of a circuit and rows", answer)
    for bits in BITS:
        circuit = _signed(bits)
        rows = torch.randint(2, (6, bits), generator=torch.Generator().manual_seed(bits))
        found = _run(answer, circuit, rows)
        if isinstance(found, Feedback):
            return found
        if found is None:
            return not_answered(what)
        if not isinstance(found, Tensor):
            return something_else("a tensor", found)
        if tuple(found.shape) != (len(rows),):
            return Feedback(False, f"For {len(rows)} rows the shape must be ({len(rows)},); got {tuple(found.shape)}.")
        square = _values(multiply(circuit, circuit), rows)
        total = _values(integrate(multiply(circuit, circuit)))
        if torch.allclose(found.to(square.dtype), square / total, rtol=1e-3):
            continue
        if torch.allclose(found.to(square.dtype), square, rtol=1e-3):
            return Feedback(False, "These are the values of the square. They do not sum to one yet: divide by Z.")
        if torch.allclose(found.to(square.dtype), square / _values(integrate(circuit)) ** 2, rtol=1e-3):
            return Feedback(False, "You squared the integral. Z is the integral of the square.")
        return Feedback(False, f"The probabilities of a circuit over {bits} bits are different.")
    return Feedback(True, f"Right: also for {BITS[-1]} bits, which have {2 ** BITS[-1]:,} rows.")


# ---------------------------------------------------------------------- a conditional probability


def exercise_2(answer: Any) -> None:
    """A function that returns P(last bit = 1 | bit 0 = 1) under the normalized square."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Run it on circuits of several numbers of bits."""
    what = "the number that last_given_first returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of a circuit", answer)
    for bits in BITS:
        circuit = _signed(bits)
        found = _number(_run(answer, circuit), what)
        if isinstance(found, Feedback):
            return found
        square, last = multiply(circuit, circuit), bits - 1
        first = _values(integrate(evidence(square, {0: 1}))).item()
        both = _values(integrate(evidence(square, {0: 1, last: 1}))).item()
        total = _values(integrate(square)).item()
        wrong = {
            both / total: "That is the probability of both. Divide by the probability of the evidence, not by Z.",
            both: "That is not normalized at all. Divide by what the evidence leaves.",
            first / total: "That is the probability of the evidence.",
            1 - both / first: "That is the probability of the last bit being 0.",
        }
        if _close(found, both / first):
            continue
        said = next((text for value, text in wrong.items() if _close(found, value)), "")
        return Feedback(False, said or f"A circuit over {bits} bits gives a different number.")
    return Feedback(True, "Right: Z is in both probabilities, and cancels.")


# ---------------------------------------------------------------------- an estimate from samples


def exercise_3(answer: Any) -> None:
    """A function that estimates P(exactly three ones | coin 0 = 1) from samples."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Compare with the sum over all rows."""
    what = "the number that exactly_three returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of the compiled coins", answer)
    coins = TorchCompiler().compile(gallery.load_named("blackboard"))
    found = _number(_run(answer, coins), what)
    if isinstance(found, Feedback):
        return found
    exact, without = exactly_three_of_all_rows(coins)
    if abs(found - exact) <= TOLERANCE:
        return Feedback(True, f"Right: the exact number is {exact:.4f}.")
    if abs(found - without) <= TOLERANCE:
        return Feedback(False, "That is the probability without the evidence that coin 0 shows 1.")
    return Feedback(False, f"{found:.3f} is more than {TOLERANCE} away. Do you count coin 0 as one of the three?")


def exactly_three_of_all_rows(coins: TorchCircuit) -> tuple[float, float]:
    """P(exactly three ones), given that coin 0 shows 1 and without evidence."""
    rows = torch.cartesian_prod(*[torch.arange(2)] * COINS)
    with torch.no_grad():
        chances = coins(rows).exp().flatten()
    three, first = rows.sum(dim=1) == 3, rows[:, 0] == 1
    return (
        (chances[three & first].sum() / chances[first].sum()).item(),
        (chances[three].sum() / chances.sum()).item(),
    )


# ---------------------------------------------------------------------- parts


def _run(answer: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns, or feedback on its failure."""
    try:
        return answer(*arguments)
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"It fails: {type(error).__name__}: {error}")


def _number(found: Any, what: str) -> "float | Feedback":
    if found is None:
        return not_answered(what)
    if isinstance(found, Feedback):
        return found
    if isinstance(found, Tensor) and found.numel() == 1 and not found.is_complex():
        return float(found.detach())
    return float(found) if isinstance(found, int | float) else something_else("a number", found)


def _close(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= 1e-3 * max(abs(wanted), 1e-3)


def _values(circuit: Circuit, *rows: Tensor) -> Tensor:
    with torch.no_grad():
        return TorchCompiler(semiring="sum-product").compile(circuit)(*rows).flatten()


def _signed(bits: int, units: int = 3) -> Circuit:
    """A chain over `bits` bits with weights of both signs, whose values neither vanish nor overflow."""
    generator = torch.Generator().manual_seed(bits)

    def leaf(*shape: int) -> TensorParameter:
        value = torch.rand(shape, generator=generator) - 0.2
        return TensorParameter(shape, initializer=ConstantInitializer(value.numpy()))

    builder = CircuitBuilder()
    inputs = [
        builder.add(EmbeddingLayer(scope=(v,), num_output_units=units, num_states=2, weight=leaf(units, 2)))
        for v in range(bits)
    ]
    below = inputs[0]
    for v in range(1, bits):
        width = 1 if v == bits - 1 else units
        below = builder.sum(builder.hadamard(below, inputs[v]), num_units=width, weight=leaf(width, units))
    return builder.build(below)
