"""The random binary tree: the variables are shuffled and halved, recursively."""

import numpy as np

from explorer.errors import ValueRangeError
from explorer.templates.regions.checks import check_at_least_one
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder


def random_binary_tree(
    num_variables: int, *, depth: int | None = None, num_repetitions: int = 1, seed: int = 42
) -> RegionGraph:
    """Random balanced binary trees of this depth (None: down to single variables) under one root.

    Structured decomposable with one repetition. The result depends on the seed only, on every machine.
    Raises: ValueRangeError unless num_variables and num_repetitions are at least 1 and depth is between 0 and
    ceil(log2(num_variables)).
    Source: Peharz et al. 2020, Random Sum-Product Networks.

    >>> print(random_binary_tree(3))
    r2 = {2}
    r3 = {1}
    r4 = {0}
    r1 = {0, 1} = r3 × r4
    r0 = {0, 1, 2} = r1 × r2
    roots: r0
    """
    check_at_least_one(num_variables=num_variables, num_repetitions=num_repetitions)
    deepest = (num_variables - 1).bit_length()
    depth = deepest if depth is None else depth
    if not 0 <= depth <= deepest:
        raise ValueRangeError(f"{num_variables} variables can be halved at most {deepest} times; found depth={depth}")
    generator = np.random.RandomState(seed)
    builder = RegionGraphBuilder()
    root = builder.region(range(num_variables))
    for _ in range(num_repetitions):
        frontier = [root]
        for _ in range(depth):
            frontier = [half for region in frontier for half in _halve(builder, region, generator)]
    return builder.build()


def _halve(builder: RegionGraphBuilder, region: int, generator: np.random.RandomState) -> tuple[int, ...]:
    """Split a region into two random halves, unless it is a single variable."""
    variables = list(builder.scope(region))
    if len(variables) == 1:
        return ()
    generator.shuffle(variables)
    middle = round(len(variables) / 2)
    halves = (builder.region(variables[:middle]), builder.region(variables[middle:]))
    builder.split(region, halves)
    return halves
