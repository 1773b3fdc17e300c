"""Which class of cirkit is which class here; fields of a class here are attributes of theirs with the same names."""

from collections.abc import Mapping
from types import MappingProxyType

from explorer.symbolic import arrangement_operators as arrangements, layers, parameter_operators as operators
from explorer.symbolic.layers import Layer
from explorer.symbolic.parameters import ParameterOp

LAYERS_MODULE = "cirkit.symbolic.layers"
PARAMETERS_MODULE = "cirkit.symbolic.parameters"
INITIALIZERS_MODULE = "cirkit.symbolic.initializers"

LAYERS: Mapping[str, type[Layer]] = MappingProxyType(
    {
        "BinomialLayer": layers.BinomialLayer,
        "CategoricalLayer": layers.CategoricalLayer,
        "ConstantValueLayer": layers.ConstantValueLayer,
        "EmbeddingLayer": layers.EmbeddingLayer,
        "EvidenceLayer": layers.EvidenceLayer,
        "GaussianLayer": layers.GaussianLayer,
        "HadamardLayer": layers.HadamardLayer,
        "KroneckerLayer": layers.KroneckerLayer,
        "PolynomialLayer": layers.PolynomialLayer,
        "SumLayer": layers.SumLayer,
    }
)

OPERATORS: Mapping[str, type[ParameterOp]] = MappingProxyType(
    {
        "ClampParameter": operators.ClampParameter,
        "ConjugateParameter": operators.ConjugateParameter,
        "ExpParameter": operators.ExpParameter,
        "GaussianProductLogPartition": operators.GaussianProductLogPartitionParameter,
        "GaussianProductMean": operators.GaussianProductMeanParameter,
        "GaussianProductStddev": operators.GaussianProductStddevParameter,
        "HadamardParameter": operators.HadamardParameter,
        "IndexParameter": arrangements.IndexParameter,
        "KroneckerParameter": operators.KroneckerParameter,
        "LogParameter": operators.LogParameter,
        "LogSoftmaxParameter": operators.LogSoftmaxParameter,
        "MixingWeightParameter": arrangements.MixingWeightParameter,
        "OuterProductParameter": operators.OuterProductParameter,
        "OuterSumParameter": operators.OuterSumParameter,
        "PolynomialDifferential": operators.PolynomialDifferentialParameter,
        "PolynomialProduct": operators.PolynomialProductParameter,
        "ReduceLSEParameter": operators.ReduceLSEParameter,
        "ReduceProductParameter": operators.ReduceProductParameter,
        "ReduceSumParameter": operators.ReduceSumParameter,
        "ScaledSigmoidParameter": operators.ScaledSigmoidParameter,
        "SigmoidParameter": operators.SigmoidParameter,
        "SoftmaxParameter": operators.SoftmaxParameter,
        "SoftplusParameter": operators.SoftplusParameter,
        "SquareParameter": operators.SquareParameter,
        "SumParameter": operators.SumParameter,
    }
)
