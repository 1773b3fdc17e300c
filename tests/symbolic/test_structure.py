"""Smooth, decomposable and structured decomposable circuits, and the reasons for those that are not."""

import pytest
from inline_snapshot import snapshot

from explorer.errors import StructureError
from explorer.symbolic import CircuitBuilder
from tests.symbolic.building import chain, coin, unit


def test_a_tree_of_products_and_sums_has_all_properties():
    circuit = chain()
    assert circuit.is_smooth
    assert circuit.is_decomposable
    assert circuit.is_structured_decomposable
    assert circuit.is_smooth.reason == ""


def test_a_sum_over_different_variables_is_not_smooth_and_says_where():
    b = CircuitBuilder()
    finding = b.build(b.sum(b.add(coin(0)), b.add(coin(3)), num_units=1)).is_smooth
    assert not finding
    assert finding.reason == snapshot("sum layer %2: its input %0 does not depend on variables [3]")


def test_a_product_over_a_common_variable_is_not_decomposable_and_says_where():
    b = CircuitBuilder()
    left, right = b.add(coin(0)), b.add(coin(1))
    both = b.hadamard(left, right)
    finding = b.build(b.kronecker(both, right)).is_decomposable
    assert not finding
    assert finding.reason == snapshot("product layer %3: its inputs share variables [1]")


def test_a_layer_multiplied_with_itself_is_not_decomposable():
    b = CircuitBuilder()
    node = b.add(coin(0))
    assert not b.build(b.hadamard(node, node)).is_decomposable


def test_constants_may_be_multiplied_with_anything():
    b = CircuitBuilder()
    one = b.add(unit())
    circuit = b.build(b.hadamard(one, one, b.add(coin(0))))
    assert circuit.is_decomposable
    assert circuit.is_structured_decomposable


def test_two_splits_of_the_same_variables_are_not_structured():
    b = CircuitBuilder()
    x, y, z = (b.add(coin(v)) for v in range(3))
    left = b.hadamard(b.hadamard(x, y), z)
    right = b.hadamard(x, b.hadamard(y, z))
    circuit = b.build(b.sum(left, right, num_units=1))
    assert circuit.is_smooth
    assert circuit.is_decomposable
    finding = circuit.is_structured_decomposable
    assert not finding
    assert finding.reason == snapshot("product layers 4 and 6 split the same variables in different ways")


def test_the_order_of_the_inputs_does_not_matter_for_structure():
    b = CircuitBuilder()
    x, y = b.add(coin(0)), b.add(coin(1))
    assert b.build(b.sum(b.hadamard(x, y), b.hadamard(y, x), num_units=1)).is_structured_decomposable


def test_structured_decomposability_names_the_property_that_is_missing_below():
    b = CircuitBuilder()
    circuit = b.build(b.sum(b.add(coin(0)), b.add(coin(3)), num_units=1))
    assert circuit.is_structured_decomposable.reason == circuit.is_smooth.reason


def test_a_circuit_without_a_required_property_is_refused_with_the_reason():
    b = CircuitBuilder()
    node = b.add(coin(0))
    circuit = b.build(b.hadamard(node, node))
    circuit.require()
    circuit.require(smooth=True)
    with pytest.raises(StructureError, match=r"not decomposable: product layer %1: its inputs share variables \[0\]"):
        circuit.require(smooth=True, decomposable=True)
    with pytest.raises(StructureError, match="not structured decomposable: product layer %1"):
        circuit.require(structured_decomposable=True)
    other = CircuitBuilder()
    mixed = other.build(other.sum(other.add(coin(0)), other.add(coin(3)), num_units=1))
    with pytest.raises(StructureError, match="not smooth: sum layer %2: its input %0 does not depend on variables"):
        mixed.require(smooth=True)
    chain().require(smooth=True, decomposable=True, structured_decomposable=True)


def test_properties_include_dead_layers():
    b = CircuitBuilder()
    node = b.add(coin(0))
    b.hadamard(node, node)
    assert not b.build(node).is_decomposable
