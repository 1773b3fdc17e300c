"""What an operator did to the circuits that it was applied to, in two sentences."""

from collections.abc import Callable
from math import prod

from explorer.errors import DuplicateNameError, RuleError
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.derivation import Derivation
from explorer.symbolic.parameters import TensorParameter

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
    """How many learnable numbers a circuit has, without those of some leaves."""
    return sum(prod(leaf.shape) for leaf in _learnable(circuit) if leaf not in but)


def _learnable(circuit: Circuit) -> list[TensorParameter]:
    return [leaf for leaf in circuit.leaf_names if leaf.learnable]


@describe_operator("multiply")
def _product(circuit: Circuit, made: Derivation) -> str:
    """The units of the widest layer, as pairs of those of the layers that it was made of."""
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
    """How many input layers an operator replaced by constants."""
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
