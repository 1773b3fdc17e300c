"""The values of leaves are found again after tensors are replaced, moved or saved."""

import pickle

import pytest
import torch

import explorer
from explorer.backend import TorchHadamardLayer, TorchSumLayer
from explorer.compiler import TorchCompiler, record_with
from explorer.errors import DataTypeError
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import Circuit
from explorer.templates import gallery, image_data
from explorer.trace import Recorder

X = torch.tensor([[0, 1, 0, 1, 1], [1, 1, 0, 0, 1]])


@pytest.fixture
def trace():
    return explorer.record(gallery.load_named("blackboard"))


def test_assigned_tensors_are_those_that_leaf_state_reads_and_writes(trace):
    model = trace.compiled
    model.load_state_dict({name: value * 1.5 for name, value in model.state_dict().items()}, assign=True)
    fresh = explorer.record(gallery.load_named("blackboard"), fold=False).compiled
    fresh.load_leaf_state(model.leaf_state())
    torch.testing.assert_close(fresh(X), model(X))
    torch.testing.assert_close(trace.circuit_at(0)(X), model(X))
    model.load_leaf_state({name: value / 1.5 for name, value in model.leaf_state().items()})
    assert not torch.allclose(fresh(X), model(X))


def test_steps_follow_the_type_of_the_compiled_circuit(trace):
    trace.compiled.to(torch.float32)
    assert trace.circuit_at(0)(X).dtype == torch.float32
    assert all(row.ok for row in trace.check(X))


def test_a_state_of_a_different_type_is_refused_and_changes_nothing(trace):
    state = trace.compiled.leaf_state()
    before = trace.compiled(X)
    name = next(iter(state))
    for value in ([1.0], state[name] + 1j):
        with pytest.raises(DataTypeError, match=f"leaf {name} holds"):
            trace.compiled.load_leaf_state({**state, name: value})
    assert torch.equal(trace.compiled(X), before)


def test_resetting_draws_the_first_values_again():
    model = TorchCompiler(seed=4).compile(gallery.load_named("hmm"))
    first = model.leaf_state()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.zero_()
    model.reset_parameters(4)
    assert all(torch.equal(first[name], value) for name, value in model.leaf_state().items())
    model.reset_parameters(5)
    assert not all(torch.equal(first[name], value) for name, value in model.leaf_state().items())


def test_a_compiled_circuit_can_be_pickled(trace):
    again = pickle.loads(pickle.dumps(trace.compiled))
    assert torch.equal(again(X), trace.compiled(X))


def small_image() -> Circuit:
    return image_data((1, 4, 4), input_layer="categorical", num_input_units=2, sum_product_layer="cp", num_sum_units=2)


def test_small_integer_types_are_read_without_overflow(trace):
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.bool):
        assert torch.equal(trace.compiled(X.to(dtype)), trace.compiled(X))
    pixels = TorchCompiler().compile(small_image())
    bright = torch.full((1, 16), 255, dtype=torch.uint8)
    assert torch.equal(pixels(bright), pixels(bright.long()))


def test_a_rule_that_forgets_a_weight_is_caught_by_check():
    recorder = Recorder()
    compiler = TorchCompiler(disable="Candecomp", listeners=[recorder])
    square = {"num_input_units": 2, "num_output_units": 2, "arity": 1}
    pattern = LayerOptPattern("Forget", (TorchSumLayer, TorchHadamardLayer), config_patterns=(square, {}))

    @compiler.rules.fuse.rule(pattern)
    def forget(compiler, match):
        """Wrong on purpose: a sum is not an identity."""
        return (match.entries[1],)

    rows = record_with(compiler, recorder, gallery.load_named("blackboard")).check(X)
    assert next(row.path for row in rows if not row.ok) == "optimize/round 1/fuse"


def test_an_evaluation_without_gradients_does_not_affect_later_gradients():
    builder = explorer.CircuitBuilder()
    from explorer.symbolic import GaussianLayer, constant

    bell = GaussianLayer(scope=(0,), num_output_units=1, mean=constant([0.5]), stddev=constant([2.0]))
    model = TorchCompiler().compile(builder.build(builder.add(bell))).eval()
    x = torch.tensor([[1.5]])
    with torch.inference_mode():
        model(x)
    x = x.clone().requires_grad_()
    model(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[-0.25]]))
