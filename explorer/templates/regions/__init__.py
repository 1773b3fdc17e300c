"""Region graphs and the algorithms that construct them, one per file."""

from explorer.templates.regions.chow_liu_tree import (
    categorical_mutual_information as categorical_mutual_information,
    chow_liu_parents as chow_liu_parents,
    chow_liu_tree as chow_liu_tree,
    gaussian_mutual_information as gaussian_mutual_information,
    mixed_mutual_information as mixed_mutual_information,
    tree_order as tree_order,
    tree_regions as tree_regions,
)
from explorer.templates.regions.region_builders import (
    fully_factorized_regions as fully_factorized_regions,
    linear_tree as linear_tree,
    poon_domingos as poon_domingos,
    quad_graph as quad_graph,
    quad_tree as quad_tree,
    random_binary_tree as random_binary_tree,
)
from explorer.templates.regions.region_graph import (
    ImageShape as ImageShape,
    Partition as Partition,
    RegionGraph as RegionGraph,
    RegionGraphBuilder as RegionGraphBuilder,
    region_graph_from_json as region_graph_from_json,
    region_graph_to_json as region_graph_to_json,
)
