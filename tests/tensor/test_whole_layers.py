"""Layers of circuits as operators: the same values as their `forward`, and open to every lower level."""

import pytest
import torch
from torch import nn

import explorer
from explorer.bench.programs import random_inputs
from explorer.compiler import TorchCompiler
from explorer.errors import UnknownNameError
from explorer.templates import gallery
from explorer.tensor import from_circuit, from_module, to_module
from explorer.tensor.passes import passes
from tests.tensor.circuits import compile_circuit, rows


def layers_of(graph):
    """The operators of a graph that are layers, as (class, name of the layer)."""
    found = [node.op for node in graph.toposort() if node.op.target.namespace == "circuit"]
    return [(op.name, op["layer"]) for op in found]


def whole(circuit, batch_size=3, **options):
    return from_circuit(circuit, batch_size=batch_size, level="circuit", **options)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "blackboard" else [pytest.mark.fuzz]) for name in gallery.names()]
)
def test_each_layer_is_one_operator_and_opens_into_those_that_its_forward_calls(name):
    circuit, x = compile_circuit(name), rows(name)
    graph = whole(circuit)
    program = explorer.record(graph, (x,), level="program").compiled
    assert sorted(kind for kind, _ in layers_of(graph)) == sorted(type(layer).__name__ for layer in circuit.layers)
    with torch.no_grad():
        assert torch.equal(to_module(graph)(x), circuit(x))
        assert torch.equal(program(x), circuit(x))
        passes["DecomposeLayers"].run(graph)
        assert not layers_of(graph)
        assert torch.equal(to_module(graph)(x), circuit(x))


def test_layer_is_named_by_its_configuration_and_equal_circuits_have_equal_text():
    texts = [whole(TorchCompiler().compile(gallery.load_named("blackboard"))).text() for _ in range(2)]
    assert texts[0] == texts[1]
    assert "layer='5 folds, num_output_units=2, num_categories=2, lse-sum')" in texts[0]


def test_another_semiring_is_another_operator():
    circuits = [
        TorchCompiler(semiring=name).compile(gallery.load_named("blackboard")) for name in ("lse-sum", "sum-product")
    ]
    x = random_inputs(circuits[0], 3)
    names = [{layer for _, layer in layers_of(whole(circuit))} for circuit in circuits]
    assert names[0].isdisjoint(names[1])
    for circuit in circuits:
        with torch.no_grad():
            assert torch.equal(to_module(whole(circuit))(x), circuit(x))


def test_parameters_are_trained_through_whole_and_opened_layers():
    circuit = compile_circuit("blackboard")
    x = rows("blackboard")
    wanted = torch.autograd.grad(-circuit(x).mean(), list(circuit.parameters()))
    for opened in (False, True):
        graph = whole(circuit, training=True)
        if opened:
            passes["DecomposeLayers"].run(graph)
        module = to_module(graph)
        (-module(x).mean()).backward()
        found = {id(parameter): parameter.grad for parameter in module.parameters()}
        for parameter, gradient in zip(circuit.parameters(), wanted, strict=True):
            given = found[id(parameter)]
            assert given is not None
            assert torch.allclose(given, gradient, rtol=1e-6)
            parameter.grad = None


def test_torch_compile_and_vmap_go_through_whole_layers():
    circuit = compile_circuit("blackboard")
    x = rows("blackboard")
    module = to_module(whole(circuit))
    with torch.no_grad():
        wanted = circuit(x)
        compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), wanted)
        torch.testing.assert_close(torch.func.vmap(module)(torch.stack([x, x]))[1], wanted)


class Twice(nn.Module):
    """A module with a circuit in it."""

    def __init__(self, circuit):
        super().__init__()
        self.parts = nn.ModuleList([circuit])

    def forward(self, x):
        return 2 * self.parts[0](x)


def test_layers_of_a_circuit_in_a_module_are_whole_and_the_module_is_unchanged():
    circuit, x = compile_circuit("blackboard"), rows("blackboard")
    module = Twice(circuit)
    graph = from_module(module, (x,), level="circuit")
    assert len(layers_of(graph)) == len(circuit.layers)
    assert not layers_of(from_module(module, (x,)))
    with torch.no_grad():
        assert torch.equal(to_module(graph)(x), module(x))


def test_a_layer_that_was_never_exported_is_a_typed_error():
    whole(compile_circuit("blackboard"))
    with pytest.raises(UnknownNameError, match="export its circuit first"):
        torch.ops.circuit.TorchCategoricalLayer(torch.zeros(1, 1, 1), [], "no such layer")
