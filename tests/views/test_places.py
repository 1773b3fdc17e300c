"""Places: no overlaps, survivors stay, the same on every machine."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, picture
from explorer.views.layout import MARGIN, Grid, layout
from explorer.views.places import grid_of, places_of
from explorer_widgets.schema import GroupBy
from tests.fuzzing import examples
from tests.views.showing import SMALL, every_step, index_of

GRID = Grid(160.0)
BOXED: tuple[GroupBy, ...] = ("fold", "none", "scope")
"""The groupings that are drawn as boxes of one size; for plates see `plates/`."""


def overlaps(points, grid):
    """How many pairs of boxes overlap."""
    x, y = points[:, 0], points[:, 1]
    near = (abs(x[:, None] - x) < grid.width) & (abs(y[:, None] - y) < grid.height)
    return (near.sum() - len(points)) // 2


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("group_by", BOXED)
def test_boxes_never_overlap_and_are_inside_the_picture(name, group_by):
    index = index_of(name)
    for step in every_step(name):
        for mode in ("diff", "before", "after"):
            made = picture(index, step, mode, group_by=group_by)
            assert overlaps(made.coordinates[:, :2], grid_of(index)) == 0
            assert made.coordinates.shape == (len(made.view["nodes"]), 4)
            low = made.coordinates[:, :2] - made.coordinates[:, 2:] / 2
            high = made.coordinates[:, :2] + made.coordinates[:, 2:] / 2
            assert low.min() >= MARGIN - 0.5
            assert (high.max(axis=0) <= (made.view["width"], made.view["height"])).all()


@pytest.mark.parametrize("name", ["mnist", *SMALL])
def test_a_box_that_survives_a_step_keeps_its_position(name):
    """All move together when the operands are gone next to which they were drawn."""
    index = index_of(name)
    changing = [step.index for step in index.trace.steps if step.changed or step.index == 0]
    for group_by in ("fold",) if name == "mnist" else BOXED:
        for chain in (list(every_step(name)), changing):
            for one, other in pairwise(chain):
                old, new = (places_of(index, step, group_by).points for step in (one, other))
                moved = {tuple(np.subtract(new[box], old[box]).tolist()) for box in old if box in new}
                assert moved <= {(0.0, 0.0)} or (one < index.trace.start <= other and len(moved) == 1)


def test_layers_that_fold_stay_where_their_group_was():
    index = index_of("digits")
    before, after = picture(index, 7, "before"), picture(index, 7, "after")
    slices = next(i for i, node in enumerate(before.view["nodes"]) if node["change"] == "changed")
    folded = next(i for i, node in enumerate(after.view["nodes"]) if node["change"] == "changed")
    assert before.view["nodes"][slices]["count"] == after.view["nodes"][folded]["folds"] == 64
    assert (before.coordinates[slices] == after.coordinates[folded]).all()


def rows_of(view, coordinates):
    """Titles of the boxes, row by row from the top, from left to right."""
    rows = {}
    for node, (x, y, _, _) in zip(view["nodes"], coordinates.tolist(), strict=True):
        rows.setdefault(y, []).append((x, f"{node['title']} {node['change']}"))
    return [[title for _, title in sorted(rows[y])] for y in sorted(rows)]


def test_new_boxes_of_a_narrow_picture_are_in_the_row_of_those_they_replace():
    made = picture(index_of("digits"), 3)
    assert rows_of(made.view, made.coordinates) == snapshot(
        [
            ["Sum {0..63} removed", "CPT {0..63} added"],
            ["Hadamard {0..63} removed"],
            ["Sum removed", "CPT added"],
            ["Hadamard removed"],
            ["Sum removed", "CPT added"],
            ["Hadamard removed"],
            ["Sum kept"],
            ["Categorical removed", "Categorical added"],
        ]
    )
    second = picture(index_of("conflict"), 6)
    assert rows_of(second.view, second.coordinates) == snapshot(
        [["CPT {0..3} kept"], ["CPT added", "Sum removed"], ["Hadamard removed"], ["Categorical kept"]]
    )


def test_shattered_layers_are_above_their_inputs():
    made = picture(index_of("kronecker"), 2)
    height = {node["id"]: y for node, y in zip(made.view["nodes"], made.coordinates[:, 1].tolist(), strict=True)}
    added = {node["id"] for node in made.view["nodes"] if node["change"] == "added"}
    inner = [edge for edge in made.view["edges"] if edge["target"] in added]
    assert len(inner) == 4
    assert all(height[edge["target"]] < height[edge["source"]] for edge in inner)


def test_a_new_box_names_its_origins():
    index = index_of("blackboard")
    before = set(places_of(index, 2, "fold").points)
    new = {node["id"]: node for node in picture(index, 3).view["nodes"] if node["change"] == "added"}
    assert {name: node.get("came_from") for name, node in new.items()} == snapshot(
        {"g13x2-1ef8bd8b": ["g7x2-aa53fe9f", "g5x2-08a98ed1"], "n15": ["n10", "n9"], "n16": ["n12", "n11"]}
    )
    assert all(before.issuperset(node.get("came_from", ["?"])) for node in new.values())


def test_a_fused_layer_of_a_wide_picture_appears_between_its_origins():
    index = index_of("blackboard")
    points = places_of(index, 3, "none").points
    for rewrite in index.trace.steps[3].rewrites:
        middle = np.mean([points[f"n{node}"] for node in rewrite.removed], axis=0)
        assert np.abs(np.array(points[f"n{rewrite.added[-1]}"]) - middle).max() < grid_of(index).row


@pytest.mark.parametrize("group_by", BOXED)
def test_what_an_operator_made_is_a_graph_of_its_own(group_by):
    """Rows are levels, as in the drawing of the operand, and none of both overlap."""
    index = index_of("squared")
    operand, square = (picture(index, step, "after", group_by=group_by) for step in (0, 1))
    both = picture(index, 1, "diff", group_by=group_by)
    assert len(both.view["nodes"]) == len(operand.view["nodes"]) + len(square.view["nodes"])
    assert overlaps(both.coordinates[:, :2], grid_of(index)) == 0
    assert set(square.coordinates[:, 1]) == set(operand.coordinates[:, 1])
    for node, (_, y, _, _) in zip(square.view["nodes"], square.coordinates.tolist(), strict=True):
        below = [edge["source"] for edge in square.view["edges"] if edge["target"] == node["id"]]
        rows = {other["id"]: place[1] for other, place in zip(square.view["nodes"], square.coordinates, strict=True)}
        assert all(rows[one] > y for one in below)
        assert node.get("came_from")


@pytest.mark.parametrize("group_by", BOXED)
def test_the_compilation_of_a_product_begins_with_the_drawing_of_its_circuit(group_by):
    circuit = gallery.load_named("squared")
    derived, built = (TraceIndex(explorer.record(one)) for one in (circuit, replace(circuit, derivation=None)))
    assert places_of(derived, 2, group_by).points == places_of(built, 0, group_by).points


def test_positions_do_not_depend_on_the_order_of_visits():
    trace = explorer.record(gallery.load_named("conflict"))
    forwards, jumping = TraceIndex(trace), TraceIndex(trace)
    picture(jumping, 12)
    picture(jumping, 4)
    for step in range(len(trace.steps)):
        assert np.array_equal(picture(forwards, step).coordinates, picture(jumping, step).coordinates)


@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 8))
def test_layouts_have_rows_by_level_and_no_overlap(seed, count, depth):
    random = np.random.default_rng(seed)
    levels = np.sort(random.integers(0, depth, count)).astype(np.int32)
    pairs = random.integers(0, count, (2 * count, 2)).astype(np.int32)
    edges = pairs[levels[pairs[:, 0]] < levels[pairs[:, 1]]]
    points = layout(levels, edges, GRID)
    assert overlaps(points, GRID) == 0
    assert np.array_equal(points, np.rint(points))
    rows = np.unique(levels, return_inverse=True)[1].ravel()
    assert (points[:, 1] == points[:, 1].max() - GRID.row * rows).all()
    assert np.array_equal(points, layout(levels, edges, GRID))


def test_an_empty_picture_has_a_layout():
    assert layout(np.zeros(0, np.int32), np.zeros((0, 2), np.int32), GRID).shape == (0, 2)
