"""The quad-graph: a quad-tree in which each block is split both by rows and by columns."""

from explorer.templates.regions.checks import ImageShape
from explorer.templates.regions.image_grid import Block, merge_blocks
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder


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
