"""The origin of a circuit that operators made: operands, names of leaves, the formula, and the operators in order."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from string import ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple

from explorer.errors import DuplicateNameError, RuleError
from explorer.symbolic.parameters import TensorParameter

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


@dataclass(frozen=True, eq=False)
class OperatorStep:
    """An operator was applied: the circuit that it made, and the circuits that are there afterwards, in order.

    A circuit is there until the last operator that reads it. `made` is None for the first step, which has the circuits
    that were built.
    """

    made: "Circuit | None"
    circuits: "tuple[Circuit, ...]"


@dataclass(frozen=True, eq=False)
class OperatorSteps:
    """The steps that lead to a circuit.

    `offsets` has, by circuit, the number that is added to the ids of its layers, so that no two circuits share ids: 0
    for the last one. An operator that keeps the ids of its operand, and is the last to read it, replaces layers, so
    both have one offset. `next_id` is above all ids.
    """

    steps: tuple[OperatorStep, ...]
    offsets: "Mapping[Circuit, int]"
    next_id: int


def operator_steps(circuit: "Circuit") -> OperatorSteps:
    """Return the steps that made a circuit; none for one that was built."""
    if circuit.derivation is None:
        return OperatorSteps((), {circuit: 0}, circuit.graph.next_id)
    behind = tuple(circuits_behind(circuit))
    read_last = {operand: one for one in behind if one.derivation is not None for operand in one.derivation.operands}
    built = tuple(one for one in behind if one.derivation is None)
    steps, present = [OperatorStep(None, built)], list(built)
    for made in behind:
        if made.derivation is not None:
            present = [one for one in present if read_last[one] is not made]
            present.append(made)
            steps.append(OperatorStep(made, tuple(present)))
    offsets, next_id = {circuit: 0}, circuit.graph.next_id
    for one in reversed(behind):
        if one not in offsets:
            after = read_last[one]
            is_replaced = _keeps_ids(after, one)
            offsets[one] = offsets[after] if is_replaced else next_id
            next_id += 0 if is_replaced else one.graph.next_id
    return OperatorSteps(tuple(steps), offsets, next_id)


def _keeps_ids(made: "Circuit", operand: "Circuit") -> bool:
    """Whether each layer was made of the layer with the same id of this only operand."""
    derivation = made.derivation
    assert derivation is not None
    if derivation.operands != (operand,) or made.graph.nodes.keys() != operand.graph.nodes.keys():
        return False
    return all(found == ((0, node),) for node, found in derivation.origins.items())


Describe = Callable[["Circuit", Derivation], str]
"""Says what an operator did to layers: (the circuit that it made, its derivation) -> a sentence."""

_WORDS: dict[str, Describe] = {}


def describe_operator(operator: str) -> Callable[[Describe], Describe]:
    """Decorator: register the function that says what an operator did to layers. Raises: DuplicateNameError."""

    def register(describe: Describe) -> Describe:
        if operator in _WORDS:
            raise DuplicateNameError(f"the operator {operator!r} has a description already")
        _WORDS[operator] = describe
        return describe

    return register


def operator_words(circuit: "Circuit") -> str:
    """Say what the operator that made a circuit did to layers, and whether it added parameters; empty if it was built.

    An operator without `describe_operator` has no words for its layers.
    """
    made = circuit.derivation
    if made is None:
        return ""
    describe = _WORDS.get(made.operator)
    try:
        told = [] if describe is None else [_describe(describe, circuit, made)]
    except RuleError as error:
        told = [f"{error}."]
    known = {leaf for operand in made.operands for leaf in _learnable(operand)}
    added = num_parameters(circuit, known)
    return " ".join([*told, f"New parameters: {added:,}." if added else "It has no new parameters."])


def _describe(describe: Describe, circuit: "Circuit", made: Derivation) -> str:
    """Call a description; an exception becomes a RuleError that names the operator."""
    try:
        return describe(circuit, made)
    except Exception as error:
        raise RuleError(f"The description of {made.operator} failed: {type(error).__name__}: {error}") from error


def num_parameters(circuit: "Circuit", but: "set[TensorParameter] | frozenset[TensorParameter]" = frozenset()) -> int:
    """Count the learnable numbers of a circuit, without the given leaves."""
    return sum(prod(leaf.shape) for leaf in _learnable(circuit) if leaf not in but)


def _learnable(circuit: "Circuit") -> list[TensorParameter]:
    return [leaf for leaf in circuit.leaf_names if leaf.learnable]


@describe_operator("multiply")
def _product(circuit: "Circuit", made: Derivation) -> str:
    """Say which pairs of units of its operands the widest layer has."""
    widest = max(made.origins, key=lambda node: circuit.graph.nodes[node].num_output_units)
    found = circuit.graph.nodes[widest].num_output_units
    factors = [made.operands[at].graph.nodes[node].num_output_units for at, node in made.origins[widest]]
    times = " × ".join(f"{one:,}" for one in factors)
    if prod(factors) == found and len(factors) > 1:
        return f"Each unit is a product of units, one of each operand: {times} = {found:,} in the widest layer."
    if len(factors) == 2 and factors[0] == factors[1] and 2 * found == factors[0] * (factors[0] + 1):
        pairs = f"{factors[0]:,} × {factors[0] + 1:,} / 2 = {found:,}"
        return f"Each unit is a product of two units, each pair in one order: {pairs} in the widest layer."
    return f"Each unit is a product of units, one of each operand: {found:,} in the widest layer."


@describe_operator("integrate")
def _integrals(circuit: "Circuit", made: Derivation) -> str:
    return _constants_text(circuit, made, "its sum or integral over its variables")


@describe_operator("evidence")
def _observations(circuit: "Circuit", made: Derivation) -> str:
    return _constants_text(circuit, made, "its value at what was observed")


def _constants_text(circuit: "Circuit", made: Derivation, value: str) -> str:
    """Count the input layers that an operator replaced by constants."""
    kept = {layer for operand in made.operands for layer in operand.graph.nodes.values()}
    changed = sum(layer not in kept for layer in circuit.graph.nodes.values())
    become = "becomes" if changed == 1 else "become"
    return f"{_plural(changed, 'input layer')} {become} constant, each {value}; other layers stay."


@describe_operator("differentiate")
def _derivatives(circuit: "Circuit", made: Derivation) -> str:
    count = _plural(len(circuit.outputs), "output")
    return f"It has {count}: the derivative of each output by each variable. Layers that no derivative changes stay."


@describe_operator("conjugate")
def _conjugates(circuit: "Circuit", made: Derivation) -> str:
    return "Complex parameters are replaced by their conjugates."


@describe_operator("concatenate")
def _outputs(circuit: "Circuit", made: Derivation) -> str:
    return f"It has the outputs of all operands: {len(circuit.outputs):,}."


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
