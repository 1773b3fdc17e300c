"""Training with a fast circuit as programs do it: what they may do between, around and during forward and backward."""

import copy
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from explorer.backend import TorchCircuit
from explorer.errors import LoweringError
from explorer.graph import Graph
from explorer.runtime import FastCircuit, fast
from explorer.runtime.backends import NativeBackend
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    EmbeddingLayer,
    HadamardLayer,
    Layer,
    SumLayer,
)
from explorer.templates import load_named
from tests.levels.modes import compile_circuit
from tests.runtime.circuits import doubled, has_compiler, leaf
from tests.waiting import PATIENCE

pytestmark = has_compiler

Gradients = tuple[Tensor, ...]


def categorical(variable: int, logits: Tensor) -> CategoricalLayer:
    return CategoricalLayer(
        scope=(variable,), num_output_units=len(logits), num_categories=logits.shape[1], logits=leaf(logits)
    )


def weighted(weight: Tensor) -> SumLayer:
    return SumLayer(num_input_units=weight.shape[1], num_output_units=len(weight), arity=1, weight=leaf(weight))


def some_circuit(depth: float = -2.0) -> TorchCircuit:
    """Its parameters are those of its layers: weights (1, 3, 3) twice. Products of one row are at most exp(depth)."""
    random = torch.Generator().manual_seed(0)
    first, second = (torch.rand(3, 4, generator=random) for _ in range(2))
    first[1:, 2] = depth
    second[:2, 1] = depth
    nodes: dict[int, Layer] = {
        0: categorical(0, first),
        1: categorical(1, second),
        2: HadamardLayer(num_input_units=3, num_output_units=3, arity=2),
        3: weighted(torch.rand(3, 3, generator=random) + 0.1),
        4: weighted(torch.rand(3, 3, generator=random) + 0.1),
        5: weighted(torch.rand(2, 3, generator=random) + 0.1),
    }
    graph = Graph(nodes, {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (3,), 5: (4,)}, (5,))
    return compile_circuit(Circuit(graph)).float()


UNCERTIFIED = -80.0
"""So deep that underflow may have changed the value of that row."""

X = torch.cartesian_prod(torch.arange(4), torch.arange(4))


def loss_of(outputs: Tensor) -> Tensor:
    weights = torch.rand(outputs.shape, generator=torch.Generator(outputs.device).manual_seed(1), dtype=torch.float32)
    return (outputs * weights.to(outputs.dtype)).sum()


def gradients_of(module: nn.Module, x: Tensor = X) -> Gradients:
    return torch.autograd.grad(loss_of(module(x)), list(module.parameters()))


def assert_equal(found: Gradients, expected: Gradients) -> None:
    """float32 against double precision: right by some parts in a million of the largest one."""
    for one, other in zip(found, expected, strict=True):
        assert one is not None
        torch.testing.assert_close(one.double(), other.double(), rtol=1e-4, atol=1e-5 * float(other.abs().max()))


@pytest.fixture
def circuit() -> TorchCircuit:
    return some_circuit()


@pytest.fixture
def made(circuit: TorchCircuit) -> FastCircuit:
    return fast(circuit, backend="native")


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize("depth", [-2.0, UNCERTIFIED])
def test_functional_call_passes_gradients_to_what_its_parameters_were_made_of(depth: float):
    circuit = some_circuit(depth)
    found: list[Gradients] = []
    for module in (fast(circuit, backend="native"), doubled(circuit)):
        bases = {name: one.detach().clone().requires_grad_() for name, one in module.named_parameters()}
        given = {name: 1.1 * one for name, one in bases.items()}
        found.append(torch.autograd.grad(loss_of(functional_call(module, given, (X,))), list(bases.values())))
    assert_equal(*found)


def test_one_tensor_may_be_given_for_two_parameters_in_a_call_of_its_own():
    """In rows without a bound too, which a copy of the circuit evaluates."""
    circuit = some_circuit(UNCERTIFIED)
    made, precise = fast(circuit, backend="native"), doubled(circuit)
    tied = torch.rand(1, 3, 3, generator=torch.Generator().manual_seed(2)) + 0.1
    names = [name for name, one in made.named_parameters() if one.shape == tied.shape]
    assert len(names) == 2
    for _ in range(2):
        assert_equal(gradients_of(made), gradients_of(precise))
        with torch.no_grad():
            torch.testing.assert_close(made(X).double(), precise(X))
        found: list[Gradients] = []
        for module, one in ((made, tied.clone()), (precise, tied.double())):
            one.requires_grad_()
            outputs = functional_call(module, dict.fromkeys(names, one), (X,))
            found.append(torch.autograd.grad(loss_of(outputs), one))
            with torch.no_grad():
                functional_call(module, dict.fromkeys(names, one), (X,))
        assert_equal(*found)
        assert made.certificate is not None
        assert made.certificate.rows_recomputed > 0
        made = fast(circuit, backend="native")  # its first call is the one with tied parameters
        with torch.no_grad():
            functional_call(made, dict.fromkeys(names, tied), (X,))
        functional_call(made, dict.fromkeys(names, tied.clone().requires_grad_()), (X,))


