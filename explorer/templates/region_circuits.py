"""Circuits of region graphs: inputs at the leaves, a sum-product block per partition; images, hidden trees.

A block maps the layers of the children to the layer of the partition. K: `num_sum_units`; C: `num_classes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from explorer.errors import ScopeError, ShapeError, check_type, look_up
from explorer.symbolic import Circuit, CircuitBuilder, MixingWeightParameter, Parameterization, Scope
from explorer.templates.inputs import InputSpec, ParameterFactory, get_input_spec
from explorer.templates.regions import (
    ImageShape,
    RegionGraph,
    linear_tree,
    poon_domingos,
    quad_graph,
    quad_tree,
    random_binary_tree,
    tree_order,
)
from explorer.templates.regions.region_graph import check_at_least_one, check_image_shape

IMAGE_REGION_GRAPHS: Mapping[str, Callable[[ImageShape], RegionGraph]] = MappingProxyType(
    {
        "quad-tree-2": lambda shape: quad_tree(shape, num_patch_splits=2),
        "quad-tree-4": lambda shape: quad_tree(shape, num_patch_splits=4),
        "quad-graph": quad_graph,
        "random-binary-tree": lambda shape: random_binary_tree(prod(shape)),
        "poon-domingos": lambda shape: poon_domingos(shape, delta=max(-(-shape[1] // 8), -(-shape[2] // 8))),
        "linear-tree": lambda shape: linear_tree(prod(shape)),
    }
)


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """The units of the sums of a block, the units at a root (None elsewhere), and how weights are made."""

    num_sum_units: int
    num_classes: int | None
    weights: ParameterFactory

    @property
    def num_units(self) -> int:
        """Units of the region: C at a root, else K."""
        return self.num_sum_units if self.num_classes is None else self.num_classes


Block = Callable[[CircuitBuilder, Sequence[int], BlockSizes], int]


def cp_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """A sum over each child, then their Hadamard product: y_k = prod_h sum_i W_h[k, i] x_h[i]; at a root one more sum.

    The children may differ in units.
    Source: Shpilka and Volkovich 2008; Loconte et al. 2025, sec. 4 (canonical polyadic block).
    """
    sums = [dense_sum(builder, child, sizes.num_sum_units, sizes.weights) for child in children]
    product = builder.hadamard(*sums)
    return product if sizes.num_classes is None else dense_sum(builder, product, sizes.num_classes, sizes.weights)


def cp_transposed_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """The Hadamard product of the children, then a sum: y_o = sum_k W[o, k] prod_h x_h[k]. Raises: ShapeError."""
    _check_equal_widths(builder, "cp-t", children)
    return dense_sum(builder, builder.hadamard(*children), sizes.num_units, sizes.weights)


def tucker_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """The Kronecker product of the children, then a sum: y_o = sum_{ab} W[o, ab] x_1[a] x_2[b]. Raises: ShapeError."""
    _check_equal_widths(builder, "tucker", children)
    return dense_sum(builder, builder.kronecker(*children), sizes.num_units, sizes.weights)


BLOCKS: Mapping[str, Block] = MappingProxyType({"cp": cp_block, "cp-t": cp_transposed_block, "tucker": tucker_block})


def get_block(name: str) -> Block:
    """The block of this name. Raises: UnknownNameError."""
    return look_up("sum-product layer", name, BLOCKS)


def dense_sum(builder: CircuitBuilder, source: int, num_units: int, weights: ParameterFactory) -> int:
    """Add a sum of one input with a new weight (O, I)."""
    return builder.sum(source, num_units=num_units, weight=weights((num_units, builder.width(source))))


def _check_equal_widths(builder: CircuitBuilder, name: str, children: Sequence[int]) -> None:
    widths = [builder.width(child) for child in children]
    if len(set(widths)) > 1:
        raise ShapeError(
            f"a {name} block needs children with equal numbers of units; found {widths}: "
            f"set num_input_units to num_sum_units, or use cp"
        )


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
    ValueRangeError for a number of units below one; ShapeError for a block if its children differ in units.

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


def hidden_tree(
    parents: Sequence[int],
    inputs: InputSpec | Sequence[InputSpec],
    *,
    num_latent_states: int,
    weight_param: ParameterFactory | None = None,
) -> Circuit:
    """A latent tree model: m_v = e_v * prod_c A_c m_c over the children c of v, and p = A_root m_root.

    Each variable v has a latent variable with K states, e_v are the K emission values of v, and A_c (K, K) are the
    transitions from the state of c's parent to the state of c; A_root (1, K) is the initial distribution. `parents`
    has the parent of each variable, -1 at the root (`chow_liu_parents` learns it). `inputs` is one input spec for all
    variables or one per variable. Structured decomposable.
    Raises: ShapeError unless there is one root, and one spec per variable; DataTypeError; ValueRangeError; CycleError.
    Source: Liu and Van den Broeck 2021, Tractable Regularization of Probabilistic Circuits, sec. 4 (HCLT).

    >>> from explorer.templates import CategoricalInput
    >>> hidden_tree([-1, 0, 0, 2], CategoricalInput(2), num_latent_states=3)
    <Circuit: 10 layers, 4 variables, 1 output(s)>
    """
    order, children = tree_order(parents)
    roots = [variable for variable in order if parents[variable] == -1]
    if len(roots) != 1:
        raise ShapeError(f"a hidden tree has one root, with the parent -1; found {len(roots)}")
    check_at_least_one(num_latent_states=num_latent_states)
    specs = [inputs] * len(parents) if isinstance(inputs, InputSpec) else inputs
    check_type("inputs", specs, Sequence, "pass an InputSpec, or one for each variable")
    if len(specs) != len(parents):
        raise ShapeError(f"expected one input spec for each of {len(parents)} variables; found {len(specs)}")
    for variable, spec in enumerate(specs):
        check_type(f"the input spec of variable {variable}", spec, InputSpec, "for example CategoricalInput(2)")
    weights = weight_param or Parameterization("softmax")
    builder = CircuitBuilder()
    messages: dict[int, int] = {}
    for variable in reversed(order):
        emission = builder.add(specs[variable](variable, num_latent_states))
        below = [messages[child] for child in children[variable]]
        state = builder.hadamard(emission, *below) if below else emission
        units = 1 if parents[variable] == -1 else num_latent_states
        messages[variable] = dense_sum(builder, state, units, weights)
    return builder.build(messages[roots[0]])


def image_data(
    shape: ImageShape,
    region_graph: str | RegionGraph = "quad-graph",
    *,
    input_layer: str | InputSpec,
    num_input_units: int,
    sum_product_layer: str | Block,
    num_sum_units: int,
    num_classes: int = 1,
    num_categories: int = 256,
    input_params: Mapping[str, ParameterFactory] | None = None,
    sum_weight_param: ParameterFactory | None = None,
    use_mixing_weights: bool = True,
) -> Circuit:
    """A circuit over images (C, H, W); pixel (c, i, j) is variable (c*H + i)*W + j.

    - `region_graph`: quad-tree-2, quad-tree-4, quad-graph, random-binary-tree (seed 42, full depth), poon-domingos
      (with cuts that divide each side into at most eight parts), linear-tree, or a region graph.
    - `input_layer`: categorical, binomial, embedding (values 0 .. num_categories-1), gaussian, or an input spec.
    - `input_params`, `sum_weight_param`: how parameters are made; the defaults are the input spec's and a
      softmax of a normal leaf.
    - the other arguments are passed to `build_circuit`.

    Raises: UnknownNameError, ShapeError, ScopeError, ValueRangeError, DataTypeError.

    >>> image_data((1, 28, 28), input_layer="categorical", num_input_units=4, sum_product_layer="cp", num_sum_units=4)
    <Circuit: 5725 layers, 784 variables, 1 output(s)>
    """
    check_image_shape(shape)
    if isinstance(input_layer, str):
        input_layer = get_input_spec(input_layer, num_levels=num_categories, params=input_params)
    elif input_params:
        raise ShapeError("input_params need a named input layer; pass them to the input spec instead")
    if isinstance(region_graph, str):
        region_graph = look_up("region graph for images", region_graph, IMAGE_REGION_GRAPHS)(shape)
    return build_circuit(
        region_graph,
        inputs=input_layer,
        sum_product_layer=sum_product_layer,
        num_input_units=num_input_units,
        num_sum_units=num_sum_units,
        num_classes=num_classes,
        sum_weight_param=sum_weight_param,
        use_mixing_weights=use_mixing_weights,
    )
