"""Circuits of one layer whose parameters lose digits, or all of them, if they are evaluated in single precision."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    CircuitBuilder,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    ExpParameter,
    GaussianLayer,
    HadamardParameter,
    InputLayer,
    LogParameter,
    ParameterNode,
    PolynomialLayer,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SquareParameter,
    SumParameter,
    TensorParameter,
    constant,
)


def leaf(values: Sequence[object]) -> TensorParameter:
    """A parameter that is trained, with these values."""
    array = np.array(values)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


STEEP = leaf([[-102.0, 0.0], [-105.0, 1.0]])
"""Logits whose softmax and exponential are below the normal numbers of single precision."""


def softmax(values: ParameterNode) -> ParameterNode:
    return SoftmaxParameter((values,), axis=1)


def categorical(**parameters: ParameterNode) -> InputLayer:
    return CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, **parameters)


def gaussian(**parameters: ParameterNode) -> InputLayer:
    given = {"mean": leaf([1.0, 2.0]), "stddev": constant([1.0, 1.0]), **parameters}
    return GaussianLayer(scope=(0,), num_output_units=2, **given)


def binomial(total_count: int, probs: ParameterNode) -> InputLayer:
    return BinomialLayer(scope=(0,), num_output_units=2, total_count=total_count, probs=probs)


LOSSY: dict[str, tuple[Callable[[], InputLayer], float]] = {
    "log of a sum": (
        lambda: categorical(logits=LogParameter((SumParameter((SigmoidParameter((STEEP,)), ExpParameter((STEEP,)))),))),
        0.0,
    ),
    "log of a softmax": (
        lambda: categorical(logits=LogParameter((HadamardParameter((softmax(STEEP), constant(np.ones((2, 2))))),))),
        0.0,
    ),
    "softmax": (lambda: categorical(probs=softmax(STEEP)), 0.0),
    "log partition": (
        lambda: gaussian(log_partition=LogParameter((ExpParameter((leaf([-100.0, -103.0]),)),))),
        2.0,
    ),
    "probabilities near 1": (lambda: binomial(10_000, ScaledSigmoidParameter((leaf([20.0, 15.0]),), 0.0, 1.0)), 0.0),
    "square of a sigmoid": (
        lambda: binomial(100, SquareParameter((SigmoidParameter((leaf([-50.0, 9.0]),)),))),
        1.0,
    ),
    "narrow density": (
        lambda: gaussian(mean=SumParameter((leaf([1.1, 2.3]), leaf([0.3, -0.77]))), stddev=constant([1e-4, 1e-4])),
        1.4001,
    ),
    "value": (lambda: ConstantValueLayer(num_output_units=2, value=ExpParameter((leaf([-102.0, -104.0]),))), 0.0),
    "polynomial near a root": (
        lambda: PolynomialLayer(scope=(0,), num_output_units=2, degree=2, coeff=leaf([[1.21, -2.2, 1.0]] * 2)),
        1.1005,
    ),
    "computed coefficients": (
        lambda: PolynomialLayer(
            scope=(0,), num_output_units=2, degree=2, coeff=SquareParameter((leaf([[1.1, 0.3, 1.0]] * 2),))
        ),
        0.5,
    ),
    "large integers": (
        lambda: gaussian(mean=SumParameter((constant([16_777_217, 16_777_219]), leaf([0.0, 0.0])))),
        16_777_216.0,
    ),
    "integer means": (lambda: gaussian(mean=constant([16_777_217, 16_777_219]), stddev=leaf([1.0, 1.5])), 16_777_216.0),
    "table of integers": (
        lambda: EmbeddingLayer(
            scope=(0,),
            num_output_units=2,
            num_states=2,
            weight=SumParameter((constant([[16_777_217, 1], [2, 3]]), constant([[-16_777_216, 0], [0, 0]]))),
        ),
        0.0,
    ),
    "table that overflows": (
        lambda: EmbeddingLayer(
            scope=(0,), num_output_units=2, num_states=2, weight=ExpParameter((leaf([[90.0, 0.0], [1.0, 2.0]]),))
        ),
        0.0,
    ),
    "polynomial": (
        lambda: PolynomialLayer(
            scope=(0,), num_output_units=2, degree=1, coeff=ExpParameter((leaf([[-102.0, -103.0], [-104.0, -102.0]]),))
        ),
        1.0,
    ),
}
"""Layers, and values of their variable, for which single precision loses digits that the logarithm needs."""


def lossy_circuit(name: str) -> tuple[TorchCircuit, Tensor]:
    """One of these layers under a sum, compiled, and a row for it."""
    make, value = LOSSY[name]
    b = CircuitBuilder()
    circuit = TorchCompiler().compile(b.build(b.sum(b.add(make()), num_units=1, weight=softmax(leaf([[0.1, 0.2]])))))
    return circuit, torch.tensor([[value]] if circuit.num_variables else [[]] * 2)
