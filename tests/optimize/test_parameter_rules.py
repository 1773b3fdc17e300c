"""The parameter rules: LogSoftmax and ReduceSumOuterProduct, in any layer, also in what an evidence layer observes."""

import numpy as np
import pytest
import torch

from explorer.backend import TorchCategoricalLayer, TorchEvidenceLayer
from explorer.backend.parameters import TorchEinsumParameter, TorchFlattenParameter
from explorer.compiler import TorchCompiler
from explorer.rewrite import GraphOptMatch, match_pattern
from explorer.symbolic import (
    CategoricalLayer,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    LogParameter,
    OuterProductParameter,
    ParameterNode,
    ReduceSumParameter,
    Shape,
    SoftmaxParameter,
    SquareParameter,
    TensorParameter,
    constant,
)
from tests.levels.modes import PRESETS, only
from tests.optimize.building import inputs, optimize, positive

EACH_PRESET = pytest.mark.parametrize("preset", PRESETS)


def log_softmax(*shape: int, axis: int = -1) -> ParameterNode:
    return LogParameter((SoftmaxParameter((TensorParameter(shape),), axis=axis),))


@EACH_PRESET
@pytest.mark.parametrize("axis", [0, 1])
def test_the_logarithm_of_a_softmax_is_a_log_softmax(preset: str, axis: int):
    b = CircuitBuilder()
    layer = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, logits=log_softmax(2, 3, axis=axis))
    module, watcher = optimize(b.build(b.add(layer)), preset=preset)
    assert watcher.applied() == {"LogSoftmax": 1}
    assert only(watcher.found).parameter_path == "0.logits"
    assert repr(only(module.layers).logits) == "Tensor>LogSoftmax(2, 3)"
    assert only(module.layers).logits.output.axis == axis


@EACH_PRESET
def test_a_softmax_that_is_read_twice_stays(preset: str):
    b = CircuitBuilder()
    softmax = SoftmaxParameter((TensorParameter((2,)),))
    value = OuterProductParameter((SquareParameter((LogParameter((softmax,)),)), softmax), axis=0)
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=4, value=value)))
    module, watcher = optimize(circuit, preset=preset)
    assert repr(only(module.layers).value) == "Tensor>Softmax>Log>Square>OuterProduct(4,)"
    assert watcher.refusals_of("LogSoftmax") == [
        "node 1 is read by 2 nodes; only the first entry may be read by more than one"
    ]


SHAPES = {
    "rank 1": ((4,), (3,), 0, 0),
    "rank 2, the axis of the product": ((2, 4), (2, 3), 1, 1),
    "rank 2, the other axis": ((4, 2), (3, 2), 0, 1),
    "rank 2, the other axis, reversed": ((2, 4), (2, 3), 1, 0),
    "rank 2, first axis": ((4, 2), (3, 2), 0, 0),
    "rank 3, the axis of the product": ((2, 4, 3), (2, 5, 3), 1, 1),
    "rank 3, one before": ((2, 4, 3), (2, 5, 3), 1, 0),
    "rank 3, one after": ((2, 4, 3), (2, 5, 3), 1, 2),
    "rank 3, far": ((2, 3, 4), (2, 3, 5), 2, 0),
}


EACH_SHAPE = pytest.mark.parametrize(("left", "right", "outer", "reduce"), SHAPES.values(), ids=SHAPES)


@EACH_SHAPE
def test_a_sum_over_an_outer_product_is_one_contraction(left: Shape, right: Shape, outer: int, reduce: int):
    value = ReduceSumParameter((OuterProductParameter((positive(*left), positive(*right)), axis=outer),), axis=reduce)
    compiler = TorchCompiler()
    graph = compiler.compile_parameter(value).graph
    rule = compiler.rules.parameter["ReduceSumOuterProduct"]
    match = match_pattern(graph, rule.pattern, graph.outputs[0])
    assert isinstance(match, GraphOptMatch)
    nodes = rule.apply(compiler, match)
    assert [type(node) for node in nodes] == [TorchEinsumParameter, *[TorchFlattenParameter] * (outer != reduce)]
    assert nodes[-1].shape == value.shape
    x, y = torch.randn(3, *left), torch.randn(3, *right)
    found = nodes[0].forward(x, y)
    assert found.shape[1:] == nodes[0].shape
    for node in nodes[1:]:
        found = node.forward(found)
    reduced, product = match.entries
    np.testing.assert_allclose(found, reduced.forward(product.forward(x, y)), rtol=1e-12, atol=1e-14)


