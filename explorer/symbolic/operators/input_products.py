"""The products of input layers of the same variable, for each pair of types that has one; discrete ones as tables."""

import numpy as np

from explorer.errors import StructureError
from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.layers import (
    BinomialLayer,
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    GaussianLayer,
    InputLayer,
    PolynomialLayer,
)
from explorer.symbolic.operators.assembly import RuleTable
from explorer.symbolic.parameter_operators import (
    BinomialTableParameter,
    ClampParameter,
    ExpParameter,
    GaussianProductLogPartitionParameter,
    GaussianProductMeanParameter,
    GaussianProductStddevParameter,
    LogParameter,
    OuterProductParameter,
    OuterSumParameter,
    PolynomialProductParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SumParameter,
)
from explorer.symbolic.parameters import ParameterNode, TensorParameter, constant

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


multiply_rules = RuleTable("multiply")
"""For pairs of types of input layers: a function of two layers of one scope that returns the layer of their product.

Its units are all pairs, where the first layer varies slower.
"""

_DISCRETE = (EmbeddingLayer, CategoricalLayer, BinomialLayer)


def multiply_tables(left: DiscreteLayer, right: DiscreteLayer) -> InputLayer:
    """The table of the products; as logarithms if both are given by logarithms or are known to be positive."""
    count = left.num_values
    if count != right.num_values:
        raise StructureError(f"the variable has {count} values in one and {right.num_values} in the other")
    logs = log_table(left), log_table(right)
    scope, units = left.scope, left.num_output_units * right.num_output_units
    if logs[0] is not None and logs[1] is not None:
        logits = OuterSumParameter((logs[0], logs[1]), axis=0)
        return CategoricalLayer(scope=scope, num_output_units=units, num_categories=count, logits=logits)
    table = OuterProductParameter((linear_table(left), linear_table(right)), axis=0)
    return EmbeddingLayer(scope=scope, num_output_units=units, num_states=count, weight=table)


for _kind in _DISCRETE:
    for _other in _DISCRETE:
        multiply_rules.rule(_kind, _other)(multiply_tables)


@multiply_rules.rule(GaussianLayer, GaussianLayer)
def multiply_gaussians(left: GaussianLayer, right: GaussianLayer) -> InputLayer:
    """A normal density again, multiplied by a constant."""
    operands = (left.mean, left.stddev, right.mean, right.stddev)
    log_partition: ParameterNode = GaussianProductLogPartitionParameter(operands)
    own = _pair_log_partitions(left, right)
    if own is not None:
        log_partition = SumParameter((log_partition, own))
    return GaussianLayer(
        scope=left.scope,
        num_output_units=left.num_output_units * right.num_output_units,
        mean=GaussianProductMeanParameter(operands),
        stddev=GaussianProductStddevParameter((left.stddev, right.stddev)),
        log_partition=log_partition,
    )


def _pair_log_partitions(left: GaussianLayer, right: GaussianLayer) -> ParameterNode | None:
    """The sums (K*L,) of the logarithms of what the densities are multiplied by; None: by nothing."""
    if left.log_partition is None and right.log_partition is None:
        return None
    zeros = [
        constant(np.zeros(layer.num_output_units)) if layer.log_partition is None else layer.log_partition
        for layer in (left, right)
    ]
    return OuterSumParameter((zeros[0], zeros[1]), axis=0)


@multiply_rules.rule(PolynomialLayer, PolynomialLayer)
def multiply_polynomials(left: PolynomialLayer, right: PolynomialLayer) -> InputLayer:
    """A polynomial; its degree is the sum of the degrees."""
    return PolynomialLayer(
        scope=left.scope,
        num_output_units=left.num_output_units * right.num_output_units,
        degree=left.degree + right.degree,
        coeff=PolynomialProductParameter((left.coeff, right.coeff)),
    )


@multiply_rules.rule(ConstantValueLayer, ConstantValueLayer)
def multiply_constants(left: ConstantValueLayer, right: ConstantValueLayer) -> InputLayer:
    """A constant; as a logarithm if both are."""
    log_space = left.log_space and right.log_space
    if log_space:
        value: ParameterNode = OuterSumParameter((left.value, right.value), axis=0)
    else:
        linear = [ExpParameter((c.value,)) if c.log_space else c.value for c in (left, right)]
        value = OuterProductParameter((linear[0], linear[1]), axis=0)
    units = left.num_output_units * right.num_output_units
    return ConstantValueLayer(num_output_units=units, value=value, log_space=log_space)
