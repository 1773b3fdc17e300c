"""The origin of a circuit that an operator made: its operands, the names of its leaves there, and the formula."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from explorer.symbolic.circuit import Circuit

if TYPE_CHECKING:
    from explorer.symbolic.circuit import Circuit


Argument = None | bool | int | float | str | tuple["Argument", ...]
"""An argument of an operator, as plain data."""


class LeafLabel(NamedTuple):
    """The name of a leaf in a derived circuit, and the name by which its first value is drawn.

    Both are the name in the circuit that the leaf comes from. Where two circuits use one name for different leaves, the
    second is called `NAME/2` in the derived circuit, and keeps its first value.
    """

    name: str
    seed_name: str


@dataclass(frozen=True, eq=False)
class Derivation:
    """The operator that made a circuit, its arguments as plain data, and the circuits it was applied to.

    `origins` maps each layer of the result to the layers it was made from: pairs (operand, id of the layer there).
    """

    operator: str
    operands: "tuple[Circuit, ...]"
    origins: Mapping[int, tuple[tuple[int, int], ...]]
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument])

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", {node: tuple(pairs) for node, pairs in self.origins.items()})
        object.__setattr__(self, "arguments", dict(self.arguments))

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"{self.operator}({', '.join(map(repr, self.operands))}{arguments})"


def circuits_behind(circuit: "Circuit") -> "Iterator[Circuit]":
    """The circuits that one was made of, each after those that it was made of, and itself last; shared ones once."""
    done: dict[Circuit, None] = {}
    waiting = [(circuit, False)]
    while waiting:
        one, is_ready = waiting.pop()
        if one in done:
            continue
        if is_ready or one.derivation is None:
            done[one] = None
            continue
        waiting.append((one, True))
        waiting.extend((operand, False) for operand in reversed(one.derivation.operands))
    return iter(done)


MAX_ARGUMENT = 40
"""Longer arguments are cut."""
MAX_OPERAND = 80
"""Maximum length of an operand's formula; of longer ones, doubled by each square, only the last operator is named."""


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


def unused_name(wanted: str, taken: Container[str]) -> str:
    """Return a name, or the first of `NAME/2`, `NAME/3` ... that is not taken.

    >>> unused_name("12.weight", ()), unused_name("12.weight", ("12.weight", "12.weight/2"))
    ('12.weight', '12.weight/3')
    """
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}/{count}", count + 1
    return name
