"""Equal nodes that do not fold together because of their position: real and complex inputs, live and dead layers."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from explorer.compiler import TorchCompiler
from explorer.recording import record
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ClampParameter,
    ConstantInitializer,
    ConstantValueLayer,
    DataType,
    EmbeddingLayer,
    ExpParameter,
    LogParameter,
    LogSoftmaxParameter,
    OuterProductParameter,
    ParameterNode,
    ReduceSumParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    TensorParameter,
    constant,
)
from tests.levels.modes import compile_circuit, layer_types, output

REAL, COMPLEX = np.array([[-0.3, 0.5], [0.2, 0.9]]), np.array([[0.3j, 0.5], [0.2, 0.9j]])
X = np.array([[0, 1], [1, 0]])


def leaf(value: NDArray[Any]) -> TensorParameter:
    dtype = DataType.COMPLEX if np.iscomplexobj(value) else DataType.REAL
    return TensorParameter(value.shape, dtype, initializer=ConstantInitializer(value))


def of_two(*weights: ParameterNode) -> Circuit:
    b = CircuitBuilder()
    layers = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=weight))
        for v, weight in enumerate(weights)
    ]
    return b.build(b.sum(b.hadamard(*layers), num_units=1, weight=constant([[0.4, 0.6]])))


def summed(value: NDArray[Any]) -> ParameterNode:
    return ReduceSumParameter((OuterProductParameter((leaf(value), constant(np.ones((2, 2)))), axis=1),), axis=0)


PAIRS: dict[str, tuple[ParameterNode, ParameterNode]] = {
    "log": (LogParameter((leaf(REAL),)), LogParameter((leaf(REAL + 0j),))),
    "square": (ClampParameter((SquareParameter((leaf(REAL),)),), vmin=0.1), SquareParameter((leaf(COMPLEX),))),
    **{
        kind.__name__: (kind((SquareParameter((leaf(REAL),)),)), SquareParameter((leaf(COMPLEX),)))
        for kind in (ExpParameter, LogSoftmaxParameter, SigmoidParameter, SoftmaxParameter, SoftplusParameter)
    },
}


@pytest.mark.parametrize("semiring", ["sum-product", "complex-lse-sum"])
@pytest.mark.parametrize("pair", PAIRS)
def test_operators_on_real_and_on_complex_numbers_do_not_fold_together(pair: str, semiring: str):
    circuit = of_two(*PAIRS[pair])
    plain = output(compile_circuit(circuit, semiring, optimize=False, fold=False), X)
    for optimize in (False, True):
        folded = output(compile_circuit(circuit, semiring, optimize=optimize, fold=True), X)
        assert folded.dtype == plain.dtype
        np.testing.assert_allclose(folded, plain, rtol=1e-12)


def test_real_and_complex_operators_of_equal_layers_fold_among_themselves():
    weights = [LogParameter((leaf(value),)) for value in (abs(REAL), REAL + 0j, REAL + 0j, abs(REAL))]
    module = compile_circuit(of_two(*weights), "sum-product", optimize=False)
    assert [layer.num_folds for layer in module.layers if type(layer).__name__ == "TorchEmbeddingLayer"] == [2, 2]


def test_input_layers_with_real_and_with_complex_parameters_do_not_fold_together():
    def circuit(one: NDArray[Any], other: NDArray[Any]) -> Circuit:
        b = CircuitBuilder()
        logits = SquareParameter((leaf(np.array([0.3, 0.5])),))
        binomial = b.add(BinomialLayer(scope=(0,), num_output_units=2, total_count=3, logits=logits))
        values = [
            b.add(ConstantValueLayer(num_output_units=2, value=SquareParameter((leaf(v),)))) for v in (one, other)
        ]
        return b.build(b.sum(b.hadamard(binomial, *values), num_units=1, weight=constant([[0.4, 0.6]])))

    mixed = circuit(np.array([0.3, 0.5]), np.array([0.3j, 0.5]))
    x = np.array([[1], [2]])
    plain = compile_circuit(mixed, "sum-product", fold=False)
    folded = compile_circuit(mixed, "sum-product")
    np.testing.assert_allclose(output(folded, x), output(plain, x), rtol=1e-12)
    assert [layer.num_folds for layer in folded.layers].count(2) == 0
    real = compile_circuit(circuit(np.array([0.3, 0.5]), np.array([0.1, 0.5])), "sum-product")
    assert [layer.num_folds for layer in real.layers].count(2) == 1


def test_why_real_and_complex_layers_are_not_folded_is_answered():
    trace = record(of_two(leaf(REAL), leaf(COMPLEX)), semiring="sum-product")
    answer = trace.why_not_folded(0, 1)
    assert not answer
    assert "weight.is_complex is absent here and True there" in str(answer.reason)


# ---- dead layers


def with_dead_layers(weight: list[list[float]]) -> Circuit:
    """A live sum over a leaf's layer, and two dead sums over each other and over the same layer."""
    b = CircuitBuilder()
    probs = SoftmaxParameter((TensorParameter((2, 2), name="p"),))
    x = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs))
    live = b.sum(b.sum(x, num_units=2, weight=constant([[0.2, 0.8], [0.6, 0.4]])), num_units=1)
    dead = b.sum(x, num_units=2, weight=constant(weight))
    b.sum(dead, num_units=1, weight=constant([[0.5, 0.5]]))
    return b.build(live)


@pytest.mark.parametrize("weight", [[[0.0, 0.0]] * 2, [[-1.0, -2.0]] * 2, [[np.inf, 1.0]] * 2], ids=str)
@pytest.mark.parametrize("levels", ["longest-distance", "fewest-groups"])
def test_dead_layers_do_not_reach_the_gradients_of_live_ones(weight: list[list[float]], levels: str):
    gradients = []
    for fold in (False, True):
        module = TorchCompiler(fold=fold, optimize=False, levels=levels).compile(with_dead_layers(weight))
        module(torch.tensor([[0], [1]])).sum().backward()
        gradients.append({n: p.grad for n, p in zip(module.leaf_state(), module.parameters(), strict=False)}["p"])
        if fold:
            assert layer_types(module).count("Sum") == 4
    assert torch.isfinite(gradients[0]).all()
    torch.testing.assert_close(gradients[1].reshape(gradients[0].shape), gradients[0])
