"""A circuit that operators made: the first step says of what, and each layer of which layers."""

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.symbolic import Circuit
from explorer.symbolic.operators import concatenate, conjugate, evidence, integrate, multiply
from explorer.templates import load_named
from explorer.views import TraceIndex, derivation_view, derivations, details, sentence_of
from explorer.views.operator_words import operator_words
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
            ["symbolic layers", "3 (middle-left)"],
            ["made by integrate from layers", "3 of multiply(A, A)"],
            ["made by multiply from layers", "5 of A and 5 of A"],
        ]
    )
    last = len(index.trace.steps) - 1
    assert lineage(index, last, max(index.trace.graph_at(-1).nodes))[1:] == snapshot(
        [
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
    assert lineage(loaded, 0, 3)[1][0] == "made by integrate from"


def test_operands_are_drawn_next_to_the_result_with_where_each_layer_comes_from() -> None:
    coins = load_named("conflict")
    square = multiply(coins, coins)
    view = derivation_view(square, lambda one: TraceIndex(explorer.record(one, optimize=False, fold=False)))
    assert view is not None
    assert [(one["label"], one["text"]) for one in view["circuits"]] == [
        ("A", "12 layers of 1 to 4 units, 100 parameters"),
        ("multiply(A, A)", "12 layers of 1 to 10 units, 100 parameters"),
    ]
    pairs = "each pair in one order: 4 × 5 / 2 = 10 in the widest layer."
    words = f"Each unit is a product of two units, {pairs} It has no new parameters."
    assert [one["made"] for one in view["circuits"]] == ["", words]
    for drawn in view["circuits"]:
        assert sorted(cell for plate in drawn["plates"] for cell in plate["cells"]) == list(range(12))
        for plate in drawn["plates"]:
            assert len(plate["places"]) == 4 * len(plate["cells"])
            assert plate["at"][0] + plate["at"][2] <= drawn["width"]
        titles = [plate["title"] for plate in drawn["plates"]]
        assert ["Sum", "Hadamard"] in [[titles[one] for one in line] for line in drawn["lines"]]
    assert [1, 3, 0, 5] in view["origins"]
    assert all((made, of) == (1, 0) for made, _, of, _ in view["origins"])


def test_a_circuit_that_was_built_has_no_operands_to_draw_and_a_large_one_says_so(monkeypatch) -> None:
    assert derivation_view(load_named("conflict"), no_index) is None
    monkeypatch.setattr(derivations, "MAX_DRAWN_LAYERS", 20)
    coins = load_named("conflict")
    view = derivation_view(multiply(coins, coins), no_index)
    assert view is not None
    assert (view["circuits"], view["note"]) == ([], "24 layers of 2 circuits are not drawn: at most 20 are.")


def no_index(circuit: Circuit) -> TraceIndex:
    raise AssertionError(circuit)


def test_each_operator_says_what_it_did() -> None:
    coins, other = load_named("conflict"), load_named("conflict")
    assert "4 × 4 = 16 in the widest layer" in operator_words(multiply(coins, other))
    assert operator_words(integrate(coins, (0,))).startswith("1 input layer becomes constant")
    assert operator_words(evidence(coins, {0: 1, 2: 0})).startswith("2 input layers become constant")
    assert operator_words(concatenate(coins, coins)).startswith("It has the outputs of all operands: 2.")
    assert operator_words(conjugate(coins)).endswith("It has no new parameters.")
    assert operator_words(coins) == ""
