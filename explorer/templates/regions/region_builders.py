"""Builders of region graphs, which split variables without their meaning, or the pixels of images.

Images are split into rectangles by quad-trees, quad-graphs or all cuts (Poon-Domingos). Pixel (channel c, row i,
column j) of an image (C, H, W) is variable (c*H + i)*W + j.
"""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from explorer.errors import ScopeError, ValueRangeError
from explorer.symbolic import Scope
from explorer.templates.regions.region_graph import (
    ImageShape,
    RegionGraph,
    RegionGraphBuilder,
    check_at_least_one,
    check_image_shape,
)


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


Block = tuple[int, int, int, int]
BlockMerge = Callable[[RegionGraphBuilder, Block], int]


def rectangle(shape: ImageShape, top: int, left: int, bottom: int, right: int) -> Scope:
    """The variables of the pixels in rows top .. bottom-1 and columns left .. right-1, all channels.

    >>> rectangle((1, 2, 3), 0, 1, 2, 3)
    (1, 2, 4, 5)
    """
    channels, height, width = shape
    return tuple(
        (c * height + i) * width + j for c in range(channels) for i in range(top, bottom) for j in range(left, right)
    )


def merge_blocks(shape: ImageShape, merge_four: BlockMerge) -> RegionGraph:
    """The region graph that begins with single pixels and merges 2x2 blocks of regions until one is left.

    `merge_four` merges a whole block (top left, top right, bottom left, bottom right). At an odd edge a block has two
    regions, which are merged, or one, which stays. Raises: ShapeError.
    """
    check_image_shape(shape)
    _, height, width = shape
    builder = RegionGraphBuilder()
    grid = [[builder.region(rectangle(shape, i, j, i + 1, j + 1)) for j in range(width)] for i in range(height)]
    while len(grid) > 1 or len(grid[0]) > 1:
        grid = [
            [_merge(builder, _block(grid, i, j), merge_four) for j in range(0, len(grid[0]), 2)]
            for i in range(0, len(grid), 2)
        ]
    return builder.build()


def _block(grid: list[list[int]], i: int, j: int) -> tuple[int, ...]:
    return tuple(region for row in grid[i : i + 2] for region in row[j : j + 2])


def _merge(builder: RegionGraphBuilder, block: tuple[int, ...], merge_four: BlockMerge) -> int:
    match block:
        case (only,):
            return only
        case (first, second):
            return builder.merge(first, second)
        case (a, b, c, d):
            return merge_four(builder, (a, b, c, d))
        case _:
            raise AssertionError(f"a 2x2 block has one, two or four regions; found {block}")


def quad_tree(shape: ImageShape, *, num_patch_splits: int = 2) -> RegionGraph:
    """A tree over the pixels of an image (C, H, W); structured decomposable.

    With 4 splits a block is one partition of four quadrants; with 2 it is split into top and bottom, each of these into
    left and right. Raises: ShapeError; ValueRangeError for a different number of splits.
    Source: Mari, Vessio and Vergari 2023, Unifying and understanding overparameterized circuit representations.

    >>> quad_tree((1, 2, 2), num_patch_splits=4).partitions
    (Partition(region=4, children=(0, 1, 2, 3)),)
    """
    merges = {2: _rows_first, 4: _all_at_once}
    if num_patch_splits not in merges:
        raise ValueRangeError(f"a quad-tree splits a block in 2 or 4; found num_patch_splits={num_patch_splits}")
    return merge_blocks(shape, merges[num_patch_splits])


def _rows_first(builder: RegionGraphBuilder, block: Block) -> int:
    return builder.merge(builder.merge(*block[:2]), builder.merge(*block[2:]))


def _all_at_once(builder: RegionGraphBuilder, block: Block) -> int:
    return builder.merge(*block)


def quad_graph(shape: ImageShape) -> RegionGraph:
    """A graph over the pixels of an image (C, H, W): each block of four has the partitions top-bottom and left-right.

    Not structured decomposable. Raises: ShapeError.
    Source: Mari, Vessio and Vergari 2023, Unifying and understanding overparameterized circuit representations.

    >>> g = quad_graph((1, 2, 2))
    >>> len(g.regions), len(g.partitions)
    (9, 6)
    """
    return merge_blocks(shape, _both_ways)


def _both_ways(builder: RegionGraphBuilder, block: Block) -> int:
    top_left, top_right, bottom_left, bottom_right = block
    region = builder.merge(builder.merge(top_left, top_right), builder.merge(bottom_left, bottom_right))
    builder.split(region, (builder.merge(top_left, bottom_left), builder.merge(top_right, bottom_right)))
    return region


Rectangle = tuple[int, int, int, int]


def poon_domingos(shape: ImageShape, *, delta: float | Sequence[float]) -> RegionGraph:
    """All rectangles between cuts of an image (C, H, W) at multiples of delta, with a partition for each cut inside.

    Several deltas are tried in turn: a rectangle uses the first with a cut inside it. Rectangles that no delta
    cuts are leaves. Not structured decomposable, unless there is only one cut.
    Raises: ShapeError; ValueRangeError unless every delta is at least one.
    Source: Poon and Domingos 2011, Sum-Product Networks: A New Deep Architecture.

    >>> g = poon_domingos((1, 8, 8), delta=1)
    >>> len(g.regions), len(g.partitions)
    (1296, 6048)
    """
    check_image_shape(shape)
    deltas = tuple(delta) if isinstance(delta, Sequence) else (delta,)
    if not deltas or any(step < 1 for step in deltas):
        raise ValueRangeError(f"delta must be one or more distances between cuts of at least 1; found {delta}")
    _, height, width = shape
    cuts = [(_cuts(height, step), _cuts(width, step)) for step in deltas]
    builder = RegionGraphBuilder()
    whole: Rectangle = (0, 0, height, width)
    ids: dict[Rectangle, int] = {whole: builder.region(rectangle(shape, *whole))}
    waiting = deque[Rectangle]([whole])
    while waiting:
        current = waiting.popleft()
        for pieces in _halves(current, cuts):
            for piece in pieces:
                if piece not in ids:
                    ids[piece] = builder.region(rectangle(shape, *piece))
                    waiting.append(piece)
            builder.split(ids[current], [ids[piece] for piece in pieces])
    return builder.build()


def _cuts(length: int, step: float) -> tuple[int, ...]:
    """The multiples of `step` inside an axis, rounded down."""
    return tuple(int(k * step) for k in range(1, int((length - 1) // step) + 1))


def _halves(piece: Rectangle, cuts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[tuple[Rectangle, Rectangle]]:
    """All ways to cut a rectangle in two under the first delta that cuts it: rows first, then columns."""
    top, left, bottom, right = piece
    for rows, columns in cuts:
        found = [((top, left, i, right), (i, left, bottom, right)) for i in rows if top < i < bottom]
        found += [((top, left, bottom, j), (top, j, bottom, right)) for j in columns if left < j < right]
        if found:
            return found
    return []
