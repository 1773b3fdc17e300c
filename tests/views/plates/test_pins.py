"""Pins say why layers are not fewer, outside the plates."""

import tracemalloc
from itertools import pairwise

import pytest

import explorer
from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates.inputs import CategoricalInput
from explorer.templates.known_circuits import hmm
from explorer.trace import MatchRefused
from explorer.views import TraceIndex, add_what_ifs, picture
from explorer.views.hulls import is_trivial, stops_of
from explorer.views.lines import overlap
from explorer.views.plates.cells import plates_of
from explorer.views.plates.pen import word_rects
from explorer.views.plates.pin_places import Note, placed_notes
from explorer.views.plates.pin_scene import Scene
from explorer.views.plates.plates_svg import plates_elements
from explorer_widgets.schema import Mode
from tests.views.showing import index_of


def pins(name: str, step: int, mode: Mode = "diff"):
    return picture(index_of(name), step, mode, group_by="plates").view.get("pins", [])


def test_equal_layers_that_wait_for_each_other_say_so_after_folding():
    (pin,) = pins("hmm", 7)
    assert pin["text"] == "10 equal layers: each waits for the one before"
    assert len(pin["nodes"]) == len(pin["cells"]) == 10
    assert len(pin["strokes"]) * 2 == len(pin["ends"]) == 18
    assert not pins("hmm", 3)


def test_a_conflict_is_drawn_in_the_default_view_of_its_step():
    (pin,) = pins("conflict", 3)
    assert pin["kind"] == "contest"
    assert pin["text"] == "Two rules wanted Sum 5 and Sum 8"
    words = [mark.get("text", "") for mark in pin["marks"] if mark["tag"] == "text"]
    assert {"✓ SumCollapse won", "✕ Candecomp lost", "nearness to output", "order of rules: not needed"} <= {*words}
    assert pin.get("hull")
    assert not pins("conflict", 3, "before")


def test_blocked_matches_say_why_in_the_words_of_the_matcher():
    texts = [pin["text"] for pin in pins("near-misses", 3)]
    assert texts == [
        "Two rules wanted Sum 10",
        "Hadamard 5 feeds 2 layers: no Candecomp",
        "Hadamard 12 is an output: no Candecomp",
    ]
    assert [pin["text"] for pin in pins("near-misses", 10)] == texts[1:]


@pytest.mark.parametrize("name", ["hmm", "conflict", "near-misses", "digits", "levels", "squared"])
def test_pins_cover_no_plates_no_words_and_no_pins(name: str):
    index = index_of(name)
    for step in range(len(index.trace.steps)):
        shown = picture(index, step, group_by="plates")
        taken = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in shown.places]
        taken += word_rects(shown.view["nodes"], shown.places)
        for pin in shown.view.get("pins", []):
            x, y, width, height = pin["box"]
            area = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            assert not any(overlap(area, other) for other in taken), (step, pin["text"])
            assert area[3] <= shown.view["height"]
            taken.append(area)


def test_the_table_has_the_reasons_of_pins():
    view = picture(index_of("hmm"), 7, group_by="plates").view
    (pin,) = view.get("pins", [])
    assert {row[0] for row in view["table"]["rows"] if pin["reason"] in row[-1]} == {*pin["nodes"]}


def test_a_pin_has_an_answer_only_if_its_check_can_be_waived():
    index = index_of("near-misses")
    view = picture(index, 3, group_by="plates").view
    add_what_ifs(index, view)
    answers = {pin["text"]: pin["what_if"]["text"] for pin in view.get("pins", []) if "what_if" in pin}
    assert answers["Hadamard 5 feeds 2 layers: no Candecomp"].startswith("Candecomp would match 2 more times")
    assert "Two rules wanted Sum 10" not in answers


def test_attempts_that_ended_at_the_first_type_are_counted_and_no_stops():
    index = index_of("near-misses")
    others = stops_of(index, 3, None)[1]
    misses = [miss for stop in others for miss in stop.attempts if isinstance(miss, MatchRefused)]
    assert not any(is_trivial(miss) for miss in misses)
    progress = [miss.refusal.progress for miss in misses]
    assert progress == sorted(progress, reverse=True)
    view = picture(index, 3, "before", group_by="plates").view
    count = sum(map(is_trivial, index.step(3).refusals))
    places = [hull["lens"]["stop"] for hull in view.get("misses", []) if "lens" in hull]
    assert places
    assert all(place.endswith(f"{count} attempts at layers of another type") for place in places)


def shared(*users: int) -> Circuit:
    """Products that so many sums read each: one sum is what Candecomp needs."""
    b = CircuitBuilder()
    tops: list[int] = []
    for number, count in enumerate(users):
        inputs = [b.add(CategoricalInput(2)(2 * number + i, 4)) for i in (0, 1)]
        product = b.hadamard(*inputs)
        tops.append(b.sum(*(b.sum(product, num_units=4) for _ in range(count)), num_units=4))
    return b.build(b.sum(b.hadamard(*tops), num_units=1))


