"""The Chow-Liu tree: the tree of variables that preserves the most mutual information in data."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import CycleError, DataTypeError, ShapeError, ValueRangeError, check_name
from explorer.symbolic.checks import is_integer
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder

SMOOTHING = 0.01
MAX_CELLS = 1 << 22  # maximum counts of pairs, or densities of rows, in memory

Matrix = NDArray[np.float64]


def categorical_mutual_information(data: ArrayLike, *, num_categories: int | None = None) -> Matrix:
    """I(X;Y) = sum_xy p(x,y) log(p(x,y) / (p(x) p(y))) with 0.01 added to each count of a pair of categories.

    The categories of column i are the C_i values that occur in it, or 0 .. num_categories-1 if that is given. So a pair
    has C_i C_j such counts and the same value in any table, at most min(log C_i, log C_j).
    Time: O(D^2 N + sum_ij C_i C_j).
    Raises: ShapeError, DataTypeError; ValueRangeError for a value outside of 0 .. num_categories-1.
    """
    table = as_integers(data)
    top = int(table.max()) + 1
    if table.min() < 0 or (num_categories is not None and top > num_categories):
        raise ValueRangeError(
            f"categories are 0 to {(num_categories or top) - 1}; found {int(table.min())} to {top - 1}: "
            f"pass num_categories or recode the data"
        )
    N, D = table.shape
    codes, sizes = table, np.full(D, num_categories)
    if num_categories is None:
        codes = np.empty_like(table)
        for j in range(D):
            codes[:, j] = np.searchsorted(np.unique(table[:, j]), table[:, j])
        sizes = codes.max(axis=0) + 1
    C = int(sizes.max())
    found = np.zeros((D, D))
    for i in range(D - 1):
        cells = int(sizes[i]) * C
        width = max(1, MAX_CELLS // cells)
        for start in range(i + 1, D, width):
            others = slice(start, min(start + width, D))
            shift = np.arange(others.stop - start) * cells
            pairs = codes[:, i, None] * C + codes[:, others] + shift
            counts = np.bincount(pairs.ravel(), minlength=len(shift) * cells).reshape(-1, sizes[i], C)
            exists = np.arange(C) < sizes[others, None]
            total = N + SMOOTHING * sizes[i] * sizes[others]
            joint = (counts + SMOOTHING * exists[:, None]) / total[:, None, None]
            both = _discrete_entropy(joint.reshape(len(shift), cells))
            found[i, others] = _discrete_entropy(joint.sum(axis=2)) + _discrete_entropy(joint.sum(axis=1)) - both
    found[sizes == 1] = found[:, sizes == 1] = 0.0  # of constant columns, not the rounding of zero
    return np.maximum(found + found.T, 0.0)  # rounding can make it negative


def gaussian_mutual_information(data: ArrayLike) -> Matrix:
    """I(X;Y) = -log(1 - r^2) / 2 of jointly Gaussian columns with correlation r; r = 0 for a constant column.

    Raises: ShapeError, DataTypeError.
    """
    table = _reals(data)
    centered = table - table.mean(axis=0)
    scale = np.sqrt((centered**2).sum(axis=0))
    unit = np.divide(centered, scale, out=np.zeros_like(centered), where=scale > 0)
    squared = np.minimum((unit.T @ unit) ** 2, 1 - np.finfo(np.float64).eps)
    found = -0.5 * np.log1p(-squared)
    np.fill_diagonal(found, 0.0)
    return found


def mixed_mutual_information(data: ArrayLike, is_discrete: Sequence[bool]) -> Matrix:
    """Categorical between discrete columns, Gaussian between continuous ones, and otherwise by conditional Gaussians.

    I(X;C) is the mean of log p(x | c) - log p(x) over the rows, or over evenly spaced ones of many, where p(x | c) is
    normal and p(x) its mixture: at most H(C), and the same in every unit of x. A variance given c has the one of the
    column added, as that of one more row.
    Raises: ShapeError unless there is one flag per column; DataTypeError, ValueRangeError.
    """
    table = _reals(data)
    if len(is_discrete) != table.shape[1]:
        raise ShapeError(f"expected one flag per column; found {len(is_discrete)} flags and {table.shape[1]} columns")
    discrete = [j for j, flag in enumerate(is_discrete) if flag]
    continuous = [j for j, flag in enumerate(is_discrete) if not flag]
    found = np.zeros((table.shape[1], table.shape[1]))
    if discrete:
        found[np.ix_(discrete, discrete)] = categorical_mutual_information(as_integers(table[:, discrete]))
    if continuous:
        found[np.ix_(continuous, continuous)] = gaussian_mutual_information(table[:, continuous])
    for c in discrete:
        _, codes = np.unique(table[:, c], return_inverse=True)
        for x in continuous:
            found[x, c] = found[c, x] = _normal_information(table[:, x], codes)
    return found


def _normal_information(x: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """I(X;C) of a column x (N,) that is normal given its category (N,), in nats."""
    variance = x.var()
    if variance == 0:
        return 0.0
    counts = np.bincount(codes)
    means = np.bincount(codes, x) / counts
    variances = (np.bincount(codes, (x - means[codes]) ** 2) + variance) / (counts + 1)
    chosen = np.arange(0, len(x), 1 + len(x) * len(counts) // MAX_CELLS)
    distances = (x[chosen, None] - means) ** 2 / variances  # (rows, C)
    joint = np.log(counts / len(x)) - 0.5 * (distances + np.log(variances))
    largest = joint.max(axis=1)
    marginal = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
    prior = np.log(counts / len(x))[codes[chosen]]
    return max(0.0, float((joint[np.arange(len(chosen)), codes[chosen]] - prior - marginal).mean()))


def as_integers(data: ArrayLike) -> NDArray[np.int64]:
    """The data as integers. Raises: ShapeError, ValueRangeError; DataTypeError for fractions or text."""
    table = _reals(data)
    integers = table.astype(np.int64)
    if (integers != table).any():
        raise DataTypeError(
            "categories are non-negative integers; found fractions: use a Gaussian input for such a column"
        )
    return integers


def _discrete_entropy(probabilities: Matrix) -> Matrix:
    """-sum_k p_k log p_k along the last axis."""
    logs = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logs).sum(axis=-1)


def _reals(data: ArrayLike) -> Matrix:
    table = np.asarray(data)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 1:
        raise ShapeError(f"data must have two axes, rows (two or more) and columns; found shape {table.shape}")
    if table.dtype.kind not in "iufb":
        raise DataTypeError(f"data must be real numbers; found dtype {table.dtype}")
    reals = table.astype(np.float64)
    if not np.isfinite(reals).all():
        raise ValueRangeError("data must be finite; found nan or infinity: fill in or drop those rows")
    return reals


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
