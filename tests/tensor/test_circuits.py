"""Compiled circuits as tensor graphs."""

import pytest
import torch

import explorer
from explorer.bench.programs import random_inputs
from explorer.rewrite import PassOptions
from explorer.symbolic import GaussianLayer, constant
from explorer.templates import gallery
from explorer.tensor import Constant, from_circuit, to_module
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.recording.record_module import ManagedPipeline
from tests.tensor.circuits import ROWS, compile_circuit, import_circuit, rows

DRAWN_28_BY_28 = ("mnist",)
SLOW = (
    *("hclt", "mnist", "poon-domingos", "sum-chain", "levels", "conflict", "hmm", "near-misses", "squared"),
    *("kronecker", "evidence", "digits"),
)
"""Their exports take long, or are of kinds that the others have too; `make fuzz` tests them."""

MAY_DO_NOTHING = {
    *("view", "reshape", "_unsafe_view", "squeeze", "unsqueeze", "expand"),
    *("clone", "alias", "detach", "_to_copy"),
}

AFTER_PASSES = {  # operators before the default passes, and at most after them
    "digits": (115, 47),
    "hclt": (557, 290),
    "blackboard": (75, 48),
    "hmm": (275, 163),
    "conflict": (70, 33),
    "near-misses": (142, 69),
    "levels": (117, 58),
    "sum-chain": (429, 16),
    "kronecker": (143, 67),
    "logic": (105, 56),
    "squared": (218, 78),
    "sos": (217, 35),
    "evidence": (103, 53),
    "mnist": (416, 214),
    "poon-domingos": (777, 359),
}


def repeated_operators(graph):
    """The operators that have the same inputs and settings as an earlier one."""
    seen = [(node.op, *node.inputs) for node in graph.toposort()]
    return [key for i, key in enumerate(seen) if key in seen[:i]]


def from_constants(graph):
    """The operators that read nothing but constants."""
    return [node for node in graph.nodes if all(isinstance(v, Constant) for v in node.inputs)]


def views_of_the_same_shape(graph):
    """The reshapes, casts and copies that return their input."""
    names = {
        "view",
        "reshape",
        "_unsafe_view",
        "expand",
        "clone",
        "alias",
        "detach",
        "_to_copy",
        "squeeze",
        "unsqueeze",
    }
    return [n for n in graph.nodes if n.op.name in names and n.inputs[0].type == n.outputs[0].type]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.fuzz] if name in SLOW else []) for name in gallery.names()]
)
def test_the_graph_of_a_circuit_has_its_values_before_and_after_the_default_passes(name):
    """One test for both, so that each circuit is exported once."""
    circuit, graph, x = compile_circuit(name), import_circuit(name).clone(), rows(name)
    graph.verify()
    before, at_most = AFTER_PASSES[name]
    assert len(graph) == before
    with torch.no_grad():
        wanted = circuit(x)
        assert torch.equal(to_module(graph)(x), wanted)
    ManagedPipeline(DEFAULT_PIPELINE, options=PassOptions(verify_after="all")).rewrite(graph)
    with torch.no_grad():
        torch.testing.assert_close(to_module(graph)(x), wanted, rtol=1e-6, atol=0)  # logs and sums in another order
    assert len(graph) <= at_most
    assert not views_of_the_same_shape(graph)
    assert not repeated_operators(graph)
    assert not from_constants(graph)
    if name in DRAWN_28_BY_28:
        assert circuit.num_variables == 28 * 28
        assert len(graph) <= 0.6 * before


def test_core_level_has_the_same_values():
    circuit = compile_circuit("blackboard")
    graph = from_circuit(circuit, batch_size=2, level="core")
    x = random_inputs(circuit, 2)
    assert torch.allclose(to_module(graph)(x), circuit(x), rtol=1e-5)  # sums may be taken in another order


def test_the_graph_has_a_fixed_number_of_rows():
    graph = import_circuit("blackboard")
    assert [v.tensor_type.shape for v in graph.inputs] == [(ROWS, 5)]
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
