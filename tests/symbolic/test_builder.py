"""The circuit builder: ids, widths, weights, and the layers it refuses."""

import pytest
from inline_snapshot import snapshot

from explorer.errors import DuplicateNameError, GraphError, ShapeError
from explorer.symbolic import CircuitBuilder, Parameterization, SumLayer
from tests.symbolic.building import coin, leaf


def test_the_builder_counts_ids_and_fills_in_widths():
    b = CircuitBuilder()
    nodes = [b.add(coin(0)), b.add(coin(1))]
    product = b.kronecker(*nodes)
    top = b.sum(product, product, num_units=3)
    assert (*nodes, product, top) == (0, 1, 2, 3)
    assert [b.width(n) for n in (0, product, top)] == [2, 4, 3]
    weight = b.build(top).layers[3]
    assert isinstance(weight, SumLayer)
    assert weight.weight.shape == (3, 8)


def test_a_built_circuit_does_not_change_with_its_builder():
    b = CircuitBuilder()
    node = b.add(coin(0))
    circuit = b.build(node)
    b.sum(node, num_units=1, name="late")
    assert (len(circuit.layers), dict(circuit.names)) == (1, {})


def test_the_weight_of_a_sum_is_an_argument_or_made_by_the_parameterization():
    b = CircuitBuilder()
    node, weight = b.add(coin(0)), leaf(1, 2)
    given_ = b.sum(node, num_units=1, weight=weight)
    made = b.sum(node, num_units=1, weights=Parameterization("sigmoid"))
    plain = b.sum(node, num_units=1)
    layers = b.build(plain).layers
    assert [repr(layers[n].weight) for n in (given_, made, plain)] == snapshot(  # type: ignore[attr-defined]
        [
            "TensorParameter(1, 2)",
            "SigmoidParameter(TensorParameter(1, 2))",
            "SoftmaxParameter(TensorParameter(1, 2), axis=1)",
        ]
    )
    assert layers[given_].weight is weight  # type: ignore[attr-defined]


def test_the_builder_refuses_unknown_inputs():
    b = CircuitBuilder()
    node = b.add(coin(0))
    for read in (lambda: b.add(coin(1), [7]), lambda: b.hadamard(node, 7), lambda: b.width(7)):
        with pytest.raises(GraphError, match="unknown input layer 7; add it first"):
            read()
    with pytest.raises(GraphError, match="output 7 is not a node"):
        b.build(7)


def test_the_builder_refuses_an_inner_layer_without_inputs():
    with pytest.raises(ShapeError, match="needs at least one input; found none"):
        CircuitBuilder().hadamard()
    with pytest.raises(ShapeError, match="needs at least one input; found none"):
        CircuitBuilder().sum(num_units=1)


def test_the_builder_refuses_a_duplicate_name():
    b = CircuitBuilder()
    b.add(coin(0), name="a")
    with pytest.raises(DuplicateNameError, match="the layer name 'a' is already used"):
        b.add(coin(1), name="a")


def test_a_refused_layer_leaves_the_builder_as_it_was():
    b = CircuitBuilder()
    node = b.add(coin(0), name="a")
    with pytest.raises(DuplicateNameError):
        b.add(coin(1), name="a")
    with pytest.raises(ShapeError):
        b.sum(node, num_units=1, weight=leaf(9, 9))
    assert b.add(coin(1)) == 1


def test_inputs_of_different_widths_are_refused_when_the_circuit_is_built():
    b = CircuitBuilder()
    product = b.hadamard(b.add(coin(0, 2)), b.add(coin(1, 3)))
    with pytest.raises(ShapeError, match="needs 2 units from each input; layer 1 has 3"):
        b.build(product)
