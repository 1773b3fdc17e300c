"""The template for images: input layers of pixels, and the region graph over them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from explorer.errors import ShapeError, look_up
from explorer.symbolic import Circuit
from explorer.templates.inputs import InputSpec, ParameterFactory, get_input_spec
from explorer.templates.region_circuits import Block, build_circuit
from explorer.templates.regions import (
    ImageShape,
    RegionGraph,
    linear_tree,
    poon_domingos,
    quad_graph,
    quad_tree,
    random_binary_tree,
)
from explorer.templates.regions.region_graph import check_image_shape

IMAGE_REGION_GRAPHS: Mapping[str, Callable[[ImageShape], RegionGraph]] = MappingProxyType(
    {
        "quad-tree-2": lambda shape: quad_tree(shape, num_patch_splits=2),
        "quad-tree-4": lambda shape: quad_tree(shape, num_patch_splits=4),
        "quad-graph": quad_graph,
        "random-binary-tree": lambda shape: random_binary_tree(_num_variables(shape)),
        "poon-domingos": lambda shape: poon_domingos(shape, delta=max(-(-shape[1] // 8), -(-shape[2] // 8))),
        "linear-tree": lambda shape: linear_tree(_num_variables(shape)),
    }
)


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


def _num_variables(shape: ImageShape) -> int:
    return shape[0] * shape[1] * shape[2]
