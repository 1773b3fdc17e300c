"""Statistics of a state: updating them from state to state equals counting every layer of every state."""

from math import prod

import pytest

import explorer
from explorer.backend import all_parameters, parameter_nodes
from explorer.backend.addressing import direct_read
from explorer.backend.parameters import TorchLeafParameter
from explorer.compiler.compiler_snapshot import FoldingSnapshot
from explorer.templates import gallery


def counted_anew(snapshot):
    graph = snapshot.graph
    layers = list(graph.nodes.values())
    leaves = [node for node in parameter_nodes(graph) if isinstance(node, TorchLeafParameter)]
    sizes = {leaf: prod(node.shape) for node in leaves if node.learnable for leaf in node.leaves}
    number = max(node.dtype.itemsize for node in leaves)
    operators = [
        node.flops * node.num_folds for layer in layers for p in all_parameters(layer).values() for node in p.nodes
    ]
    return {
        "layers": len(layers),
        "folds": sum(layer.num_folds for layer in layers),
        "parameters": sum(sizes.values()),
        "flops": sum(layer.flops * layer.num_folds for layer in layers),
        "transcendentals": sum(layer.transcendentals * layer.num_folds for layer in layers),
        "parameter_flops": sum(operators),
        "activation_bytes": sum(layer.num_output_units * layer.num_folds for layer in layers) * number,
        "copied_bytes": copied_anew(snapshot, number),
    }


def copied_anew(snapshot, number):
    """Before folding each layer reads its inputs one by one; then by the table of its reads."""
    if isinstance(snapshot, FoldingSnapshot):
        return sum(read["copied_bytes"] for read in snapshot.reads.values())
    graph = snapshot.graph
    reads = {node: direct_read(sources).rows_copied for node, sources in graph.inputs.items() if sources}
    return number * sum(rows * graph.nodes[graph.inputs[node][0]].num_output_units for node, rows in reads.items())


@pytest.mark.parametrize("name", ["digits", "blackboard", "hmm", "conflict", "near-misses", "levels", "kronecker"])
@pytest.mark.parametrize("levels", ["longest-distance", "fewest-groups"])
def test_every_state_has_the_statistics_of_its_layers(name, levels):
    trace = explorer.record(gallery.load_named(name), levels=levels)
    for step in reversed(trace.steps):
        assert trace.stats(step) == counted_anew(step.snapshot), step.path


def test_circuits_compiled_by_one_compiler_have_separate_statistics():
    blackboard, conflict = gallery.load_named("blackboard"), gallery.load_named("conflict")
    alone = [explorer.record(circuit).stats(-1) for circuit in (blackboard, conflict)]
    compiler = explorer.TorchCompiler()
    together = [explorer.record(circuit, compiler).stats(-1) for circuit in (blackboard, conflict)]
    assert together == alone
