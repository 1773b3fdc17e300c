"""Programs with a backward pass: the gradients of the operators, bit for bit, however they are asked for."""

import copy
import pickle
import threading
import weakref

import pytest
import torch
from torch import nn
from torch.autograd.functional import jacobian
from torch.autograd.graph import save_on_cpu
from torch.func import functional_call, grad
from torch.utils.checkpoint import checkpoint

import explorer
from explorer.errors import OperatorError
from explorer.program import why_not_planned
from explorer.program.ir.instructions import Begin, Part, Role
from explorer.program.running import module as running
from explorer.program.running.module import ProgramFunction
from tests.program.programs import snapshot_of
from tests.program.trained import Net, X, assert_same_gradients, gradients_of, loss_of, modules_of
from tests.tensor.rule_checks import same_bits


@pytest.fixture(scope="module")
def trace():
    return explorer.record(Net(), (X,), level="program", mode="train")


@pytest.fixture
def pair(trace):
    """The module that runs the program, and one that runs the same operators under autograd."""
    return modules_of(trace)


def test_a_training_step_has_the_bits_of_the_operators(pair):
    module, operators = pair
    assert why_not_planned(module, X) is None
    outputs, wanted = module(X), operators(X)
    assert all(map(same_bits, outputs, wanted))
    loss_of(outputs).backward()
    loss_of(wanted).backward()
    assert_same_gradients(module, operators)


def test_the_parts_are_in_order_and_the_parameter_graph_comes_first(trace):
    program = snapshot_of(trace).program
    assert [one.part for one in program.instructions if isinstance(one, Begin)] == list(Part)
    lines = program.text().splitlines()
    assert any(
        "_softmax" in line for line in lines[: lines.index(next(x for x in lines if x.endswith("begin forward")))]
    )
    assert [weight.name for weight in program.with_role(Role.TANGENT)] == ["output0", "output1"]
    names = {weight.name for weight in program.with_role(Role.GRADIENT)}
    assert names == {name for name, _ in trace.compiled.named_parameters()}


def test_optimizers_change_parameters_in_place(pair):
    module, operators = pair
    for fused, foreach in ((False, False), (True, False), (False, True)):
        descents = [torch.optim.Adam(one.parameters(), lr=0.1, fused=fused, foreach=foreach) for one in pair]
        for _ in range(2):
            for one, descent in zip(pair, descents, strict=True):
                descent.zero_grad()
                loss_of(one(X)).backward()
                descent.step()
        assert_same_gradients(module, operators)
    for one, other in zip(module.parameters(), operators.parameters(), strict=True):
        assert same_bits(one, other)


def test_backward_twice_needs_the_graph_to_be_retained(pair):
    for one in pair:
        loss = loss_of(one(X))
        loss.backward(retain_graph=True)
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    assert_same_gradients(*pair)


def test_forward_passes_before_a_backward_pass_do_not_share_memory(pair):
    for one in pair:
        losses = [loss_of(one(X + offset)) for offset in range(3)]
        one(X)
        for loss in losses:
            loss.backward()
    assert_same_gradients(*pair)


def test_gradients_of_gradients_take_the_operators(pair):
    for one in pair:
        parameters = list(one.parameters())
        first = torch.autograd.grad(loss_of(one(X)), parameters, create_graph=True)
        torch.stack([value.square().sum() for value in first]).sum().backward()
    assert_same_gradients(*pair)


@pytest.mark.parametrize("used", [0, 1])
def test_an_output_that_the_loss_does_not_use(pair, used, monkeypatch):
    monkeypatch.setattr(running, "_by_operators", None)
    for one in pair:
        loss_of([one(X)[used]]).backward()
    assert_same_gradients(*pair)


def test_what_the_backward_pass_does_not_read_may_change_before_it(pair):
    for one in pair:
        x = X.clone()
        loss = loss_of(one(x)[:1])
        scale = one.get_parameter("second.bias")
        scale.data.mul_(3)
        scale.data = scale.data + 1
        loss.backward()
    assert_same_gradients(*pair)


