"""Products of products where one splits the variables further than the other: its factors are multiplied as one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.errors import StructureError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    HadamardLayer,
    InputLayer,
    KroneckerLayer,
    ParameterNode,
    constant,
)
from explorer.symbolic.operators import integrate, multiply
from tests.fuzzing import examples
from tests.levels.modes import MODES, compile_circuit, output
from tests.symbolic.operators.building import all_assignments, all_pairs, assert_close, values
from tests.symbolic.operators.structured import Tree, trees

ATOL = 1e-9
"""Values are sums of at most 64 products of numbers below 1, in double precision."""


@dataclass
class Maker:
    """Adds layers with random parameters of both signs; variables have two states."""

    random: np.random.Generator
    b: CircuitBuilder = field(default_factory=CircuitBuilder)

    def table(self, *shape: int) -> ParameterNode:
        return constant(self.random.uniform(-1.0, 1.0, shape))

    def leaf(self, variable: int, units: int = 2) -> int:
        weight = self.table(units, 2)
        return self.b.add(EmbeddingLayer(scope=(variable,), num_output_units=units, num_states=2, weight=weight))

    def leaves(self, *variables: int) -> list[int]:
        return [self.leaf(variable) for variable in variables]

    def sum(self, *below: int, columns: int, units: int = 2) -> int:
        return self.b.sum(*below, num_units=units, weight=self.table(units, len(below) * columns))


def made(build: Callable[[Maker], int], seed: int) -> Circuit:
    maker = Maker(np.random.default_rng(seed))
    return maker.b.build(build(maker))


def check(one: Circuit, other: Circuit) -> Circuit:
    """Compare a product with the products of the values, over all assignments; and its integral with their sum."""
    x = all_assignments(max(one, other, key=lambda circuit: circuit.num_variables))
    wanted = all_pairs(values(one, x), values(other, x))
    product = multiply(one, other)
    assert product.is_smooth
    assert product.is_decomposable
    assert_close(values(product, x), wanted)
    if set(one.scope) == set(other.scope) == set(range(one.num_variables)):
        np.testing.assert_allclose(values(integrate(product), None).ravel(), wanted.sum(0).ravel(), atol=ATOL)
    return product


# ---------------------------------------------------------------------- the cases by hand

H: dict[str, Callable[[Maker], int]] = {
    "flat": lambda m: m.b.hadamard(*m.leaves(0, 1, 2)),
    "left": lambda m: m.b.hadamard(m.b.hadamard(*m.leaves(0, 1)), m.leaf(2)),
    "right": lambda m: m.b.hadamard(m.leaf(0), m.b.hadamard(*m.leaves(1, 2))),
    "apart": lambda m: m.b.hadamard(m.leaf(1), m.b.hadamard(*m.leaves(2, 0))),
    "sum": lambda m: m.b.hadamard(
        m.sum(m.b.hadamard(*m.leaves(0, 1)), m.b.hadamard(*m.leaves(1, 0)), columns=2), m.leaf(2)
    ),
    "sum apart": lambda m: m.b.hadamard(m.sum(m.b.hadamard(*m.leaves(2, 0)), columns=2), m.leaf(1)),
    "kronecker": lambda m: m.b.hadamard(m.sum(m.b.kronecker(*m.leaves(0, 1)), columns=4), m.leaf(2)),
}
"""Hadamard products of the variables 0, 1 and 2 that split them in different ways."""
INCOMPATIBLE = {frozenset({"sum", "sum apart"}), frozenset({"kronecker", "sum apart"})}


@pytest.mark.parametrize("first", H)
@pytest.mark.parametrize("second", H)
def test_hadamard_products_are_regrouped(first: str, second: str):
    one, other = made(H[first], 1), made(H[second], 2)
    if frozenset({first, second}) in INCOMPATIBLE:
        with pytest.raises(StructureError, match="split the variables that they share differently"):
            multiply(one, other)
    else:
        check(one, other)


def test_the_product_of_groups_has_as_few_layers_as_the_circuit_that_splits_less():
    product = check(made(H["flat"], 1), made(H["left"], 2))
    assert [layer.arity for layer in product.layers if isinstance(layer, HadamardLayer)] == [2, 2]
    assert product.derivation is not None
    origins = {origin for found in product.derivation.origins.values() for origin in found}
    assert origins == {(0, node) for node in range(4)} | {(1, node) for node in range(5)}, "groups are no layers"


K: dict[str, Callable[[Maker], int]] = {
    "flat": lambda m: m.b.kronecker(*m.leaves(0, 1, 2, 3)),
    "halves": lambda m: m.b.kronecker(m.b.kronecker(*m.leaves(0, 1)), m.b.kronecker(*m.leaves(2, 3))),
    "swapped": lambda m: m.b.kronecker(m.b.kronecker(*m.leaves(3, 2)), m.b.kronecker(*m.leaves(1, 0))),
    "sum": lambda m: m.b.kronecker(m.sum(m.b.kronecker(*m.leaves(0, 1)), columns=4), m.sum(m.leaf(2), columns=2)),
    "three": lambda m: m.b.kronecker(m.leaf(0), m.leaf(1), m.sum(m.b.hadamard(*m.leaves(2, 3)), columns=2)),
    "one sum": lambda m: m.b.hadamard(m.sum(m.b.hadamard(*m.leaves(1, 2, 3)), columns=2), m.leaf(0)),
}
"""Products of the variables 0 to 3 with Kronecker products."""


@pytest.mark.parametrize("first", K)
@pytest.mark.parametrize("second", K)
def test_kronecker_products_are_regrouped(first: str, second: str):
    one, other = made(K[first], 1), made(K[second], 2)
    if {first, second} == {"sum", "one sum"}:
        with pytest.raises(StructureError, match="split the variables that they share differently"):
            multiply(one, other)
    else:
        check(one, other)


def test_kronecker_factors_that_are_not_adjacent_are_refused_by_name():
    one = made(K["flat"], 1)
    other = made(lambda m: m.b.hadamard(m.sum(m.b.hadamard(*m.leaves(0, 2)), columns=2), *m.leaves(1, 3)), 2)
    with pytest.raises(StructureError, match="only if they are next to each other and have equally many units"):
        multiply(one, other)
    assert isinstance(one.layers[-1], KroneckerLayer)


def test_a_sum_over_each_two_of_three_variables_is_not_compatible():
    pair = made(lambda m: m.b.hadamard(m.sum(m.b.hadamard(*m.leaves(0, 1)), columns=2), m.leaf(2)), 1)
    other = made(lambda m: m.b.hadamard(m.leaf(0), m.sum(m.b.hadamard(*m.leaves(1, 2)), columns=2)), 2)
    with pytest.raises(StructureError, match=r"only compatible circuits have a product$"):
        multiply(pair, other)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointLayer(InputLayer):
    """A custom input layer of two variables."""


def test_a_group_of_factors_is_named_by_the_product_that_has_them():
    other = made(lambda m: m.b.hadamard(m.b.add(JointLayer(scope=(0, 1), num_output_units=2)), m.leaf(2)), 2)
    with pytest.raises(StructureError) as caught:
        multiply(made(H["flat"], 1), other)
    assert (
        "some factors of layer 3 (HadamardLayer) of operand 0 and layer 0 (JointLayer) of operand 1 split the "
        "variables that they share differently: (0,) | (1,) and (0, 1)"
    ) in str(caught.value)


def test_a_layer_of_several_variables_times_a_product_of_these_is_refused():
    joint = made(lambda m: m.b.add(JointLayer(scope=(0, 1), num_output_units=2)), 1)
    product = made(lambda m: m.b.hadamard(*m.leaves(0, 1)), 2)
    for pair in ((joint, product), (product, joint)):
        with pytest.raises(StructureError, match="split the variables that they share differently"):
            multiply(*pair)


# ---------------------------------------------------------------------- random circuits


def built(m: Maker, draw: st.DrawFn, tree: Tree, units: int) -> int:
    """A random circuit of a hierarchy of splits with some left out: their parts are factors of the product."""
    if isinstance(tree, int):
        return m.leaf(tree, units)
    if draw(st.integers(0, 2)) == 0:
        return product_of(m, draw, tree, units)
    is_kronecker = len(tree) == 2 and draw(st.integers(0, 3)) == 0
    if is_kronecker:
        own = draw(st.integers(1, 2))
        parts = [built(m, draw, part, own) for part in tree]
        return m.sum(m.b.kronecker(*parts), columns=own**2, units=units)
    width, count = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    return m.sum(*(product_of(m, draw, tree, width) for _ in range(count)), columns=width, units=units)


def product_of(m: Maker, draw: st.DrawFn, tree: tuple[Tree, ...], units: int) -> int:
    parts: list[Tree] = []
    for part in tree:
        parts += part if isinstance(part, tuple) and draw(st.booleans()) else (part,)
    parts = draw(st.permutations(parts))
    return m.b.hadamard(*(built(m, draw, part, units) for part in parts))


@st.composite
def regrouped_circuits(draw: st.DrawFn) -> tuple[Circuit, ...]:
    tree = draw(trees())
    found: list[Circuit] = []
    for _ in range(2):
        m = Maker(np.random.default_rng(draw(st.integers(0, 2**16))))
        found.append(m.b.build(built(m, draw, tree, 2)))
    return tuple(found)


@examples(100)
@given(regrouped_circuits())
def test_circuits_of_one_hierarchy_have_a_product_whatever_splits_they_leave_out(
    circuits: tuple[Circuit, ...],
):
    check(*circuits)
    check(*reversed(circuits))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_regrouped_products_are_compiled_in_every_mode(mode: dict[str, bool]):
    one, other = made(H["flat"], 1), made(H["sum"], 2)
    x = all_assignments(one)
    wanted = all_pairs(*(output(compile_circuit(c, "sum-product", **mode), x) for c in (one, other)))
    found = output(compile_circuit(multiply(one, other), "sum-product", **mode), x)
    np.testing.assert_allclose(found, wanted, atol=ATOL)
