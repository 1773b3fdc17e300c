"""No finite wrong number: a program sees new values of parameters, however they change, or is a copy on purpose.

A computation of parameters only is part of a program that may be trained, and runs in each call: a change through
`.data`, or in another thread, leaves no trace by which kept values could be known to be stale.
"""

import threading

import pytest
import torch
from torch.func import functional_call
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import explorer
from explorer.backend import TorchCircuit
from explorer.bench.programs import random_inputs
from explorer.program import why_not_planned
from explorer.templates import gallery
from tests.program.programs import snapshot_of


@pytest.fixture(scope="module")
def traced():
    circuit = explorer.record(gallery.load_named("blackboard")).compiled
    x = random_inputs(circuit, 4)
    return circuit, x, explorer.record(circuit, (x,), level="program", mode="train")


def descend(circuit: TorchCircuit, x: torch.Tensor, optimizer: type[torch.optim.Optimizer], **options: object) -> None:
    descent = optimizer(circuit.parameters(), lr=0.1, **options)  # type: ignore[call-arg]
    for _ in range(2):
        descent.zero_grad()
        (-circuit(x).mean()).backward()
        descent.step()


def load(circuit: TorchCircuit, x: torch.Tensor) -> None:
    circuit.load_state_dict({name: value * 1.5 for name, value in circuit.state_dict().items()})


def replace_data(circuit: TorchCircuit, x: torch.Tensor) -> None:
    for parameter in circuit.parameters():
        parameter.data = parameter.data * 0.5


def write_into_data(circuit: TorchCircuit, x: torch.Tensor) -> None:
    for parameter in circuit.parameters():
        version = parameter._version
        parameter.data.mul_(0.7)
        assert parameter._version == version, "nothing tells of the change"


def from_vector(circuit: TorchCircuit, x: torch.Tensor) -> None:
    vector_to_parameters(parameters_to_vector(circuit.parameters()).detach() + 0.3, circuit.parameters())


def in_a_thread(circuit: TorchCircuit, x: torch.Tensor) -> None:
    thread = threading.Thread(target=write_into_data, args=(circuit, x))
    thread.start()
    thread.join()


CHANGES = {
    "sgd": lambda circuit, x: descend(circuit, x, torch.optim.SGD, momentum=0.9),
    "adam": lambda circuit, x: descend(circuit, x, torch.optim.Adam),
    "fused adam": lambda circuit, x: descend(circuit, x, torch.optim.Adam, fused=True),
    "load_state_dict": load,
    "new data": replace_data,
    "in data": write_into_data,
    "vector_to_parameters": from_vector,
    "another thread": in_a_thread,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_program_that_may_be_trained_sees_every_change_of_its_parameters(traced, name):
    circuit, x, trace = traced
    with torch.no_grad():
        before = trace.compiled(x)
    CHANGES[name](circuit, x)
    with torch.no_grad():
        wanted, found = circuit(x), trace.compiled(x)
        assert why_not_planned(trace.compiled, x) is None
        torch.testing.assert_close(found, wanted)
        assert not torch.allclose(found, before)


def test_functional_call_uses_its_own_values(traced):
    _, x, trace = traced
    kept = {name: value.detach().clone() for name, value in trace.compiled.named_parameters()}
    with torch.no_grad():
        before = trace.compiled(x)
        other = functional_call(trace.compiled, {name: value * 2 for name, value in kept.items()}, (x,))
        assert not torch.allclose(other, before)
        assert torch.equal(trace.compiled(x), before)


def test_program_for_inference_is_a_copy_with_parameter_graphs_evaluated_once():
    circuit = explorer.record(gallery.load_named("blackboard")).compiled
    x = random_inputs(circuit, 4)
    trace = explorer.record(circuit, (x,), level="program")
    before = trace.compiled(x)
    assert not list(trace.compiled.parameters())
    assert "_softmax" not in snapshot_of(trace, 0).program.text()
    assert "Evaluated once, on copies of the parameters: 1 log;" in trace.steps[0].notes[0]
    assert str(trace).splitlines()[-1] == trace.steps[0].notes[0]
    replace_data(circuit, x)
    assert torch.equal(trace.compiled(x), before)
    assert not torch.allclose(circuit(x), before)
