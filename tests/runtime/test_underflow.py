"""Parameters that underflow in single precision: a frozen circuit never certifies a value that lacks them."""

import copy

import pytest
import torch

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import fast
from explorer.symbolic import (
    CategoricalLayer,
    CircuitBuilder,
    EmbeddingLayer,
    ExpParameter,
    HadamardParameter,
    Parameterization,
    SoftmaxParameter,
    constant,
)
from explorer.templates import load_named
from tests.runtime.circuits import assert_equal, has_compiler

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
        assert "parameters underflowed before they came into the frozen circuit" in frozen.why_not(x)
    with pytest.raises(LoweringError, match="call fast\\(\\) of the circuit itself"):
        circuit.freeze().fast(backend="native")


@torch.no_grad()
def test_weights_that_are_zero_and_probabilities_of_one_have_not_underflowed():
    digits = TorchCompiler().compile(load_named("digits"))
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
    for converted in (copy.deepcopy(sharp).double().freeze().float(), copy.deepcopy(sharp).half().freeze().float()):
        assert converted.may_have_underflowed


@torch.no_grad()
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_equal_numbers_may_have_underflowed_in_one_circuit_and_not_in_another(backend: str):
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
    assert not copy.deepcopy(frozen).may_have_underflowed
    saved_by_an_older_version = copy.deepcopy(frozen)
    state = {key: value for key, value in frozen.__getstate__().items() if key not in ("_underflowed", "_examined")}
    saved_by_an_older_version.__setstate__(state)
    assert saved_by_an_older_version.may_have_underflowed
    frozen.load_state_dict({}, strict=False)
    assert not frozen.may_have_underflowed
    frozen.load_state_dict(frozen.state_dict())
    assert frozen.may_have_underflowed
