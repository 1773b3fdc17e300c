"""Parameters that lose digits, or all of them, in single precision: no call certifies a value that lacks them."""

import copy

import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.evaluation import forward_layer
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import Certificate, fast
from explorer.symbolic import (
    CategoricalLayer,
    CircuitBuilder,
    EmbeddingLayer,
    ExpParameter,
    GaussianLayer,
    HadamardParameter,
    Parameterization,
    SoftmaxParameter,
    SumParameter,
    constant,
    operators,
)
from explorer.templates import load_named
from tests.runtime.circuits import assert_equal, has_compiler
from tests.runtime.lossy import LOSSY, leaf, lossy_circuit, softmax

pytestmark = has_compiler


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
        assert "parameters underflowed or lost digits before they came into the frozen circuit" in frozen.why_not(x)
    with pytest.raises(LoweringError, match="call fast\\(\\) of the circuit itself"):
        circuit.freeze().fast(backend="native")


@torch.no_grad()
def test_weights_that_are_zero_and_probabilities_of_one_have_not_underflowed():
    digits = TorchCompiler().compile(load_named("digits"))
    assert not digits.freeze().may_have_lost_digits
    assert not TorchCompiler().compile(load_named("logic")).freeze().may_have_lost_digits
    certain = copy.deepcopy(digits)
    for tensor in certain.parameters():
        tensor.zero_()
        tensor[..., 0] = 60.0  # the others have e^-60, and the logarithm of the first is -1e-26, rounded to 0
    assert not certain.freeze().may_have_lost_digits


@torch.no_grad()
def test_values_that_underflowed_elsewhere_are_noticed_when_they_come_into_a_frozen_circuit():
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    mild = copy.deepcopy(sharp)
    for tensor in mild.parameters():
        tensor.zero_()
    loaded = mild.freeze()
    assert not loaded.may_have_lost_digits
    loaded.load_state_dict(sharp.freeze().state_dict())
    assert loaded.may_have_lost_digits
    assert "underflowed" in fast(loaded).why_not(x)
    loaded.load_state_dict(mild.freeze().state_dict())
    assert not loaded.may_have_lost_digits
    for tensor, value in zip(loaded.buffers(), sharp.freeze().buffers(), strict=True):
        tensor.copy_(value)
    assert loaded.may_have_lost_digits, "copied by hand"
    for converted in (copy.deepcopy(sharp).double().freeze().float(), copy.deepcopy(sharp).half().freeze().float()):
        assert converted.may_have_lost_digits


@torch.no_grad()
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_equal_numbers_may_have_lost_digits_in_one_circuit_and_not_in_another(backend: str):
    circuit, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    surely = copy.deepcopy(circuit)
    for tensor in surely.parameters():
        tensor[tensor == -120.0] = -2000.0  # whose exponential is zero in double precision too
    made = fast(surely.freeze(), backend=backend)
    assert_equal(made(x), copy.deepcopy(surely).double()(x))
    assert made.certificate is not None
    made.load_state_dict(made.state_dict(), assign=True)
    made.load_state_dict({}, strict=False)
    made.load_state_dict(circuit.freeze().state_dict())
    made(x)
    assert made.certificate is None


@torch.no_grad()
def test_what_underflows_on_the_way_is_not_lost_by_freezing():
    """Products of e^-110 and e^60, of which the first is zero in single precision; and probabilities near e^-102."""
    b = CircuitBuilder()
    probs = constant([[0.5, 0.5], [0.9, 0.1]])
    coins = [b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=probs)) for v in (0, 1)]
    powers = [constant([[0.0, -110.0]]), constant([[0.0, 60.0]])]
    weight = HadamardParameter(tuple(ExpParameter((power,)) for power in powers))
    product = b.build(b.sum(b.hadamard(*coins), num_units=1, weight=weight))
    b = CircuitBuilder()
    logits = constant([[0.0, -102.0, -103.0]])
    weights = SoftmaxParameter((logits,))
    table = b.build(b.add(EmbeddingLayer(scope=(0,), num_output_units=1, num_states=3, weight=weights)))
    for symbolic, x in ((product, torch.tensor([[1, 1], [0, 0]])), (table, torch.tensor([[0], [1], [2]]))):
        circuit = TorchCompiler().compile(symbolic)
        exact, frozen = copy.deepcopy(circuit).double()(x), circuit.freeze()
        assert_equal(frozen(x), exact)
        for backend in ("native", "torch"):
            assert_equal(fast(frozen, backend=backend)(x), exact)


@torch.no_grad()
def test_of_tiny_values_that_come_into_a_frozen_circuit_nothing_is_known():
    frozen = TorchCompiler().compile(load_named("logic")).freeze()
    assert not copy.deepcopy(frozen).may_have_lost_digits
    for unknown in (("_has_lost_digits", "_examined"), ("_has_lost_digits",)):  # to older versions
        older = copy.deepcopy(frozen)
        older.__setstate__({key: value for key, value in frozen.__getstate__().items() if key not in unknown})
        assert older.may_have_lost_digits
    frozen.load_state_dict({}, strict=False)
    assert not frozen.may_have_lost_digits
    frozen.load_state_dict(frozen.state_dict())
    assert frozen.may_have_lost_digits


