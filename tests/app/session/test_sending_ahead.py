"""Pictures of neighbouring steps are sent while the reader rests, and none that the reader must not or cannot see."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from explorer.app.session import sending_ahead
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.sending_ahead import SendingAhead
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.timings import PartTime, estimate
from explorer.trace import StepCheck


class Page:
    """A page that keeps what it is told to keep; `rest` lets time pass."""

    def __init__(self, session: Session) -> None:
        self.kept: dict[int, dict[str, Any]] = {}
        self.order: list[int] = []
        self.last: Mapping[str, Any] = {}
        self._due: list[Callable[[], None]] = []
        self.ahead = SendingAhead(session, self.receive, self.later)

    def receive(self, message: Mapping[str, Any]) -> None:
        self.last = message
        self.kept = {step: view for step, view in self.kept.items() if step in message["keep"]}
        if "picture" in message:
            self.kept[message["step"]] = json.loads(message["picture"])
            self.order.append(message["step"])

    def later(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        self._due.append(action)
        return lambda: self._due.remove(action) if action in self._due else None

    def rest(self, pictures: int = 100) -> None:
        while self._due and pictures:
            self._due.pop(0)()
            pictures -= 1

    @property
    def waits(self) -> bool:
        return bool(self._due)


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_state(Library(), ViewState(circuit="digits"))


@pytest.fixture
def page(opened: Opened) -> Page:
    page = Page(Session(opened, ViewState(step=7)))
    page.ahead.start()
    return page


def test_the_nearest_steps_that_changed_something_come_first(page: Page) -> None:
    page.rest()
    assert page.order == [7, 8, 3, 9, 0, 10, 6]
    assert all(view == page.ahead.session.picture_at(step).view for step, view in page.kept.items())
    assert "picture" not in page.last  # the trait does not hold a picture for ever


def test_nothing_is_sent_before_the_page_is_there(opened: Opened) -> None:
    page = Page(Session(opened, ViewState(step=7)))
    page.ahead.session.go(8)
    assert not page.waits


def test_a_step_cancels_what_was_due_and_sends_only_what_is_missing(page: Page) -> None:
    page.rest(2)
    assert page.order == [7, 8]
    page.ahead.session.go(8)
    page.rest()
    assert page.order == [7, 8, 9, 10, 3, 0]
    assert set(page.kept) == {7, 8, 9, 10, 3, 0}


@pytest.mark.parametrize(
    "change",
    [
        lambda session: session.change_look(mode="after"),
        lambda session: session.add_findings(layer_times={"cpu": {7: {5: PartTime(estimate([0.001]))}}}),
        lambda session: session.open(session.opened, ViewState(step=3)),
    ],
)
def test_pictures_that_may_be_different_are_dropped_at_once_and_sent_again(page: Page, change: Any) -> None:
    page.rest()
    change(page.ahead.session)
    assert page.kept == {}
    page.rest()
    session = page.ahead.session
    assert page.last["view"]["mode"] == session.look.mode
    assert all(view == session.picture_at(step).view for step, view in page.kept.items())


def test_checked_outputs_leave_the_pictures_on_the_page(page: Page, opened: Opened) -> None:
    page.rest()
    kept, shown = set(page.kept), page.ahead.session.picture()
    page.ahead.session.add_findings(checks={3: StepCheck(3, opened.trace.steps[3].path, 0.0, "exact", 0.0)})
    assert set(page.kept) == kept
    assert page.ahead.session.picture() is shown


def test_a_page_keeps_a_bounded_number_of_characters(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(json.dumps(page.ahead.session.picture().view))
    monkeypatch.setattr(sending_ahead, "MAX_CHARACTERS", 3 * size)
    page.rest()
    assert 1 <= len(page.kept) < 7
    assert not page.waits


def test_a_picture_without_room_is_not_drawn_again_at_each_rest(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_ahead, "MAX_CHARACTERS", 10)
    session, drawn = page.ahead.session, []
    draw = session.picture_at
    monkeypatch.setattr(session, "picture_at", lambda step: drawn.append(step) or draw(step))
    page.rest()
    for _ in range(3):
        session.select(list(session.boxes)[:1])
        session.select([])
        page.rest()
    assert drawn == [7]
    session.change_look(mode="after")
    page.rest()
    assert drawn == [7, 7]


def test_each_step_comes_with_the_selection_that_follows_the_lineage(page: Page) -> None:
    session = page.ahead.session
    session.select(list(session.boxes)[:1])
    page.rest()
    assert page.last["from"] == list(session.selection)
    for step, boxes in page.last["selections"].items():
        other = Session(session.opened, session.state)
        other.go(int(step))
        assert list(other.selection) == boxes
    assert page.last["selections"]["8"]
