"""CUDA graphs without a CUDA device: what is captured, kept and recognized, with the functions of PyTorch replaced.

A graph that is replayed does nothing here, so what was computed in the capture stays; the tests on CUDA compare values.
"""

import contextlib
import gc
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explorer.errors import BackendWarning
from explorer.runtime import graphs, training_graphs
from explorer.runtime.graphs import CudaGraphs
from explorer.runtime.snapshots import Comparison
from explorer.runtime.training_graphs import TrainingGraphs


class Stream:
    def wait_stream(self, other: object) -> None: ...
    def wait_event(self, event: object) -> None: ...
    def synchronize(self) -> None: ...
    def record_event(self, event: object = None) -> object:
        return event or object()


REPLAYED: list["Graph"] = []


class Graph:
    def replay(self) -> None:
        REPLAYED.append(self)

    def pool(self) -> None: ...


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """No device, but its functions; returns the list of graphs that are replayed."""

    def null(*_: Any, **__: Any) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()

    for name in ("device", "device_of", "stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, null)
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: Stream())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self.clone())
    REPLAYED.clear()
    return REPLAYED


class Function:
    """x times a constant; flags are two numbers."""

    def __init__(self) -> None:
        self.calls = 0
        self.flags = torch.zeros(2, dtype=torch.int32)

    def __call__(self, constants: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        self.calls += 1
        return inputs[0] * constants[0], inputs[0] > 0, self.flags


def test_a_shape_is_captured_once_and_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(graphs, "MAX_GRAPHS", 2)
    function, made, constants = Function(), CudaGraphs(), (torch.tensor(2.0),)

    def calls(rows: int) -> int:
        before = function.calls
        found, others, flags = made.run(function, constants, (torch.ones(rows),))
        assert torch.equal(found, torch.full((rows,), 2.0))
        assert (others, flags) == ((), [0, 0])
        return function.calls - before

    captured = calls(3)
    assert captured > 1
    assert [calls(rows) for rows in (3, 4, 3, 5, 3, 4)] == [0, captured, 0, captured, 0, captured]


def test_outputs_are_copies_and_constants_are_copied_to_where_they_are_read(cuda: list[Graph]):
    function, made = Function(), CudaGraphs()
    first, second = (torch.tensor(2.0),), (torch.tensor(3.0),)
    found = made.run(function, first, (torch.ones(3),))[0]
    found.zero_()
    again = made.run(function, second, (torch.ones(3),))[0]
    assert torch.equal(again, torch.full((3,), 2.0))  # no kernel ran, but nothing else has changed it
    assert made._constants[0].item() == 3.0
    assert first[0].item() == 2.0
    assert len(cuda) == 2


def test_other_outputs_are_given_if_a_flag_is_set():
    function, made = Function(), CudaGraphs()
    function.flags = torch.tensor([0, 1], dtype=torch.int32)
    _, others, flags = made.run(function, (torch.tensor(2.0),), (torch.ones(3),))
    assert flags == [0, 1]
    assert torch.equal(others[0], torch.ones(3, dtype=torch.bool))


def test_a_graph_keeps_what_its_function_reads():
    made, function = CudaGraphs(), Function()
    made.run(function, (torch.tensor(2.0),), (torch.ones(3),))
    alive = weakref.ref(function)
    del function
    gc.collect()
    assert alive() is not None


def test_tensors_are_compared_one_after_the_other_if_the_kernel_fails(monkeypatch: pytest.MonkeyPatch):
    copies = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    made = Comparison(copies)
    monkeypatch.setattr(made, "_has_kernel", True)
    monkeypatch.setattr(made, "_of_blocks", lambda addresses: 1 / 0)
    with pytest.warns(BackendWarning, match="as a Triton kernel failed: ZeroDivisionError"):
        assert made.is_equal([one.clone() for one in copies])
    assert not made.is_equal([torch.tensor([1.0, 2.0]), torch.tensor([-3.0])])


# ---------------------------------------------------------------------- training


class Step:
    """The sum of x times each of some parameters, which is linear in them."""

    def __init__(self, *parameters: nn.Parameter) -> None:
        self.parameters = parameters
        self.calls = 0

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self.calls += 1
        outputs = sum(((x @ one).reshape(len(x), -1).sum(1) for one in self.parameters), torch.zeros(len(x)))
        return outputs, x[:, 0] > 0, torch.zeros(3, dtype=torch.int32)

    def run(self, made: TrainingGraphs, x: Tensor) -> Tensor:
        return made.run(self, x, self.parameters, self.parameters, None)[0]


def test_step_is_captured_again_if_a_parameter_moves_changes_shape_or_is_frozen():
    parameter, made, x = nn.Parameter(torch.ones(2)), TrainingGraphs(), torch.ones(3, 2)
    step = Step(parameter)

    def captures() -> bool:
        before = step.calls
        step.run(made, x)
        return step.calls > before

    assert [captures(), captures()] == [True, False]
    parameter.data = parameter.data.clone()
    assert [captures(), captures()] == [True, False]
    parameter.requires_grad_(False)
    step.parameters = (parameter, nn.Parameter(torch.ones(2)))
    assert [captures(), captures()] == [True, False]
    step.parameters = (square := nn.Parameter(torch.ones(2, 2)),)
    assert [captures(), captures()] == [True, False]
    square.data = square.data.t()
    assert [captures(), captures()] == [True, False]


def test_gradients_go_to_the_parameters_of_the_call():
    """Another parameter with the same storage is another leaf; it has the address in the captured graph."""
    first, made, x = nn.Parameter(torch.ones(2)), TrainingGraphs(), torch.ones(3, 2)
    Step(first).run(made, x)
    second = nn.Parameter(first.data)
    step = Step(second)
    step.run(made, x).sum().backward()
    assert step.calls == 0
    assert first.grad is None
    assert second.grad is not None


def test_a_parameter_that_is_read_twice_gets_its_gradient_once():
    parameter, made = nn.Parameter(torch.ones(2)), TrainingGraphs()
    loss = Step(parameter, parameter).run(made, torch.ones(3, 2)).sum()
    found = torch.autograd.grad(loss, [parameter])
    assert found[0].shape == (2,)


def test_the_forward_pass_is_repeated_if_its_values_are_gone(cuda: list[Graph]):
    parameter, made, x = nn.Parameter(torch.ones(2)), TrainingGraphs(), torch.ones(3, 2)
    step = Step(parameter)

    def replays_of_backward(loss: Tensor) -> int:
        cuda.clear()
        torch.autograd.grad(loss.sum(), [parameter], retain_graph=True)
        return len(cuda)

    first = step.run(made, x)
    assert replays_of_backward(first) == 1
    assert replays_of_backward(first) == 2
    first, second = step.run(made, x), step.run(made, x)
    assert [replays_of_backward(second), replays_of_backward(first)] == [1, 2]


def test_x_may_be_overwritten_before_the_backward_pass_and_parameters_may_not():
    parameter, made, x = nn.Parameter(torch.ones(2)), TrainingGraphs(), torch.ones(3, 2)
    loss = Step(parameter).run(made, x).sum()
    x.zero_()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        parameter.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_graphs_are_exhausted_once_too_many_were_captured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training_graphs, "MAX_CAPTURES", 2)
    made, step = TrainingGraphs(), Step(nn.Parameter(torch.ones(2)))
    assert [made.are_exhausted, step.run(made, torch.ones(3, 2)).shape] == [False, (3,)]
    step.run(made, torch.ones(4, 2))
    assert made.are_exhausted
