"""A drawing and a session stay synchronized, without echoes; the drawing here is a plain host in memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from explorer.app.session.library import Library
from explorer.app.session.linking import GraphLink, UserChangeCallback
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import Session
from explorer.app.session.view_state import DisplayOptions, ViewState, view_state_of_query
from explorer.errors import ShapeError, UnknownNameError
from explorer.trace import Trace
from explorer.views import SHOW_ALL, SHOW_MISSES, WHAT_IF, counterparts
from explorer_widgets.theme import CLOSEUPS


class Host:
    """A browser's side; like real hosts it calls back at once on every assignment."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.step, self.selection, self.view = 0, [], {"zoom": {"k": 2}}
        self.picture: Any = None
        self.coordinates = b""
        self.steps: Any = []
        self.details: Any = None
        self.values: Any = None
        self.living: Any = None
        self.reader: UserChangeCallback = lambda changes: None

    def show_picture(self, picture: Any, coordinates: bytes) -> None:
        self.calls.append("picture")
        self.picture, self.coordinates = picture, coordinates

    def show_steps(self, steps: Sequence[Any], step: int) -> None:
        self.calls.append("steps")
        self.steps, self.step = steps, step
        self.reader({"step": step})

    def show_details(self, details: Any) -> None:
        self.calls.append("details")
        self.details = details

    def show_values(self, values: Any) -> None:
        self.calls.append("values")
        self.values = values

    def show_living(self, living: Any) -> None:
        self.living = living

    def show_state(self, step: int, selection: Sequence[str], view: Mapping[str, Any]) -> None:
        self.calls.append("state")
        self.step, self.selection, self.view = step, list(selection), {**self.view, **view}
        self.reader({"step": self.step, "selection": self.selection, "view": self.view})

    def on_user_change(self, callback: UserChangeCallback) -> None:
        self.reader = callback

    def did(self) -> list[str]:
        found, self.calls = self.calls, []
        return found


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_state(Library(), ViewState(circuit="digits"))


@pytest.fixture
def linked(opened: Opened) -> tuple[Session, Host, list[frozenset[str]]]:
    session, host, events = Session(opened, ViewState(step=3)), Host(), []
    GraphLink(session, host)
    session.listen(events.append)
    host.did()
    return session, host, events


Linked = tuple[Session, Host, list[frozenset[str]]]


def test_everything_is_drawn_initially(opened: Opened) -> None:
    session, host = Session(opened, ViewState(step=3, look=DisplayOptions(mode="after"))), Host()
    GraphLink(session, host)
    assert sorted(host.did()) == ["details", "picture", "state", "steps", "values"]
    assert (host.step, host.view["mode"], host.view["zoom"]) == (3, "after", {"k": 2})
    assert len(host.steps) == len(opened.trace.steps)
    assert host.picture["step"] == 3
    numbers = np.frombuffer(host.coordinates, "<f4").reshape(-1, 4)
    assert len(numbers) == len(host.picture["nodes"])


def test_the_camera_of_a_trace_is_not_that_of_the_next(opened: Opened) -> None:
    session, host = Session(opened, ViewState(step=3)), Host()
    GraphLink(session, host)
    session.go(4)
    assert host.view["zoom"] == {"k": 2}
    session.open(opened, ViewState())
    assert host.view["zoom"] is None


def test_the_weights_are_sent_on_request(linked: Linked) -> None:
    _, host, _ = linked
    assert host.living is None
    host.reader({"request": {"name": "living", "n": 1}})
    sent: Any = host.living
    assert len(sent["layers"]) == 170


def test_an_action_of_the_reader_changes_the_session_once(linked: Linked) -> None:
    session, host, events = linked
    host.reader({"step": 9})
    assert (session.step, events) == (9, [frozenset({"step"})])
    assert host.did() == ["picture", "state", "details"]
    assert host.picture["step"] == 9
    box = host.picture["nodes"][0]["id"]
    host.reader({"selection": [box]})
    assert (session.selection, events[1:]) == ((box,), [frozenset({"selection"})])
    assert host.did() == ["state", "details"]
    assert host.details["id"] == box
    host.reader({"view": {"mode": "after", "colour_by": "kind", "group_by": "none", "hull": "h1", "tab": "x"}})
    assert session.look == DisplayOptions(mode="after", colour_by="kind", group_by="none")
    assert host.picture["group_by"] == "none"


