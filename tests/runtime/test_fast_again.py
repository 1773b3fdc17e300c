"""A fast circuit that is made fast again or frozen is made of the circuit that it was made of."""

import copy
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from explorer.backend import FrozenCircuit, TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, LoweringError
from explorer.runtime import Certificate, fast
from explorer.symbolic import CategoricalLayer, CircuitBuilder, Parameterization
from explorer.templates import fully_factorized, load_named
from tests.runtime.circuits import assert_equal, has_compiler

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


def sharp_circuit() -> TorchCircuit:
    """Two coins: at (1, 1), a term of e^-121 is the larger one, and its weight underflows in single precision."""
    softmax, b = Parameterization("softmax"), CircuitBuilder()
    coins = [
        b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=softmax((2, 2)))) for v in (0, 1)
    ]
    circuit = TorchCompiler().compile(b.build(b.sum(b.hadamard(*coins), num_units=1)))
    with torch.no_grad():
        for tensor in circuit.parameters():
            sharp = [[0.0, -80.0], [0.0, 0.0]] if tensor.shape[-2:] == (2, 2) else [0.0, -120.0]
            tensor.copy_(torch.tensor(sharp).expand_as(tensor))
    return circuit


@torch.no_grad()
def test_a_circuit_whose_parameters_underflowed_as_it_was_frozen_has_no_certificate():
    circuit, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    exact = copy.deepcopy(circuit).double()(x)
    for backend in ("native", "torch"):
        assert_equal(circuit.fast(backend=backend)(x), exact)
        frozen = fast(circuit, backend=backend).freeze()
        assert torch.equal(frozen(x), circuit.freeze()(x)), "the layers answer"
        assert frozen.certificate is None
        assert "parameters underflowed before they came into the frozen circuit" in frozen.why_not(x)
    with pytest.raises(LoweringError, match="call fast\\(\\) of the circuit itself"):
        circuit.freeze().fast(backend="native")


@torch.no_grad()
def test_weights_that_are_zero_and_probabilities_of_one_have_not_underflowed(digits):
    assert not digits.freeze().may_have_underflowed
    assert not TorchCompiler().compile(load_named("logic")).freeze().may_have_underflowed
    certain = copy.deepcopy(digits)
    for tensor in certain.parameters():
        tensor.zero_()
        tensor[..., 0] = 60.0  # the others have e^-60, and the logarithm of the first is -1e-26, rounded to 0
    assert not certain.freeze().may_have_underflowed


@torch.no_grad()
def test_values_that_underflowed_elsewhere_are_noticed_when_they_come_into_a_frozen_circuit():
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    mild = copy.deepcopy(sharp)
    for tensor in mild.parameters():
        tensor.zero_()
    loaded = mild.freeze()
    assert not loaded.may_have_underflowed
    loaded.load_state_dict(sharp.freeze().state_dict())
    assert loaded.may_have_underflowed
    assert "underflowed" in fast(loaded).why_not(x)
    loaded.load_state_dict(mild.freeze().state_dict())
    assert not loaded.may_have_underflowed
    for tensor, value in zip(loaded.buffers(), sharp.freeze().buffers(), strict=True):
        tensor.copy_(value)
    assert loaded.may_have_underflowed, "copied by hand"
    assert copy.deepcopy(sharp).double().freeze().float().may_have_underflowed


@torch.no_grad()
def test_of_tiny_values_that_come_into_a_frozen_circuit_nothing_is_known():
    frozen = TorchCompiler().compile(load_named("logic")).freeze()
    assert not copy.deepcopy(frozen).may_have_underflowed
    saved_by_an_older_version = copy.deepcopy(frozen)
    state = {key: value for key, value in frozen.__getstate__().items() if key != "_truly_tiny"}
    saved_by_an_older_version.__setstate__(state)
    assert saved_by_an_older_version.may_have_underflowed
    frozen.load_state_dict(frozen.state_dict())
    assert frozen.may_have_underflowed


@torch.no_grad()
def test_tensors_that_are_the_negative_of_their_memory_are_read_as_they_are():
    circuit = TorchCompiler().compile(fully_factorized(6, "gaussian"))
    x, of_torch = torch.randn(5, 6, generator=torch.Generator().manual_seed(0)), cast("Any", torch)
    for backend in ("native", "torch"):
        made = fast(circuit, backend=backend)
        assert_equal(made(of_torch._neg_view(x)), circuit.double()(-x.double()))
        circuit.float()
        assert "negative of its memory" in made.why_not(of_torch._neg_view(x))
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
