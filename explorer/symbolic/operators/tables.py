"""Discrete input layers as tables of values or of their logarithms."""

import numpy as np

from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.layers import BinomialLayer, CategoricalLayer, EmbeddingLayer
from explorer.symbolic.parameter_operators import (
    BinomialTableParameter,
    ClampParameter,
    ExpParameter,
    LogParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
)
from explorer.symbolic.parameters import ParameterNode, TensorParameter

DiscreteLayer = EmbeddingLayer | CategoricalLayer | BinomialLayer


def log_table(layer: DiscreteLayer) -> ParameterNode | None:
    """The logarithms (K, V) of the values of a layer; None if nothing shows that the values are not negative."""
    match layer:
        case BinomialLayer():
            return binomial_table(layer)
        case CategoricalLayer(logits=ParameterNode() as logits):
            return logits
        case CategoricalLayer(probs=ParameterNode() as probs) if is_positive(probs):
            return LogParameter((probs,))
        case _:
            return None


def linear_table(layer: DiscreteLayer) -> ParameterNode:
    """The values (K, V) of a layer."""
    match layer:
        case EmbeddingLayer():
            return layer.weight
        case CategoricalLayer(probs=ParameterNode() as probs):
            return probs
        case CategoricalLayer(logits=ParameterNode() as logits):
            return ExpParameter((logits,))
        case BinomialLayer():
            return ExpParameter((binomial_table(layer),))
        case CategoricalLayer():
            raise AssertionError("a categorical layer has probs or logits")


def binomial_table(layer: BinomialLayer) -> ParameterNode:
    """The log-probabilities (K, total_count + 1)."""
    logits = layer.known_logits
    if logits is not None:
        return BinomialTableParameter((logits,), total_count=layer.total_count, is_logits=True)
    assert layer.probs is not None
    return BinomialTableParameter((layer.probs,), total_count=layer.total_count)


def is_positive(parameter: ParameterNode) -> bool:
    """Whether its operator, or the fixed value of a leaf, shows that a parameter is real and above 0."""
    match parameter:
        case SoftmaxParameter() | SigmoidParameter() | SoftplusParameter() | ExpParameter():
            return not is_complex(parameter)
        case ScaledSigmoidParameter():
            return parameter.vmin >= 0 and not is_complex(parameter)
        case ClampParameter(vmin=float() as vmin):
            return vmin > 0 and not is_complex(parameter)
        case TensorParameter(learnable=False, initializer=ConstantInitializer() as fixed):
            return fixed.value.dtype.kind in "biuf" and float(np.min(fixed.value)) > 0
        case _:
            return False


def is_complex(parameter: ParameterNode) -> bool:
    """Whether the value of a parameter may be complex: a leaf of it is."""
    return any(isinstance(node, TensorParameter) and node.dtype.value == "complex" for node in parameter.nodes())
