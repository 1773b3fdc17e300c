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


def _shown(value: Any) -> Any:
    return value.__name__ if isinstance(value, type) else value


def first_difference(one: FoldKey, other: FoldKey) -> tuple[str, Any, Any] | None:
    """The first thing in which two keys differ: (name, value here, value there), or None if they are equal.

    >>> first_difference((int, (("units", 4),)), (int, (("units", 1),)))
    ('units', 4, 1)
    """
    if one[0] != other[0]:
        return ("type", one[0].__name__, other[0].__name__)
    here, there = dict(one[1]), dict(other[1])
    for name in dict.fromkeys([*here, *there]):
        if here.get(name) != there.get(name):
            return (name, _shown(here.get(name)), _shown(there.get(name)))
    return None
