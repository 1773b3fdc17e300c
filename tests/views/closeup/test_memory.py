"""How a plate reads memory, as strips and lines between them."""

import pytest

import explorer
from explorer import CircuitBuilder
from explorer.compiler import trace_of_circuit
from explorer.symbolic import Parameterization
from explorer.templates import CategoricalInput, gallery
from explorer.views import TraceIndex, details, picture
from explorer.views.closeup.closeup import Reads, known_read, memory_view, reads_of
from explorer.views.fold_level import READS
from explorer.views.plates.cells import plates_of
from tests.views.showing import SMALL, every_step, index_of


def closeups(name, step):
    """The close-up of each plate of a step, by its title."""
    return closeups_of(index_of(name), step)


def closeups_of(index, step):
    nodes = picture(index, step, "after", group_by="plates").view["nodes"]
    found = [details(index, step, node["ids"]).get("closeup") for node in nodes]
    return {view["title"]: view["memory"] for view in found if view is not None}


def words(memory):
    return [memory["sentence"], memory["line"], memory["copy"]]


def test_a_folded_layer_says_whether_its_read_copies():
    assert {title: words(memory) for title, memory in closeups("digits", 11).items()} == {
        "Categorical #255, 64 slices": ["Each slice reads its own of the 64 variables.", "viewLine", ""],
        "Sum #256, 64 slices": [
            f"Reads 64 slices of Categorical #255 by gather: {READS['gather']}.",
            "copyLine",
            "copied: 4 KiB per example",
        ],
        "CPT #257, 16 slices": [
            f"Reads 64 slices of Sum #256 by gather: {READS['gather']}.",
            "copyLine",
            "copied: 4 KiB per example",
        ],
        "CPT #258, 4 slices": [
            "Reads 16 slices of CPT #257 by view: all slices are read in place, in order; nothing is copied.",
            "viewLine",
            "",
        ],
        "CPT #254": [
            "Reads 4 slices of CPT #258 by view: all slices are read in place, in order; nothing is copied.",
            "viewLine",
            "",
        ],
    }


def test_before_a_step_a_plate_reads_what_is_in_the_picture_before():
    index = index_of("digits")
    node = next(node for node in picture(index, 7, "before", group_by="plates").view["nodes"] if node["title"] == "Sum")
    shown = [details(index, 7, node["ids"], before=before).get("closeup") for before in (False, True)]
    titles = [strip["title"] for view in shown if view is not None for strip in view["memory"]["sources"]]
    assert titles == ["64 slices of Categorical #255", "64 Categorical layers"]


def test_separate_layers_are_separate_calls():
    memory = closeups("digits", 0)["Hadamard, 16 layers"]
    assert words(memory) == ["Not folded: 16 calls, each concatenates its 4 inputs first.", "edge", ""]
    assert [memory["own"]["apart"], memory["sources"][0]["apart"]] == [True, True]
    assert memory["own"]["numbers"][:2] == [68, 73]


def test_layer_may_read_one_of_several_unfolded_layers_on_one_plate():
    b = CircuitBuilder()
    b.add(CategoricalInput(2, Parameterization("none"))(0, 2))  # no output depends on it, so it is not folded
    right = b.add(CategoricalInput(2, Parameterization("sigmoid"))(0, 2))
    index = TraceIndex(explorer.record(b.build(b.sum(right, num_units=2))))
    memory = closeups_of(index, len(index.trace.steps) - 1)["Sum #2"]
    assert [strip["title"] for strip in memory["sources"]] == ["2 Categorical layers"]
    assert memory["reads"] == [1]


@pytest.mark.parametrize("name", SMALL)
def test_lines_are_the_index_table(name):
    index = index_of(name)
    last = every_step(name)[-1]
    memories = closeups(name, last)
    for group in index.groups:
        if not group.index:
            continue
        memory = next(m for m in memories.values() if group.node in node_names(m["own"]))
        names = [(node, at) for strip in memory["sources"] for node, at in slices(strip)]
        rows = [[names[at] for at in memory["reads"][i : i + memory["arity"]]] for i in starts(memory)]
        assert rows == [[tuple(pair) for pair in row] for row in group.index]


def starts(memory):
    return range(0, len(memory["reads"]), memory["arity"])


def node_names(strip):
    return strip["numbers"] or [int(strip["prefix"].strip("#["))]


def slices(strip):
    if strip["numbers"]:
        return [(layer, 0) for layer in strip["numbers"]]
    return [(int(strip["prefix"].strip("#[")), at) for at in range(strip["count"])]


def test_a_circuit_that_was_folded_before_its_trace_has_the_same_lines():
    live = closeups("digits", 11)
    circuit = explorer.record(gallery.load_named("digits")).compiled
    for title, memory in closeups_of(TraceIndex(trace_of_circuit(circuit)), 0).items():
        same = next(other for name, other in live.items() if name == title)
        assert memory["reads"] == same["reads"]


def test_many_lines_are_cut_and_the_view_says_so(monkeypatch):
    monkeypatch.setitem(memory_view.__globals__, "MAX_LINES", 8)
    memory = closeups("digits", 10)["CPT #257, 16 slices"]
    assert len(memory["reads"]) == 8
    assert memory["cut"] == "The first 2 of 16 slices are drawn."


def test_of_many_sources_the_sentence_names_the_first_ones():
    index = index_of("digits")
    plate = plates_of(index, 11).plates[-1]
    read, reads = known_read(index, 11, plate), reads_of(index, 11, plate)
    many = Reads(sources=[*reads.sources] * 9, rows=reads.rows)
    assert "(9 in all) by view" in memory_view(plate, many, read)["sentence"]
