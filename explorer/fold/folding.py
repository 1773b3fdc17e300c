"""Folding a graph group by group.

The same function folds circuits and parameter graphs. It receives the levels and a function that builds one node from a
group, and records for every folded node in which node and slice the inputs of its members are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.backend import FoldIndexInfo, IndexTable
from explorer.errors import CircuitError, RuleError
from explorer.fold.groups import FoldKey, fold_keys, group_foldable_modules
from explorer.graph import Graph, Ordering

FoldGroupFunction = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, eq=False)
class FoldedGroup:
    """Nodes that became one: `members` are slices 0, 1, ... of node `node`; the node of a group of one keeps its id."""

    level: int
    key: FoldKey
    members: tuple[int, ...]
    node: int
    value: Any


def build_folded_graph(
    graph: Graph[Any], ordering: Ordering, fold_group_fn: FoldGroupFunction, fresh: Iterator[int]
) -> tuple[Graph[Any], FoldIndexInfo]:
    """Fold the groups of every level of `ordering`. Raises: RuleError if `fold_group_fn` fails."""
    levels = fold_levels(graph, ordering, fold_group_fn, fresh)
    return assemble(graph, [group for groups in levels for group in groups])


def fold_levels(
    graph: Graph[Any],
    ordering: Ordering,
    fold_group_fn: FoldGroupFunction,
    fresh: Iterator[int],
    skips_level: Callable[[int], bool] | None = None,
) -> Iterator[list[FoldedGroup]]:
    """Yield the folded groups of each level in turn.

    `fold_group_fn` builds one node from the nodes of a group; `fresh` supplies ids for folded nodes. A node that is
    alone in its group is unchanged, and so are the nodes of a level for which `skips_level` is true.
    Raises: RuleError if `fold_group_fn` fails.
    """
    keys = fold_keys(graph)
    for level, ids in enumerate(ordering):
        groups = group_foldable_modules(graph.nodes, ids, keys)
        if skips_level is not None and skips_level(level):
            groups = [(key, [member]) for key, members in groups for member in members]
        done: list[FoldedGroup] = []
        for key, members in groups:
            if len(members) == 1:
                done.append(FoldedGroup(level, key, tuple(members), members[0], graph.nodes[members[0]]))
            else:
                value = fold_group(fold_group_fn, [graph.nodes[member] for member in members])
                done.append(FoldedGroup(level, key, tuple(members), next(fresh), value))
        yield done


def fold_group(fold_group_fn: FoldGroupFunction, values: Sequence[Any]) -> Any:
    """Build one node from a group; an exception becomes a RuleError that names the type."""
    try:
        return fold_group_fn(values)
    except CircuitError:
        raise
    except Exception as error:
        kind = type(values[0]).__name__
        raise RuleError(
            f"folding {len(values)} nodes of type {kind} failed: {type(error).__name__}: {error}"
        ) from error


def assemble(graph: Graph[Any], groups: Sequence[FoldedGroup]) -> tuple[Graph[Any], FoldIndexInfo]:
    """The graph in which these groups are folded; nodes outside of all groups are unchanged.

    The inputs of a member must be members of earlier groups.
    """
    nodes: dict[int, Any] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    fold_idx: dict[int, tuple[int, int]] = {}
    in_fold_idx: dict[int, IndexTable] = {}

    def add(node: int, value: Any, members: Sequence[int]) -> None:
        rows = [[number for source in graph.inputs[member] for number in fold_idx[source]] for member in members]
        table = np.array(rows, dtype=np.int64).reshape(len(members), -1, 2)
        inputs[node] = tuple(dict.fromkeys(table[:, :, 0].ravel().tolist()))
        in_fold_idx[node] = table
        for slice_idx, member in enumerate(members):
            fold_idx[member] = (node, slice_idx)
        nodes[node] = value

    for group in groups:
        add(group.node, group.value, group.members)
    for node, value in graph.nodes.items():
        if node not in fold_idx:
            add(node, value, (node,))
    out_fold_idx = np.array([fold_idx[output] for output in graph.outputs], dtype=np.int64).reshape(-1, 2)
    outputs = tuple(dict.fromkeys(out_fold_idx[:, 0].tolist()))
    return Graph(nodes, inputs, outputs), FoldIndexInfo(in_fold_idx, out_fold_idx)
