"""Actions offered with a picture: buttons next to the message and the note; and pictures too large to draw."""

import pytest
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, grouping, messages, picture
from tests.views.showing import index_of


def actions(index, step, **options):
    found = picture(index, step, **options).view.get("actions", [])
    return [(action["name"], action["label"], action.get("beside")) for action in found]


def test_a_step_without_matches_offers_its_closest_near_misses():
    index = index_of("near-misses")
    offered = [("show-near-misses:Candecomp", "Show them", "message")]
    step = next(step.index for step in index.trace.steps if actions(index, step.index) == offered)
    assert "Closest: Candecomp" in picture(index, step).view["message"]
    shown = picture(index, step, near_misses="Candecomp").view
    assert {hull["kind"] for hull in shown["hulls"]} == {"near-miss"}
    assert actions(index, step, near_misses="Candecomp") == []


def test_a_step_that_changed_something_offers_nothing():
    assert [actions(index_of("conflict"), step) for step in (0, 3, 7)] == [[], [], []]


@pytest.mark.filterwarnings("ignore:Stopped optimizing at the limit")
def test_a_step_at_the_limit_of_rounds_offers_to_run_more():
    index = TraceIndex(explorer.record(gallery.load_named("sum-chain"), max_rounds=2))
    at = next(step.index for step in index.trace.steps if step.limits)
    assert actions(index, at) == [("run-more", "Run more", "message")]


@pytest.fixture
def at_most_100(monkeypatch):
    """With a limit of 100 boxes, digits is as good as a circuit of thousands of layers."""
    for module in (grouping, messages):
        monkeypatch.setattr(module, "MAX_DRAWN_BOXES", 100)
    return TraceIndex(explorer.record(gallery.load_named("digits")))


def test_more_boxes_than_the_limit_are_drawn_only_on_request(at_most_100):
    index = at_most_100
    grouped = picture(index, 0, group_by="none").view
    assert (grouped["group_by"], len(grouped["nodes"])) == ("fold", 8)
    assert grouped["note"] == snapshot("170 layers. Showing 8 groups.")
    assert actions(index, 0, group_by="none") == [("show-all", "Draw all 170 layers", "note")]
    assert actions(index, 0) == actions(index, 0, group_by="none")
    everything = picture(index, 0, group_by="none", everything=True).view
    assert (everything["group_by"], len(everything["nodes"])) == ("none", 170)
    assert everything.get("actions") == []
    assert everything["note"] == "170 layers."


def test_a_small_picture_has_one_box_per_node(at_most_100):
    index = at_most_100
    last = len(index.trace.steps) - 1
    view = picture(index, last, group_by="none").view
    assert (view["group_by"], view.get("actions")) == ("none", [])
    assert len(view["nodes"]) < 100
