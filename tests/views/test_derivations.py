"""A circuit that operators made: the first step says of what, and each layer of which layers."""

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import load_named
from explorer.views import TraceIndex, details, sentence_of
from tests.views.showing import section


@pytest.fixture(scope="module")
def index() -> TraceIndex:
    conflict = load_named("conflict")
    return TraceIndex(explorer.record(integrate(multiply(conflict, conflict), (0, 1))))


def lineage(index: TraceIndex, step: int, node: int) -> list[list[str]]:
    rows = section(details(index, step, (node,)), "Lineage")["rows"]
    return [row for row in rows if row[0].startswith(("symbolic", "made by"))]


def test_the_first_step_says_what_was_multiplied_and_integrated(index: TraceIndex) -> None:
    said = "The circuit is integrate(multiply(A, A), variables=(0, 1)): A has 12 layers, multiply(A, A) 12, and the "
    said += "result 12."
    assert sentence_of(index, 0).endswith(said)
    assert said in str(index.trace)


def test_each_layer_says_of_which_layers_of_the_operands_it_was_made(index: TraceIndex) -> None:
    assert lineage(index, 0, 3) == snapshot(
        [
            ["symbolic layers", "3"],
            ["made by integrate from layers", "3 of multiply(A, A)"],
            ["made by multiply from layers", "5 of A and 5 of A"],
        ]
    )
    last = len(index.trace.steps) - 1
    assert lineage(index, last, max(index.trace.graph_at(-1).nodes)) == snapshot(
        [
            ["symbolic layers", "2, 3, 4, 7, 8, 9"],
            ["made by integrate from layers", "2 to 4, 7 to 9 of multiply(A, A)"],
            ["made by multiply from layers", "4 to 9 of A and 4 to 9 of A"],
        ]
    )


def test_different_operands_have_different_letters() -> None:
    one, other = load_named("conflict"), load_named("conflict")
    index = TraceIndex(explorer.record(multiply(one, other)))
    assert "The circuit is multiply(A, B): A has 12 layers, B 12, and the result 12." in sentence_of(index, 0)
    assert lineage(index, 0, 3)[1] == ["made by multiply from layers", "5 of A and 5 of B"]


def test_a_circuit_that_was_built_says_nothing_of_operators() -> None:
    index = TraceIndex(explorer.record(load_named("conflict")))
    assert "The circuit is" not in sentence_of(index, 0)
    assert [row[0] for row in lineage(index, 0, 3)] == ["symbolic layers"]


def test_a_saved_trace_keeps_the_sentence(index: TraceIndex, tmp_path) -> None:
    index.trace.save(tmp_path / "product.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "product.json"))
    assert sentence_of(loaded, 0) == sentence_of(index, 0)
    assert [row[0] for row in lineage(loaded, 0, 3)] == ["symbolic layers"]
