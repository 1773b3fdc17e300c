"""The cost model: whether replacing some layers by others pays.

The cost of a layer counts multiplications and additions, exponentials and logarithms, and a fixed overhead, for one
example; the cost of a parameter graph is shared by a batch. The constants are ratios measured on CPU with torch 2.13
(one core: matrix products 105 GFLOP/s, exponentials 1.6 G/s, logarithms 1.25 G/s): what matters is their order of
magnitude.
"""

from collections.abc import Iterable

from explorer.backend import Semiring, TorchLayer, all_parameters
from explorer.backend.parameters import TorchParameterNode
from explorer.optimize.layers import RuleCompiler
from explorer.rewrite import GraphOptMatch, Rule
from explorer.rewrite.rules import Guard

TRANSCENDENTAL_FLOPS = 70
"""One exponential or logarithm takes as long as so many operations of a matrix product."""
LAYER_OVERHEAD_FLOPS = 8_192
"""Calling one more layer takes as long as so many operations for each example of a batch."""
BATCH_SIZE = 256
"""The batch over which the evaluation of parameters is shared."""


def layer_cost(layer: TorchLayer, semiring: Semiring) -> float:
    """The cost of one layer for one example, in floating-point operations."""
    logs = layer.transcendentals if semiring.is_logarithmic else 0
    parameters = sum(node.flops for parameter in all_parameters(layer).values() for node in parameter.nodes)
    return layer.flops + TRANSCENDENTAL_FLOPS * logs + parameters / BATCH_SIZE + LAYER_OVERHEAD_FLOPS


def layers_cost(layers: Iterable[TorchLayer], semiring: Semiring) -> float:
    """The cost of several layers for one example."""
    return sum(layer_cost(layer, semiring) for layer in layers)


def cost_change(compiler: RuleCompiler, match: GraphOptMatch, replacement: tuple[TorchLayer, ...]) -> float:
    """What replacing a match adds to the cost; negative if it pays."""
    return layers_cost(replacement, compiler.semiring) - layers_cost(match.entries, compiler.semiring)


def parameter_cost_change(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> float:
    """How many operations replacing parameter nodes adds to an evaluation; negative if it pays."""
    return sum(node.flops for node in nodes) - sum(node.flops for node in match.entries)


def must_pay(rule: Rule) -> Guard:
    """The guard that declines a match of a rule whose replacement costs more than what it replaces."""

    def guard(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
        if rule.guard is not None and (reason := rule.guard(compiler, match)) is not None:
            return reason
        before = layers_cost(match.entries, compiler.semiring)
        after = layers_cost(rule.apply(compiler, match), compiler.semiring)
        if after < before:
            return None
        return f"it does not pay: the cost for one example would go from {before:,.0f} to {after:,.0f} operations"

    return guard