@pytest.mark.parametrize("change", [lambda p: p.add_(1), lambda p: setattr(p, "data", p.data + 1)])
def test_gradients_of_gradients_of_what_has_changed_since_are_refused(pair, change):
    module = pair[0]
    loss = loss_of(module(X))
    with torch.no_grad():
        change(module.get_parameter("second.bias"))
    with pytest.raises(OperatorError, match="was changed between the forward and the backward pass"):
        torch.autograd.grad(loss, list(module.parameters()), create_graph=True)


def test_output_without_a_tangent_adds_nothing_where_its_derivative_is_infinite():
    class Roots(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(4))

        def forward(self, x):
            return x * self.scale, self.scale.sqrt()

    pair = modules_of(explorer.record(Roots(), (X,), level="program", mode="train"))
    for one in pair:
        loss_of(one(X)[:1]).backward()
    assert_same_gradients(*pair)
    assert pair[0].get_parameter("scale").grad.isfinite().all()


def test_a_subset_of_gradients_and_gradients_of_the_caller(pair):
    for one in pair:
        x = X.clone()
        weight = nn.Parameter(torch.full((4,), 2.0))
        found = torch.autograd.grad(loss_of(one(x)), [one.get_parameter("scale")])
        one.get_parameter("scale").grad = found[0]
        assert weight.grad is None
    assert_same_gradients(*pair)


def test_an_output_may_be_changed_before_the_backward_pass(pair):
    module, operators = pair
    outputs, wanted = module(X), operators(X)
    loss, expected = loss_of(outputs), loss_of(wanted)
    with torch.no_grad():
        outputs[1].detach().fill_(0)
    loss.backward()
    expected.backward()
    assert_same_gradients(*pair)


def test_a_parameter_that_the_backward_pass_reads_may_not_be_changed_before_it(pair):
    for one in pair:
        loss = loss_of(one(X))
        with torch.no_grad():
            one.get_parameter("second.weight").mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        one.zero_grad()
        loss = loss_of(one(X))
        with torch.no_grad():
            one.get_parameter("second.bias").mul_(2)
            one.get_parameter("scale").mul_(2)
        loss.backward()
    assert_same_gradients(*pair)


def test_saved_tensors_on_the_cpu_are_those_that_are_read(pair):
    for one in pair:
        with save_on_cpu():
            loss = loss_of(one(X))
        with torch.no_grad():
            one.get_parameter("second.weight").mul_(2)
        loss.backward()
    assert_same_gradients(*pair)


def test_checkpointing_hooks_and_functional_call(pair):
    for one in pair:
        loss_of(checkpoint(one, X, use_reentrant=False)).backward()
        handle = one.get_parameter("first.weight").register_hook(lambda value: value * 3)
        loss_of(one(X)).backward()
        handle.remove()
        other = {name: (value * 2).detach().requires_grad_() for name, value in one.named_parameters()}
        loss_of(functional_call(one, other, (X,))).backward()
        for name, value in other.items():
            one.get_parameter(name).grad += value.grad
        doubled = {name: value * 2 for name, value in one.named_parameters()}
        loss_of(functional_call(one, doubled, (X,))).backward()
    assert_same_gradients(*pair)


def test_a_forward_pass_without_backward_frees_its_memory(pair):
    module, _ = pair
    outputs = module(X)
    node = outputs[0].grad_fn
    assert node.memory
    loss_of(outputs).backward()
    assert node.memory is None


