"""Training programs of modules with state, odd gradients and shared tensors, and of circuits."""

import copy

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import explorer
from explorer.bench.programs import random_inputs
from explorer.program import why_not_planned
from explorer.program.ir.instructions import Role
from explorer.program.ir.types import BufferType
from explorer.program.running import module as running
from explorer.templates import gallery
from explorer.tensor import to_module
from tests.program.programs import snapshot_of
from tests.program.trained import Net, X, assert_same_gradients, gradients_of, loss_of, modules_of
from tests.tensor.rule_checks import same_bits


class Stateful(nn.Module):
    """Random numbers, running statistics, and a buffer that the backward pass reads after the call changed it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 3))
        self.register_buffer("count", torch.ones(()))

    def forward(self, x):
        result = self.layers(x) * self.count
        self.count += 1
        return result, x.detach() * 2


def test_state_is_changed_and_random_numbers_are_drawn_as_by_the_operators():
    pair = modules_of(explorer.record(Stateful(), (X,), level="program", mode="train"))
    assert why_not_planned(pair[0], X) is None
    drawn = []
    for one in pair:
        torch.manual_seed(3)
        losses = [loss_of(one(X + offset)[:1]) for offset in range(2)]
        for loss in reversed(losses):
            loss.backward(retain_graph=True)
        parameters = list(one.parameters())
        first = torch.autograd.grad(losses[0], parameters, create_graph=True)
        torch.stack([value.square().sum() for value in first]).sum().backward()
        drawn.append(torch.rand(8))
    assert same_bits(*drawn)
    assert_same_gradients(*pair)
    for one, other in zip(pair[0].buffers(), pair[1].buffers(), strict=True):
        assert same_bits(one, other)
    assert not pair[0](X)[1].requires_grad


def sparse():
    return nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2)), torch.tensor([[1, 4, 1]])


def in_place():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return (x * self.weight + 1).mul_(2)[:, :2].relu_()

    return InPlace(), X


def workspace():
    torch.manual_seed(0)

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.LSTM(4, 3, num_layers=2)

        def forward(self, x):
            return self.layers(x)[0]

    return Last(), X.unsqueeze(0)


def no_parameters():
    return nn.Tanh(), X


@pytest.mark.parametrize("build", [sparse, workspace, in_place, no_parameters])
def test_modules_with_odd_gradients_are_trained_by_the_program_or_the_operators(build):
    original, x = build()
    module = explorer.record(original, (x,), level="program", mode="train").compiled
    wanted = original(x)
    assert torch.equal(module(x), wanted)
    if wanted.requires_grad:
        module(x).sum().backward()
        for name, found in gradients_of(module).items():
            (expected,) = torch.autograd.grad(original(x).sum(), [original.get_parameter(name)])
            assert torch.equal(found.to_dense(), expected.to_dense())
    reasons = {
        sparse: "the program has no backward pass: ",
        workspace: "of mkldnn_rnn_layer is used",
        in_place: "None",
        no_parameters: "None",
    }
    assert reasons[build] in str(why_not_planned(module, x))


def test_a_trace_of_training_can_be_saved(tmp_path):
    trace = explorer.record(Net(), (X,), level="program", mode="train")
    trace.save(tmp_path / "trained.json.gz")
    loaded = explorer.Trace.load(tmp_path / "trained.json.gz")
    for step, other in zip(loaded.steps, trace.steps, strict=True):
        assert step.snapshot.memory == other.snapshot.memory


def test_a_check_compares_gradients_with_those_of_the_exported_module():
    trace = explorer.record(Net(), (X,), level="program", mode="train")
    parameters = len(list(trace.compiled.parameters()))
    assert len(trace.steps[0].snapshot.results((X,))) == 2 + parameters
    assert all(check.ok for check in trace.check())
    stateful = explorer.record(Stateful(), (X,), level="program", mode="train")
    assert all(check.ok and check.max_difference == 0 for check in stateful.check())


class Filled(nn.Module):
    """Its backward pass fills memory in the dtype of a tangent, and it updates a buffer with a derivative."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.scale = nn.Parameter(torch.randn(4, dtype=torch.float64))
        self.mean = nn.Buffer(torch.zeros(4, dtype=torch.float64))

    def forward(self, x):
        scaled = x * self.scale
        self.mean.copy_(scaled.mean(0))
        return scaled.as_strided((4, 3, 2), (4, 1, 1)), scaled.gather(1, torch.tensor([[0, 1], [2, 2], [3, 0], [1, 1]]))