@pytest.mark.parametrize(("users", "said"), [((2, 2), "2"), ((3, 2), "2 or 3"), ((2, 5, 3), "2 to 5")])
def test_a_pin_of_several_layers_says_how_many_layers_each_feeds(users: tuple[int, ...], said: str):
    index = TraceIndex(explorer.record(shared(*users)))
    pin = picture(index, 3, group_by="plates").view.get("pins", [])[0]
    assert pin["text"] == f"{len(users)} Hadamard feed {said} layers: no Candecomp"
    assert "For example, #" in pin["reason"]


def test_thick_lines_are_reads_of_the_layers_that_refused():
    index = index_of("mnist")
    for step in (9, len(index.trace.steps) - 1):
        shown = picture(index, step, group_by="plates")
        pin = next(pin for pin in shown.view.get("pins", []) if pin["kind"] == "blocked")
        reads = list(zip(pin["ends"][::2], pin["ends"][1::2], strict=True))
        assert len({*reads}) == len(reads) == len(pin["strokes"]) == 12
        assert len({source for source, _ in reads}) == 6
        assert {*reads} <= {*map(tuple, plates_of(index, step).layers.edges.tolist())}


@pytest.mark.parametrize("name", ["hclt", "squared", "hmm"])
def test_thick_lines_are_drawn_over_the_lines_of_the_picture(name: str):
    index = index_of(name)
    shown = picture(index, len(index.trace.steps) - 1, group_by="plates")
    thin = "".join(plates_elements({**shown.view, "pins": []}, shown.places))
    for pin in shown.view.get("pins", []):
        assert all(str(mark.get("d")) in thin for mark in pin["strokes"])


def test_thick_lines_are_below_the_cells_in_an_image():
    index = index_of("digits")
    shown = picture(index, len(index.trace.steps) - 1, group_by="plates")
    elements = plates_elements(shown.view, shown.places)
    thick = [number for number, element in enumerate(elements) if 'stroke-width="2.8"' in element]
    cells = [number for number, element in enumerate(elements) if "x-number" in element]
    assert len(thick) == 16
    assert max(thick) < min(cells)


def test_two_matches_of_one_rule_are_not_two_rules():
    (pin,) = pins("sum-chain", 3)
    assert pin["text"] == "Two matches of SumCollapse wanted Sum 3 and 18 more layers"
    assert "lost" not in pin["reason"]
    words = [mark.get("text") for mark in pin["marks"] if mark["tag"] == "text"]
    assert {"✓ match at 4 won", "✕ match at 3 lost"} <= {*words}


def test_a_rule_that_declines_says_why_in_a_few_words():
    texts = {pin["text"]: pin["reason"] for pin in pins("squared", 5)}
    assert "28,444 to 40,216 operations" in texts["Sum 4: DenseKronecker declined, it does not pay"]


def test_reasons_without_a_pin_are_counted_and_named():
    *shown, more = pins("hclt", 28)
    assert [pin["kind"] for pin in shown] == ["waits", "waits", "levels", "levels"]
    assert more["text"] == "and 3 more reasons"
    assert more["reason"].startswith("Also: same key, levels 5 and 10; same key")
    assert not more["leader"]


def test_a_pin_about_a_dotted_line_is_on_it_where_there_is_room():
    view = picture(index_of("hclt"), 28, group_by="plates").view
    (pin,) = [pin for pin in view.get("pins", []) if pin["kind"] == "levels" and not pin["leader"]]
    link = next(link for link in view.get("links", []) if [link["source"], link["target"]] == pin["nodes"])
    x, y, *_ = pin["box"]
    sides = [tuple(map(sorted, zip(*ends, strict=True))) for ends in pairwise(link["points"])]
    assert any(x1 <= x <= x2 and y1 <= y <= y2 for (x1, x2), (y1, y2) in sides)


def test_a_pin_of_a_long_chain_needs_little_memory():
    index = TraceIndex(explorer.record(hmm(range(150), CategoricalInput(2), num_latent_states=2, homogeneous=True)))
    step = len(index.trace.steps) - 1
    shown = picture(index, step, group_by="plates")
    scene = Scene(shown.view, shown.places)
    tracemalloc.start()
    placed_notes([Note("waits", "text", "reason", list(scene.rects))], scene)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 60 * 2**20


def test_a_question_shows_no_pins():
    assert picture(index_of("hmm"), 7, "plain", group_by="plates").view.get("pins") == []


def test_a_trace_of_a_file_has_the_same_pins(tmp_path):
    trace = explorer.record(explorer.gallery.load_named("conflict"))
    trace.save(tmp_path / "trace.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "trace.json"))
    assert picture(loaded, 3, group_by="plates").view.get("pins") == pins("conflict", 3)
