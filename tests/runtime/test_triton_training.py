"""Training on CUDA: the gradients of the circuit, for every circuit, loss and way to train.

As in `test_triton.py`, the kernels run on CUDA, or in a process of Triton's interpreter.
"""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError, ValueRangeError
from explorer.runtime import FastCircuit, fast
from explorer.runtime.cuda.training import LaunchTraining
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    SoftmaxParameter,
    TensorParameter,
)
from explorer.templates import load_named
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.lost_terms import two_states
from tests.runtime.circuits import assert_equal, assert_equal_gradients, gradients, image_circuit, without_certificate
from tests.runtime.lossy import LOSSY, lossy_circuit
from tests.runtime.test_triton import CALLS, DEVICE, SIZE, SMALL, on_cuda, runs_kernels, runs_only_on_cuda
from tests.strategies import circuits, random_inputs

pytestmark = runs_kernels


def assert_trains(circuit: TorchCircuit, x: Tensor) -> FastCircuit:
    circuit, x = circuit.to(DEVICE), x.to(DEVICE)
    made, doubled = fast(circuit, backend="triton"), copy.deepcopy(circuit).double()
    assert made.why_not(x) == ""
    expected, expected_gradients = gradients(doubled, x.double() if x.is_floating_point() else x)
    for _ in range(CALLS):
        found, found_gradients = gradients(made, x)
        assert_equal(found, expected)
        assert_equal_gradients(found_gradients, expected_gradients)
    assert made.certificate is not None
    assert made.certificate.rows == len(x)
    return made


def image(layer: str, kind: str, units: int = 8, graph: str = "quad-graph", classes: int = 1) -> TorchCircuit:
    size = SIZE if graph == "quad-graph" else SMALL
    circuit = image_circuit(*size, graph, layer, units=units, inputs=kind, states=7, classes=classes)
    return TorchCompiler().compile(circuit)


def rows(kind: str, count: int = 18, size: tuple[int, int] = SMALL) -> Tensor:
    random = torch.Generator().manual_seed(count)
    if kind == "gaussian":
        return torch.randn(count, math.prod(size), generator=random)
    return torch.randint(7, (count, math.prod(size)), generator=random)


@pytest.mark.parametrize("name", ["levels", *on_cuda("blackboard", "logic", "digits")])
def test_a_circuit_of_the_gallery(name: str):
    x = random_inputs(load_named(name), 7)
    assert_trains(compile_circuit(load_named(name)), torch.from_numpy(np.ascontiguousarray(x)))


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("cp", "gaussian"),
        ("tucker", "categorical"),
        *on_cuda(("cp", "categorical"), ("cp-t", "gaussian"), ("cp-t", "categorical"), ("tucker", "gaussian")),
    ],
)
def test_an_image(layer: str, kind: str):
    made = assert_trains(image(layer, kind), rows(kind, size=SIZE))
    assert made.certificate is not None
    assert made.certificate.rows_recomputed == 0


@pytest.mark.parametrize(("layer", "units", "classes"), [("cp-t", 70, 2), ("tucker", 17, 5), *on_cuda(("cp", 1, 3))])
def test_widths_and_classes(layer: str, units: int, classes: int):
    assert_trains(image(layer, "categorical", units, "quad-tree-2", classes), rows("categorical", 5))


LOSSY_HERE = [
    *("log of a softmax", "narrow density", "polynomial near a root"),
    *("exponential that overflows", "scaled sigmoid near zero"),
    *on_cuda(*LOSSY),
]


@pytest.mark.parametrize("name", LOSSY_HERE)
def test_what_single_precision_would_lose(name: str):
    assert_trains(*lossy_circuit(name))


