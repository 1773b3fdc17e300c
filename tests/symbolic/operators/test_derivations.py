"""A derivation names what exists, and its text stays short."""

from dataclasses import replace

import pytest
import torch

import explorer
from explorer.errors import CircuitError
from explorer.symbolic import Derivation, derivation_text, operator_words
from explorer.symbolic.operators import concatenate, conjugate
from explorer.templates import load_named


def test_formulas_of_nested_operators_are_cut_instead_of_doubling() -> None:
    circuit = load_named("conflict")
    for _ in range(40):
        circuit = concatenate(circuit, circuit) if len(circuit.outputs) == 1 else conjugate(circuit)
    assert "conjugate(conjugate(...))" in derivation_text(circuit)
    assert len(derivation_text(circuit)) < 6_000


@pytest.mark.parametrize(
    ("operator", "operands", "origins", "message"),
    [
        ("", 1, {}, "needs the name of an operator"),
        ("mine", 0, {}, "needs the name of an operator, and an operand"),
        ("mine", 1, {}, "must name each layer"),
        ("mine", 1, {0: ((0, 99),)}, "operand 0 of a derivation has no layer 99"),
        ("mine", 1, {0: ((1, 0),)}, "operand 1 of a derivation has no layer 0"),
    ],
)
def test_a_derivation_of_what_does_not_exist_is_refused(
    operator: str, operands: int, origins: dict[int, tuple[tuple[int, int], ...]], message: str
) -> None:
    circuit = load_named("conflict")
    whole = {node: ((0, node),) for node in circuit.graph.nodes} if origins else {}
    derivation = Derivation(operator, (circuit,) * operands, {**whole, **origins})
    with pytest.raises(CircuitError, match=message):
        replace(circuit, derivation=derivation)


def test_a_circuit_that_borrows_the_name_of_an_operator_is_recorded() -> None:
    """The name is known, but it has other operands, and no arguments."""
    circuit = load_named("conflict")
    origins = {node: ((0, node),) for node in circuit.graph.nodes}
    made = replace(circuit, derivation=Derivation("differentiate", (circuit, circuit), origins))
    check = explorer.record(made).check(torch.zeros((1, 4), dtype=torch.long))[1]
    assert check.unknown.startswith("the definition of differentiate failed: ValueError")
    other = replace(circuit, derivation=Derivation("evidence", (circuit, circuit), origins))
    assert operator_words(other).startswith("0 input layers become constant")
