"""Folding: nodes that run at one time and agree in their fold settings become slices of one batched node."""

from explorer.backend import FoldIndexInfo
from explorer.fold.circuit import _fold_circuit
from explorer.fold.folding import FoldedGroup, assemble, build_folded_graph
from explorer.fold.groups import FoldKey, fold_context, fold_key, group_foldable_modules
from explorer.fold.layers import _fold_layer_group
from explorer.fold.levels import SCHEDULERS, fewest_groups, longest_distance, scheduler_named
from explorer.fold.parameters import _fold_parameter_nodes_group, _fold_parameters

__all__ = [
    "SCHEDULERS",
    "FoldIndexInfo",
    "FoldKey",
    "FoldedGroup",
    "_fold_circuit",
    "_fold_layer_group",
    "_fold_parameter_nodes_group",
    "_fold_parameters",
    "assemble",
    "build_folded_graph",
    "fewest_groups",
    "fold_context",
    "fold_key",
    "group_foldable_modules",
    "longest_distance",
    "scheduler_named",
]