@EACH_PRESET
@EACH_SHAPE
def test_a_contraction_in_a_circuit_keeps_its_value(preset: str, left: Shape, right: Shape, outer: int, reduce: int):
    value: ParameterNode = OuterProductParameter((positive(*left), positive(*right)), axis=outer)
    value = ReduceSumParameter((value,), axis=reduce)
    if not value.shape:
        return  # no layer has a scalar parameter
    while len(value.shape) > 1:  # down to a vector, by sums that no rule matches
        value = ReduceSumParameter((value,), axis=0)
    b = CircuitBuilder()
    units = sum(value.shape)  # of its one axis
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=units, value=value)))
    module, watcher = optimize(circuit, preset=preset)
    assert watcher.applied() == {"ReduceSumOuterProduct": 1}
    assert "OuterProduct" not in repr(only(module.layers).value)


@EACH_PRESET
def test_a_sum_over_an_outer_product_as_weight_and_twice_in_one_circuit(preset: str):
    def weight() -> ParameterNode:
        return ReduceSumParameter((OuterProductParameter((positive(2, 3, 2), positive(2, 3, 2)), axis=2),), axis=1)

    b = CircuitBuilder()
    x = inputs(b, 2, units=4)
    sums = [b.sum(node, num_units=2, weight=weight()) for node in x]
    _, watcher = optimize(b.build(b.hadamard(*sums)), preset=preset)
    assert watcher.applied() == {"ReduceSumOuterProduct": 2}
    assert [(event.number, event.parameter_path) for event in watcher.found] == [(0, "2.weight"), (1, "3.weight")]


@EACH_PRESET
def test_the_parameters_of_an_observed_layer_are_optimized_too(preset: str):
    b = CircuitBuilder()
    squares = ReduceSumParameter((OuterProductParameter((positive(2, 2, 3), positive(2, 2, 3)), axis=0),), axis=1)
    seen = [
        CategoricalLayer(scope=(0,), num_output_units=4, num_categories=3, logits=log_softmax(4, 3)),
        EmbeddingLayer(scope=(1,), num_output_units=4, num_states=3, weight=squares),
    ]
    layers = [b.add(EvidenceLayer(num_output_units=4, layer=layer, observation=constant([2]))) for layer in seen]
    circuit = b.build(b.hadamard(*layers))
    module, watcher = optimize(circuit, preset=preset)
    assert watcher.applied() == {"LogSoftmax": 1, "ReduceSumOuterProduct": 1}
    assert [event.parameter_path for event in watcher.found] == ["0.layer.logits", "1.layer.weight"]
    first = module.layers[0]
    assert isinstance(first, TorchEvidenceLayer)
    assert isinstance(first.layer, TorchCategoricalLayer)
    assert repr(first.layer.logits) == "Tensor>LogSoftmax(4, 3)"


@EACH_PRESET
def test_a_contraction_of_contractions_is_found_in_one_round(preset: str):
    def contraction() -> ParameterNode:
        return ReduceSumParameter((OuterProductParameter((positive(2, 3, 2), positive(2, 3, 2)), axis=1),), axis=0)

    value = ReduceSumParameter((OuterProductParameter((contraction(), contraction()), axis=1),), axis=0)
    b = CircuitBuilder()
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=4, value=value)))
    module, watcher = optimize(circuit, preset=preset)
    assert watcher.applied() == {"ReduceSumOuterProduct": 3}
    assert [done["parameters"] for done in watcher.rounds()] == [3, 0]
    assert "OuterProduct" not in repr(only(module.layers).value)
