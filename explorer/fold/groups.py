"""Which nodes can be folded together: the same type and the same fold settings.

Source: handbook, What can we fold, and Finding Potential Fold (group_foldable_modules). The settings themselves are the
`fold_settings` of the layer and parameter classes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

FoldKey = tuple[type, tuple[tuple[str, Any], ...]]
"""The type, then (name, value) pairs: what two nodes must agree on."""


def fold_key(node: Any) -> FoldKey:
    """The fold key of a layer or parameter node."""
    return (node.__class__, node.fold_settings)


def group_foldable_modules(nodes: Mapping[int, Any], ids: Iterable[int]) -> list[tuple[FoldKey, list[int]]]:
    """The nodes of one level in groups of equal fold key, in order of first appearance."""
    groups: dict[FoldKey, list[int]] = {}
    for node in ids:
        groups.setdefault(fold_key(nodes[node]), []).append(node)
    return list(groups.items())