def test_a_backward_pass_fills_memory_in_the_dtype_of_its_tangent(monkeypatch):
    monkeypatch.setattr(running, "_by_operators", None)
    x = X.double()
    pair = modules_of(explorer.record(Filled(), (x,), level="program", mode="train"))
    assert why_not_planned(pair[0], x) is None
    for one in pair:
        loss_of(one(x)).backward()
    assert_same_gradients(*pair)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_that_a_kernel_leaves_out_have_no_memory(training):
    original = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)).train(training)
    trace = explorer.record(original, (X,), level="program", mode="train")
    assert "-> none, %" in snapshot_of(trace).program.text()
    pair = modules_of(trace)
    for one in pair:
        loss_of([one(X)]).backward()
    assert_same_gradients(*pair)


class Turned(nn.Module):
    """The kernel of batch norm gives its result other strides than a fake tensor has."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm = nn.BatchNorm2d(5)

    def forward(self, x):
        return self.norm(x.exp().permute(3, 2, 0, 1))


def test_a_tangent_has_the_strides_of_its_output():
    x = torch.rand(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
    trace = explorer.record(Turned(), (x,), level="program", mode="train")
    program = snapshot_of(trace).program
    (output,) = (weight for weight in program.with_role(Role.OUTPUT) if weight.type.shape == (4, 5, 2, 3))
    (tangent,) = program.with_role(Role.TANGENT)
    pair = modules_of(trace)
    results = [one(x) for one in pair]
    assert tangent.type == output.type == BufferType.contiguous(torch.float32, (4, 5, 2, 3))
    for result in results:
        (result * torch.rand(result.shape, generator=torch.Generator().manual_seed(1))).sum().backward()
    assert_same_gradients(*pair)


class Tied(nn.Module):
    """A shared parameter; outputs twice, as a view, and a parameter and an input themselves."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        hidden = self.second(torch.relu(self.first(x)))
        return hidden, hidden, self.first.bias, x, {"turned": hidden.t(), "count": 3}


def test_shared_parameters_and_outputs_that_are_the_same_tensor():
    original = Tied()
    trace = explorer.record(original, (X,), level="program", mode="train")
    found = []
    for one in (trace.compiled, to_module(snapshot_of(trace).source.forward), original):
        one.zero_grad()
        outputs = tree_leaves(one(X))
        loss_of([value for value in outputs if isinstance(value, torch.Tensor) and value.requires_grad]).backward()
        found.append({name: value.clone() for name, value in gradients_of(one).items() if value is not None})
    assert why_not_planned(trace.compiled, X) is None
    for name, value in found[2].items():
        assert same_bits(found[0][name], value)
        assert same_bits(found[1][name], value)


def test_gradients_of_a_circuit_are_those_of_double_precision():
    circuit = explorer.record(gallery.load_named("blackboard")).compiled
    x = random_inputs(circuit, 16)
    trace = explorer.record(circuit, (x,), level="program", mode="train")
    assert why_not_planned(trace.compiled, x) is None
    trace.compiled(x).mean().backward()
    found = {name: parameter.grad.double() for name, parameter in trace.compiled.named_parameters()}
    exact = copy.deepcopy(circuit).double()
    exact.zero_grad()
    exact(x).mean().backward()
    for name, parameter in exact.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-5, atol=1e-6)  # some roundings of float32
