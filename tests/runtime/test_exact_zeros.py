"""Zeros that are exact are certified, whether they are in the middle of a circuit or its value; others are not."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import Certificate, fast
from explorer.symbolic import CategoricalLayer, Circuit, CircuitBuilder, ParameterNode, constant
from explorer.templates.logic import LogicBuilder, LogicCircuit, build_circuit, smooth
from tests.runtime.circuits import doubled, gradients, has_compiler, leaf

pytestmark = has_compiler


def all_rows(num_variables: int, num_values: int = 2) -> Tensor:
    return torch.tensor(list(product(range(num_values), repeat=num_variables)))


def exactly_one(num_variables: int) -> LogicCircuit:
    """Of n literals, one is true: each of the n terms is zero at all models of the others."""
    b = LogicBuilder()
    terms = [
        b.conjunction([b.literal(v if v == chosen else -v) for v in range(1, num_variables + 1)])
        for chosen in range(1, num_variables + 1)
    ]
    return smooth(b.build(b.disjunction(terms), num_variables=num_variables))


@torch.no_grad()
@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-30])
def test_each_row_of_a_formula_is_certified_models_and_others(weight: float):
    formula = exactly_one(10)
    weights = {sign * v: weight * v for v in range(1, 11) for sign in (-1, 1)}
    made = fast(TorchCompiler().compile(build_circuit(formula, weights=weights)), backend="native")
    x = all_rows(10)
    found = made(x).flatten()
    is_model = x.sum(dim=1) == 1
    assert made.certificate == Certificate(1024, 0)
    assert (found[~is_model] == -torch.inf).all()
    expected = sum(np.log(weight * v) for v in range(1, 11))
    np.testing.assert_allclose(found[is_model], expected, rtol=1e-6)


Numbers = Callable[[np.ndarray], ParameterNode]

ENTRIES = (0.0, 0.0, 1e-38, 1e-25, 0.3, 1.0)


def random_circuit(
    seed: int, entries: Sequence[float] = ENTRIES, make: Callable[[np.ndarray], ParameterNode] = constant
) -> Circuit:
    """Categories, weights and branches of which many are exactly zero, and others so small that products underflow."""
    rng, b = np.random.default_rng(seed), CircuitBuilder()
    units = int(rng.integers(1, 4))

    def numbers(rows: int, columns: int) -> np.ndarray:
        return rng.choice(entries, size=(rows, columns))

    def input_of(variable: int) -> int:
        probs = numbers(units, 2)
        probs[:, 0] += probs.sum(axis=1) == 0
        probs /= probs.sum(axis=1, keepdims=True)
        made = CategoricalLayer(scope=(variable,), num_output_units=units, num_categories=2, probs=make(probs))
        return b.add(made)

    def branch(variables: list[int]) -> int:
        if len(variables) == 1:
            return input_of(variables[0])
        terms = []
        for _ in range(int(rng.integers(1, 4))):
            cut = int(rng.integers(1, len(variables)))
            terms.append(b.hadamard(branch(variables[:cut]), branch(variables[cut:])))
        weight = numbers(units, len(terms) * units)
        return b.sum(*terms, num_units=units, weight=make(weight))

    top = branch(list(range(5)))
    return b.build(b.sum(top, num_units=1, weight=constant(np.ones((1, units)))))


def compiled(seed: int, learned: bool = False) -> TorchCircuit:
    circuit = random_circuit(seed, (0.0, 0.3, 1.0), leaf) if learned else random_circuit(seed)
    return TorchCompiler().compile(circuit).float()


@torch.no_grad()
@pytest.mark.parametrize("seed", range(40))
def test_values_are_those_of_the_layers_in_double_precision(seed: int):
    circuit, x = compiled(seed), all_rows(5)
    made = fast(circuit, backend="native")
    found, expected = made(x).flatten().double(), doubled(circuit)(x).flatten()
    assert torch.equal(found == -torch.inf, expected == -torch.inf)
    finite = expected != -torch.inf
    torch.testing.assert_close(found[finite], expected[finite], rtol=2e-6, atol=2e-6)


@torch.no_grad()
def test_many_of_these_rows_are_certified_and_zeros_that_underflow_are_computed_again():
    again = rows = zeros = 0
    for seed in range(40):
        made = fast(compiled(seed), backend="native")
        found = made(all_rows(5))
        assert made.certificate is not None
        again += made.certificate.rows_recomputed
        rows += made.certificate.rows
        zeros += int((found == -torch.inf).sum())
    assert 0 < again < rows / 2
    assert zeros > 0


@torch.no_grad()
def test_a_product_that_underflows_is_no_zero():
    """Elements 1 and 1e-38, and 1e-38 and 1: of their product nothing is left in single precision."""
    b = CircuitBuilder()
    sides = [
        b.add(
            CategoricalLayer(
                scope=(v,), num_output_units=2, num_categories=2, probs=constant([[1.0, tiny], [1.0, 1.0 - tiny]])
            )
        )
        for v, tiny in ((0, 1e-30), (1, 1e-30))
    ]
    swapped = b.sum(sides[1], num_units=2, weight=constant([[0.0, 1.0], [1.0, 0.0]]))
    top = b.sum(b.hadamard(sides[0], swapped), num_units=1, weight=constant([[1e-20, 1e-20]]))
    circuit = TorchCompiler().compile(b.build(top)).float()
    x = all_rows(2)
    torch.testing.assert_close(fast(circuit, backend="native")(x).double(), doubled(circuit)(x), rtol=1e-6, atol=1e-6)


def test_gradients_are_those_of_the_layers():
    """Of terms that are zero, too: their weights and factors have gradients that are not."""
    for seed in range(10):
        circuit, x = compiled(seed, learned=True), all_rows(5)
        x = x[(doubled(circuit)(x) != -torch.inf).flatten()]
        if len(x):
            found = gradients(fast(circuit, backend="native"), x)[1]
            for one, expected in zip(found, gradients(doubled(circuit), x)[1], strict=True):
                torch.testing.assert_close(one.double(), expected, rtol=1e-4, atol=1e-6)
