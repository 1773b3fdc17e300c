"""The rules of a compiler: parameter rules, layer rules, and which of them each preset has, with its cost model.

The default preset has all rules below; `handbook` has those in HANDBOOK_RULES. The default preset applies the rules in
COST_GUARDED only where they reduce the cost, and SumCollapse only where the product of the weights stays in range.

The cost of a layer, per example, is its multiplications and additions, exponentials and logarithms, and a fixed
overhead; a batch shares the cost of the parameters. The constants are ratios measured on one CPU core with torch 2.13
(matrix products 105 GFLOP/s, exponentials 1.6 G/s, logarithms 1.25 G/s). Only their order of magnitude matters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from explorer.backend import (
    Semiring,
    TorchCategoricalLayer,
    TorchCPTLayer,
    TorchHadamardLayer,
    TorchKroneckerLayer,
    TorchLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
    all_parameters,
)
from explorer.backend.parameters import (
    TorchEinsumParameter,
    TorchFlattenParameter,
    TorchKroneckerParameter,
    TorchLogParameter,
    TorchLogSoftmaxParameter,
    TorchMatMulParameter,
    TorchMixingWeightParameter,
    TorchOuterProductParameter,
    TorchParameterNode,
    TorchParameterOp,
    TorchReduceSumParameter,
    TorchSoftmaxParameter,
    apply_op,
    subgraph_parameter,
)
from explorer.errors import check_name, unknown_name
from explorer.options import PRESETS
from explorer.rewrite import (
    GraphOptMatch,
    LayerOptPattern,
    LayerOptRegistry,
    ParameterOptPattern,
    ParameterOptRegistry,
    Rule,
    at_least,
)
from explorer.trace import RuleDescription

DEFAULT_PARAMETER_OPT_RULES = ParameterOptRegistry()

KRONECKER_OUT = ParameterOptPattern("KroneckerOut", (TorchKroneckerParameter,), is_output=True)
"""Sub-pattern: a parameter that is a Kronecker product."""

SOFTMAX_OUT = ParameterOptPattern("SoftmaxOut", (TorchSoftmaxParameter,), is_output=True)
"""Sub-pattern: a parameter that is a softmax."""

MIXING_OUT = ParameterOptPattern("MixingWeightOut", (TorchMixingWeightParameter,), is_output=True)
"""Sub-pattern: a weight of diagonal blocks."""

LOG_SOFTMAX = ParameterOptPattern("LogSoftmax", (TorchLogParameter, TorchSoftmaxParameter))


@DEFAULT_PARAMETER_OPT_RULES.rule(LOG_SOFTMAX)
def log_softmax(compiler: object, match: GraphOptMatch) -> tuple[TorchParameterOp, ...]:
    """The logarithm of a softmax is a log-softmax, which cannot underflow."""
    softmax: TorchSoftmaxParameter = match.entries[1]
    return (TorchLogSoftmaxParameter(shape=softmax.shape, in_shapes=softmax.in_shapes, axis=softmax.axis),)


REDUCE_SUM_OUTER_PRODUCT = ParameterOptPattern(
    "ReduceSumOuterProduct", (TorchReduceSumParameter, TorchOuterProductParameter)
)


@DEFAULT_PARAMETER_OPT_RULES.rule(REDUCE_SUM_OUTER_PRODUCT)
def reduce_sum_outer_product(compiler: object, match: GraphOptMatch) -> tuple[TorchParameterOp, ...]:
    """A sum over an outer product is one contraction: the outer product is never built."""
    reduce: TorchReduceSumParameter = match.entries[0]
    outer: TorchOuterProductParameter = match.entries[1]
    left, right = outer.in_shapes
    rank = len(left)
    left_axes = tuple(range(rank))
    right_axes = tuple(rank if axis == outer.axis else axis for axis in range(rank))
    paired = tuple(a for axis in left_axes for a in ((axis, rank) if axis == outer.axis else (axis,)))
    if reduce.axis == outer.axis:
        result = tuple(axis for axis in left_axes if axis != outer.axis)
    else:
        result = tuple(axis for axis in paired if axis != reduce.axis)
    size = {**dict(enumerate(left)), rank: right[outer.axis]}
    einsum = TorchEinsumParameter(
        shape=tuple(size[axis] for axis in result),
        in_shapes=outer.in_shapes,
        axes=(left_axes, right_axes),
        result=result,
    )
    if reduce.axis == outer.axis:
        return (einsum,)
    start = result.index(outer.axis)
    flatten = TorchFlattenParameter(shape=reduce.shape, in_shapes=(einsum.shape,), start_axis=start, end_axis=start + 1)
    return (einsum, flatten)


class RuleCompiler(Protocol):
    """The part of the compiler that rules may read."""

    @property
    def semiring(self) -> Semiring:
        """The semiring of the circuit."""
        ...


DEFAULT_LAYER_FUSE_OPT_RULES = LayerOptRegistry()

DEFAULT_LAYER_SHATTER_OPT_RULES = LayerOptRegistry()

SUM_COLLAPSE = LayerOptPattern("SumCollapse", (TorchSumLayer, TorchSumLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(SUM_COLLAPSE)
def collapse_sums(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """Two sums in a row are one: W2 (W1 x) = (W2 W1) x."""
    top: TorchSumLayer = match.entries[0]
    bottom: TorchSumLayer = match.entries[1]
    shape = (top.weight.shape[0], bottom.weight.shape[1])
    weight = apply_op(TorchMatMulParameter, top.weight, bottom.weight, shape=shape)
    return (replace(bottom, num_output_units=top.num_output_units, weight=weight),)


TUCKER = LayerOptPattern("Tucker", (TorchSumLayer, TorchKroneckerLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(TUCKER)
def fuse_tucker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum over a Kronecker product is one contraction: the vector of all products is never built."""
    return (_fuse(TorchTuckerLayer, *match.entries),)