@pytest.mark.parametrize("gap", [10.0, 16.0, 40.0])
def test_gradients_flow_through_terms_next_to_a_larger_input_of_weight_zero(gap: float):
    circuit, x, wanted = two_states(gap, learned=False)
    compiled, rows = TorchCompiler().compile(circuit), torch.from_numpy(x).float()
    made = assert_trains(compiled, rows)
    np.testing.assert_allclose(made(rows.to(DEVICE)).detach().flatten().cpu(), wanted, rtol=2e-6)


@pytest.mark.parametrize("layer", ["tucker", *on_cuda("cp")])
def test_rows_that_are_not_certified_have_the_gradients_of_double_precision(layer: str):
    circuit = image(layer, "categorical", graph="quad-tree-2")
    circuit.load_leaf_state({name: value * 160 for name, value in circuit.leaf_state().items()})
    made = assert_trains(circuit, rows("categorical"))
    assert made.certificate is not None
    assert made.certificate.rows_recomputed > 0


@examples(8 if DEVICE == "cuda" else 2)
@given(
    circuits(positive=True),
    st.integers(0, 2**16),
    st.sampled_from([1, 17]),
    st.sampled_from(MODES),
)
def test_random_circuits(circuit: Circuit, seed: int, batch: int, mode: Mode):
    x, compiled = random_inputs(circuit, batch, seed), compile_circuit(circuit, **mode)
    if x is None or not list(compiled.parameters()):
        return
    try:
        LaunchTraining(compiled)
    except LoweringError:
        return  # a kind of kernel call that Triton has not
    assert_trains(compiled, torch.from_numpy(np.ascontiguousarray(x)))


@runs_only_on_cuda
@pytest.mark.parametrize("layer", ["cp", "cp-t", "tucker"])
@pytest.mark.parametrize("batch", [31, 256])
def test_a_large_batch_of_wide_units(layer: str, batch: int):
    circuit = image_circuit(28, 28, "quad-tree-2", layer, units=48)
    x = torch.randint(256, (batch, 784), generator=torch.Generator().manual_seed(batch))
    assert_trains(TorchCompiler().compile(circuit), x)


# ---------------------------------------------------------------------- ways to train


@pytest.fixture
def circuit() -> TorchCircuit:
    return image("cp-t", "categorical", 4, "quad-tree-2").to(DEVICE)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, *on_cuda(torch.optim.Adam)])
def test_steps_of_an_optimizer_are_those_of_the_circuit(circuit: TorchCircuit, optimizer: type[torch.optim.Optimizer]):
    other, x = copy.deepcopy(circuit).double(), rows("categorical").to(DEVICE)
    made = fast(circuit, backend="triton")
    for module in (made, other):
        steps = optimizer(module.parameters(), lr=0.05)  # pyright: ignore[reportCallIssue]
        for batch in (x, x[:5]):
            steps.zero_grad()
            (-module(batch).mean()).backward()
            steps.step()
    with torch.no_grad():
        torch.testing.assert_close(made(x).double(), other(x), rtol=1e-5, atol=1e-4)


