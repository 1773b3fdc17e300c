"""The fully factorized region graph: all variables are split at once."""

from explorer.templates.regions.checks import check_at_least_one
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder


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
