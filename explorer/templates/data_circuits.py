"""The templates for images and tables: input layers of pixels or columns, and the region graph over them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from explorer.errors import ShapeError, ValueRangeError, unknown_name
from explorer.symbolic import Circuit
from explorer.templates.inputs import CategoricalInput, InputSpec, ParameterFactory, get_input_spec
from explorer.templates.region_circuits import Block, build_circuit
from explorer.templates.regions import (
    ImageShape,
    RegionGraph,
    chow_liu_tree,
    linear_tree,
    poon_domingos,
    quad_graph,
    quad_tree,
    random_binary_tree,
)
from explorer.templates.regions.chow_liu_tree import as_integers
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
    data: ArrayLike | None = None,
    num_bins: int | None = None,
) -> Circuit:
    """A circuit over images (C, H, W); pixel (c, i, j) is variable (c*H + i)*W + j.

    - `region_graph`: quad-tree-2, quad-tree-4, quad-graph, random-binary-tree (seed 42, full depth), poon-domingos
      (with cuts that divide each side into at most eight parts), linear-tree, chow-liu-tree (from `data`), or a
      region graph.
    - `input_layer`: categorical, binomial, embedding (values 0 .. num_categories-1), gaussian, or an input spec.
    - `input_params`, `sum_weight_param`: how parameters are made; the defaults are the input spec's and a
      softmax of a normal leaf.
    - `data`: images (N, C*H*W), (N, C, H, W), or (N, H, W) if C is 1, only for chow-liu-tree, which first puts the
      categories into `num_bins` bins.
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
        region_graph = _get_region_graph(region_graph, shape, input_layer, data, num_categories, num_bins)
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


def _get_region_graph(
    name: str, shape: ImageShape, spec: InputSpec, data: ArrayLike | None, num_categories: int, num_bins: int | None
) -> RegionGraph:
    if name in IMAGE_REGION_GRAPHS:
        return IMAGE_REGION_GRAPHS[name](shape)
    if name != "chow-liu-tree":
        raise unknown_name("region graph for images", name, [*IMAGE_REGION_GRAPHS, "chow-liu-tree"])
    if data is None:
        raise ShapeError("a chow-liu-tree is learned from images; pass data=")
    images = np.asarray(data)
    accepted = [(_num_variables(shape),), tuple(shape)] + ([tuple(shape[1:])] if shape[0] == 1 else [])
    if images.shape[1:] not in accepted:
        raise ShapeError(f"expected images of shape {tuple(shape)}, one per row; found data of shape {images.shape}")
    images = images.reshape(len(images), _num_variables(shape))
    if not spec.is_discrete:
        return chow_liu_tree(images, "gaussian")
    if num_bins is None:
        return chow_liu_tree(images, "categorical", num_categories=num_categories)
    if not 1 <= num_bins <= num_categories:
        raise ValueRangeError(f"num_bins must be between 1 and num_categories={num_categories}; found {num_bins}")
    binned = as_integers(images) * num_bins // num_categories
    return chow_liu_tree(binned, "categorical", num_categories=num_bins)


TABLE_REGION_GRAPHS = ("random-binary-tree", "chow-liu-tree")


def tabular_data(
    region_graph: str | RegionGraph = "random-binary-tree",
    *,
    inputs: Sequence[InputSpec],
    num_input_units: int,
    sum_product_layer: str | Block,
    num_sum_units: int,
    num_classes: int = 1,
    sum_weight_param: ParameterFactory | None = None,
    use_mixing_weights: bool = True,
    data: ArrayLike | None = None,
) -> Circuit:
    """A circuit over the columns of a table; `inputs` has one spec per column, such as CategoricalInput(3).

    `region_graph`: random-binary-tree (seed 42, full depth), chow-liu-tree (from `data` (N, D); a column is categorical
    if its spec is discrete, else Gaussian), or a region graph. The other arguments are passed to `build_circuit`.
    Raises: UnknownNameError, ShapeError, ScopeError, ValueRangeError, DataTypeError.

    >>> columns = [CategoricalInput(3), CategoricalInput(7), CategoricalInput(2)]
    >>> tabular_data(inputs=columns, num_input_units=2, sum_product_layer="cp", num_sum_units=2)
    <Circuit: 10 layers, 3 variables, 1 output(s)>
    """
    if not inputs:
        raise ShapeError("a table needs at least one column; pass one input spec per column")
    if isinstance(region_graph, str):
        region_graph = _column_region_graph(region_graph, inputs, data)
    return build_circuit(
        region_graph,
        inputs=dict(enumerate(inputs)),
        sum_product_layer=sum_product_layer,
        num_input_units=num_input_units,
        num_sum_units=num_sum_units,
        num_classes=num_classes,
        sum_weight_param=sum_weight_param,
        use_mixing_weights=use_mixing_weights,
    )


def _column_region_graph(name: str, inputs: Sequence[InputSpec], data: ArrayLike | None) -> RegionGraph:
    if name == "random-binary-tree":
        return random_binary_tree(len(inputs))
    if name != "chow-liu-tree":
        raise unknown_name("region graph for tables", name, TABLE_REGION_GRAPHS)
    if data is None:
        raise ShapeError("a chow-liu-tree is learned from rows of the table; pass data=")
    kinds = ["categorical" if spec.is_discrete else "gaussian" for spec in inputs]
    if len(set(kinds)) > 1:
        return chow_liu_tree(data, kinds)
    return _check_num_columns(chow_liu_tree(data, kinds[0], num_categories=_common_categories(inputs)), inputs)


def _common_categories(inputs: Sequence[InputSpec]) -> int | None:
    counts = {spec.num_categories if isinstance(spec, CategoricalInput) else None for spec in inputs}
    return counts.pop() if len(counts) == 1 else None


def _check_num_columns(region_graph: RegionGraph, inputs: Sequence[InputSpec]) -> RegionGraph:
    if region_graph.num_variables != len(inputs):
        raise ShapeError(
            f"expected one input spec per column; found {len(inputs)} for {region_graph.num_variables} columns"
        )
    return region_graph
