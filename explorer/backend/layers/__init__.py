"""Compiled layers: frozen data with a pure `forward`."""

from explorer.backend.layers.base import TorchInnerLayer, TorchInputLayer, TorchLayer, can_inspect
from explorer.backend.layers.chain import TorchChainLayer, chain_of
from explorer.backend.layers.inner import TorchHadamardLayer, TorchKroneckerLayer, TorchSumLayer
from explorer.backend.layers.inputs import (
    TorchBinomialLayer,
    TorchCategoricalLayer,
    TorchConstantValueLayer,
    TorchContinuousLayer,
    TorchDiscreteLayer,
    TorchEmbeddingLayer,
    TorchEvidenceLayer,
    TorchGaussianLayer,
    TorchPolynomialLayer,
)
from explorer.backend.layers.optimized import TorchCPTLayer, TorchMixingLayer, TorchTensorDotLayer, TorchTuckerLayer

__all__ = [
    "TorchBinomialLayer",
    "TorchCPTLayer",
    "TorchCategoricalLayer",
    "TorchChainLayer",
    "TorchConstantValueLayer",
    "TorchContinuousLayer",
    "TorchDiscreteLayer",
    "TorchEmbeddingLayer",
    "TorchEvidenceLayer",
    "TorchGaussianLayer",
    "TorchHadamardLayer",
    "TorchInnerLayer",
    "TorchInputLayer",
    "TorchKroneckerLayer",
    "TorchLayer",
    "TorchMixingLayer",
    "TorchPolynomialLayer",
    "TorchSumLayer",
    "TorchTensorDotLayer",
    "TorchTuckerLayer",
    "can_inspect",
    "chain_of",
]
