"""Solutions of lesson 5, folding."""

from collections.abc import Callable
from typing import Any

from explorer.fold import FoldKey, fold_key

Pairs = list[tuple[int, int]]


def solution_1() -> list[list[int]]:
    """The wide coins x0, x2, x4 are slices 0, 1, 2; `wide-a` reads x4 and x0, `wide-b` x2 and x4."""
    return [[2, 0], [1, 2]]


def solution_2() -> dict[str, Pairs]:
    """Row by row, column by column, and in an irregular order."""
    return {
        "view": [(0, 1), (2, 3), (4, 5), (6, 7)],
        "transpose": [(0, 4), (1, 5), (2, 6), (3, 7)],
        "gather": [(0, 7), (1, 6), (2, 5), (3, 4)],
    }


def solution_3() -> Callable[[Any], list[list[int]]]:
    """Group by level and key."""

    def my_groups(graph: Any) -> list[list[int]]:
        groups: dict[tuple[int, FoldKey], list[int]] = {}
        for node, layer in graph.nodes.items():
            groups.setdefault((graph.levels[node], fold_key(layer)), []).append(node)
        return list(groups.values())

    return my_groups
