"""A fast circuit that is made fast again or frozen is made of the circuit that it was made of."""

import copy
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from explorer.backend import FrozenCircuit, TorchCircuit
from explorer.backend.evaluation import forward_layer
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError
from explorer.runtime import Certificate, fast
from explorer.symbolic import operators
from explorer.templates import fully_factorized, load_named
from tests.runtime.circuits import assert_equal, has_compiler, without_certificate

pytestmark = has_compiler


@pytest.fixture(scope="module")
def digits() -> TorchCircuit:
    return TorchCompiler().compile(load_named("digits"))


def pixels() -> Tensor:
    return torch.randint(17, (5, 64), generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def test_a_fast_circuit_that_is_made_fast_chooses_the_backend_of_its_circuit_again(digits):
    made, x = fast(digits, backend="torch"), pixels()
    for again in (made.fast(), fast(made), fast(fast(made), batch_size=4)):
        assert again.circuit is digits
        assert again.backend.name == fast(digits).backend.name
        assert_equal(again(x), made(x).double())
    assert fast(digits).fast(backend="torch").backend.name == "torch"


@torch.no_grad()
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_fast_circuit_is_frozen_on_its_backend(digits, backend):
    circuit = copy.deepcopy(digits)
    made, x = fast(circuit, backend=backend), pixels()
    frozen, before = made.freeze(), made(x)
    assert isinstance(frozen.circuit, FrozenCircuit)
    assert frozen.backend.name == backend
    for parameter in circuit.parameters():
        parameter.add_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(0)))
    assert not torch.allclose(made(x), before)
    assert_equal(frozen(x), before.double())
    with pytest.raises(DataTypeError, match="only a circuit with parameters can be frozen; this is a fast Frozen"):
        frozen.freeze()


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_a_frozen_fast_circuit_explains_its_backend_by_the_circuit_that_was_frozen(digits, backend):
    made = fast(digits, backend=backend)
    frozen = made.freeze()
    (*_, reason) = next(one.reason for one in made.choices if one.name == made.backend.name).partition(": ")
    wanted = f"{made.backend.name}: used, kept from the circuit that was frozen: {reason}"
    before = made.explain().splitlines()
    assert [line for line in before if line.startswith(f"{made.backend.name}: used")] == before[:1]
    assert frozen.explain().splitlines()[: len(made.choices)] == [wanted, *before[1 : len(made.choices)]]
    assert [choice.name for choice in frozen.choices] == [choice.name for choice in made.choices]


def test_gradients_of_outputs_may_be_the_negative_of_their_memory_or_have_none(digits):
    x, ones = pixels(), torch.ones(len(pixels()), 1, 1)
    made, of_torch = fast(digits, backend="native"), cast("Any", torch)
    for gradient in (of_torch._neg_view(ones), of_torch._efficientzerotensor(ones.shape), ones[:1].expand(ones.shape)):
        found = torch.autograd.grad(made(x), list(digits.parameters()), gradient)
        wanted = torch.autograd.grad(digits(x), list(digits.parameters()), gradient)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@without_certificate
def test_tensors_that_are_the_negative_of_their_memory_are_read_as_they_are():
    circuit = TorchCompiler().compile(fully_factorized(6, "gaussian"))
    x, of_torch = torch.randn(5, 6, generator=torch.Generator().manual_seed(0)), cast("Any", torch)
    for backend in ("native", "torch"):
        made = fast(circuit, backend=backend)
        assert_equal(made(of_torch._neg_view(x)), circuit.double()(-x.double()))
        circuit.float()
        assert "negative or the conjugate of its memory" in made.why_not(of_torch._neg_view(x))
        assert made(of_torch._efficientzerotensor((5, 6))).shape == (5, 1, 1)


@torch.no_grad()
def test_the_default_device_of_the_cpu_changes_nothing(digits):
    made, x = fast(digits), pixels()
    with torch.device("cpu"):
        assert made.why_not(x) == ""
        assert torch.equal(made(x), fast(digits)(x))
    with torch.device("meta"):
        assert made.why_not(x) == "a mode of PyTorch is active: DeviceContext"


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_unsigned_pixels(digits, dtype):
    x = pixels().repeat(500, 1)
    for backend in ("native", "torch"):
        made = fast(digits, backend=backend)
        assert torch.equal(made(x.to(dtype)), made(x))
        assert made.certificate == Certificate(2500, 0)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_torch_compile_compiles_the_circuit_itself_in_one_graph(digits, backend):
    made, x = fast(digits, backend=backend), pixels()
    torch._dynamo.reset()
    compiled = torch.compile(made, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), digits(x))
    compiled(x).sum().backward()
    assert all(tensor.grad is not None for tensor in digits.parameters())


@pytest.mark.parametrize("backend", ["native", "torch"])
@torch.no_grad()
def test_x_in_double_precision_is_rounded_as_by_the_circuit_certified_or_not(backend: str):
    circuit = TorchCompiler().compile(fully_factorized(3, "gaussian"))
    next(circuit.parameters()).fill_(1.7e9)  # the means, near seconds since 1970
    x = 1.7e9 + torch.tensor([[1.0, 2.0, 3.0], [5.0, 0.0, 600.0]], dtype=torch.float64)
    made = fast(circuit, backend=backend)
    for rows in (x, x[:1], x.repeat(40, 1)):
        assert_equal(made(rows), copy.deepcopy(circuit).double()(rows.float().double()))
        assert_equal(made(rows), circuit(rows).double())


@torch.no_grad()
@without_certificate
def test_hooks_of_the_circuit_are_called_and_those_of_the_fast_circuit_cost_nothing(digits):
    circuit, x = copy.deepcopy(digits), pixels()
    made = fast(circuit)
    wanted = made(x)

    def times(factor: int) -> Any:
        return lambda module, given, output: factor * output

    hook = circuit.register_forward_hook(times(2))
    assert torch.allclose(made(x), 2 * wanted)
    assert "has hooks" in made.why_not(x)
    hook.remove()
    made.register_forward_hook(times(3))
    assert torch.equal(made(x), 3 * wanted)
    assert made.certificate is not None
    circuit.call_layer = lambda *given: -forward_layer(*given)
    assert torch.equal(made(x), 3 * circuit(x))
    assert "call_layer" in made.why_not(x)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_circuit_that_reads_no_variables_needs_no_rows(backend: str):
    circuit = TorchCompiler().compile(operators.integrate(load_named("digits")))
    made = fast(circuit, backend=backend)
    with torch.no_grad():
        assert made.why_not() == ""
        found = made()
    assert made.certificate == Certificate(1, 0)
    torch.testing.assert_close(found, circuit())
    if backend == "native":
        made().sum().backward()
        assert made.certificate == Certificate(1, 0)
