"""The operators that made a circuit, one by one: numbers for the layers of all circuits, and two sentences each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from explorer.errors import DuplicateNameError, RuleError
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.derivation import Derivation, circuits_behind
from explorer.symbolic.parameters import TensorParameter


@dataclass(frozen=True, eq=False)
class OperatorStep:
    """An operator was applied: the circuit that it made, and the circuits that are there afterwards, in order.

    A circuit is there until the last operator that reads it. `made` is None for the first step, which has the circuits
    that were built.
    """

    made: Circuit | None
    circuits: tuple[Circuit, ...]


@dataclass(frozen=True, eq=False)
class OperatorSteps:
    """The steps that lead to a circuit.

    `offsets` has, by circuit, the number that is added to the ids of its layers, so that no two circuits share ids: 0
    for the last one. An operator that keeps the ids of its operand, and is the last to read it, replaces layers, so
    both have one offset. `next_id` is above all ids.
    """

    steps: tuple[OperatorStep, ...]
    offsets: Mapping[Circuit, int]
    next_id: int


def operator_steps(circuit: Circuit) -> OperatorSteps:
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


def _keeps_ids(made: Circuit, operand: Circuit) -> bool:
    """Whether each layer was made of the layer with the same id of this only operand."""
    derivation = made.derivation
    assert derivation is not None
    if derivation.operands != (operand,) or made.graph.nodes.keys() != operand.graph.nodes.keys():
        return False
    return all(found == ((0, node),) for node, found in derivation.origins.items())


Describe = Callable[[Circuit, Derivation], str]
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


def operator_words(circuit: Circuit) -> str:
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


def _describe(describe: Describe, circuit: Circuit, made: Derivation) -> str:
    """Call a description; an exception becomes a RuleError that names the operator."""
    try:
        return describe(circuit, made)
    except Exception as error:
        raise RuleError(f"The description of {made.operator} failed: {type(error).__name__}: {error}") from error


def num_parameters(circuit: Circuit, but: "set[TensorParameter] | frozenset[TensorParameter]" = frozenset()) -> int:
    """Count the learnable numbers of a circuit, without the given leaves."""
    return sum(prod(leaf.shape) for leaf in _learnable(circuit) if leaf not in but)


def _learnable(circuit: Circuit) -> list[TensorParameter]:
    return [leaf for leaf in circuit.leaf_names if leaf.learnable]


@describe_operator("multiply")
def _product(circuit: Circuit, made: Derivation) -> str:
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
def _integrals(circuit: Circuit, made: Derivation) -> str:
    return _constants_text(circuit, made, "its sum or integral over its variables")


@describe_operator("evidence")
def _observations(circuit: Circuit, made: Derivation) -> str:
    return _constants_text(circuit, made, "its value at what was observed")


def _constants_text(circuit: Circuit, made: Derivation, value: str) -> str:
    """Count the input layers that an operator replaced by constants."""
    kept = {layer for operand in made.operands for layer in operand.graph.nodes.values()}
    changed = sum(layer not in kept for layer in circuit.graph.nodes.values())
    become = "becomes" if changed == 1 else "become"
    return f"{_plural(changed, 'input layer')} {become} constant, each {value}; other layers stay."


@describe_operator("differentiate")
def _derivatives(circuit: Circuit, made: Derivation) -> str:
    count = _plural(len(circuit.outputs), "output")
    return f"It has {count}: the derivative of each output by each variable. Layers that no derivative changes stay."


@describe_operator("conjugate")
def _conjugates(circuit: Circuit, made: Derivation) -> str:
    return "Complex parameters are replaced by their conjugates."


@describe_operator("concatenate")
def _outputs(circuit: Circuit, made: Derivation) -> str:
    return f"It has the outputs of all operands: {len(circuit.outputs):,}."


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