def test_simultaneous_changes_are_applied_together(linked: Linked) -> None:
    session, host, _ = linked
    box = next(iter(Session(session.opened, ViewState(step=8, look=DisplayOptions(mode="after"))).boxes))
    host.reader({"selection": [box], "step": 8, "view": {"mode": "after"}})
    assert (session.step, session.selection, session.look.mode) == (8, (box,), "after")
    assert (host.step, host.selection, host.view["mode"]) == (8, [box], "after")


def test_a_slide_of_another_step_is_drawn_once(linked: Linked) -> None:
    session, host, events = linked
    host.reader({"step": 7, "view": {"mode": "diff", "slides": "fold"}})
    assert (session.step, session.look.slides, host.view["slides"]) == (7, "fold", "fold")
    assert len(events) == 1
    assert [name for name in host.did() if name == "picture"] == ["picture"]


def test_a_change_without_effect_is_not_drawn_again(linked: Linked) -> None:
    _, host, events = linked
    host.reader({"step": 3, "selection": [], "view": {"mode": "diff", "zoom": None}})
    assert (host.did(), events) == ([], [])


def test_changes_of_the_session_are_drawn_without_an_echo(linked: Linked) -> None:
    session, host, events = linked
    session.go(8)
    assert (host.step, host.picture["step"]) == (8, 8)
    session.change_look(mode="before")
    assert host.view["mode"] == host.picture["mode"] == "before"
    session.select([next(iter(session.boxes))])
    assert host.selection == list(session.selection)
    assert events == [frozenset({"step"}), frozenset({"look"}), frozenset({"selection"})]


@pytest.mark.parametrize(("step", "found"), [(-5, 0), (99, 11)])
def test_a_step_beyond_the_ends_is_the_end(linked: Linked, step: int, found: int) -> None:
    session, host, _ = linked
    host.reader({"step": step})
    assert (session.step, host.step) == (found, found)


def test_requests_are_dispatched_to_their_handlers(opened: Opened) -> None:
    calls: list[str] = []
    answers: dict[str, Callable[[], None]] = {name: lambda name=name: calls.append(name) for name in ("why-not", "x")}
    host = Host()
    GraphLink(Session(opened, ViewState()), host, answers)
    for request in ({"name": "why-not", "n": 1}, {"name": "x", "n": 1}, {"name": "foreign", "n": 1}, {}):
        host.reader({"request": request})
    assert calls == ["why-not", "x"]


def test_the_actions_of_a_picture_are_answered(linked: Linked) -> None:
    session, host, _ = linked
    host.reader({"request": {"name": SHOW_MISSES + "SumCollapse", "n": 1}})
    assert session.look.near_misses == "SumCollapse"
    assert any(hull["kind"] == "near-miss" for hull in host.picture["hulls"])
    host.reader({"request": {"name": SHOW_ALL, "n": 2}})
    assert (session.look.group_by, session.look.everything) == ("none", True)
    assert host.view["group_by"] == "none"


def test_what_if_is_answered_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    session, host = Session(open_state(Library(), ViewState(circuit="near-misses")), ViewState(step=3)), Host()
    asked: list[int] = []
    what_if = Trace.what_if

    def count(trace: Trace, *question: Any) -> Any:
        asked.append(1)
        return what_if(trace, *question)

    monkeypatch.setattr(Trace, "what_if", count)
    GraphLink(session, host)
    session.change_look(mode="before", group_by="plates")

    def answers() -> dict[str, str]:
        hulls = [hull for hull in (*host.picture["hulls"], *host.picture["misses"]) if hull["kind"] == "near-miss"]
        return {hull["id"]: hull["lens"]["what_if"]["text"] for hull in hulls if "what_if" in hull.get("lens", {})}

    assert set(answers().values()) == {""}
    assert asked == []
    first, second = list(answers())[:2]
    host.did()
    host.reader({"request": {"name": WHAT_IF + first, "n": 1}})
    assert host.did() == ["picture"]
    assert (bool(answers()[first]), answers()[second], len(asked)) == (True, "", 1)


