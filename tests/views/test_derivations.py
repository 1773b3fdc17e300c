"""A circuit that operators made: each operator is a step, and each layer names the layers that it was made from."""

import pytest
import torch
from inline_snapshot import snapshot

import explorer
from explorer.symbolic import Circuit, operator_words
from explorer.symbolic.operators import concatenate, conjugate, evidence, integrate, multiply
from explorer.templates import load_named
from explorer.views import TraceIndex, derivation_view, derivations, details, film, picture, sentence_of, steps, story
from explorer_widgets.schema import PlateView
from tests.views.showing import section


@pytest.fixture(scope="module")
def index() -> TraceIndex:
    conflict = load_named("conflict")
    return TraceIndex(explorer.record(integrate(multiply(conflict, conflict), (0, 1))))


def lineage(index: TraceIndex, step: int, node: int) -> list[list[str]]:
    rows = section(details(index, step, (node,)), "Lineage")["rows"]
    return [row for row in rows if row[0].startswith(("symbolic", "made by"))]


def test_each_operator_is_a_step_with_a_sentence(index: TraceIndex) -> None:
    said = [sentence_of(index, step) for step in range(4)]
    pairs = "Each unit is a product of two units, each pair in one order: 4 × 5 / 2 = 10 in the widest layer."
    inputs = "2 input layers become constant, each its sum or integral over its variables; other layers stay."
    stays = "It has no new parameters. 12 layers → 12"
    assert said == [
        "Before any operator: A has 12 layers.",
        f"multiply(A, A): {pairs} {stays}, 164 → 890 FLOP.",
        f"integrate(multiply(A, A), variables=(0, 1)): {inputs} {stays}, 890 → 870 FLOP.",
        "12 layers compiled, each a call: 5 Sum, 3 Hadamard, 2 ConstantValue, 2 Categorical.",
    ]
    checked = steps(index, {one.step: one for one in index.trace.check(rows())})
    verdicts = [view.get("verdict") for view in checked[:4]]
    assert verdicts == ["", "values as defined", "values as defined", "same values"]


def test_the_film_and_the_story_begin_with_operators(index: TraceIndex) -> None:
    assert [(frame["step"], frame["label"], frame["calls"]) for frame in film(index)][:4] == snapshot(
        [(0, "operands", 12), (1, "multiply", 12), (2, "integrate", 12), (6, "fuse, round 1", 9)]
    )
    assert [(at, scene["name"], scene["title"]) for at, found in story(index).items() for scene in found][
        :4
    ] == snapshot(
        [
            (0, "operator", "Operands"),
            (1, "operator", "Multiply"),
            (2, "operator", "Integrate"),
            (2, "circuit", "The circuit"),
        ]
    )


def test_each_layer_says_of_which_layers_of_the_operands_it_was_made(index: TraceIndex) -> None:
    assert lineage(index, 3, 3) == snapshot(
        [["symbolic layers", "3 (middle-left)"], ["made by multiply of", "layer 17 of A"]]
    )
    last = len(index.trace.steps) - 1
    assert lineage(index, last, max(index.trace.graph_at(-1).nodes))[1:] == snapshot(
        [["made by multiply of", "layers 16 to 21 of A"]]
    )


def test_circuits_that_are_not_combined_yet_are_one_below_the_other() -> None:
    index = TraceIndex(explorer.record(multiply(load_named("conflict"), load_named("conflict"))))
    assert sentence_of(index, 0) == "Before any operator: A has 12 layers, B has 12 layers."
    plates, circuits = placed(index, 0), index.circuits_at(0)
    a, b = ([one for one in plates if set(one[1]["cells"]) <= set(circuit.layers)] for circuit in circuits)
    assert len(a) + len(b) == len(plates)
    assert sorted(title for title, _, _ in a) == sorted(title for title, _, _ in b)
    assert max(top for _, _, top in a) < min(top for _, _, top in b)
    news = [[plate["news"] for _, plate, _ in one if plate["news"]] for one in (a, b)]
    assert news == [["output of A"], ["output of B"]]
    assert "16 = 4×4 units" in [plate["news"] for _, plate, _ in placed(index, 1)]


def placed(index: TraceIndex, step: int) -> list[tuple[str, PlateView, float]]:
    """Title, plate and height of each plate of a step."""
    shown = picture(index, step, group_by="plates")
    found = zip(shown.view["nodes"], shown.places, strict=True)
    return [(node["title"], node["plate"], place[1]) for node, place in found if "plate" in node]


def test_a_circuit_that_was_built_says_nothing_of_operators() -> None:
    index = TraceIndex(explorer.record(load_named("conflict")))
    assert index.trace.start == 0
    assert [row[0] for row in lineage(index, 0, 3)] == ["symbolic layers"]


def test_a_saved_trace_keeps_operators(index: TraceIndex, tmp_path) -> None:
    index.trace.save(tmp_path / "product.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "product.json"))
    for step in range(4):
        assert sentence_of(loaded, step) == sentence_of(index, step)
    assert lineage(loaded, 3, 3) == lineage(index, 3, 3)
    assert picture(loaded, 1, group_by="plates").view == picture(index, 1, group_by="plates").view


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


def rows() -> torch.Tensor:
    return torch.zeros((3, 4), dtype=torch.long)


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
