"""The cost model: whether replacing a match pays.

The cost of a layer, per example, is its multiplications and additions, exponentials and logarithms, and a fixed
overhead; a batch shares the cost of the parameters. The constants are ratios measured on one CPU core with torch 2.13
(matrix products 105 GFLOP/s, exponentials 1.6 G/s, logarithms 1.25 G/s). Only their order of magnitude matters.
"""

from collections.abc import Iterable

from explorer.backend import Semiring, TorchLayer, all_parameters
from explorer.backend.parameters import TorchParameterNode
from explorer.optimize.layer_rules import RuleCompiler
from explorer.rewrite import GraphOptMatch

TRANSCENDENTAL_FLOPS = 70
"""Number of operations of a matrix product that take as long as one exponential or logarithm."""
LAYER_OVERHEAD_FLOPS = 8_192
"""Number of operations per example that take as long as calling one more layer."""
BATCH_SIZE = 256
"""Number of examples that share one evaluation of the parameters."""


def layer_cost(layer: TorchLayer, semiring: Semiring) -> float:
    """The cost of a layer per example, in floating-point operations."""
    logs = layer.transcendentals if semiring.is_logarithmic else 0
    parameters = sum([parameter.flops for parameter in all_parameters(layer).values()])
    return layer.flops + TRANSCENDENTAL_FLOPS * logs + parameters / BATCH_SIZE + LAYER_OVERHEAD_FLOPS


def layers_cost(layers: Iterable[TorchLayer], semiring: Semiring) -> float:
    """The cost of several layers per example."""
    return sum(layer_cost(layer, semiring) for layer in layers)


def cost_change(compiler: RuleCompiler, match: GraphOptMatch, replacement: tuple[TorchLayer, ...]) -> float:
    """Return the change of the cost if a match is replaced; negative if it pays."""
    return layers_cost(replacement, compiler.semiring) - layers_cost(match.entries, compiler.semiring)


def parameter_cost_change(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> float:
    """Return the change of operations if parameter nodes are replaced; negative if it pays."""
    return sum(node.flops for node in nodes) - sum(node.flops for node in match.entries)


def must_pay(compiler: RuleCompiler, match: GraphOptMatch, replacement: tuple[TorchLayer, ...]) -> str | None:
    """Guard: decline a match if its replacement does not reduce the cost."""
    before = layers_cost(match.entries, compiler.semiring)
    after = layers_cost(replacement, compiler.semiring)
    if after < before:
        return None
    return f"it does not pay: the cost for one example would go from {before:,.0f} to {after:,.0f} operations"