def test_a_backward_pass_that_was_interrupted_is_not_continued(pair, monkeypatch):
    module, operators = pair
    loss = loss_of(module(X))
    finish = type(module.program._executor).finish

    def interrupted(self, *given):
        finish(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(module.program._executor), "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    monkeypatch.undo()
    with pytest.raises((OperatorError, RuntimeError), match=r"interrupted|second time"):
        loss.backward()
    loss_of(module(X)).backward()
    loss_of(operators(X)).backward()
    assert_same_gradients(*pair)


def test_other_gradients_take_the_operators(pair):
    module = pair[0]
    for one in pair:
        one.get_parameter("first.weight").requires_grad_(False)
        loss_of(one(X)).backward()
    assert "first.weight requires no gradient" in str(why_not_planned(module, X))
    assert_same_gradients(*pair)
    for one in pair:
        one.get_parameter("first.weight").requires_grad_(True)
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(loss_of(one(x)), [x])
        one.get_parameter("scale").grad += slope.sum()
    assert "requires a gradient" in str(why_not_planned(module, X.clone().requires_grad_()))
    assert_same_gradients(*pair)


def test_gradients_of_inputs_are_planned_if_the_example_requires_them():
    x = X.clone().requires_grad_()
    trace = explorer.record(Net(), (x,), level="program", mode="train")
    pair = modules_of(trace)
    found = []
    for one in pair:
        given = X.clone().requires_grad_()
        loss_of(one(given * 2)).backward()
        found.append(given.grad)
    assert why_not_planned(pair[0], x) is None
    assert same_bits(*found)
    assert_same_gradients(*pair)


def test_other_dtypes_transforms_and_modes_take_the_operators(pair):
    for one in pair:
        one.double()
        loss_of(one(X.double())).backward()
    assert "float64" in str(why_not_planned(pair[0], X.double()))
    assert_same_gradients(*pair)
    for one in pair:
        one.float()
        one.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss_of(one(X)).backward()
        loss = loss_of(one(X))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss.backward()
        parameters = {name: value.detach() for name, value in one.named_parameters()}
        slopes = grad(lambda given, one=one: loss_of(functional_call(one, given, (X,))))(parameters)
        for name, value in slopes.items():
            one.get_parameter(name).grad = value
    assert_same_gradients(*pair)


def test_threads_train_at_once(pair):
    module, operators = pair
    names = list(dict(module.named_parameters()))
    wrong = []

    def step(one, offset):
        return torch.autograd.grad(loss_of(one(X + offset)), [one.get_parameter(name) for name in names])

    wanted = [step(operators, offset) for offset in range(4)]

    def work(offset):
        wrong.extend(offset for _ in range(20) if not all(map(same_bits, step(module, offset), wanted[offset])))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # PyTorch warns of its own class
def test_a_module_can_be_pickled(pair):
    module, operators = pair
    loaded = pickle.loads(pickle.dumps(module))
    assert why_not_planned(loaded, X) is None
    assert loaded.program._executor.program.text() == module.program._executor.program.text()
    for one in (loaded, operators):
        loss_of(one(X)).backward()
    assert_same_gradients(loaded, operators)


def test_no_gradients_are_recorded_without_a_reason(pair):
    module, operators = pair
    with torch.no_grad():
        outputs = module(X)
        assert not any(value.requires_grad for value in outputs)
        assert all(map(same_bits, outputs, operators(X)))
    assert isinstance(module(X)[0].grad_fn, ProgramFunction._backward_cls)


@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.vmap(grad(f))])
def test_transforms_over_other_tensors_take_the_operators(pair, transform):
    weights = torch.randn(2, 5, 3)
    found = [transform(lambda w, one=one: (one(X)[0] * w).sum())(weights) for one in pair]
    assert same_bits(*found)


def test_jacobians_by_one_output_at_a_time_and_by_batches_of_tangents(pair):
    for is_vectorized in (False, True):
        found = []
        for one in pair:
            scale = one.get_parameter("scale").detach().clone()
            run = lambda value, one=one: functional_call(one, {"scale": value}, (X,))[0].sum(0)  # noqa: E731
            found.append(jacobian(run, scale, vectorize=is_vectorized))
        torch.testing.assert_close(*found, rtol=0, atol=0)


def test_memory_is_freed_with_the_outputs_and_not_shared_by_copies_of_a_module(pair):
    module, operators = pair
    outputs = module(X)
    kept = weakref.ref(next(iter(outputs[0].grad_fn.memory.values())))
    del outputs
    assert kept() is None
    copied = copy.deepcopy(module)
    loss_of(copied(X)).backward()
    loss_of(operators(X)).backward()
    assert_same_gradients(copied, operators)
    assert all(value is None for value in gradients_of(module).values())
