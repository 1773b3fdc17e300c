"""Folding: nodes that run at one time and agree in their fold settings become slices of one batched node."""

from explorer.backend import FoldIndexInfo as FoldIndexInfo
from explorer.fold.fold_layers import (
    fold_circuit as fold_circuit,
    fold_layer_group as fold_layer_group,
    fold_parameter_nodes_group as fold_parameter_nodes_group,
    fold_parameters as fold_parameters,
)
from explorer.fold.folding import (
    SCHEDULERS as SCHEDULERS,
    FoldedGroup as FoldedGroup,
    FoldKey as FoldKey,
    FoldKeys as FoldKeys,
    assemble as assemble,
    build_folded_graph as build_folded_graph,
    fewest_groups as fewest_groups,
    fold_context as fold_context,
    fold_key as fold_key,
    fold_keys as fold_keys,
    fold_levels as fold_levels,
    get_scheduler as get_scheduler,
    group_foldable_modules as group_foldable_modules,
    longest_distance as longest_distance,
)
from explorer.fold.ordering import (
    OrderedRead as OrderedRead,
    SliceOrder as SliceOrder,
    order_slices as order_slices,
)
