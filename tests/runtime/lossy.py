"""Circuits of one layer with parameters that lose some or all digits in single precision."""

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
    ReduceProductParameter,
    ReduceSumParameter,
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
"""Logits with softmax and exponential below the normal numbers of single precision."""


def softmax(values: ParameterNode) -> ParameterNode:
    return SoftmaxParameter((values,), axis=1)


def categorical(**parameters: ParameterNode) -> InputLayer:
    return CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, **parameters)


def gaussian(**parameters: ParameterNode) -> InputLayer:
    given = {"mean": leaf([1.0, 2.0]), "stddev": constant([1.0, 1.0]), **parameters}
    return GaussianLayer(scope=(0,), num_output_units=2, **given)


def binomial(total_count: int, probs: ParameterNode) -> InputLayer:
    return BinomialLayer(scope=(0,), num_output_units=2, total_count=total_count, probs=probs)


LAYERS: dict[str, tuple[Callable[[], InputLayer], float]] = {
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


WEIGHTS: dict[str, Callable[[], ParameterNode]] = {
    "difference": lambda: ReduceSumParameter((leaf([[[1e8, 5.0, -99999992.0], [1e8, 21.0, -99999992.0]]]),), axis=2),
    "product that underflows on the way": lambda: ReduceProductParameter(
        (leaf([[[1e-30, 1e-30, 1e30, 1e31], [1.0, 1.0, 1.0, 1.0]]]),), axis=2
    ),
    "scaled sigmoid near zero": lambda: ScaledSigmoidParameter((leaf([[1e-6, 3e-6]]),), -1.0, 1.0),
    "sigmoid near one": lambda: SigmoidParameter((leaf([[18.0, 20.0]]),)),
    "softmax of large integers": lambda: softmax(constant([[16_777_217, 16_777_216]])),
    "exponential that overflows": lambda: ExpParameter((leaf([[90.0, 1.0]]),)),
}
"""Weights, most of them computed by one operator, for which single precision loses digits of values or gradients."""

LOSSY = (*LAYERS, *WEIGHTS)


def lossy_circuit(name: str) -> tuple[TorchCircuit, Tensor]:
    """A circuit with one of these layers or weights, and a row for it."""
    b = CircuitBuilder()
    if name in WEIGHTS:
        table = softmax(leaf([[0.1, 1.0], [2.0, 0.0]]))
        layer: InputLayer = EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=table)
        value, weight = 0.0, WEIGHTS[name]()
    else:
        make, value = LAYERS[name]
        layer, weight = make(), softmax(leaf([[0.1, 0.2]]))
    circuit = TorchCompiler().compile(b.build(b.sum(b.add(layer), num_units=1, weight=weight)))
    return circuit, torch.tensor([[value]] if circuit.num_variables else [[]] * 2)