def test_a_parameter_that_was_changed_in_place_cannot_be_passed_backward(made):
    for parameter in made.parameters():
        loss = loss_of(made(X))
        with torch.no_grad():
            parameter.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_only_what_requires_a_gradient_gets_one(made, circuit):
    expected = gradients_of(doubled(circuit))
    parameters = list(made.parameters())
    for number, chosen in enumerate(parameters):
        for one in parameters:
            one.requires_grad_(one is chosen)
            one.grad = None
        loss_of(made(X)).backward()
        assert [one.grad is not None for one in parameters] == [one is chosen for one in parameters]
        assert chosen.grad is not None
        assert_equal((chosen.grad,), (expected[number],))


def test_an_element_that_vanishes_next_to_the_largest_one_has_a_gradient():
    """Rows of tables are divided by their largest element."""
    weight = torch.tensor([[1e20, 1.0], [1e-26, 1.0]])
    table = EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=leaf(weight))
    graph = Graph[Layer]({0: table, 1: weighted(torch.ones(1, 2))}, {0: (), 1: (0,)}, (1,))
    circuit = compile_circuit(Circuit(graph)).float()
    found = gradients_of(fast(circuit, backend="native"), torch.tensor([[0]]))
    expected = gradients_of(doubled(circuit), torch.tensor([[0]]))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-40)


# ---------------------------------------------------------------------- graphs


def test_a_graph_that_is_retained_gives_the_same_gradients_again_and_then_none(made):
    parameters, loss = list(made.parameters()), loss_of(made(X))
    first = torch.autograd.grad(loss, parameters, retain_graph=True)
    second = torch.autograd.grad(loss, parameters)
    assert all(map(torch.equal, first, second))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_forward_passes_may_come_before_their_backward_passes(made, circuit):
    expected = gradients_of(doubled(circuit))
    losses = [loss_of(made(X)) for _ in range(3)]
    for loss in reversed(losses):
        loss.backward()
    assert_equal(tuple(one.grad / 3 for one in made.parameters()), expected)


def test_a_loss_that_is_kept_does_not_keep_the_memory_of_its_step(made):
    assert isinstance(made.backend, NativeBackend)
    loss = loss_of(made(X))
    values = made.backend.training.values
    assert values.borrow(1).nbytes == 1
    loss.backward()
    assert values.borrow(1).nbytes > 1000
    del loss


def functions_of(value: Tensor) -> set[str]:
    """The names of the functions in the graph of gradients of a value."""
    found, functions = set[str](), [value.grad_fn]
    while functions:
        if function := functions.pop():
            found.add(function.name())
            functions += [one for one, _ in function.next_functions]
    return found


def test_the_gradient_of_a_softmax_of_weights_needs_no_memory_of_its_own():
    """The kernels write it over the gradient of its result, so PyTorch evaluates no softmax."""
    circuit = compile_circuit(load_named("digits"), fold=True).float()
    x = torch.zeros(2, circuit.num_variables, dtype=torch.int64)
    assert "SoftmaxBackward0" in functions_of(circuit(x))
    assert "SoftmaxBackward0" not in functions_of(fast(circuit, backend="native")(x))


def test_second_derivatives_are_refused(made):
    loss = loss_of(made(X))
    with pytest.raises(LoweringError, match="no second derivatives"):
        torch.autograd.grad(loss, list(made.parameters()), create_graph=True)


def test_many_gradients_at_a_time_are_refused(made):
    found = made(X)
    with pytest.raises(LoweringError, match="many vectors at a time"):
        torch.autograd.grad(found, list(made.parameters()), torch.ones(2, *found.shape), is_grads_batched=True)


@pytest.mark.parametrize("depth", [-2.0, UNCERTIFIED])
def test_checkpoints_and_saved_tensors_elsewhere(depth: float):
    circuit = some_circuit(depth)
    made, expected = fast(circuit, backend="native"), gradients_of(doubled(circuit))
    parameters = list(made.parameters())
    outputs = checkpoint(made, X, use_reentrant=False)
    assert isinstance(outputs, Tensor)
    assert_equal(torch.autograd.grad(loss_of(outputs), parameters), expected)
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone):
        assert_equal(gradients_of(made), expected)


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-8, 65536.0, 1e30, 2e38])
def test_gradients_of_outputs_of_any_size(made, circuit, scale: float):
    found: list[Gradients] = []
    for module in (made, doubled(circuit)):
        outputs = module(X[:1])
        given = torch.full_like(outputs, scale)
        found.append(torch.autograd.grad(outputs, list(module.parameters())[-1:], given))
    assert_equal(*found)


