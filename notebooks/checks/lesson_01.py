"""What the exercises of lesson 1 are held against: each answer is compiled and evaluated."""

from typing import Any

import torch

import explorer
from checks.saying import Said, is_whole, not_answered, say, something_else
from explorer.backend import TorchBinomialLayer, TorchCircuit, TorchInputLayer
from explorer.errors import CircuitError
from explorer.symbolic import CategoricalLayer, CircuitBuilder, InputLayer, ParameterNode, constant
from explorer.templates import CategoricalInput, fully_factorized

CLOSE = 1e-4
"""How near a value must come, in single precision."""
SMALLEST = 0.05
"""The least that exercise 2 wants every probability to be."""
MOST_COINS = 3_000
"""So many coins are tried in exercise 3: enough for double precision too."""


def exercise_1(answer: Any) -> None:
    """A compile rule for CoinLayer."""
    say(judge_1(answer))


def exercise_2(answer: Any) -> None:
    """A parameter whose rows sum to one and whose entries stay above a bound."""
    say(judge_2(answer))


def exercise_3(answer: Any) -> None:
    """The first number of coins that underflows."""
    say(judge_3(answer))


def judge_1(answer: Any) -> Said:
    """Whether a compiler has a rule for CoinLayer that gives the right values at each variable."""
    if answer is None:
        return not_answered("the compiler in which the rule of CoinLayer is registered")
    if not isinstance(answer, explorer.TorchCompiler):
        return something_else("a TorchCompiler with your rule in it", answer)
    coins = [known for known in answer.layer_rules.rules if known.__name__ == "CoinLayer"]
    if not coins:
        return Said(False, "This compiler has no rule for CoinLayer; the error above names the decorator to use.")
    heads = constant([0.25, 0.6])
    try:
        layers = [coins[-1](scope=(v,), num_output_units=2, heads=heads) for v in (0, 1)]
        made = answer.anew().compile_layer(layers[1])
        if not isinstance(made, TorchInputLayer):
            found = f"something of type {type(made).__name__}"
            return Said(False, f"The rule should give a compiled input layer; it gives {found}.")
        if isinstance(made, TorchBinomialLayer) and made.probs is made.logits is None:
            hint = "a parameter is compiled by compiler.compile_parameter"
            return Said(False, f"The compiled layer has neither probs nor logits; {hint}.")
        if made.scope_idx != ((1,),):
            wanted = "a coin of variable 1 has scope_idx ((1,),)"
            return Said(False, f"The compiled layer reads another variable: {wanted}; found {made.scope_idx}.")
        found = _values_of_coins(answer, layers[1])
    except CircuitError as error:
        hint = " Was every parameter compiled? A parameter is compiled by compiler.compile_parameter."
        is_symbolic = "Parameter' object has no attribute" in str(error)
        return Said(False, f"The rule does not get through: {error}.{hint if is_symbolic else ''}")
    except Exception as error:  # noqa: BLE001 - a reader's code may raise anything
        return Said(False, f"A coin cannot be compiled and evaluated: {type(error).__name__}: {error}.")
    wanted_values = torch.tensor([[0.75, 0.4], [0.25, 0.6]])
    if torch.allclose(found, wanted_values, atol=CLOSE):
        return Said(True, "Right: a layer is data, and what it computes is what the rule of its type makes of it.")
    if torch.allclose(found, wanted_values.flip(0), atol=CLOSE):
        return Said(False, "Heads and tails are exchanged: heads is the probability of the value 1.")
    asked = "Is heads a probability or a logit where you hand it on?"
    if getattr(made, "total_count", 1) != 1:
        asked = f"Is it one toss? {asked}"
    return Said(
        False,
        f"With heads = 0.25 the value 1 should have probability 0.25; your layer gives {found[1, 0]:.4g}. {asked}",
    )


