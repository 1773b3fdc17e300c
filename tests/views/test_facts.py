"""Facts about every picture of every circuit."""

import numpy as np
import pytest

from explorer.views import COLOURS, GROUPINGS, MODES, picture, steps
from explorer.views.boxes import COLUMNS, edge_text, hull_text, node_cells
from explorer.views.grouping import boxes_of
from tests.views.showing import SMALL, every_step, index_of


@pytest.mark.parametrize("name", SMALL)
def test_a_graph_and_its_table_have_the_same_data(name):
    index = index_of(name)
    for step in every_step(name):
        for i, mode in enumerate(MODES):
            colour_by, group_by = COLOURS[(step + i) % len(COLOURS)], GROUPINGS[(step + i) % len(GROUPINGS)]
            check_table(picture(index, step, mode, colour_by, group_by).view)


def check_table(view):
    table = view["table"]
    assert table["columns"] == list(COLUMNS)
    assert [row[:-2] for row in table["rows"]] == [node_cells(node) for node in view["nodes"]]
    labels = {(row[0], text) for row in table["rows"] for text in row[-2].split("; ") if text}
    assert labels == {(edge["target"], edge_text(edge)) for edge in view["edges"]}
    for row in table["rows"]:
        hulls = [hull_text(hull) for hull in view["hulls"] if row[0] in hull["nodes"]]
        pins = [pin["reason"] for pin in view.get("pins", []) if row[0] in pin["nodes"]]
        assert row[-1] == "; ".join(hulls + pins)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("group_by", GROUPINGS)
def test_boxes_and_arrows_cover_exactly_the_graphs_before_and_after(name, group_by):
    index = index_of(name)
    for step in every_step(name):
        for mode in MODES[1:3]:
            graph = index.trace.graph_at(max(step - 1, 0) if mode == "before" else step)
            view = picture(index, step, mode, group_by=group_by).view
            ids = [node for box in view["nodes"] for node in box["ids"]]
            assert sorted(ids) == sorted(graph.nodes)
            box_of = {node: box["id"] for box in view["nodes"] for node in box["ids"]}
            counts = {}
            for target, sources in graph.inputs.items():
                for source in sources:
                    pair = box_of[source], box_of[target]
                    if pair[0] != pair[1]:
                        counts[pair] = counts.get(pair, 0) + 1
            assert {(edge["source"], edge["target"]): edge["count"] for edge in view["edges"]} == counts
            if group_by != "scope":
                assert all(box["level"] == graph.levels[node] for box in view["nodes"] for node in box["ids"])


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("group_by", ["fold", "none", "scope"])
def test_changes_follow_the_ids(name, group_by):
    index = index_of(name)
    for step in list(every_step(name))[1:]:
        before, after = index.trace.graph_at(step - 1).nodes, index.trace.graph_at(step).nodes
        folded = {group.node: group.members for group in index.trace.steps[step].folds}
        for box in picture(index, step, group_by=group_by).view["nodes"]:
            for node in box["ids"]:
                if box["change"] == "added":
                    assert node not in before
                elif box["change"] == "removed":
                    assert node not in after
                elif box["change"] == "kept":
                    assert before[node] == after[node]
                else:
                    assert node in folded or before[node] != after[node]


@pytest.mark.parametrize("name", SMALL)
def test_nodes_of_a_group_agree_on_level_type_config_and_shapes(name):
    index = index_of(name)
    for step in every_step(name):
        graph = index.trace.graph_at(step)
        for box in picture(index, step, "after").view["nodes"]:
            records = [graph.nodes[node] for node in box["ids"]]
            forms = {
                (r.type, r.num_folds, str(r.config), str({k: p.shape for k, p in r.parameters.items()}))
                for r in records
            }
            assert len(forms) == 1
            assert len({graph.levels[node] for node in box["ids"]}) == 1
            assert box["folds"] == records[0].num_folds or len(records) > 1


@pytest.mark.parametrize("name", SMALL)
def test_boxes_have_equal_ids_if_and_only_if_they_have_equal_nodes(name):
    index = index_of(name)
    for group_by in GROUPINGS:
        ids = {}
        for step in every_step(name):
            for box in boxes_of(index, step, group_by).boxes:
                assert ids.setdefault(box.id, box.ids) == box.ids


@pytest.mark.parametrize("name", SMALL)
def test_the_steps_count_layers_and_folds_as_the_graphs_do(name):
    index = index_of(name)
    for view in steps(index):
        nodes = index.trace.graph_at(view["index"]).nodes.values()
        assert view["layers"] == len(nodes)
        assert view["folds"] == sum(node.num_folds for node in nodes)


def test_before_folding_mnist_has_28_groups():
    view = picture(index_of("mnist"), 0).view
    assert view["note"] == "5,725 layers. Showing 28 groups."
    assert sum(node["count"] for node in view["nodes"]) == 5725


@pytest.mark.parametrize("name", ["mnist", *SMALL])
def test_a_folded_state_equals_the_compilers_graph(name):
    index = index_of(name)
    for step in list(every_step(name))[:: 5 if name == "mnist" else 1]:
        graph, state = index.trace.graph_at(step), index.state(step)
        assert sorted(graph.nodes) == np.flatnonzero(state.present).tolist()
        assert all(state.level[node] == level for node, level in graph.levels.items())
        edges = sorted((target, source) for target, sources in graph.inputs.items() for source in sources)
        assert state.edges.tolist() == [[source, target] for target, source in edges]
        assert state.outputs == tuple(graph.outputs)
        if name != "mnist":
            assert {node: index.record(int(state.node[node])) for node in graph.nodes} == dict(graph.nodes)
