"""Lesson 1, compiling: each answer is compiled and evaluated."""

from typing import Any

import torch

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.backend import TorchBinomialLayer, TorchCircuit, TorchInputLayer
from explorer.errors import CircuitError
from explorer.symbolic import CategoricalLayer, CircuitBuilder, InputLayer, ParameterNode, constant
from explorer.templates import CategoricalInput, fully_factorized

CLOSE = 1e-4
"""Tolerance of a value in single precision."""
SMALLEST = 0.05
"""Lower bound of every probability in exercise 2."""
MAX_COINS = 3_000
"""Maximum number of coins in exercise 3: enough for double precision too."""


def exercise_1(answer: Any) -> None:
    """A compile rule for CoinLayer."""
    show(grade_1(answer))


def exercise_2(answer: Any) -> None:
    """A parameter whose rows sum to one and whose entries stay above a bound."""
    show(grade_2(answer))


def exercise_3(answer: Any) -> None:
    """The smallest number of coins that underflows."""
    show(grade_3(answer))


def grade_1(answer: Any) -> Feedback:
    """Check that a compiler has a rule for CoinLayer that returns the right values for each variable."""
    if answer is None:
        return not_answered("the compiler in which the rule of CoinLayer is registered")
    if not isinstance(answer, explorer.TorchCompiler):
        return something_else("a TorchCompiler with your rule in it", answer)
    coins = [known for known in answer.layer_rules.rules if known.__name__ == "CoinLayer"]
    if not coins:
        return Feedback(False, "This compiler has no rule for CoinLayer; the error above names the decorator to use.")
    heads = constant([0.25, 0.6])
    try:
        layers = [coins[-1](scope=(v,), num_output_units=2, heads=heads) for v in (0, 1)]
        made = answer.fresh_copy().compile_layer(layers[1])
        if not isinstance(made, TorchInputLayer):
            found = f"something of type {type(made).__name__}"
            return Feedback(False, f"The rule should return a compiled input layer; it returns {found}.")
        if isinstance(made, TorchBinomialLayer) and made.probs is made.logits is None:
            hint = "compile a parameter with compiler.compile_parameter"
            return Feedback(False, f"The compiled layer has neither probs nor logits; {hint}.")
        if made.scope_idx != ((1,),):
            wanted = "a coin of variable 1 has scope_idx ((1,),)"
            return Feedback(False, f"The compiled layer reads another variable: {wanted}; found {made.scope_idx}.")
        found = _values_of_coins(answer, layers[1])
    except CircuitError as error:
        hint = " Is every parameter compiled? Compile a parameter with compiler.compile_parameter."
        is_symbolic = "Parameter' object has no attribute" in str(error)
        return Feedback(False, f"The rule failed: {error}.{hint if is_symbolic else ''}")
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"Compiling and evaluating a coin failed: {type(error).__name__}: {error}.")
    wanted_values = torch.tensor([[0.75, 0.4], [0.25, 0.6]])
    if torch.allclose(found, wanted_values, atol=CLOSE):
        return Feedback(True, "Right: a layer is data, and the rule of its type determines what it computes.")
    if torch.allclose(found, wanted_values.flip(0), atol=CLOSE):
        return Feedback(False, "Heads and tails are swapped: heads is the probability of the value 1.")
    hint = "Do you pass heads on as a probability or as a logit?"
    if getattr(made, "total_count", 1) != 1:
        hint = f"Is it one toss? {hint}"
    return Feedback(
        False,
        f"With heads = 0.25 the value 1 should have probability 0.25; your layer returns {found[1, 0]:.4g}. {hint}",
    )