def judge_2(answer: Any) -> Said:
    """Whether a parameter is learnable, has rows that sum to one, and keeps every entry above the bound."""
    if answer is None:
        return not_answered("a parameter node of shape (2, 4), such as SoftmaxParameter((TensorParameter((2, 4)),))")
    if not isinstance(answer, ParameterNode):
        return something_else("a parameter node", answer)
    if answer.shape != (2, 4):
        return Said(False, f"The parameter should have shape (2, 4); it has {answer.shape}.")
    values: list[torch.Tensor] = []
    try:
        for seed, scale in ((0, 1.0), (1, 1.0), (2, 50.0)):
            compiled = _as_probabilities(answer, seed)
            learned = [name for leaf, name in compiled.leaf_names.items() if leaf.learnable]
            if not learned:
                return Said(False, "No leaf of it can be learned: its value is the same forever.")
            state = compiled.leaf_state()
            compiled.load_leaf_state({name: state[name] * scale if name in learned else state[name] for name in state})
            values.append(compiled(torch.arange(4).unsqueeze(1)).detach().squeeze(1).T)
    except CircuitError as error:
        return Said(False, f"The parameter cannot be compiled: {error}.")
    sums = torch.stack(values).sum(-1)
    if not sums.isfinite().all():
        return Said(False, "Not all entries are numbers, for some value of the leaf. Which operator takes any number?")
    if float((sums - 1).abs().max()) > CLOSE:
        worst = sums.flatten()[int((sums - 1).abs().argmax())]
        return Said(False, f"A row sums to {worst:.4g}, not to 1. Which operators keep the sum of a row?")
    least = min(float(value.min()) for value in values)
    if least < SMALLEST - CLOSE:
        return Said(False, f"When the leaf holds large numbers, an entry falls to {least:.3g}; {SMALLEST} is wanted.")
    if torch.allclose(values[0], values[1], atol=CLOSE):
        return Said(False, "The value does not depend on the leaf that is learned.")
    return Said(True, "Right: a parameter is an expression, so a mixture with the uniform distribution is one as well.")


def judge_3(answer: Any) -> Said:
    """Whether a number of fair coins is the first one whose probability is zero in single precision."""
    if answer is None:
        return not_answered("a whole number, how many fair coins it takes")
    if not is_whole(answer):
        return something_else("a whole number", answer)
    if not 2 <= int(answer) <= MOST_COINS:
        return Said(False, f"Try between 2 and {MOST_COINS} coins.")
    coins = int(answer)
    here, before = _fair_coins(coins), _fair_coins(coins - 1)
    if here > 0:
        return Said(False, f"With {coins} coins the value is {here:.3g}: small, but not zero.")
    if before == 0:
        return Said(False, f"With {coins} coins the value is zero, but with fewer it is zero already.")
    return Said(
        True, f"Right: with one coin fewer the value is {before:.3g}, the smallest number that single precision has."
    )


def _values_of_coins(compiler: explorer.TorchCompiler, layer: InputLayer) -> torch.Tensor:
    """The probabilities (value, unit) that a layer over variable 1 gives under the rules of a compiler."""
    builder = CircuitBuilder()
    compiled = compiler.anew().compile(builder.build(builder.add(layer)))
    values = compiled(torch.tensor([[0, 0], [0, 1]])).detach().squeeze(1)
    return values.exp().real if compiled.semiring.is_logarithmic else values


def _as_probabilities(parameter: ParameterNode, seed: int) -> TorchCircuit:
    """The circuit of one variable with these probabilities, two units of four categories."""
    builder = CircuitBuilder()
    layer = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=4, probs=parameter)
    compiler = explorer.TorchCompiler(semiring="sum-product", optimize=False, seed=seed)
    return compiler.compile(builder.build(builder.add(layer)))


def _fair_coins(count: int) -> float:
    """The probability of one assignment of fair coins, as plain numbers give it."""
    fair = CategoricalInput(2, probs=lambda shape: constant(torch.full(shape, 0.5).numpy()))
    compiled = explorer.TorchCompiler(semiring="sum-product").compile(fully_factorized(count, fair))
    return compiled(torch.zeros(1, count, dtype=torch.long)).item()
