"""Parameters that lose digits, or all of them, in single precision: no call certifies a value that lacks them."""

import copy
import pickle

import pytest
import torch
from torch import Tensor

from explorer.backend import FrozenCircuit, TorchCircuit
from explorer.backend.evaluation import forward_layer
from explorer.compiler import TorchCompiler
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


def kept_in_doubles(frozen: FrozenCircuit) -> int:
    """The number of tensors that are kept in double precision, as single precision would lose digits."""
    return sum(value.dtype == torch.float64 for value in frozen.state_dict().values())


def mild_copy(circuit: TorchCircuit) -> TorchCircuit:
    """The circuit with parameters of zero, where nothing underflows."""
    mild = copy.deepcopy(circuit)
    with torch.no_grad():
        for tensor in mild.parameters():
            tensor.zero_()
    return mild


def assert_certified(frozen: FrozenCircuit, x: Tensor, exact: Tensor) -> None:
    """On each backend, also after copies of it."""
    for made in (frozen, copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        for backend in ("auto", "native", "torch"):
            found = fast(made, backend=backend)
            assert_equal(found(x), exact)
            assert found.certificate is not None


@torch.no_grad()
def test_a_frozen_circuit_keeps_the_parameters_that_underflow_in_single_precision():
    circuit, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    exact = copy.deepcopy(circuit).double()(x)
    frozen = circuit.freeze()
    assert kept_in_doubles(frozen) == 1, "the weight, and not the logarithms of the coins"
    assert_certified(frozen, x, exact)
    assert frozen(x).dtype == torch.float32
    assert_equal(copy.deepcopy(frozen).double()(x), exact)
    for backend in ("native", "torch"):
        assert_equal(circuit.fast(backend=backend)(x), exact)
        made = fast(circuit, backend=backend).freeze()
        assert_equal(made(x), exact)
        assert made.certificate is not None


@torch.no_grad()
def test_a_probability_that_underflows_anywhere_costs_no_row_its_digits():
    """Weights as expectation-maximization makes them: a Gaussian of one component is 20 standard deviations away."""
    b, off = CircuitBuilder(), -150.0
    densities = [
        b.add(GaussianLayer(scope=(v,), num_output_units=2, mean=leaf(mean), stddev=constant([1.0, 1.0])))
        for v, mean in enumerate(([0.0, 20.0], [25.0, 0.0]))
    ]
    rows = b.sum(densities[0], num_units=2, weight=softmax(leaf([[0.0, off], [off, 0.0]])))
    top = b.sum(b.hadamard(rows, densities[1]), num_units=1, weight=constant([[0.5, 0.5]]))
    frozen, x = TorchCompiler().compile(b.build(top)).freeze(), torch.zeros(1, 2)
    normal = torch.distributions.Normal(0.0, 1.0).log_prob
    far, near = normal(torch.tensor([20.0, 25.0], dtype=torch.float64)), float(normal(torch.tensor(0.0)))
    terms = torch.stack([torch.logaddexp(near + 0 * far[0], far[0] + off) + far[1], near + off + near + 0 * far[0]])
    exact = torch.logsumexp(terms, 0) + torch.log(torch.tensor(0.5))
    assert -153 < float(exact) < -152
    assert_certified(frozen, x, exact.view(1, 1, 1))


@torch.no_grad()
def test_weights_that_are_zero_and_probabilities_of_one_have_not_underflowed():
    digits = TorchCompiler().compile(load_named("digits"))
    assert kept_in_doubles(digits.freeze()) == 0
    assert kept_in_doubles(TorchCompiler().compile(load_named("logic")).freeze()) == 0
    certain = copy.deepcopy(digits)
    for tensor in certain.parameters():
        tensor.zero_()
        tensor[..., 0] = 60.0  # the others have e^-60, and the logarithm of the first is -1e-26, rounded to 0
    assert kept_in_doubles(certain.freeze()) == 0


@torch.no_grad()
@pytest.mark.parametrize("assign", [False, True])
def test_a_state_brings_what_single_precision_would_lose_into_a_frozen_circuit(assign: bool):
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    mild, exact = mild_copy(sharp).freeze(), copy.deepcopy(sharp).double()(x)
    loaded, before = copy.deepcopy(mild), mild.double()(x)
    made = {backend: fast(loaded, backend=backend) for backend in ("native", "torch")}
    for state, wanted in ((sharp.freeze().state_dict(), exact), (mild_copy(sharp).freeze().state_dict(), before)):
        loaded.load_state_dict(state, assign=assign)
        assert loaded(x).dtype == torch.float32
        for one in made.values():
            assert_equal(one(x), wanted)
            assert one.certificate is not None
    assert kept_in_doubles(loaded) == 0
    made["native"].load_state_dict(sharp.freeze().state_dict(), assign=assign)
    assert_certified(loaded, x, exact)
    loaded.load_state_dict({}, strict=False)
    assert_certified(loaded, x, exact)


@torch.no_grad()
def test_a_state_in_double_precision_is_rounded_where_nothing_is_lost():
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    loaded, exact = mild_copy(sharp).freeze(), copy.deepcopy(sharp).double()
    loaded.load_state_dict(exact.freeze().state_dict())
    assert kept_in_doubles(loaded) == 1
    assert_certified(loaded, x, exact(x))


@torch.no_grad()
def test_a_change_of_precision_keeps_what_it_would_lose():
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    exact = copy.deepcopy(sharp).double()(x)
    assert_equal(sharp.freeze().double()(x), exact)
    for other in (torch.float64, torch.float16, torch.bfloat16):
        of_other = copy.deepcopy(sharp).to(other).freeze()
        assert of_other(x).dtype == other
        for frozen in (of_other.float(), sharp.freeze().to(other).float()):
            assert frozen(x).dtype == torch.float32
            made = fast(frozen)
            torch.testing.assert_close(made(x).double(), exact, rtol=torch.finfo(other).eps, atol=2e-5)
            assert made.certificate is not None
            assert kept_in_doubles(frozen) == 1


@torch.no_grad()
def test_what_was_rounded_elsewhere_is_what_it_is():
    sharp, x = sharp_circuit(), torch.tensor([[1, 1], [0, 0]])
    loaded = mild_copy(sharp).freeze()
    for tensor, value in zip(loaded.buffers(), sharp.freeze().buffers(), strict=True):
        tensor.copy_(value)
    assert kept_in_doubles(loaded) == 0
    exact = copy.deepcopy(loaded).double()(x)
    assert exact[0] == -160, "the weight of the larger term is zero now"
    assert_certified(loaded, x, exact)


@torch.no_grad()
def test_what_underflows_on_the_way_is_not_lost_by_freezing():
    """Products of e^-110, which is zero in single precision, and e^60; and probabilities near e^-102."""
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
def test_training_call_keeps_what_single_precision_would_lose(name: str):
    assert_trains_as_in_double_precision(*lossy_circuit(name))


@pytest.mark.parametrize("name", LOSSY)
@torch.no_grad()
def test_a_frozen_circuit_has_what_single_precision_would_lose(name: str):
    circuit, x = lossy_circuit(name)
    exact = copy.deepcopy(circuit).double()(x.double())
    for backend in ("native", "torch"):
        for made in (fast(circuit, backend=backend), fast(circuit, backend=backend).freeze()):
            assert_equal(made(x), exact)
            assert made.certificate is not None


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
    assert kept_in_doubles(circuit.freeze()) == 1


@torch.no_grad()
@pytest.mark.parametrize("name", ["narrow density", "probabilities near 1", "computed coefficients"])
def test_digits_that_count_come_into_a_frozen_circuit_from_elsewhere(name: str):
    circuit, x = lossy_circuit(name)
    exact, frozen, loaded = copy.deepcopy(circuit).double()(x.double()), circuit.freeze(), mild_copy(circuit).freeze()
    loaded.load_state_dict(frozen.state_dict())
    converted = copy.deepcopy(circuit).double().freeze().float()
    for one in (frozen, loaded, converted):
        assert kept_in_doubles(one) >= 1
        assert_certified(one, x, exact)


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
