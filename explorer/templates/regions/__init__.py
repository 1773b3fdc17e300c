"""Region graphs and the algorithms that construct them, one per file."""

from explorer.templates.regions.checks import ImageShape
from explorer.templates.regions.chow_liu_tree import chow_liu_parents, chow_liu_tree, tree_regions
from explorer.templates.regions.files import region_graph_from_json, region_graph_to_json
from explorer.templates.regions.fully_factorized import fully_factorized_regions
from explorer.templates.regions.linear_tree import linear_tree
from explorer.templates.regions.mutual_information import (
    categorical_mutual_information,
    gaussian_mutual_information,
    mixed_mutual_information,
)
from explorer.templates.regions.poon_domingos import poon_domingos
from explorer.templates.regions.quad_graph import quad_graph
from explorer.templates.regions.quad_tree import quad_tree
from explorer.templates.regions.random_binary_tree import random_binary_tree
from explorer.templates.regions.region_graph import Partition, RegionGraph, RegionGraphBuilder

__all__ = [
    "ImageShape",
    "Partition",
    "RegionGraph",
    "RegionGraphBuilder",
    "categorical_mutual_information",
    "chow_liu_parents",
    "chow_liu_tree",
    "fully_factorized_regions",
    "gaussian_mutual_information",
    "linear_tree",
    "mixed_mutual_information",
    "poon_domingos",
    "quad_graph",
    "quad_tree",
    "random_binary_tree",
    "region_graph_from_json",
    "region_graph_to_json",
    "tree_regions",
]