def grade_2(answer: Any) -> Feedback:
    """Check that a parameter is learnable, its rows sum to one, and every entry is above the bound."""
    if answer is None:
        return not_answered("a parameter node of shape (2, 4), such as SoftmaxParameter((TensorParameter((2, 4)),))")
    if not isinstance(answer, ParameterNode):
        return something_else("a parameter node", answer)
    if answer.shape != (2, 4):
        return Feedback(False, f"The parameter should have shape (2, 4); it has {answer.shape}.")
    values: list[torch.Tensor] = []
    try:
        for seed, scale in ((0, 1.0), (1, 1.0), (2, 50.0)):
            compiled = _as_probabilities(answer, seed)
            learned = [name for leaf, name in compiled.leaf_names.items() if leaf.learnable]
            if not learned:
                return Feedback(False, "None of its leaves is learnable: its value never changes.")
            state = compiled.leaf_state()
            compiled.load_leaf_state({name: state[name] * scale if name in learned else state[name] for name in state})
            values.append(compiled(torch.arange(4).unsqueeze(1)).detach().squeeze(1).T)
    except CircuitError as error:
        return Feedback(False, f"The parameter cannot be compiled: {error}.")
    sums = torch.stack(values).sum(-1)
    if not sums.isfinite().all():
        return Feedback(
            False, "For some values of the leaf, not all entries are finite. Which operator accepts any number?"
        )
    if float((sums - 1).abs().max()) > CLOSE:
        worst = sums.flatten()[int((sums - 1).abs().argmax())]
        return Feedback(False, f"A row sums to {worst:.4g}, not to 1. Which operators preserve the sum of a row?")
    least = min(float(value.min()) for value in values)
    if least < SMALLEST - CLOSE:
        return Feedback(
            False, f"If the leaf holds large numbers, an entry falls to {least:.3g}; it must be at least {SMALLEST}."
        )
    if torch.allclose(values[0], values[1], atol=CLOSE):
        return Feedback(False, "The value does not depend on the learnable leaf.")
    return Feedback(
        True, "Right: a parameter can be any expression, and this one is a mixture with the uniform distribution."
    )


def grade_3(answer: Any) -> Feedback:
    """Check that a number of fair coins is the smallest whose probability is zero in single precision."""
    if answer is None:
        return not_answered("an integer, the number of fair coins")
    if not is_integer(answer):
        return something_else("an integer", answer)
    if not 2 <= int(answer) <= MAX_COINS:
        return Feedback(False, f"Try between 2 and {MAX_COINS} coins.")
    coins = int(answer)
    here, before = _fair_coins(coins), _fair_coins(coins - 1)
    if here > 0:
        return Feedback(False, f"With {coins} coins the value is {here:.3g}: small, but not zero.")
    if before == 0:
        return Feedback(False, f"With {coins} coins the value is zero, but so it is with fewer.")
    return Feedback(
        True, f"Right: with one coin fewer the value is {before:.3g}, the smallest number that single precision has."
    )


def _values_of_coins(compiler: explorer.TorchCompiler, layer: InputLayer) -> torch.Tensor:
    """Return the probabilities (value, unit) of a layer over variable 1, compiled by a compiler's rules."""
    builder = CircuitBuilder()
    compiled = compiler.fresh_copy().compile(builder.build(builder.add(layer)))
    values = compiled(torch.tensor([[0, 0], [0, 1]])).detach().squeeze(1)
    return values.exp().real if compiled.semiring.is_logarithmic else values


def _as_probabilities(parameter: ParameterNode, seed: int) -> TorchCircuit:
    """Compile the circuit of one variable with these probabilities, two units of four categories."""
    builder = CircuitBuilder()
    layer = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=4, probs=parameter)
    compiler = explorer.TorchCompiler(semiring="sum-product", optimize=False, seed=seed)
    return compiler.compile(builder.build(builder.add(layer)))


def _fair_coins(count: int) -> float:
    """Return the probability of one assignment of fair coins, computed with plain numbers."""
    fair = CategoricalInput(2, probs=lambda shape: constant(torch.full(shape, 0.5).numpy()))
    compiled = explorer.TorchCompiler(semiring="sum-product").compile(fully_factorized(count, fair))
    return compiled(torch.zeros(1, count, dtype=torch.long)).item()
