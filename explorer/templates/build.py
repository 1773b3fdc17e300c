"""The circuit of a region graph: input layers at the leaves, a sum-product block for each partition, mixing sums."""

from collections.abc import Mapping, Sequence

from explorer.errors import ScopeError
from explorer.symbolic import Circuit, CircuitBuilder, MixingWeightParameter, Parameterization, Scope
from explorer.templates.blocks import Block, BlockSizes, dense_sum, get_block
from explorer.templates.inputs import InputSpec, ParameterFactory
from explorer.templates.regions import RegionGraph
from explorer.templates.regions.checks import check_at_least_one


def build_circuit(
    region_graph: RegionGraph,
    *,
    inputs: InputSpec | Mapping[int, InputSpec],
    sum_product_layer: str | Block,
    num_input_units: int,
    num_sum_units: int,
    num_classes: int = 1,
    sum_weight_param: ParameterFactory | None = None,
    use_mixing_weights: bool = True,
) -> Circuit:
    """The circuit of a region graph: each region becomes a layer, regions in the order of `RegionGraph.order`.

    - a leaf is an input layer of `num_input_units` units, or the Hadamard product of several, one per variable;
    - a region with one partition is a sum-product block (`cp`, `cp-t`, `tucker`, or a function);
    - a region with H partitions is a sum over H blocks: y_k = sum_h w[k, h] x_h[k], or with a dense weight (K, H*K) if
      `use_mixing_weights` is False;
    - a root has `num_classes` units and is an output. A sum is added to a root that is a leaf.

    `inputs` is one spec for all variables or one per variable. Weights are made by `sum_weight_param` (softmax of a
    normal leaf if None). Raises: UnknownNameError for an unknown block; ScopeError for a variable without input spec;
    ValueRangeError for a number of units below one; ShapeError for a block whose children differ in units.

    >>> from explorer.templates import CategoricalInput, quad_tree
    >>> build_circuit(
    ...     quad_tree((1, 2, 2)), inputs=CategoricalInput(2), sum_product_layer="cp", num_input_units=3, num_sum_units=3
    ... )
    <Circuit: 14 layers, 4 variables, 1 output(s)>
    """
    check_at_least_one(num_input_units=num_input_units, num_sum_units=num_sum_units, num_classes=num_classes)
    block = get_block(sum_product_layer) if isinstance(sum_product_layer, str) else sum_product_layer
    weights = sum_weight_param or Parameterization("softmax")
    specs = _spec_of_each(region_graph.scope, inputs)
    roots = frozenset(region_graph.roots)
    builder = CircuitBuilder()
    layers: dict[int, int] = {}
    for region in region_graph.order:
        sizes = BlockSizes(num_sum_units, num_classes if region in roots else None, weights)
        partitions = region_graph.partitions_of[region]
        parts = [block(builder, [layers[child] for child in partition.children], sizes) for partition in partitions]
        if not parts:
            layer = _leaf(builder, region_graph.regions[region], specs, num_input_units)
            layers[region] = layer if region not in roots else dense_sum(builder, layer, num_classes, weights)
        elif len(parts) == 1:
            layers[region] = parts[0]
        else:
            layers[region] = _mixture(builder, parts, weights, use_mixing_weights)
    return builder.build(*(layers[root] for root in region_graph.roots))


def _spec_of_each(scope: Scope, inputs: InputSpec | Mapping[int, InputSpec]) -> Mapping[int, InputSpec]:
    if isinstance(inputs, InputSpec):
        return dict.fromkeys(scope, inputs)
    missing = [variable for variable in scope if variable not in inputs]
    if missing:
        raise ScopeError(f"every variable needs an input spec; found none for {missing}")
    return inputs


def _leaf(builder: CircuitBuilder, scope: Scope, specs: Mapping[int, InputSpec], num_units: int) -> int:
    layers = [builder.add(specs[variable](variable, num_units)) for variable in scope]
    return layers[0] if len(layers) == 1 else builder.hadamard(*layers)


def _mixture(builder: CircuitBuilder, parts: Sequence[int], weights: ParameterFactory, diagonal: bool) -> int:
    """The sum over the blocks of a region with several partitions; the weight (K, H) of a mixing sum is made first."""
    K, H = builder.width(parts[0]), len(parts)
    weight = MixingWeightParameter((weights((K, H)),)) if diagonal else weights((K, H * K))
    return builder.sum(*parts, num_units=K, weight=weight)