def assert_trains_as_in_double_precision(circuit: TorchCircuit, x: Tensor) -> None:
    precise = copy.deepcopy(circuit).double()
    made, wanted = fast(circuit, backend="native"), precise(x.double() if x.is_floating_point() else x)
    found = made(x)
    assert_equal(found.detach(), wanted.detach())
    assert made.certificate is not None
    found.sum().backward()
    wanted.sum().backward()
    for one, other in zip(circuit.parameters(), precise.parameters(), strict=True):
        if other.grad is not None:
            atol = max(1e-12, 1e-6 * float(other.grad.abs().max()))
            torch.testing.assert_close(one.grad, other.grad.float(), rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", LOSSY)
def test_values_and_gradients_of_a_training_call_have_what_single_precision_would_lose(name: str):
    assert_trains_as_in_double_precision(*lossy_circuit(name))


@pytest.mark.parametrize("name", LOSSY)
@torch.no_grad()
def test_nothing_that_single_precision_would_lose_is_certified_without_it(name: str):
    circuit, x = lossy_circuit(name)
    exact = copy.deepcopy(circuit).double()(x.double())
    for backend in ("native", "torch"):
        for made in (fast(circuit, backend=backend), fast(circuit, backend=backend).freeze()):
            found = made(x)
            if made.certificate is None:
                assert "lost digits" in made.why_not(x)
            else:
                assert_equal(found, exact)


@pytest.mark.parametrize("far", [-105.0, -110.0])
def test_an_observation_that_nearly_rules_out_a_unit_trains_as_in_double_precision(far: float):
    b = CircuitBuilder()
    tables = [[[0.0, 0.0], [0.0, 0.0]], [[far, 0.0], [-80.0, 0.0]]]
    coins = [
        b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=softmax(leaf(tables[v]))))
        for v in (0, 1)
    ]
    symbolic = b.build(b.sum(b.hadamard(*coins), num_units=1, weight=softmax(leaf([[0.0, -60.0]]))))
    for derived in (operators.evidence(symbolic, {1: 0}), operators.multiply(symbolic, symbolic)):
        circuit = TorchCompiler().compile(derived)
        assert_trains_as_in_double_precision(circuit, torch.zeros(1, circuit.num_variables, dtype=torch.int64))


@pytest.mark.parametrize("operand", [1e4, 1e6])
def test_a_softmax_of_what_is_computed_is_computed_in_double_precision_in_training(operand: float):
    b = CircuitBuilder()
    coin = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=softmax(leaf([[0.1, 1.0], [2, 0]])))
    sums = SumParameter((leaf([[0.1234, 0.777]]), constant([[operand, operand]])))
    circuit = TorchCompiler().compile(b.build(b.sum(b.add(coin), num_units=1, weight=softmax(sums))))
    assert_trains_as_in_double_precision(circuit, torch.tensor([[0], [1]]))


def test_a_weight_that_overflows_spoils_no_gradient():
    b = CircuitBuilder()
    table = EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=softmax(leaf([[0.1, 1.0], [2.0, 0.0]])))
    inner = b.sum(b.add(table), num_units=2, weight=softmax(leaf([[0.3, 0.1], [1.0, 0.0]])))
    top = b.sum(inner, num_units=1, weight=ExpParameter((leaf([[90.0, 1.0]]),)))
    circuit = TorchCompiler().compile(b.build(top))
    assert_trains_as_in_double_precision(circuit, torch.tensor([[0], [1]]))
    with torch.no_grad():
        assert circuit.freeze().may_have_lost_digits


@torch.no_grad()
@pytest.mark.parametrize("name", ["narrow density", "probabilities near 1", "computed coefficients"])
def test_lost_digits_are_noticed_in_a_frozen_circuit_whose_values_come_from_elsewhere(name: str):
    circuit, x = lossy_circuit(name)
    frozen, loaded = circuit.freeze(), copy.deepcopy(circuit).freeze()
    loaded.load_state_dict(frozen.state_dict())
    converted = copy.deepcopy(circuit).double().freeze().float()
    for one in (frozen, loaded, converted):
        assert one.may_have_lost_digits
        assert "lost digits" in fast(one).why_not(x)


def test_a_copy_in_double_precision_changes_nothing_of_the_circuit():
    circuit = TorchCompiler().compile(load_named("digits"))
    circuit.register_parameter("temperature", torch.nn.Parameter(torch.ones(1)))
    circuit.extra = torch.nn.Linear(2, 2)
    circuit.call_layer = lambda *given: -forward_layer(*given)
    frozen, x = circuit.freeze(), torch.zeros(2, 64, dtype=torch.int64)
    circuit.fast()
    assert {one.dtype for one in circuit.parameters()} == {torch.float32}
    torch.testing.assert_close(frozen(x), circuit(x))


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_rows_that_are_not_certified_read_x_as_the_others_do(backend: str):
    b = CircuitBuilder()
    mean, eye = 1.7e9, constant([[1.0, 0.0], [0.0, 1.0]])
    densities = [
        b.add(
            GaussianLayer(scope=(v,), num_output_units=2, mean=leaf([mean, mean + 256]), stddev=constant([10.0, 10.0]))
        )
        for v in (0, 1)
    ]
    product = b.hadamard(*[b.sum(one, num_units=2, weight=eye) for one in densities])
    circuit = TorchCompiler().compile(b.build(b.sum(product, num_units=1, weight=constant([[1.0, 0.0]]))))
    x = torch.tensor([[mean + 200, mean + 1]], dtype=torch.float64)
    made, wanted = fast(circuit, backend=backend), copy.deepcopy(circuit).double()(x.float().double())
    with torch.no_grad():
        assert_equal(made(x), wanted)
    assert made.certificate == Certificate(1, 1)
    if backend == "native":
        assert_equal(made(x).detach(), wanted.detach())
        assert made.certificate == Certificate(1, 1)
