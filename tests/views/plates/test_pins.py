"""Pins say why layers are not fewer, outside the plates."""

import pytest

import explorer
from explorer.trace import MatchRefused
from explorer.views import TraceIndex, add_what_ifs, picture
from explorer.views.hulls import is_trivial, stops_of
from explorer.views.lines import overlap
from explorer.views.plates.pen import word_rects
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


def test_a_question_shows_no_pins():
    assert picture(index_of("hmm"), 7, "plain", group_by="plates").view.get("pins") == []


def test_a_trace_of_a_file_has_the_same_pins(tmp_path):
    trace = explorer.record(explorer.gallery.load_named("conflict"))
    trace.save(tmp_path / "trace.json")
    loaded = TraceIndex(explorer.Trace.load(tmp_path / "trace.json"))
    assert picture(loaded, 3, group_by="plates").view.get("pins") == pins("conflict", 3)