def test_invalid_values_of_the_browser_are_typed_errors_and_change_nothing(linked: Linked) -> None:
    session, host, events = linked
    before = session.state
    for changes in ({"view": {"mode": "x"}}, {"request": {"name": SHOW_MISSES + "x"}}):
        with pytest.raises(UnknownNameError):
            host.reader(changes)
    host.reader({"view": {"mode": 3}, "selection": ["nothing"]})
    assert (session.state, events) == (before, [])


def test_a_guard_wraps_the_actions_of_the_reader(opened: Opened) -> None:
    failed: list[Exception] = []

    def guard(action: UserChangeCallback) -> UserChangeCallback:
        def guarded(changes: Mapping[str, Any]) -> None:
            try:
                action(changes)
            except UnknownNameError as error:
                failed.append(error)

        return guarded

    host = Host()
    GraphLink(Session(opened, ViewState()), host, guard=guard)
    host.reader({"view": {"mode": "x"}})
    assert [str(error) for error in failed] == ["no mode named 'x'; known are: diff, before, after, side, plain"]


def test_a_closed_link_draws_nothing_more(opened: Opened) -> None:
    session, host = Session(opened, ViewState()), Host()
    link = GraphLink(session, host)
    host.did()
    link.close()
    session.go(3)
    assert host.did() == []


def test_values_are_run_when_the_reader_asks_for_them(linked: Linked) -> None:
    _, host, events = linked
    assert host.values is None
    host.reader({"view": {**host.view, "painted": [1] * 64}})
    host.reader({"request": {"name": "values", "n": 1}})
    assert events == [frozenset({"values"})]
    assert host.did() == ["values"]
    shown: Any = host.values
    assert [run["label"] for run in shown["runs"]] == ["0", "1", "3", "7", "yours"]
    host.reader({"request": {"name": "values", "n": 2}})
    assert host.values != shown  # so the page sees that the same values have arrived
    host.reader({"view": {**host.view, "painted": [1]}})
    with pytest.raises(ShapeError):
        host.reader({"request": {"name": "values", "n": 3}})
    failed: Any = host.values
    assert "expected 64 finite numbers" in failed["missing"]


def test_parameters_are_added_to_the_details_while_the_close_up_shows_them(linked: Linked) -> None:
    session, host, _ = linked
    session.select([next(name for name, nodes in session.boxes.items() if 64 in nodes)])
    assert host.details["closeup"]["parameters"]["sheets"] == []
    host.view = {**host.view, "closeup": "parameters", "slice": 3}
    host.reader({"view": host.view})
    assert [sheet["shape"] for sheet in host.details["closeup"]["parameters"]["sheets"]] == ["16×16"] * 2
    assert host.details["closeup"]["parameters"]["slice"] == 3
    for part in CLOSEUPS:
        host.reader({"view": {**host.view, "closeup": part}})
        assert session.state.closer.closeup == part


def test_a_key_that_shows_the_state_before_and_a_match_there_shows_both_at_once(
    linked: tuple[Session, Host, list[frozenset[str]]],
) -> None:
    session, host, events = linked
    seen: list[tuple[str, str]] = []
    session.listen(lambda names: seen.append((session.look.mode, session.state.closer.hull)))
    host.reader({"view": {**host.view, "mode": "before", "hull": "hull-0", "match": 0}})
    assert seen == [("before", "hull-0")]
    assert events == [frozenset({"look", "closer"})]
    assert (host.view["mode"], host.view["hull"]) == ("before", "hull-0")


