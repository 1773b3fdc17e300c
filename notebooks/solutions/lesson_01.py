"""Solutions of the exercises of lesson 1."""

from dataclasses import dataclass, field
from typing import Any

import explorer
from explorer.backend import TorchBinomialLayer
from explorer.graph import PARAMETER
from explorer.symbolic import (
    HadamardParameter,
    InputLayer,
    ParameterNode,
    SoftmaxParameter,
    SumParameter,
    TensorParameter,
    constant,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CoinLayer(InputLayer):
    """One coin per unit: p(1) = heads. As in the lesson."""

    heads: ParameterNode = field(metadata=PARAMETER)


def solution_1() -> explorer.TorchCompiler:
    """Compile a coin to a binomial distribution of one toss."""
    compiler = explorer.TorchCompiler()

    @compiler.layer_rules.rule(CoinLayer)
    def compile_coin(compiler: Any, layer: CoinLayer) -> TorchBinomialLayer:
        return TorchBinomialLayer(
            num_output_units=layer.num_output_units,
            scope_idx=(layer.scope,),
            total_count=1,
            probs=compiler.compile_parameter(layer.heads),
        )

    return compiler


def solution_2() -> ParameterNode:
    """0.8 of a softmax and 0.2 of the uniform distribution over four categories: no entry is below 0.05."""
    softmax = SoftmaxParameter((TensorParameter((2, 4)),))
    eight_tenths, floor = constant([[0.8] * 4] * 2), constant([[0.05] * 4] * 2)
    return SumParameter((HadamardParameter((eight_tenths, softmax)), floor))


def solution_3() -> int:
    """The smallest number above zero in single precision is 2 ** -149."""
    return 150
