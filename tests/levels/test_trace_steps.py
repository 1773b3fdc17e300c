"""The first law: the same input has the same value at every recorded step."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import explorer
from explorer.errors import LimitWarning
from explorer.templates import gallery
from tests.fuzzing import covering, examples
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.reference import load_reference, reference_paths
from tests.strategies import circuits, random_inputs


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def record(circuit, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        return explorer.record(circuit, **options)


@pytest.mark.parametrize(
    ("path", "preset"),
    covering(reference_paths(), ("handbook", "default"), strength=1),
    ids=lambda value: getattr(value, "stem", None),
)
def test_every_recorded_step_has_the_reference_value(path, preset):
    circuit, x, expected = load_reference(path)
    trace = record(circuit, semiring=expected.semiring, preset=preset)
    x = None if x is None else torch.as_tensor(x)
    for step in trace.steps:
        value = trace.circuit_at(step)(x).detach().numpy()
        np.testing.assert_allclose(value.reshape(expected.output.shape), expected.output, rtol=1e-9)


@given(data=st.data())
@examples(25)
def test_every_recorded_step_of_a_random_circuit_equals_plain_evaluation(data):
    circuit = data.draw(circuits(positive=True))
    x = random_inputs(circuit, batch=3, seed=1)
    values = constant_leaf_values(circuit)
    trace = record(circuit)
    for step in trace.steps:
        y = trace.circuit_at(step)(None if x is None else torch.as_tensor(x)).detach().numpy()
        assert_equals_oracle(y, "lse-sum", circuit, values, x)


@pytest.mark.parametrize("name", ["blackboard", "hmm", "conflict", "near-misses", "levels", "kronecker"])
def test_check_finds_no_difference_at_any_step_of_the_gallery(name):
    circuit = gallery.load_named(name)
    trace = record(circuit)
    x = torch.as_tensor(random_inputs(circuit, batch=4, seed=0))
    assert len(trace.check(x)) == len(trace.steps)
    assert max(row.max_difference for row in trace.check(x)) < 1e-9
    assert all(row.ok for row in trace.check(x))


def test_check_tells_the_step_at_which_a_wrong_rule_changed_the_value():
    from dataclasses import replace

    from explorer.backend import TorchSumLayer
    from explorer.compiler import TorchCompiler, record_with
    from explorer.rewrite import LayerOptPattern
    from explorer.trace import Recorder

    recorder = Recorder()
    compiler = TorchCompiler(fold=False, max_rounds=1, disable=["SumCollapse", "Candecomp"], listeners=[recorder])

    @compiler.rules.fuse.rule(
        LayerOptPattern("Forgetful", (TorchSumLayer,), config_patterns=({"num_output_units": 1},))
    )
    def forget(compiler, match):
        """Wrong on purpose: uses the weights of the first unit for all."""
        sum_layer = match.entries[0]
        other = next(iter(sum_layer.weight.graph.nodes.values()))
        return (replace(sum_layer, weight=replace(sum_layer.weight, graph=constant_graph(other))),)

    def constant_graph(leaf):
        from explorer.backend.parameters import TorchSoftmaxParameter
        from explorer.graph import Graph

        soft = TorchSoftmaxParameter(shape=leaf.shape, in_shapes=(leaf.shape,), axis=1)
        return Graph({0: leaf, 1: soft}, {0: (), 1: (0,)}, (1,))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        trace = record_with(compiler, recorder, gallery.load_named("blackboard"))
    wrong = [row.path for row in trace.check(torch.zeros(1, 5, dtype=torch.long)) if not row.ok]
    assert wrong == ["optimize/round 1/fuse"]


def test_a_step_has_the_present_values_and_not_the_initial_ones():
    circuit = gallery.load_named("blackboard")
    trace = record(circuit)
    x = torch.zeros(1, 5, dtype=torch.long)
    before = trace.circuit_at(0)(x)
    with torch.no_grad():
        for tensor in trace.compiled.parameters():
            tensor.mul_(1.5)
    assert not torch.allclose(trace.circuit_at(0)(x), before)
    torch.testing.assert_close(trace.circuit_at(0)(x), trace.compiled(x))


def test_recording_changes_nothing():
    circuit = gallery.load_named("levels")
    plain = explorer.TorchCompiler().compile(circuit)
    trace = record(circuit)
    assert str(plain.graph) == str(trace.compiled.graph)
    x = torch.as_tensor(random_inputs(circuit, batch=4, seed=0))
    assert torch.equal(plain(x), trace.compiled(x))
