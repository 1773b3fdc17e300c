"""The linear tree: the variables are split off one at a time."""

from collections.abc import Sequence

import numpy as np

from explorer.errors import ScopeError
from explorer.templates.regions.checks import check_at_least_one
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder


def linear_tree(
    num_variables: int,
    *,
    num_repetitions: int = 1,
    ordering: Sequence[int] | None = None,
    randomize: bool = False,
    seed: int = 42,
) -> RegionGraph:
    """Linear trees under one root; each splits off the variables in this order (0, 1, ... if None).

    With `randomize` every repetition shuffles the order of the one before it.
    Raises: ValueRangeError; ScopeError unless the ordering is a permutation of the variables.

    >>> print(linear_tree(3))
    r1 = {0}
    r3 = {1}
    r4 = {2}
    r2 = {1, 2} = r3 × r4
    r0 = {0, 1, 2} = r1 × r2
    roots: r0
    """
    check_at_least_one(num_variables=num_variables, num_repetitions=num_repetitions)
    order = list(range(num_variables) if ordering is None else ordering)
    if sorted(order) != list(range(num_variables)):
        raise ScopeError(f"the ordering must be a permutation of 0 to {num_variables - 1}; found {order}")
    generator = np.random.RandomState(seed)
    builder = RegionGraphBuilder()
    root = builder.region(range(num_variables))
    for _ in range(num_repetitions):
        if randomize:
            generator.shuffle(order)
        region = root
        for position in range(num_variables - 1):
            leaf, rest = builder.region(order[position : position + 1]), builder.region(order[position + 1 :])
            builder.split(region, (leaf, rest))
            region = rest
    return builder.build()
