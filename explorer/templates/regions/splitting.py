"""Region graphs that split variables without their meaning: all at once, one at a time, or at random."""

from collections.abc import Sequence

import numpy as np

from explorer.errors import ScopeError, ValueRangeError
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder, check_at_least_one


def fully_factorized_regions(num_variables: int, *, num_repetitions: int = 1) -> RegionGraph:
    """One region of all variables, split into single variables once per repetition; omni-compatible.

    Raises: ValueRangeError.

    >>> len(fully_factorized_regions(5, num_repetitions=2).leaves)
    10
    """
    check_at_least_one(num_variables=num_variables, num_repetitions=num_repetitions)
    builder = RegionGraphBuilder()
    root = builder.region(range(num_variables))
    if num_variables > 1:
        for _ in range(num_repetitions):
            builder.split(root, [builder.region([variable]) for variable in range(num_variables)])
    return builder.build()


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