CANDECOMP = LayerOptPattern("Candecomp", (TorchSumLayer, TorchHadamardLayer), config_patterns=({"arity": 1}, {}))


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(CANDECOMP)
def fuse_candecomp(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum over a Hadamard product is one layer: a product, then a matrix."""
    return (_fuse(TorchCPTLayer, *match.entries),)


def _fuse(
    kind: type[TorchTuckerLayer] | type[TorchCPTLayer],
    top: TorchSumLayer,
    product: TorchKroneckerLayer | TorchHadamardLayer,
) -> TorchLayer:
    """The layer that computes a sum over a product."""
    return kind(
        num_input_units=product.num_input_units,
        num_output_units=top.num_output_units,
        arity=product.arity,
        weight=top.weight,
    )


DENSE_KRONECKER = LayerOptPattern(
    "DenseKronecker", (TorchSumLayer,), config_patterns=({"arity": 1},), sub_patterns=({"weight": KRONECKER_OUT},)
)


@DEFAULT_LAYER_SHATTER_OPT_RULES.rule(DENSE_KRONECKER)
def shatter_dense_kronecker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum with a Kronecker product as weight is two small ones: (A kron B) x without the large matrix."""
    return _two_tensor_dots(match.entries[0], match)


TENSOR_DOT_KRONECKER = LayerOptPattern(
    "TensorDotKronecker", (TorchTensorDotLayer,), sub_patterns=({"weight": KRONECKER_OUT},)
)


@DEFAULT_LAYER_SHATTER_OPT_RULES.rule(TENSOR_DOT_KRONECKER)
def shatter_tensor_dot_kronecker(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A tensor dot with a Kronecker product as weight is two smaller tensor dots."""
    return _two_tensor_dots(match.entries[0], match)


def _two_tensor_dots(layer: TorchSumLayer | TorchTensorDotLayer, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    root = match.sub_entries[0]["weight"][0].root
    first, second = (subgraph_parameter(layer.weight, operand) for operand in layer.weight.graph.inputs[root])
    middle = layer.num_input_units // first.shape[1] * first.shape[0]
    return (
        TorchTensorDotLayer(num_input_units=layer.num_input_units, num_output_units=middle, weight=first),
        TorchTensorDotLayer(num_input_units=middle, num_output_units=layer.num_output_units, weight=second),
    )


MIXING = LayerOptPattern(
    "Mixing",
    (TorchSumLayer,),
    config_patterns=({"arity": at_least(2), "keeps_width": True},),
    sub_patterns=({"weight": MIXING_OUT},),
)


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(MIXING)
def mix_without_zeros(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A sum that mixes its inputs unit by unit needs one weight per input and unit, not a matrix of diagonal blocks."""
    layer: TorchSumLayer = match.entries[0]
    root = match.sub_entries[0]["weight"][0].root
    weight = subgraph_parameter(layer.weight, layer.weight.graph.inputs[root][0])
    return (
        TorchMixingLayer(
            num_input_units=layer.num_input_units,
            num_output_units=layer.num_output_units,
            arity=layer.arity,
            weight=weight,
        ),
    )


def needs_log_space(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
    """Guard: the rule helps only if activations are logarithms."""
    if not compiler.semiring.is_logarithmic:
        return "activations are not logarithms under sum-product, so nothing is gained"
    return None


CATEGORICAL_LOG_SOFTMAX = LayerOptPattern(
    "CategoricalLogSoftmax", (TorchCategoricalLayer,), sub_patterns=({"probs": SOFTMAX_OUT},)
)


@DEFAULT_LAYER_FUSE_OPT_RULES.rule(CATEGORICAL_LOG_SOFTMAX, guard=needs_log_space)
def use_log_softmax(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """A categorical over a softmax of x has the logits log-softmax of x: no exponential to undo."""
    layer: TorchCategoricalLayer = match.entries[0]
    softmax: TorchSoftmaxParameter = match.sub_entries[0]["probs"][0].entries[0]
    probs = layer.probs
    assert probs is not None
    inner = subgraph_parameter(probs, probs.graph.inputs[probs.graph.outputs[0]][0])
    logits = apply_op(TorchLogSoftmaxParameter, inner, shape=softmax.shape, axis=softmax.axis)
    return (replace(layer, probs=None, logits=logits),)


# ---------------------------------------------------------------------- presets


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


# ---------------------------------------------------------------------- costs


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
