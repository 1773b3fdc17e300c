"""Compiled circuits as tensor graphs."""

from functools import cache

import pytest
import torch

import explorer
from explorer.bench.inputs import random_inputs
from explorer.symbolic import GaussianLayer, constant
from explorer.templates import gallery
from explorer.tensor import from_circuit, to_module

LARGE = ("mnist", "poon-domingos")
"""Exporting these takes longer than 5 seconds."""


@cache
def compiled(name):
    return explorer.record(gallery.load_named(name)).compiled


@pytest.mark.parametrize("name", [name for name in gallery.names() if name not in LARGE])
def test_the_graph_of_a_circuit_gives_its_values(name):
    circuit = compiled(name)
    graph = from_circuit(circuit, batch_size=3)
    graph.verify()
    x = random_inputs(circuit, 3)
    assert torch.equal(to_module(graph)(x), circuit(x))


def test_core_level_gives_the_values_too():
    circuit = compiled("digits")
    graph = from_circuit(circuit, batch_size=2, level="core")
    x = random_inputs(circuit, 2)
    assert torch.allclose(to_module(graph)(x), circuit(x), rtol=1e-5)  # sums may be taken in another order


def test_the_graph_is_made_for_a_number_of_rows():
    graph = from_circuit(compiled("blackboard"), batch_size=4)
    assert [v.tensor_type.shape for v in graph.inputs] == [(4, 5)]
    assert [v.tensor_type.dtype for v in graph.inputs] == [torch.int64]


def test_continuous_variables_are_numbers():
    builder = explorer.CircuitBuilder()
    one = constant([1.0])
    normals = [
        builder.add(GaussianLayer(scope=(0,), num_output_units=1, mean=constant([mean]), stddev=one))
        for mean in (0.0, 2.0)
    ]
    circuit = explorer.record(builder.build(builder.sum(*normals, num_units=1))).compiled
    graph = from_circuit(circuit, batch_size=3)
    assert graph.inputs[0].tensor_type.dtype == torch.get_default_dtype()
    x = torch.randn(3, 1)
    assert torch.equal(to_module(graph)(x), circuit(x))


def test_parameters_of_a_circuit_are_trained_through_the_graph():
    circuit = explorer.record(gallery.load_named("blackboard")).compiled
    x = random_inputs(circuit, 4)
    module = to_module(from_circuit(circuit, batch_size=4, training=True))
    (-module(x).mean()).backward()
    found = {id(parameter): parameter.grad for parameter in module.parameters()}
    assert len(found) == len(list(circuit.parameters()))
    wanted = torch.autograd.grad(-circuit(x).mean(), list(circuit.parameters()))
    for parameter, gradient in zip(circuit.parameters(), wanted, strict=True):
        given = found[id(parameter)]
        assert given is not None
        assert torch.allclose(given, gradient, rtol=1e-5, atol=1e-7)
