"""Immutable directed acyclic graphs with integer ids: the one graph of every level of the ladder."""

from explorer.graph.fields import (
    CONFIG,
    FOLDS,
    NESTED,
    PARAMETER,
    SCOPE,
    LayerKind,
    config_of,
    field_names,
    key_differences,
    nested_of,
    parameters_of,
)
from explorer.graph.graph import Graph, topological_order
from explorer.graph.levels import Ordering, group_levels, heights, levels
from explorer.graph.text import graph_text, node_text, value_text

__all__ = [
    "CONFIG",
    "FOLDS",
    "NESTED",
    "PARAMETER",
    "SCOPE",
    "Graph",
    "LayerKind",
    "Ordering",
    "config_of",
    "field_names",
    "graph_text",
    "group_levels",
    "heights",
    "key_differences",
    "levels",
    "nested_of",
    "node_text",
    "parameters_of",
    "topological_order",
    "value_text",
]
