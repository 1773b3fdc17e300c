"""The layout in columns: few crossings, straight lanes, room for edges that pass a column, long ones in lines."""

import numpy as np
from inline_snapshot import snapshot

from explorer.views.crossings import count_crossings, order_rows, pull_up, split_rows
from explorer.views.layout import Grid, columns, layout
from tests.counting import num_calls

GRID = Grid(160.0)


def arrays(levels, edges):
    return np.array(levels, np.int32), np.array(edges, np.int32).reshape(-1, 2)


def test_edges_of_a_box_share_their_waypoints():
    graph = split_rows(*arrays([0, 1, 2, 3, 3], [(0, 1), (1, 2), (0, 3), (0, 4), (2, 4)]))
    assert graph.rows == snapshot(((0,), (1, 5), (2, 6), (3, 4)))
    assert graph.above[6] == (3, 4)
    assert graph.below[5] == (0,)


def test_rows_of_a_tree_have_no_crossings_in_any_order_of_its_leaves():
    levels, edges = arrays([0] * 8 + [1] * 4 + [2] * 2 + [3], [(i, 8 + i % 4) for i in range(8)])
    edges = np.concatenate([edges, [(8, 12), (10, 12), (9, 13), (11, 13), (12, 14), (13, 14)]]).astype(np.int32)
    graph = split_rows(levels, edges)
    assert count_crossings(graph, [list(row) for row in graph.rows]) > 0
    assert count_crossings(graph, order_rows(graph)) == 0


def test_a_ring_of_eight_boxes_in_two_rows_has_three_crossings_the_fewest_possible():
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (0, 6), (3, 6), (1, 7), (2, 7), (4, 8), (6, 8), (5, 9), (7, 9)]
    graph = split_rows(*arrays([0] * 4 + [1] * 4 + [2] * 2, pairs))
    assert count_crossings(graph, order_rows(graph)) == snapshot(3)


def test_an_edge_that_passes_rows_is_straight_and_no_box_is_in_its_lane():
    levels, edges = arrays([0, 0, 1, 2, 3], [(0, 2), (2, 3), (3, 4), (1, 4)])
    graph = split_rows(levels, edges)
    x = columns(graph, order_rows(graph), [100.0] * 5 + [16.0] * (len(graph.below) - 5))
    lane = [x[1], *x[5:]]
    assert max(lane) - min(lane) < 1
    assert min(abs(x[box] - lane[0]) for box in (2, 3)) >= 58


def test_a_box_is_beside_the_middle_of_its_two_inputs():
    points = layout(*arrays([0, 0, 0, 0, 1, 1, 2], [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)]), GRID)
    x = points[:, 1].tolist()
    assert x[4] == (x[0] + x[1]) / 2
    assert x[5] == (x[2] + x[3]) / 2
    assert x[6] == (x[4] + x[5]) / 2


def test_a_branch_that_nothing_else_reads_is_next_to_its_reader():
    """0 -> 1 -> 2 -> 3 -> 4 is the longest path; 5 -> 6 are read by 4, and 7 by both 3 and 4."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 4), (7, 3), (7, 4)]
    raised = pull_up(*arrays([0, 1, 2, 3, 4, 0, 1, 0], edges))
    assert raised.tolist() == [0, 1, 2, 3, 4, 2, 3, 2]


def test_levels_without_boxes_take_no_room():
    points = layout(*arrays([0, 4], [(0, 1)]), GRID)
    assert points[1, 0] - points[0, 0] == GRID.column


def test_a_long_chain_is_broken_into_lines():
    chain = layout(*arrays(range(24), [(at, at + 1) for at in range(23)]), GRID)
    lines = np.unique(chain[:, 1])
    assert len(lines) == 4
    for line in lines:
        assert np.array_equal(np.diff(chain[chain[:, 1] == line, 0]), [GRID.column] * (5))


def test_a_line_is_not_broken_where_an_edge_passes_a_column():
    edges = [(at, at + 1) for at in range(23)] + [(0, 23)]
    points = layout(*arrays(range(24), edges), GRID)
    assert np.array_equal(np.unique(points[:, 0]), points[:, 0])


def tree(count):
    """A binary tree, its root at the top: the level of each box, and the edges."""
    levels = np.floor(np.log2(np.arange(1, count + 1))).astype(np.int32)
    edges = np.stack([np.arange(1, count), (np.arange(1, count) - 1) // 2], axis=1).astype(np.int32)
    return levels.max() - levels, edges


def test_the_work_of_a_layout_is_in_proportion_to_its_boxes():
    few, more, most = (num_calls(lambda count=count: layout(*tree(count), GRID)) for count in (300, 600, 1200))
    assert (most - more) / (more - few) < 2.3  # with quadratic growth it is 4


def test_each_of_thousands_of_boxes_has_its_own_place():
    assert len(np.unique(layout(*tree(5000), GRID), axis=0)) == 5000