def test_gradients_of_outputs_that_are_infinite_or_nan_are_as_those_of_the_circuit(made, circuit):
    for number in (torch.inf, torch.nan):
        given = torch.ones(16, 1, 2)
        given[3] = number
        found = torch.autograd.grad(made(X), list(made.parameters()), given)
        expected = torch.autograd.grad(circuit(X), list(circuit.parameters()), given)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.isfinite(), other.isfinite())


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float16, torch.float32, torch.float64])
def test_types_of_x(made, dtype: torch.dtype):
    expected = gradients_of(made)
    for x in (X.to(dtype), X.to(dtype).t().contiguous().t()):
        assert all(map(torch.equal, gradients_of(made, x), expected))


# ---------------------------------------------------------------------- copies, threads and processes


def by_pickle(made: FastCircuit) -> FastCircuit:
    return pickle.loads(pickle.dumps(made))


def by_saving(made: FastCircuit) -> FastCircuit:
    file = BytesIO()
    torch.save(made, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("make", [copy.deepcopy, by_pickle, by_saving])
def test_a_copy_that_is_made_between_forward_and_backward_trains(
    made, circuit, make: Callable[[FastCircuit], FastCircuit]
):
    expected = gradients_of(doubled(circuit))
    loss = loss_of(made(X))
    other = make(made)
    assert_equal(gradients_of(other), expected)
    assert_equal(torch.autograd.grad(loss, list(made.parameters())), expected)


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads change at almost every step."""
    interval, count = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(1e-6)
    torch.set_num_threads(3)
    yield
    sys.setswitchinterval(interval)
    torch.set_num_threads(count)


@pytest.mark.usefixtures("busy_threads")
def test_threads_train_one_circuit_at_once():
    circuit = compile_circuit(load_named("digits"))
    made, precise = fast(circuit, backend="native"), doubled(circuit)
    batches = [torch.randint(17, (rows, 64), generator=torch.Generator().manual_seed(rows)) for rows in (5, 70, 300)]
    expected = [gradients_of(precise, x) for x in batches]

    def work(thread: int) -> None:
        for step in range(8):
            number = (thread + step) % len(batches)
            assert_equal(gradients_of(made, batches[number]), expected[number])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@pytest.mark.parametrize("rows", [5, 70, 700])
def test_logits_that_change_between_the_passes_without_a_trace_are_noticed(rows: int):
    """The kernels read those of tables and weights again, and the layers keep probabilities instead."""
    made = fast(compile_circuit(load_named("digits")), backend="native")
    x = torch.randint(17, (rows, 64), generator=torch.Generator().manual_seed(0))
    loss = loss_of(made(x))
    tables = next(one for one in made.parameters() if one.shape[-1] == 17)
    weights = next(one for one in made.parameters() if one.shape[-1] != 17)
    for logits in (tables, weights):
        before = logits.detach().clone()
        signs, alternating = -before, before.clone()
        alternating[..., ::2] *= -1
        scaled = (before * 4, before * 16, before * 2**16)
        for changed in (before.flip(-1), before + 1e-6 * before.abs(), signs, alternating, *scaled):
            logits.data.copy_(changed)
            with pytest.raises(LoweringError, match=r"logits .* are not those of the forward pass.* \.data"):
                torch.autograd.grad(loss, list(made.parameters()), retain_graph=True)
        logits.data.copy_(before)
    assert all(map(torch.equal, torch.autograd.grad(loss, list(made.parameters())), gradients_of(made, x)))


def test_the_number_of_threads_may_change_between_forward_and_backward():
    made = fast(compile_circuit(load_named("digits")), backend="native")
    x, before = torch.randint(17, (300, 64), generator=torch.Generator().manual_seed(0)), torch.get_num_threads()
    parameters = list(made.parameters())
    try:
        torch.set_num_threads(3)
        expected = gradients_of(made, x)
        for threads in (1, 2, 8):
            torch.set_num_threads(3)
            loss = loss_of(made(x))
            torch.set_num_threads(threads)
            assert all(map(torch.equal, torch.autograd.grad(loss, parameters), expected))
    finally:
        torch.set_num_threads(before)


def _train_in_child(made: FastCircuit, expected: Gradients) -> None:
    assert_equal(gradients_of(made), expected)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_process_that_is_forked_after_training_trains(made):
    expected = gradients_of(made)
    child = multiprocessing.get_context("fork").Process(target=_train_in_child, args=(made, expected))
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == 0
