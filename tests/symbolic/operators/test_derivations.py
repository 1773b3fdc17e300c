"""A derivation names what exists, and its text stays short."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

import explorer
from explorer.errors import CircuitError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    Derivation,
    ExpParameter,
    GaussianLayer,
    TensorParameter,
    derivation_text,
    operator_words,
)
from explorer.symbolic.derivation import formulas_of
from explorer.symbolic.operators import concatenate, conjugate, integrate
from explorer.templates import load_named


def test_formulas_of_nested_operators_are_cut_instead_of_doubling() -> None:
    circuit = load_named("conflict")
    for _ in range(40):
        circuit = concatenate(circuit, circuit) if len(circuit.outputs) == 1 else conjugate(circuit)
    assert "conjugate(conjugate(...))" in derivation_text(circuit)
    assert len(derivation_text(circuit)) < 6_000


def test_leaves_that_no_operator_kept_have_names_of_their_own() -> None:
    """Both integrals are 1, whatever the parameters: the leaves are those of the operands only."""

    def normal() -> Circuit:
        builder, mean, deviation = CircuitBuilder(), TensorParameter((2,)), ExpParameter((TensorParameter((2,)),))
        return builder.build(builder.add(GaussianLayer(scope=(0,), num_output_units=2, mean=mean, stddev=deviation)))

    whole = concatenate(integrate(normal()), integrate(normal()))
    names = list(whole.all_leaf_names.values())
    assert names == ["0.value", "0.value/2", "0.mean", "0.stddev", "0.mean/2", "0.stddev/2"]
    operands = explorer.record(whole).circuit_at(0)
    assert len(operands.leaf_state()) == len(list(operands.parameters())) == 4


def test_formulas_of_a_chain_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise recording takes time quadratic in the number of operators."""
    circuit = load_named("conflict")
    for _ in range(20):
        circuit = conjugate(circuit)
    made: list[Circuit] = []

    def count(whole: Circuit) -> Mapping[Circuit, str]:
        made.append(whole)
        return formulas_of(whole)

    monkeypatch.setattr("explorer.symbolic.circuit.formulas_of", count)
    explorer.record(circuit)
    assert made == [circuit]


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
