"""Illegal input is refused with a typed error that states what was expected, what was found, and where."""

from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import DataTypeError, ShapeError, UnknownNameError, ValueRangeError
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    Parameterization,
    SoftplusParameter,
    TensorParameter,
    constant,
)
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def mixed_circuit() -> Circuit:
    """Variable 0 of three categories, 1 real, 3 of five counts, 4 of two states; variable 2 is not read."""
    b = CircuitBuilder()
    parameters = Parameterization("softmax")
    spread = SoftplusParameter((TensorParameter((2,)),))
    layers = [
        CategoricalLayer(scope=(0,), num_output_units=2, num_categories=3, probs=parameters((2, 3))),
        GaussianLayer(scope=(1,), num_output_units=2, mean=TensorParameter((2,)), stddev=spread),
        BinomialLayer(scope=(3,), num_output_units=2, total_count=4, logits=TensorParameter((2,))),
        EmbeddingLayer(scope=(4,), num_output_units=2, num_states=2, weight=parameters((2, 2))),
    ]
    return b.build(b.sum(b.hadamard(*(b.add(layer) for layer in layers)), num_units=1))


def row(**changes: float) -> Tensor:
    """Two legal rows, with changes (`x0=7`) in the second."""
    x = torch.tensor([[2.0, 0.5, 99.0, 4.0, 1.0]] * 2)
    for name, value in changes.items():
        x[1, int(name[1:])] = value
    return x


@pytest.fixture
def circuit() -> TorchCircuit:
    return compile_circuit(mixed_circuit())


@EACH_MODE
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x0": 3}, r"variable 0 must be an integer from 0 to 2; found 3\.0 in row 1"),
        ({"x0": -1}, r"variable 0 must be an integer from 0 to 2; found -1\.0 in row 1"),
        ({"x0": 0.5}, r"variable 0 must be an integer from 0 to 2; found 0\.5 in row 1"),
        ({"x0": float("nan")}, r"variable 0 must be an integer from 0 to 2; found nan in row 1"),
        ({"x0": float("inf")}, r"variable 0 .* found inf in row 1"),
        ({"x1": float("nan")}, r"variable 1 is NaN in row 1"),
        ({"x3": 5}, r"variable 3 must be an integer from 0 to 4; found 5\.0 in row 1"),
        ({"x3": -1}, r"variable 3 must be an integer from 0 to 4; found -1\.0 in row 1"),
        ({"x4": 2}, r"variable 4 must be an integer from 0 to 1; found 2\.0 in row 1"),
    ],
)
def test_a_value_out_of_the_range_of_its_variable_is_refused(mode: Mode, changes: dict[str, float], message: str):
    with pytest.raises(ValueRangeError, match=message):
        compile_circuit(mixed_circuit(), **mode)(row(**changes))


def test_the_refused_variable_is_named_although_layers_are_folded():
    b = CircuitBuilder()
    coins = [
        CategoricalLayer(scope=(v,), num_output_units=1, num_categories=2, probs=constant([[0.5, 0.5]]))
        for v in range(4)
    ]
    circuit = compile_circuit(b.build(b.hadamard(*(b.add(coin) for coin in coins))))
    assert len(circuit.layers) == 2
    with pytest.raises(ValueRangeError, match="variable 2 must be an integer from 0 to 1; found 7 in row 1"):
        circuit(torch.tensor([[0, 1, 0, 1], [0, 1, 7, 1]]))


def test_a_variable_that_no_layer_reads_may_have_any_value(circuit: TorchCircuit):
    assert torch.equal(circuit(row(x2=float("nan"))), circuit(row()))


@pytest.mark.parametrize("shape", [(5,), (2, 4), (2, 6), (1, 2, 5), ()])
def test_a_wrong_shape_is_refused(circuit: TorchCircuit, shape: tuple[int, ...]):
    with pytest.raises(ShapeError, match=r"x must have shape \(B, 5\); found \("):
        circuit(torch.zeros(shape))


def test_a_missing_input_is_refused(circuit: TorchCircuit):
    with pytest.raises(ShapeError, match=r"the circuit reads 5 variables; pass x of shape \(B, 5\)"):
        circuit()


@pytest.mark.parametrize("x", [row().numpy(), row().tolist(), 3, "x"], ids=lambda x: type(x).__name__)
def test_input_that_is_not_a_tensor_is_refused(circuit: TorchCircuit, x: Any):
    with pytest.raises(DataTypeError, match=rf"x must be a torch.Tensor \(B, 5\); found {type(x).__name__}"):
        circuit(x)


def test_complex_input_is_refused(circuit: TorchCircuit):
    with pytest.raises(DataTypeError, match="TorchCategoricalLayer reads integers; found complex values"):
        circuit(row().to(torch.complex128))


def test_complex_input_of_a_real_variable_is_refused():
    b = CircuitBuilder()
    layer = GaussianLayer(scope=(0,), num_output_units=1, mean=constant([0.0]), stddev=constant([1.0]))
    with pytest.raises(DataTypeError, match="TorchGaussianLayer reads real numbers; found complex values"):
        compile_circuit(b.build(b.add(layer)))(torch.zeros((1, 1), dtype=torch.complex128))


@EACH_MODE
def test_an_observation_out_of_range_is_refused(mode: Mode):
    b = CircuitBuilder()
    seen = [
        EvidenceLayer(
            num_output_units=1,
            layer=CategoricalLayer(scope=(v,), num_output_units=1, num_categories=2, probs=constant([[0.5, 0.5]])),
            observation=constant([1]),
        )
        for v in (3, 4)
    ]
    circuit = compile_circuit(b.build(b.hadamard(*(b.add(layer) for layer in seen))), **mode)
    circuit.load_leaf_state({**circuit.leaf_state(), "1.observation": torch.tensor([2])})
    with pytest.raises(ValueRangeError, match="variable 4 must be an integer from 0 to 1; found 2"):
        circuit()


def test_an_empty_batch_has_an_empty_result(circuit: TorchCircuit):
    assert circuit(row()[:0]).shape == (0, 1, 1)
    with torch.no_grad():
        assert circuit.eval()(row()[:0]).shape == (0, 1, 1)


def test_a_circuit_without_variables_accepts_a_batch_or_nothing():
    b = CircuitBuilder()
    circuit = compile_circuit(b.build(b.add(ConstantValueLayer(num_output_units=2, value=constant([1.0, 2.0])))))
    assert circuit().shape == (1, 2)
    assert circuit(torch.zeros((4, 0))).shape == (4, 1, 2)
    with pytest.raises(ShapeError, match=r"x must have shape \(B, 0\); found \(4, 1\)"):
        circuit(torch.zeros((4, 1)))


def test_the_state_of_a_different_circuit_is_refused_and_changes_nothing(circuit: TorchCircuit):
    before = circuit.leaf_state()
    state = {**before, "17.weight": torch.zeros(1)}
    del state["0.probs"]
    with pytest.raises(UnknownNameError, match=r"leaves missing \['0.probs'\], unknown \['17.weight'\]"):
        circuit.load_leaf_state(state)
    state = {**{name: torch.zeros_like(value) for name, value in before.items()}, "5.weight": torch.zeros(2)}
    with pytest.raises(ShapeError, match=r"leaf 5.weight has shape \(1, 2\); the state has \(2,\)"):
        circuit.load_leaf_state(state)
    assert all(torch.equal(value, before[name]) for name, value in circuit.leaf_state().items())


def test_an_unknown_layer_has_no_read(circuit: TorchCircuit):
    with pytest.raises(UnknownNameError, match="unknown layer 1000"):
        circuit.reads(1000)