def test_layers_are_selected_within_their_plates(linked: Linked) -> None:
    session, host, events = linked
    first, second = (node for node in host.picture["nodes"][:2])
    one, other = first["plate"]["cells"][:2]
    host.reader({"selection": [first["id"]], "view": {"layers": [one]}})
    assert (session.selected_layers, events) == ((one,), [frozenset({"selection"})])
    assert session.selected_nodes == session.inspected_nodes == (one,)
    assert (host.details["id"], host.details["layer"]) == (first["id"], one)
    assert f"#{one}" in host.details["title"]
    assert f"y{one} = " in host.details["closeup"]["code"]["lines"][-1]
    host.reader({"view": {"layers": [one, other]}})
    assert (session.selected_layers, session.selection) == ((one, other), (first["id"],))
    assert host.details["layer"] == other
    assert len(events) == 2
    host.reader({"selection": [second["id"]]})  # what was clicked in a plate that is not selected counts no longer
    assert (session.selected_layers, host.view["layers"]) == ((second["ids"][0],), [])


def test_a_clicked_layer_is_selected_when_its_plate_arrives_later(linked: Linked) -> None:
    session, host, _ = linked
    first = host.picture["nodes"][0]
    clicked = first["plate"]["cells"][1]
    host.reader({"view": {**host.view, "layers": [clicked]}})
    assert session.selected_layers == ()
    host.reader({"selection": [first["id"]]})
    assert session.selected_layers == session.layers == (clicked,)
    assert host.details["layer"] == clicked


@pytest.fixture
def two_layers(linked: Linked) -> tuple[Session, Host, str, str]:
    """A host in which two layers of a plate are selected, that plate, and a different one."""
    session, host, _ = linked
    first, second = (node for node in host.picture["nodes"][:2])
    host.view |= {"layers": first["plate"]["cells"][:2]}
    host.reader({"selection": [first["id"]], "view": host.view})
    return session, host, first["id"], second["id"]


def test_layers_stay_deselected_after_the_session_has_selected_their_plate_again(
    two_layers: tuple[Session, Host, str, str],
) -> None:
    session, host, plate, _ = two_layers
    assert len(session.selected_layers) == 2
    session.select([])
    session.select([plate])
    host.reader({"view": {**host.view, "zoom": {"k": 1}}})
    assert (host.view["layers"], session.layers) == ([], ())
    assert session.selected_layers == (session.boxes[plate][0],)


def test_layers_stay_selected_when_a_box_is_added(two_layers: tuple[Session, Host, str, str]) -> None:
    session, host, plate, other = two_layers
    layers = session.selected_layers
    host.reader({"selection": [plate, other]})
    assert (session.selection, session.selected_layers) == ((plate, other), (*layers, session.boxes[other][0]))
    assert host.view["layers"] == list(layers)


def test_clicked_layers_follow_their_lineage(linked: Linked) -> None:
    session, host, _ = linked
    session.go(0)
    sums = next(node for node in host.picture["nodes"] if node["title"] == "Sum" and len(node["ids"]) > 1)
    clicked = sums["plate"]["cells"][1]
    host.reader({"selection": [sums["id"]], "view": {**host.view, "layers": [clicked]}})
    last = len(session.opened.trace.steps) - 1
    followed = counterparts(session.index, 0, [clicked], session.index, last).ids
    host.reader({"step": last})
    assert session.selection == session.selection_at(last)
    assert set(session.selected_nodes) == set(followed)


def test_selecting_nodes_selects_only_these_layers_of_a_plate(linked: Linked) -> None:
    session, host, _ = linked
    cells = next(node["plate"]["cells"] for node in host.picture["nodes"] if len(node["ids"]) > 2)
    session.select_nodes(cells[:2])
    assert set(session.selected_layers) == set(host.view["layers"]) == set(cells[:2])
    session.select_nodes(cells)
    assert (set(session.selected_nodes), host.view["layers"]) == (set(cells), [])


def test_beliefs_are_in_the_link_and_stay_at_another_step(linked: Linked) -> None:
    session, host, _ = linked
    host.reader({"view": {**host.view, "beliefs": True}})
    session.go(3)
    assert host.view["beliefs"] is True
    other = Host()
    GraphLink(Session(session.opened, view_state_of_query(session.state.query())), other)
    assert other.view["beliefs"] is True
