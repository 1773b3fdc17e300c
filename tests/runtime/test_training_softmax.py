"""Weights that are a softmax: the kernels compute it as they read the logits, and pass gradients back through it."""

import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit, TorchTensorDotLayer
from explorer.runtime import fast
from explorer.runtime.backends import NativeBackend
from explorer.runtime.native.training import BAD_NUMBER, TrainingProgram
from explorer.runtime.native.training_plan import SOFTMAX
from explorer.runtime.plan import Kind, lower_to_plan
from explorer.symbolic import CircuitBuilder, EmbeddingLayer, KroneckerParameter, SoftmaxParameter, TensorParameter
from tests.fuzzing import covering
from tests.levels.modes import compile_circuit
from tests.runtime.circuits import has_compiler, image_circuit, leaf
from tests.runtime.test_training import assert_trains

pytestmark = has_compiler

STATES = 5


def circuit_with(kind: Kind, units: int = 5) -> TorchCircuit:
    """A circuit of 2x3 pixels that has kernel calls of a kind."""
    graph, layer = {
        Kind.SUM: ("quad-graph", "cp"),
        Kind.MIXING: ("quad-graph", "cp-t"),
        Kind.TUCKER: ("quad-tree-2", "tucker"),
    }[kind]
    circuit = image_circuit(2, 3, graph, layer, units=units, states=STATES)
    compiled = compile_circuit(circuit, fold=True, optimize=True).float()
    assert kind.value in lower_to_plan(compiled).counts()
    return compiled


def pixels(rows: int) -> Tensor:
    return torch.randint(STATES, (rows, 6), generator=torch.Generator().manual_seed(rows))


def training_of(circuit: TorchCircuit) -> TrainingProgram:
    backend = fast(circuit, backend="native").backend
    assert isinstance(backend, NativeBackend)
    return backend.training


def logits_of_weights(circuit: TorchCircuit) -> list[Tensor]:
    """The parameters of layers with weights; those of tables come first."""
    return [one.data for one in list(circuit.parameters())[1:]]


@pytest.mark.parametrize(
    ("kind", "units", "rows"), covering((Kind.SUM, Kind.MIXING, Kind.TUCKER), (3, 8, 17, 64), (33, 300))
)
def test_weights_of_any_shape(kind: Kind, units: int, rows: int):
    assert_trains(circuit_with(kind, units), pixels(rows))


def test_weights_that_are_a_product_of_softmaxes():
    b = CircuitBuilder()
    tables = [
        b.add(EmbeddingLayer(scope=(at,), num_output_units=12, num_states=3, weight=leaf(torch.rand(12, 3) + 0.1)))
        for at in range(2)
    ]
    factors = tuple(SoftmaxParameter((TensorParameter(shape),), axis=1) for shape in ((2, 4), (2, 3)))
    found = b.sum(b.hadamard(*tables), num_units=4, weight=KroneckerParameter(factors))
    circuit = compile_circuit(b.build(b.sum(found, num_units=1)), preset="handbook").float()
    assert sum(isinstance(layer, TorchTensorDotLayer) for layer in circuit.layers) == 2
    assert_trains(circuit, torch.randint(3, (20, 2), generator=torch.Generator().manual_seed(0)))
    assert sum(read.content == SOFTMAX for read in training_of(circuit).plan.reads) == 3


@pytest.mark.parametrize("kind", [Kind.SUM, Kind.MIXING, Kind.TUCKER])
def test_logits_far_from_each_other_or_from_zero(kind: Kind):
    """Some weights are below the smallest normal number, some are zero."""
    circuit = circuit_with(kind)
    for number, logits in enumerate(logits_of_weights(circuit)):
        logits.mul_(25).add_((-1) ** number * 1000)
        logits[..., 0, 0] = -torch.inf
    assert_trains(circuit, pixels(40))


@pytest.mark.parametrize("kind", [Kind.SUM, Kind.MIXING, Kind.TUCKER])
@pytest.mark.parametrize("logit", [torch.nan, torch.inf])
def test_logits_without_a_softmax_are_refused(kind: Kind, logit: float):
    circuit = circuit_with(kind)
    training = training_of(circuit)
    for logits in logits_of_weights(circuit):
        before = logits.clone()
        logits[0, -1, -1] = logit
        assert training.why_not(pixels(3)) == BAD_NUMBER
        logits.copy_(before)
        logits[0, 0] = -torch.inf
        assert training.why_not(pixels(3)) == BAD_NUMBER
        logits.copy_(before)
    assert training.why_not(pixels(3)) == ""


def test_a_step_keeps_no_copy_of_weights():
    """PyTorch keeps the parameters themselves, and the memory of the step."""
    circuit = circuit_with(Kind.TUCKER)
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        fast(circuit, backend="native")(pixels(20))
    addresses = {one.data_ptr() for one in circuit.parameters()}
    assert [one.dtype for one in kept if one.numel() and one.data_ptr() not in addresses] == [torch.uint8]
