"""The quad-tree: an image is halved in both directions, recursively."""

from explorer.errors import ValueRangeError
from explorer.templates.regions.checks import ImageShape
from explorer.templates.regions.image_grid import Block, merge_blocks
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder


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
