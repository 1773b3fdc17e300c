"""The operators that made a circuit, one after the other, and numbers for the layers of all circuits on the way."""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.derivation import circuits_behind


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
    for the last one. An operator whose result has the ids of its operand, and the last to read it, replaces layers, so
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
