"""The rules of a compiler and of each preset, and the cost model: whether replacing a match pays.

The cost of a layer, per example, is its multiplications and additions, exponentials and logarithms, and a fixed
overhead; a batch shares the cost of the parameters. The constants are ratios measured on one CPU core with torch 2.13
(matrix products 105 GFLOP/s, exponentials 1.6 G/s, logarithms 1.25 G/s). Only their order of magnitude matters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from explorer.backend import Semiring, TorchLayer, TorchSumLayer, all_parameters
from explorer.backend.parameters import TorchParameterNode
from explorer.errors import check_name, unknown_name
from explorer.optimize.default_rules import (
    DEFAULT_LAYER_FUSE_OPT_RULES,
    DEFAULT_LAYER_SHATTER_OPT_RULES,
    DEFAULT_PARAMETER_OPT_RULES,
    RuleCompiler,
)
from explorer.options import PRESETS
from explorer.rewrite import GraphOptMatch, LayerOptRegistry, ParameterOptRegistry, Rule
from explorer.trace import RuleDescription


def product_stays_in_range(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
    """Guard of SumCollapse: decline weights if their product may under- or overflow while their logarithms do not.

    The product is computed outside of log space. If the rows of both weights sum to one, its rows do too; an entry may
    still underflow, as a softmax may, and layers then receive double precision.
    """
    if not compiler.semiring.is_logarithmic:
        return None
    for node, layer in zip(match.nodes, match.entries, strict=True):
        if isinstance(layer, TorchSumLayer) and not layer.weight.rows_sum_to_one:
            return f"the rows of the weight of layer {node} need not sum to one, so the product may leave float's range"
    return None


HANDBOOK_RULES = (
    "LogSoftmax",
    "ReduceSumOuterProduct",
    "DenseKronecker",
    "TensorDotKronecker",
    "SumCollapse",
    "Tucker",
    "Candecomp",
)
COST_GUARDED = ("SumCollapse", "DenseKronecker", "TensorDotKronecker")


@dataclass(frozen=True)
class RuleSet:
    """The three registries of a compiler: parameter rules, shattering rules, fusing rules."""

    parameter: ParameterOptRegistry = field(default_factory=ParameterOptRegistry)
    shatter: LayerOptRegistry = field(default_factory=LayerOptRegistry)
    fuse: LayerOptRegistry = field(default_factory=LayerOptRegistry)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rules, in the order in which a round applies them."""
        return tuple(rule.name for registry in (self.parameter, self.shatter, self.fuse) for rule in registry)

    def describe(self) -> tuple[RuleDescription, ...]:
        """The descriptions of all rules for a trace, in this order."""
        kinds = (("parameter", self.parameter), ("shatter", self.shatter), ("fuse", self.fuse))
        return tuple(rule.describe(kind) for kind, registry in kinds for rule in registry)

    def copy(self) -> "RuleSet":
        """A copy that can be extended without changing this one."""
        return self.without()

    def without(self, *names: str) -> "RuleSet":
        """A copy without the named rules. Raises: UnknownNameError."""
        for name in names:
            check_name("rule", name, self.names)
        return RuleSet(self.parameter.without(names), self.shatter.without(names), self.fuse.without(names))


def preset_rules(preset: str) -> RuleSet:
    """The rules of a preset, as a copy.

    `default`: all rules, where they pay and keep numbers in range. `handbook`: the seven rules of the handbook,
    wherever they match. Raises: UnknownNameError.
    """
    rules = RuleSet(DEFAULT_PARAMETER_OPT_RULES, DEFAULT_LAYER_SHATTER_OPT_RULES, DEFAULT_LAYER_FUSE_OPT_RULES).copy()
    if preset == "handbook":
        return rules.without(*(name for name in rules.names if name not in HANDBOOK_RULES))
    if preset == "default":
        shatter, fuse = ({r.name: _add_guards(r) for r in registry} for registry in (rules.shatter, rules.fuse))
        return RuleSet(rules.parameter, LayerOptRegistry(shatter), LayerOptRegistry(fuse))
    raise unknown_name("preset", preset, list(PRESETS))


def _add_guards(rule: Rule) -> Rule:
    """The rule as the default preset has it: it must also keep numbers in range, and pay."""
    if rule.name == "SumCollapse":
        rule = rule.with_guard(product_stays_in_range)
    return rule.with_replacement_guard(must_pay) if rule.name in COST_GUARDED else rule


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
