"""Region graphs and the algorithms that construct them, one per file."""

from explorer.templates.regions.checks import ImageShape as ImageShape
from explorer.templates.regions.chow_liu_tree import (
    chow_liu_parents as chow_liu_parents,
    chow_liu_tree as chow_liu_tree,
    tree_order as tree_order,
    tree_regions as tree_regions,
)
from explorer.templates.regions.files import (
    region_graph_from_json as region_graph_from_json,
    region_graph_to_json as region_graph_to_json,
)
from explorer.templates.regions.fully_factorized import fully_factorized_regions as fully_factorized_regions
from explorer.templates.regions.linear_tree import linear_tree as linear_tree
from explorer.templates.regions.mutual_information import (
    categorical_mutual_information as categorical_mutual_information,
    gaussian_mutual_information as gaussian_mutual_information,
    mixed_mutual_information as mixed_mutual_information,
)
from explorer.templates.regions.poon_domingos import poon_domingos as poon_domingos
from explorer.templates.regions.quad_graph import quad_graph as quad_graph
from explorer.templates.regions.quad_tree import quad_tree as quad_tree
from explorer.templates.regions.random_binary_tree import random_binary_tree as random_binary_tree
from explorer.templates.regions.region_graph import (
    Partition as Partition,
    RegionGraph as RegionGraph,
    RegionGraphBuilder as RegionGraphBuilder,
)
