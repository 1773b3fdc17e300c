"""Immutable directed acyclic graphs with integer ids: the one graph of every level of the ladder."""

from explorer.graph.fields import (
    CONFIG as CONFIG,
    FOLDS as FOLDS,
    NESTED as NESTED,
    PARAMETER as PARAMETER,
    SCOPE as SCOPE,
    LayerKind as LayerKind,
    config_of as config_of,
    config_settings as config_settings,
    field_names as field_names,
    key_differences as key_differences,
    nested_of as nested_of,
    parameters_of as parameters_of,
    subclasses as subclasses,
)
from explorer.graph.graph import (
    Graph as Graph,
    Ordering as Ordering,
    graph_text as graph_text,
    group_levels as group_levels,
    heights as heights,
    levels as levels,
    node_text as node_text,
    topological_order as topological_order,
    value_text as value_text,
)
