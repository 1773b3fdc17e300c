"""The template for tables: columns of mixed types, with one input spec per column."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from explorer.errors import ShapeError, unknown_name
from explorer.symbolic import Circuit
from explorer.templates.blocks import Block
from explorer.templates.build import build_circuit
from explorer.templates.inputs import CategoricalInput, InputSpec, ParameterFactory
from explorer.templates.regions import RegionGraph, chow_liu_tree, random_binary_tree

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
    if its spec is discrete, else Gaussian), or a region graph. The other arguments are those of `build_circuit`.
    Raises: UnknownNameError, ShapeError, ScopeError, ValueRangeError, DataTypeError.

    >>> columns = [CategoricalInput(3), CategoricalInput(7), CategoricalInput(2)]
    >>> tabular_data(inputs=columns, num_input_units=2, sum_product_layer="cp", num_sum_units=2)
    <Circuit: 10 layers, 3 variables, 1 output(s)>
    """
    if not inputs:
        raise ShapeError("a table needs at least one column; pass one input spec per column")
    if isinstance(region_graph, str):
        region_graph = _get_region_graph(region_graph, inputs, data)
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


def _get_region_graph(name: str, inputs: Sequence[InputSpec], data: ArrayLike | None) -> RegionGraph:
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
