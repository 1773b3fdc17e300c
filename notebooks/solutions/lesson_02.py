"""Solutions of the exercises of lesson 2."""

from explorer.backend import TorchCategoricalLayer, TorchSumLayer
from explorer.backend.parameters import TorchSoftmaxParameter
from explorer.rewrite import LayerOptPattern, ParameterOptPattern
from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates import CategoricalInput


def solution_1() -> LayerOptPattern:
    """List the entries from the root towards the inputs."""
    return LayerOptPattern("SumSumInput", (TorchSumLayer, TorchSumLayer, TorchCategoricalLayer))


def solution_2() -> LayerOptPattern:
    """Without is_output, the softmax inside a Kronecker product would match as well."""
    softmax = ParameterOptPattern("SoftmaxOut", (TorchSoftmaxParameter,), is_output=True)
    return LayerOptPattern("SoftmaxSum", (TorchSumLayer,), sub_patterns=({"weight": softmax},))


def solution_3() -> Circuit:
    """A chain of three sums whose lowest has a second user: the upper two match, the lower two are blocked."""
    builder = CircuitBuilder()
    x = [builder.add(CategoricalInput(2)(v, 4)) for v in range(2)]
    lowest = builder.sum(x[0], num_units=4)
    middle = builder.sum(lowest, num_units=4)
    upper = builder.sum(middle, num_units=4)
    products = [builder.hadamard(one, x[1]) for one in (upper, lowest)]
    return builder.build(builder.sum(*products, num_units=1))
