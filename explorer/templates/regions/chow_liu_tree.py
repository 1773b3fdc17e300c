"""The Chow-Liu tree: the tree of variables that preserves the most mutual information in data."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import CycleError, DataTypeError, ValueRangeError, check_name
from explorer.symbolic.checks import is_integer
from explorer.templates.regions.mutual_information import (
    Matrix,
    categorical_mutual_information,
    gaussian_mutual_information,
    mixed_mutual_information,
)
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder

KINDS = ("categorical", "gaussian")


def chow_liu_tree(
    data: ArrayLike, kind: str | Sequence[str], *, root: int | None = None, num_categories: int | None = None
) -> RegionGraph:
    """The region graph of the Chow-Liu tree of data (N, D).

    `kind` is categorical or gaussian, for all columns or one per column. `root` is the root variable, by default the
    center of the tree, where the length of an edge is 1 + its mutual information. Structured decomposable.
    Raises: UnknownNameError for an unknown kind; ValueRangeError for a root that is not a column; the errors of
    `mutual_information`.
    Source: Chow and Liu 1968, Approximating discrete probability distributions with dependence trees; Liu and Van den
    Broeck 2021, Tractable Regularization of Probabilistic Circuits (the hidden tree).
    """
    return tree_regions(chow_liu_parents(data, kind, root=root, num_categories=num_categories))


def chow_liu_parents(
    data: ArrayLike, kind: str | Sequence[str], *, root: int | None = None, num_categories: int | None = None
) -> tuple[int, ...]:
    """The Chow-Liu tree itself: the parent of each variable, -1 at the root. Arguments as in `chow_liu_tree`."""
    information = _mutual_information(data, kind, num_categories)
    if root is not None and not 0 <= root < len(information):
        raise ValueRangeError(f"the root must be a column, 0 to {len(information) - 1}; found {root}")
    weights = information + 1.0
    neighbours = maximum_spanning_tree(weights)
    if root is None:
        root = _center(neighbours, weights)
    parents = [-1] * len(neighbours)
    order = [root]
    for variable in order:
        for child in neighbours[variable]:
            if child != parents[variable]:
                parents[child] = variable
                order.append(child)
    return tuple(parents)


def maximum_spanning_tree(weights: NDArray[np.float64]) -> tuple[tuple[int, ...], ...]:
    """The neighbours of each node in the spanning tree of greatest weight, ascending.

    The first of equal edges is selected. Source: Prim 1957.

    >>> maximum_spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]))
    ((1,), (0, 2), (1,))
    """
    count = len(weights)
    neighbours: list[list[int]] = [[] for _ in range(count)]
    inside = np.zeros(count, dtype=bool)
    inside[0] = True
    best, via = weights[0].astype(np.float64), np.zeros(count, dtype=np.int64)
    for _ in range(count - 1):
        new = int(np.argmax(np.where(inside, -np.inf, best)))
        neighbours[new].append(int(via[new]))
        neighbours[int(via[new])].append(new)
        inside[new] = True
        closer = weights[new] > best
        via[closer], best[closer] = new, weights[new][closer]
    return tuple(tuple(sorted(found)) for found in neighbours)


def tree_regions(parents: Sequence[int]) -> RegionGraph:
    """The region graph of a tree of variables given by parents (-1 at a root).

    A variable with children is a region of its whole subtree, split into itself and the regions of its children.
    Raises: DataTypeError; ValueRangeError for a parent that does not exist; CycleError.

    >>> print(tree_regions([-1, 0, 0]))
    r0 = {0}
    r1 = {1}
    r2 = {2}
    r3 = {0, 1, 2} = r0 × r1 × r2
    roots: r3
    """
    order, children = tree_order(parents)
    builder = RegionGraphBuilder()
    regions = [builder.region([variable]) for variable in range(len(parents))]
    for variable in reversed(order):
        if children[variable]:
            regions[variable] = builder.merge(regions[variable], *(regions[child] for child in children[variable]))
    return builder.build()


def tree_order(parents: Sequence[int]) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
    """The variables of a tree in an order from the roots, and the children of each; `parents` are -1 at a root.

    Raises: DataTypeError; ValueRangeError for a parent that does not exist; CycleError.

    >>> tree_order([2, -1, 1])
    ([1, 2, 0], [[], [2], [0]])
    """
    if not isinstance(parents, Sequence | np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DataTypeError(f"the parents of a tree must be a list with one per variable; found {parents!r}")
    children: list[list[int]] = [[] for _ in parents]
    for variable, parent in enumerate(parents):
        if not is_integer(parent):
            raise DataTypeError(f"the parent of variable {variable} must be a variable, or -1; found {parent!r}")
        if not -1 <= parent < len(parents):
            raise ValueRangeError(f"the parent of variable {variable} must be -1 to {len(parents) - 1}; found {parent}")
        if parent >= 0:
            children[parent].append(variable)
    order = [variable for variable, parent in enumerate(parents) if parent == -1]
    for variable in order:
        order.extend(children[variable])
    if len(order) < len(parents):
        circle = sorted(set(range(len(parents))) - set(order))
        raise CycleError(f"the parents of these variables form a cycle: {circle}")
    return order, children


def _mutual_information(data: ArrayLike, kind: str | Sequence[str], num_categories: int | None) -> Matrix:
    for name in (kind,) if isinstance(kind, str) else kind:
        check_name("kind of column", name, KINDS)
    if kind == "categorical":
        return categorical_mutual_information(data, num_categories=num_categories)
    if kind == "gaussian":
        return gaussian_mutual_information(data)
    return mixed_mutual_information(data, [name == "categorical" for name in kind])


def _center(neighbours: Sequence[Sequence[int]], weights: Matrix) -> int:
    """The first node with the smallest distance to its farthest node along the tree."""
    farthest = [max(_distances(neighbours, weights, start)) for start in range(len(neighbours))]
    return int(np.argmin(farthest))


def _distances(neighbours: Sequence[Sequence[int]], weights: Matrix, start: int) -> list[float]:
    distances = [-1.0] * len(neighbours)
    distances[start] = 0.0
    order = [start]
    for node in order:
        for other in neighbours[node]:
            if distances[other] < 0:
                distances[other] = distances[node] + float(weights[node, other])
                order.append(other)
    return distances
