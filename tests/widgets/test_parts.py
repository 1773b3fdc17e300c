"""A page stores a recording in parts of consecutive steps, and can show each without the others."""

import pytest

import explorer_widgets.parts
from explorer_widgets import page_html
from explorer_widgets.parts import cut
from tests.widgets.samples import recording
from tests.widgets.stored import read_page


def test_small_steps_share_a_part_and_large_ones_have_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    head, parts = cut(recording())
    assert (head["part_of"], len(parts)) == ({"0": 0, "1": 0, "2": 0}, 1)
    monkeypatch.setattr(explorer_widgets.parts, "PART_CHARACTERS", 1)
    head, parts = cut(recording())
    assert head["part_of"] == {"0": 0, "1": 1, "2": 2}
    assert [list(part["pictures"]) for part in parts] == [[f"{step}/diff/change/fold"] for step in range(3)]
    assert [list(part["details"]) for part in parts] == [["0/Sum"], [], []]


def test_the_head_names_all_pictures_and_has_none() -> None:
    head, _ = cut(recording())
    assert head["looks"] == list(recording()["pictures"])
    assert set(head) == {"version", "title", "steps", "looks", "part_of"}


def test_a_part_has_the_buffers_of_its_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer_widgets.parts, "PART_CHARACTERS", 1)
    shown = recording()
    shown["buffers"] = ["first", "second"]  # pyright: ignore[reportGeneralTypeIssues]
    for step, state in enumerate((0, 1, 1)):
        picture = shown["pictures"][f"{step}/diff/change/fold"]
        picture["recorded_buffers"] = {"state": state, "scale": {"height": 1, "ticks": []}}
    assert [part["buffers"] for part in cut(shown)[1]] == [{"0": "first"}, {"1": "second"}, {"1": "second"}]


def test_the_parts_of_a_page_are_the_whole_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer_widgets.parts, "PART_CHARACTERS", 1)
    (read,) = read_page(page_html(recording()))["recordings"]
    assert {name: read[name] for name in recording()} == recording()


def test_a_step_that_shows_what_another_one_shows_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer_widgets.parts, "PART_CHARACTERS", 1)
    shown = recording()
    first, second = "0/diff/change/fold", "1/diff/change/fold"
    shown["pictures"][second] = {**shown["pictures"][first], "step": 1}
    shown["coordinates"][second] = shown["coordinates"][first]
    head, parts = cut(shown)
    assert head["part_of"] == {"0": 0, "1": 0, "2": 1}
    pictures = parts[0]["pictures"]
    assert pictures[second]["shared"] == pictures[first]["shared"]
    (read,) = read_page(page_html(shown))["recordings"]
    assert {name: read[name] for name in shown} == shown
