"""Which layers share a plate, what its cells are, and where they are drawn."""

import pytest

from explorer.views.plates.cells import plates_of
from explorer.views.plates.drawing import stage_of
from explorer.views.plates.layout import LEVEL_GAP, SIDE
from tests.views.showing import SMALL, every_step, index_of


def rows_of(name, step):
    """Each plate as title, number of cells, number of calls."""
    plates = plates_of(index_of(name), step).plates
    return [(plate.record.title, len(plate.cells), plate.num_calls) for plate in plates]


def test_digits_before_and_after_fusing_and_folding():
    assert rows_of("digits", 0)[:4] == [("Categorical", 64, 64), ("Sum", 64, 64), ("Hadamard", 16, 16), ("Sum", 16, 16)]
    assert rows_of("digits", 3) == [
        ("Categorical", 64, 64),
        ("Sum", 64, 64),
        ("CPT", 16, 16),
        ("CPT", 4, 4),
        ("CPT", 1, 1),
    ]
    assert [calls for *_, calls in rows_of("digits", 8)] == [1, 1, 16, 4, 1]
    assert [calls for *_, calls in rows_of("digits", 10)] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("name", SMALL)
def test_every_layer_is_in_one_plate_and_calls_are_the_layers_of_the_graph(name):
    index = index_of(name)
    for step in every_step(name):
        plates = plates_of(index, step)
        nodes = [node for plate in plates.plates for node in plate.ids]
        assert sorted(nodes) == sorted(index.trace.graph_at(step).nodes)
        assert sum(plate.num_calls for plate in plates.plates) == len(nodes)
        for plate in plates.plates:
            assert plate.node is None or len(plate.cells) == plate.record.num_folds


@pytest.mark.parametrize("name", SMALL)
def test_folding_keeps_the_cells(name):
    index = index_of(name)
    for step in index.trace.steps:
        if step.folds:
            before, after = (plates_of(index, at).plates for at in (step.index - 1, step.index))
            one, other = (sorted(cell.layer for plate in plates for cell in plate.cells) for plates in (before, after))
            assert one == other


@pytest.mark.parametrize("name", SMALL)
def test_reads_of_cells_are_the_edges_of_the_layers(name):
    index = index_of(name)
    plates = plates_of(index, 0)
    found = sorted(
        (plates.plates[source].cells[one].layer, plates.plates[target].cells[other].layer)
        for (source, target), pairs in plates.reads.items()
        for one, other in pairs
    )
    graph = index.trace.graph_at(0)
    assert found == sorted((source, target) for target, sources in graph.inputs.items() for source in sources)


# ---------------------------------------------------------------------- places


def test_cells_of_an_image_are_where_their_pixels_are():
    stage = stage_of(index_of("digits"), 0)
    inputs, _, products, *_ = stage.placed
    assert inputs.shape.units == products.shape.units == (8, 8)
    assert inputs.shape.width == inputs.shape.height == SIDE
    assert inputs.shape.places[9] == (1, 1, 1, 1)
    assert set(products.shape.places) == {(x, y, 2, 2) for x in (0, 2, 4, 6) for y in (0, 2, 4, 6)}


def test_cells_of_a_chain_are_along_its_variables():
    stage = stage_of(index_of("hmm"), 0)
    inputs = stage.placed[0]
    nodes = index_of("hmm").trace.graph_at(0).nodes
    scopes = [nodes[cell.layer].scope or () for cell in inputs.plate.cells]
    rows = {scope[0][0]: place for scope, place in zip(scopes, inputs.shape.places, strict=True) if scope}
    assert rows == {variable: (0, variable, 1, 1) for variable in range(12)}
    heights = [one.shape.places[0][3] for one in stage.placed if one.plate.record.title == "Hadamard"]
    assert heights == list(range(2, 13))  # each product has one variable more


def test_overlapping_regions_are_in_rows_in_the_order_of_slices():
    index = index_of("sum-chain")  # all layers have the same variable
    assert {one.shape.places for one in stage_of(index, 0).placed} == {((0, 0, 1, 1),)}


@pytest.mark.parametrize("name", SMALL)
def test_plates_do_not_overlap_and_cells_tile_without_overlapping(name):
    index = index_of(name)
    for step in every_step(name):
        stage = stage_of(index, step)
        for i, one in enumerate(stage.placed):
            assert one.left >= 0
            assert one.left + one.shape.width <= stage.width
            assert one.top + one.shape.height <= stage.height
            for other in stage.placed[:i]:
                apart = one.left >= other.left + other.shape.width or other.left >= one.left + one.shape.width
                below = one.top >= other.top + other.shape.height or other.top >= one.top + one.shape.height
                assert apart or below
            units = [(x + i, y + j) for x, y, w, h in one.shape.places for i in range(w) for j in range(h)]
            assert len(units) == len(set(units))
            assert all(x < one.shape.units[0] and y < one.shape.units[1] for x, y in units)


def test_folding_a_level_moves_no_plate():
    index = index_of("digits")
    before, after = stage_of(index, 7), stage_of(index, 8)
    assert [(one.left, one.top) for one in before.placed] == [(one.left, one.top) for one in after.placed]


def test_many_levels_are_wrapped_into_lines_of_about_equal_width():
    stage = stage_of(index_of("hmm"), 0)
    ends = [
        max(
            one.left + one.shape.width
            for one, number in zip(stage.placed, stage.line_of, strict=True)
            if number == line
        )
        for line in sorted(set(stage.line_of))
    ]
    assert len(ends) > 1
    assert max(ends) - min(ends) < 2 * LEVEL_GAP + 120
