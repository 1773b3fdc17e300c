"""What operators a circuit was made by, in words: `multiply(A, A)`, where A has 9 layers."""

from collections.abc import Mapping
from string import ascii_uppercase
from typing import TYPE_CHECKING

from explorer.symbolic.derivation import circuits_behind

if TYPE_CHECKING:
    from explorer.symbolic.circuit import Circuit

MAX_ARGUMENT = 40
"""Longer arguments are cut."""
MAX_OPERAND = 80
"""Of an operand whose formula is longer, the last operator is named: formulas would double with each square."""


def derivation_text(circuit: "Circuit") -> str:
    """Say by which operators a circuit was made, and of what; empty if it was built.

    >>> from explorer.templates import load_named
    >>> from explorer.symbolic.operators import integrate, multiply
    >>> conflict = load_named("conflict")
    >>> derivation_text(integrate(multiply(conflict, conflict), (0, 1)))
    'The circuit is integrate(multiply(A, A), variables=(0, 1)): A has 12 layers, multiply(A, A) 12, and the result 12.'
    """
    if circuit.derivation is None:
        return ""
    letters = operand_letters(circuit)
    parts = [f"{letters[one]} {len(one.graph):,}" for one in letters]
    made = [one for one in circuit.formulas if one is not circuit and one.derivation is not None]
    parts += [f"{circuit.formulas[one]} {len(one.graph):,}" for one in made]
    first, *others = parts
    name, _, count = first.rpartition(" ")
    noun = "layer" if count == "1" else "layers"
    listed = ", ".join([f"{name} has {count} {noun}", *others])
    return f"The circuit is {circuit.formulas[circuit]}: {listed}, and the result {len(circuit.graph):,}."


def operand_letters(circuit: "Circuit") -> "Mapping[Circuit, str]":
    """A letter for each circuit that was built, not made by an operator, in the order in which operators read them."""
    built = dict.fromkeys(one for one in circuits_behind(circuit) if one.derivation is None)
    return {one: _letter(number) for number, one in enumerate(built)}


def _letter(number: int) -> str:
    count = len(ascii_uppercase)
    return ascii_uppercase[number % count] + (str(number // count) if number >= count else "")


def formulas_of(whole: "Circuit") -> "Mapping[Circuit, str]":
    """The circuits that `whole` was made of, and itself last: a letter, or `integrate(multiply(A, A), variables=(0,))`.

    `Circuit.formulas` keeps the result.
    """
    formulas: dict[Circuit, str] = dict(operand_letters(whole))
    for one in circuits_behind(whole):
        if one.derivation is not None:
            operands = [_short_formula(formulas[operand]) for operand in one.derivation.operands]
            arguments = [f"{name}={_short(value)}" for name, value in one.derivation.arguments.items()]
            formulas[one] = f"{one.derivation.operator}({', '.join([*operands, *arguments])})"
    return formulas


def _short_formula(formula: str) -> str:
    return formula if len(formula) <= MAX_OPERAND else f"{formula.partition('(')[0]}(...)"


def formula_of(circuit: "Circuit", whole: "Circuit") -> str:
    """The name of a circuit that `whole` was made of: its letter, or the operators that made it."""
    return whole.formulas[circuit]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_ARGUMENT else f"{text[: MAX_ARGUMENT - 4]} ..."