def test_forward_passes_may_come_before_their_backward_passes(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    expected = [gradients(made, part)[1] for part in (x[:9], x[9:])]
    losses = [made(part) for part in (x[:9], x[9:])]
    weights = [torch.rand(9, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)] * 2
    for number in (1, 0):
        found = torch.autograd.grad(
            (losses[number] * weights[number].to(losses[number]) / 9).sum(), list(made.parameters())
        )
        for one, other in zip(found, expected[number], strict=True):
            torch.testing.assert_close(one, other)


def test_a_graph_that_is_retained_gives_the_same_gradients_again(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    loss = made(x).mean()
    first = torch.autograd.grad(loss, list(made.parameters()), retain_graph=True)
    made(x.flip(0))
    second = torch.autograd.grad(loss, list(made.parameters()))
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other)


def test_second_derivatives_are_refused(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    with pytest.raises(LoweringError, match="second derivatives"):
        torch.autograd.grad(made(x).sum(), list(made.parameters()), create_graph=True)


@runs_only_on_cuda
def test_a_parameter_that_was_changed_in_place_cannot_be_passed_backward(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    loss = made(x).sum()
    with torch.no_grad():
        for parameter in circuit.parameters():
            parameter.mul_(0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_only_what_requires_a_gradient_gets_one(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    expected = gradients(made, x)[1]
    first = next(iter(circuit.parameters()))
    first.requires_grad_(False)
    found = gradients(made, x)[1]
    assert not found[0].any()
    assert first.grad is None
    for one, other in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(one, other)


@without_certificate
def test_other_tensors_as_parameters_and_bad_input_are_those_of_the_circuit(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    other = {name: value.detach() * 0.5 for name, value in made.named_parameters()}
    other[next(iter(other))].requires_grad_()
    torch.testing.assert_close(functional_call(made, other, (x,)), functional_call(circuit, other, (x,)))
    with pytest.raises(ValueRangeError):
        made(x + 7)
    assert made(x).requires_grad


@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_gradients_of_outputs_of_any_size(circuit: TorchCircuit, scale: float):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    expected = torch.autograd.grad(made(x).sum(), list(made.parameters()))
    found = torch.autograd.grad((made(x) * scale).sum(), list(made.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one / scale, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layer", ["cp", *on_cuda("tucker")])
def test_a_row_of_which_no_density_is_a_number_spoils_no_gradient(layer: str):
    circuit, x = image(layer, "gaussian", 2, "quad-tree-2").to(DEVICE), rows("gaussian", 4).to(DEVICE)
    x[1, 2] = 5e19
    made = fast(circuit, backend="triton")
    keep = torch.tensor([0, 2, 3], device=DEVICE)
    expected, found = (torch.autograd.grad(one(x)[keep].sum(), list(circuit.parameters())) for one in (circuit, made))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_hooks_and_deterministic_algorithms_run_the_layers(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    assert made.why_not(x) == ""
    handle = next(iter(circuit.parameters())).register_hook(lambda gradient: gradient * 2)
    assert "a parameter has a hook" in made.why_not(x)
    handle.remove()
    torch.use_deterministic_algorithms(True)
    try:
        assert "deterministic algorithms are wanted" in made.why_not(x)
    finally:
        torch.use_deterministic_algorithms(False)
    assert made.why_not(x) == ""


def test_a_probability_that_is_not_a_normal_number_has_a_gradient():
    b = CircuitBuilder()
    logits = TensorParameter((2, 3), initializer=ConstantInitializer(np.array([[0.0, -95, -1], [0, -93, -2]])))
    category = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, probs=SoftmaxParameter((logits,)))
    weight = SoftmaxParameter((TensorParameter((1, 2)),))
    compiled = compile_circuit(b.build(b.sum(b.add(category), num_units=1, weight=weight)), optimize=False)
    assert_trains(compiled, torch.tensor([[1], [0]]))


@pytest.mark.parametrize("use_reentrant", [False, *on_cuda(True)])
def test_checkpoints(circuit: TorchCircuit, use_reentrant: bool):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    expected = gradients(made, x)[1]

    def evaluate(x: Tensor, _: Tensor) -> Tensor:
        return made(x)

    def evaluated(x: Tensor) -> Tensor:
        found = checkpoint(evaluate, x, torch.ones((), requires_grad=True), use_reentrant=use_reentrant)
        assert isinstance(found, Tensor)
        return found

    module = copy.copy(made)
    module.__dict__["forward"] = evaluated
    for one, other in zip(gradients(module, x)[1], expected, strict=True):
        torch.testing.assert_close(one, other)
    assert made.why_not(x) == ""


def test_a_copy_trains(circuit: TorchCircuit):
    made, x = fast(circuit, backend="triton"), rows("categorical").to(DEVICE)
    expected = gradients(made, x)[1]
    other = copy.deepcopy(made)
    for one, wanted in zip(gradients(other, x)[1], expected, strict=True):
        torch.testing.assert_close(one, wanted)
