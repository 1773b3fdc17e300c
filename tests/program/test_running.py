"""A module that runs a program: as the original one, also where planned memory would be wrong."""

import threading
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

import explorer
from explorer.errors import OperatorError
from explorer.program import Executor, why_not_planned
from tests.program.programs import program_of


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        return torch.log_softmax(self.second(torch.relu(self.first(x)).exp()), -1)


@pytest.fixture(scope="module")
def traced():
    net = Net()
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    return net, x, explorer.record(net, (x,), level="program", mode="train")


def test_every_step_computes_what_the_module_computes(traced):
    net, x, trace = traced
    assert [step.path for step in trace.steps][:2] == ["lower", "MakeWeightsConst"]
    assert all(check.max_difference <= check.tolerance for check in trace.check())
    with torch.no_grad():
        assert torch.equal(trace.compiled(x), net(x))
        assert why_not_planned(trace.compiled, x) is None


@pytest.mark.parametrize("strides", [(0, 1), (1, 1)])
def test_tensors_with_other_strides_than_overlapping_ones_take_the_operators(strides):
    example, x, net = torch.randn(8).as_strided((5, 4), strides), torch.randn(5, 4), Net()
    for mode in ("infer", "train"):
        module = explorer.record(net, (example,), level="program", mode=mode).compiled
        assert why_not_planned(module, example) is None
        assert "the plan is for overlapping ones" in str(why_not_planned(module, x))
        for given in (example, x):
            torch.testing.assert_close(module(given), net(given))
    program = program_of(f"%0 = input x : f32[5,4]{{{strides[0]},1}}\n%1 = output y : f32[5,4]\n#2 copy %0 -> %1")
    assert torch.equal(Executor(program)(example)[0], example)
    with pytest.raises(OperatorError, match="the plan is for overlapping ones"):
        Executor(program)(x)


def test_the_memory_shrinks_and_the_plan_is_as_small_as_possible(traced):
    memory = [step.snapshot.memory for step in traced[2].steps]
    assert memory[-1].size_bytes < memory[0].size_bytes
    assert memory[-1].is_planned
    assert memory[-1].size_bytes == memory[-1].lower_bound_bytes


def test_new_values_of_parameters_are_seen_however_they_change(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    with torch.no_grad():
        module.get_parameter("first.weight").add_(1.0)
        net.first.weight.add_(1.0)
        assert torch.equal(module(x), net(x))
        module.get_parameter("first.weight").data = net.first.weight.data = net.first.weight.data * 2
        assert torch.equal(module(x), net(x))
        other = {name: value * 3 for name, value in net.named_parameters()}
        assert torch.equal(functional_call(module, other, (x,)), functional_call(net, other, (x,)))
        columns = {name: value.t().contiguous().t() if value.ndim == 2 else value for name, value in other.items()}
        torch.testing.assert_close(functional_call(module, columns, (x,)), functional_call(net, other, (x,)))


def test_gradients_are_those_of_the_module(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    module.load_state_dict(net.state_dict())
    module(x).sum().backward()
    net.zero_grad()
    net(x).sum().backward()
    for name, parameter in net.named_parameters():
        assert torch.equal(module.get_parameter(name).grad, parameter.grad)
    assert why_not_planned(module, x) is None


def test_transforms_and_modes_take_the_operators(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    module.load_state_dict(net.state_dict())
    with torch.no_grad():
        rows = vmap(lambda row: module(x + row))(torch.zeros(2, 1))
        assert torch.allclose(rows[0], net(x))
        slope = grad(lambda value: module(value).sum())(x)
        assert torch.allclose(slope, grad(lambda value: net(value).sum())(x))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert why_not_planned(module, x) == "autocast is active"
            assert torch.equal(module(x), net(x))
        assert torch.equal(module.double()(x.double()), net.double()(x.double()))
        assert "torch.float64" in str(why_not_planned(module, x.double()))
    net.float()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_module_that_torch_jit_traces_reads_its_parameters_in_each_call(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    module.load_state_dict(net.state_dict())
    found: Any = torch.jit.trace(module, (x,))
    with torch.no_grad():
        assert torch.equal(found(x + 1), net(x + 1))
        module.get_parameter("second.bias").add_(1)
        assert torch.equal(found(x), module(x))
        module.load_state_dict(net.state_dict())


def test_inputs_with_other_strides_are_accepted(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    module.load_state_dict(net.state_dict())
    with torch.no_grad():
        for other in (x.t().contiguous().t(), x[:1].expand(5, 4), torch.cat([x, x], 1)[:, ::2]):
            torch.testing.assert_close(module(other), net(other), rtol=1e-4, atol=1e-4)


@torch.library.custom_op("explorer_tests::first", mutates_args=())
def first(x: torch.Tensor) -> torch.Tensor:
    """Its fake kernel is wrong."""
    return x[:1].clone()


first.register_fake(torch.empty_like)


def test_a_result_of_another_shape_than_its_fake_kernel_promised_is_refused():
    class First(nn.Module):
        def forward(self, x):
            return first(x) + 1

    module = explorer.record(First(), (torch.zeros(2),), level="program").compiled
    with pytest.raises(OperatorError, match=r"explorer_tests.first.default is not a tensor of shape \(2,\)"):
        module(torch.zeros(2))


def test_results_of_calls_do_not_share_memory(traced):
    _, x, trace = traced
    with torch.no_grad():
        first = trace.compiled(x)
        kept = first.clone()
        second = trace.compiled(x + 1)
    assert torch.equal(first, kept)
    assert first.data_ptr() != second.data_ptr()


def test_threads_do_not_share_memory(traced):
    net, x, trace = traced
    module = trace.circuit_at(-1)
    module.load_state_dict(net.state_dict())
    wrong = []

    def work(offset):
        with torch.no_grad():
            wanted = net(x + offset)
            wrong.extend(offset for _ in range(20) if not torch.equal(module(x + offset), wanted))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_wrong_arguments_are_refused(traced):
    _, x, trace = traced
    with pytest.raises(OperatorError, match="shape"):
        trace.compiled(x[:2])
    with pytest.raises(OperatorError, match="dtype"):
        trace.compiled(x.double())
    with pytest.raises(OperatorError, match="expected x to be a dense tensor"):
        trace.compiled(x.to_sparse())
