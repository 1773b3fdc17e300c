"""The working circuit: what the pass manager reads of it, and what it refuses."""

import pytest

from explorer.compiler import TorchCompiler
from explorer.errors import GraphError
from explorer.graph import Graph
from explorer.optimize.working import WorkingCircuit
from explorer.templates import gallery


def working() -> WorkingCircuit:
    module = TorchCompiler(optimize=False, fold=False).compile(gallery.load_named("blackboard"))
    return WorkingCircuit(module.graph, lambda _, graph, work: work(graph))


def test_only_a_step_that_changed_something_moves_the_checkpoint():
    circuit = working()
    circuit.change(lambda _: None)
    assert circuit.checkpoint() == 0
    circuit.change(lambda graph: graph)
    assert circuit.checkpoint() == 1


def test_a_step_is_named_by_the_scopes_around_it():
    seen: list[str] = []
    circuit = working()
    circuit.run_step = lambda path, _, __: seen.append(path)
    with circuit.scope("optimize"), circuit.scope("round 1"):
        with circuit.scope("fuse"):
            circuit.change(lambda _: None)
        assert circuit.path == "optimize/round 1"
    assert seen == ["optimize/round 1/fuse"]
    assert circuit.path == ""


def test_a_layer_that_reads_layers_of_another_width_is_refused():
    circuit = working()
    circuit.verify()
    nodes, inputs = dict(circuit.graph.nodes), dict(circuit.graph.inputs)
    last = circuit.graph.outputs[0]
    inputs[last] = inputs[last] * 2
    circuit.graph = Graph(nodes, inputs, circuit.graph.outputs)
    with pytest.raises(GraphError, match=rf"{last} reads 1 layers of \d+ units; found layers of \[\d+, \d+\] units"):
        circuit.verify()
