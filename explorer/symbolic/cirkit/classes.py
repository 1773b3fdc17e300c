"""The classes of cirkit by name: the class here for each, and objects of cirkit recognized without importing it."""

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


SYMBOLIC = "cirkit.symbolic.circuit.Circuit"
COMPILED_CLASSES = ("cirkit.backend.torch.circuits.TorchCircuit", "cirkit.backend.torch.circuits.AbstractTorchCircuit")
"""The classes of compiled circuits; in release 0.2, those without variables are a sibling of `TorchCircuit`."""


def is_cirkit(thing: object) -> bool:
    """Whether an object is a circuit of cirkit, symbolic or compiled."""
    return is_symbolic(thing) or is_compiled(thing)


def is_symbolic(thing: object) -> bool:
    """Whether an object is a symbolic circuit of cirkit."""
    return has_class(thing, SYMBOLIC)


def is_compiled(thing: object) -> bool:
    """Whether an object is a circuit that cirkit has compiled."""
    return has_class(thing, *COMPILED_CLASSES)


def has_class(thing: object, *names: str) -> bool:
    """Whether the class of an object, or one of its bases, has one of these full names."""
    return derives_from(type(thing), *names)


def derives_from(kind: type, *names: str) -> bool:
    """Whether a class, or one of its bases, has one of these full names."""
    return any(_full_name(base) in names for base in kind.__mro__)


def class_name(thing: object) -> str:
    """The name of the class of an object, with its module."""
    return _full_name(type(thing))


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
