"""Images as variables: the variables of a rectangle of pixels, and merging 2x2 blocks up to the whole image.

Pixel (channel c, row i, column j) of an image (C, H, W) is variable (c*H + i)*W + j.
"""

from collections.abc import Callable

from explorer.symbolic import Scope
from explorer.templates.regions.checks import ImageShape, check_image_shape
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder

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
