"""Back and Forward, without a browser: what each action writes into the address, and what an address opens."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import explorer
from explorer.app.dashboard import dashboard
from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.session.library import Library
from explorer.app.session.opening import read_link
from explorer.app.session.view_state import ViewState, view_state_of_query
from explorer.options import CompilerOptions
from explorer.templates import gallery
from explorer.trace import StepCheck
from explorer.views import TraceIndex, counterparts
from tests.waiting import PATIENCE

CONFLICT = "?circuit=conflict"
CHECK = StepCheck(3, "optimize/round 1/fuse", 0.0, "exact", 0.0)


class Page:
    """A dashboard that works by `work`, and the addresses that it wrote: (query, whether it replaces)."""

    def __init__(self, made: Dashboard, delivered: "Queue[Callable[[], None]]") -> None:
        self.made = made
        self.session = made.workspace.session
        self.delivered = delivered
        self.written: list[tuple[str, bool]] = []
        show = made.browser.show_address

        def note(query: str, *, replaces: bool = False) -> None:
            if query != made.browser.address:
                self.written.append((query, replaces))
            show(query, replaces=replaces)

        made.browser.show_address = note

    def work(self) -> list[tuple[str, bool]]:
        """Do the work that waits; return what was written since the last time."""
        workspace = self.made.workspace
        jobs = (workspace.background, workspace.quiet_background, workspace.drawing_background)
        jobs += (workspace.inputs_background,)
        while any(one.job for one in jobs) or not self.delivered.empty():
            self.delivered.get(timeout=PATIENCE)()
        written, self.written[:] = list(self.written), []
        return written

    def back(self, query: str) -> None:
        """Do what the browser does at Back and Forward."""
        self.made.browser.address = query


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Page]:
    delivered: Queue[Callable[[], None]] = Queue()
    monkeypatch.setattr(dashboard, "deliver", lambda document, action: delivered.put(action))

    def opened(query: str) -> Page:
        page = Page(Dashboard(Library(tmp_path), view_state_of_query(query)), delivered)
        page.made.on_load()
        page.work()
        return page

    return opened


def test_each_action_writes_one_entry_and_back_none(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    page.session.go(3)
    assert page.work() == [(f"{CONFLICT}&step=3", False)]
    page.session.change_look(mode="after")
    assert page.work() == [(f"{CONFLICT}&step=3&mode=after", False)]
    page.back(f"{CONFLICT}&step=3")
    assert page.work() == []
    assert (page.session.step, page.session.look.mode) == (3, "diff")


def test_findings_are_no_entries_and_survive_back(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    page.session.go(3)
    page.work()
    page.session.add_findings(checks={3: CHECK})
    page.back(CONFLICT)
    assert page.work() == []
    assert list(page.session.findings.checks) == [3]


def test_back_to_another_trace_opens_it(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    page.made.workspace.open(ViewState(circuit="levels"))
    assert page.work() == [("?circuit=levels", False)]
    page.back("?circuit=hmm&step=1&fold=no")
    assert page.work() == []
    assert (page.session.opened.name, page.session.opened.options.fold, page.session.step) == ("hmm", False, 1)


def test_back_ends_an_opening_but_no_other_work(opened: Callable[[str], Page]) -> None:
    page = opened(f"{CONFLICT}&step=3")
    page.back("?circuit=hmm")
    page.back(f"{CONFLICT}&step=3")  # Forward, before the trace was opened
    assert page.made.workspace.background.job is None
    assert page.work() == []
    assert page.session.opened.name == "conflict"
    page.made.workspace.open(ViewState(circuit="hmm"))
    page.back(CONFLICT)
    assert page.work() == []
    assert (page.session.opened.name, page.session.step) == ("conflict", 0)
    job = page.made.workspace.background.start("Timing", lambda job: None, lambda none: None, lambda error: None)
    page.back(f"{CONFLICT}&step=3")
    assert page.made.workspace.background.job is job
    page.work()


def test_an_action_while_another_trace_is_opened_does_not_end_the_opening(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    options = CompilerOptions(max_rounds=7)  # one that no session of another test shares, which opens at once
    page.made.workspace.open(ViewState(circuit="hmm", options=options))
    page.session.go(3)
    assert page.work() == [(f"{CONFLICT}&step=3", False), ("?circuit=hmm&max_rounds=7", False)]


def test_the_address_of_what_cannot_be_opened_is_replaced(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    for query, problem in (
        ("?circuit=gone.trace.json", "no circuit or trace named"),
        ("?circuit=conflict&mode=upside-down", "no mode named"),
    ):
        page.back(query)
        assert page.work() == [(CONFLICT, True)]
        assert problem in str(page.made.messages.text.object)
    page.back(f"{CONFLICT}&step=99")
    assert page.work() == [(f"{CONFLICT}&step=12", True)]
    assert str(page.made.messages.text.object) == ""


def test_an_address_that_could_not_be_read_back_is_no_error(opened: Callable[[str], Page], tmp_path: Path) -> None:
    trace = explorer.record(gallery.load_named("conflict"), max_rounds=5_000)
    trace.save(tmp_path / "many.trace.json")
    page = opened("?circuit=many.trace.json")
    page.session.go(2)
    assert page.work() == [("?circuit=many.trace.json&step=2&max_rounds=5000", False)]
    assert str(page.made.messages.text.object) == ""


def test_an_action_in_either_trace_of_a_comparison_is_one_entry(opened: Callable[[str], Page]) -> None:
    page = opened(f"{CONFLICT}&vs.circuit=conflict&vs.fold=no")
    other = page.made.workspace.other
    assert other is not None
    other.go(3)
    assert page.work() == [(f"{CONFLICT}&step=3&vs.circuit=conflict&vs.step=3&vs.fold=no", False)]
    page.session.go(6)
    assert page.work() == [(f"{CONFLICT}&step=6&vs.circuit=conflict&vs.step=6&vs.fold=no", False)]
    page.session.add_findings(checks={6: CHECK})
    page.back(f"{CONFLICT}&step=3&vs.circuit=conflict&vs.step=3&vs.fold=no")
    assert page.work() == []
    assert (page.session.step, other.step, page.made.workspace.other) == (3, 3, other)
    assert list(page.session.findings.checks) == [6]


def test_the_trace_that_the_reader_changes_leads_and_the_other_one_follows(
    opened: Callable[[str], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = opened(f"{CONFLICT}&vs.circuit=conflict&vs.fold=no")
    other = page.made.workspace.other
    assert other is not None
    leaders: list[TraceIndex] = []

    def note(leader: TraceIndex, *more: Any) -> Any:
        leaders.append(leader)
        return counterparts(leader, *more)

    monkeypatch.setattr(dashboard, "counterparts", note)
    page.session.select([next(iter(page.session.boxes))])
    page.session.go(3)
    assert leaders == [page.session.index] * 2
    assert other.selection
    other.go(2)
    other.select([])
    assert leaders[2:] == [other.index] * 2
    assert page.session.selection == ()
    page.made.workspace.show_other(None)
    other.go(1)  # a message of the removed graph that comes late
    assert (page.session.step, page.session.state.other) == (2, None)


def test_back_from_and_to_a_comparison_opens_the_other_trace_only(opened: Callable[[str], Page]) -> None:
    page = opened(f"{CONFLICT}&vs.circuit=conflict&vs.fold=no")
    trace = page.session.opened
    page.back(CONFLICT)
    assert page.made.workspace.background.job is None
    assert page.work() == []
    assert (page.made.workspace.other, page.session.state.other) == (None, None)
    page.back(f"{CONFLICT}&vs.circuit=conflict&vs.optimize=no")
    assert page.work() == []
    other = page.made.workspace.other
    assert other is not None
    assert other.opened.options == CompilerOptions(optimize=False)
    assert page.session.opened is trace


def test_a_comparison_that_is_cancelled_while_it_opens_leaves_the_address(opened: Callable[[str], Page]) -> None:
    page = opened(CONFLICT)
    page.back(f"{CONFLICT}&vs.circuit=mnist")
    page.made.workspace.background.cancel()
    assert page.work() == [(CONFLICT, True)]
    page.session.go(3)
    assert page.work() == [(f"{CONFLICT}&step=3", False)]


def test_a_trace_to_compare_with_that_cannot_be_opened_leaves_the_address(opened: Callable[[str], Page]) -> None:
    page = opened(f"{CONFLICT}&vs.circuit=nope")
    assert "no circuit or trace named" in str(page.made.messages.text.object)
    assert page.session.state.other is None
    page.back(f"{CONFLICT}&vs.circuit=nope")
    assert page.work() == [(CONFLICT, True)]
    assert "no circuit or trace named" in str(page.made.messages.text.object)


def test_rule_lens_and_close_up_are_in_the_address_and_back_leaves_them_at_once(
    opened: Callable[[str], Page],
) -> None:
    page = opened(f"{CONFLICT}&step=3&mode=before")
    link = f"{CONFLICT}&step=3&mode=before"
    page.made.graph.view = {**page.made.graph.view, "hull": "hull-0", "match": 0}
    assert page.work() == [(f"{link}&hull=hull-0", False)]
    page.made.graph.view = {**page.made.graph.view, "hull": "hull-1", "match": 2}
    assert page.work() == [(f"{link}&hull=hull-1&match=2", True)]
    page.back(link)
    assert (page.session.state.closer.hull, page.made.graph.view["hull"]) == ("", "")
    page.back(f"{link}&hull=hull-1&match=2&closeup=code")
    shown = page.made.graph.view
    assert (shown["hull"], shown["match"], shown["closeup"]) == ("hull-1", 2, "code")
    page.work()
    page.session.go(0)
    assert page.work() == [(f"{CONFLICT}&mode=before&closeup=code", False)]


def test_a_bad_word_in_a_link_keeps_the_rest() -> None:
    query = "?circuit=conflict&step=3&preset=odd"
    state, problem = read_link(query)
    assert (state.circuit, state.step, state.options) == ("conflict", 3, CompilerOptions())
    assert problem.startswith("Not understood in the link: ")


def test_a_run_of_the_inputs_keeps_the_comparison_that_is_opened_or_about_to_be(opened: Callable[[str], Page]) -> None:
    page = opened(f"{CONFLICT}&closeup=values")
    workspace, other = page.made.workspace, ViewState(circuit="conflict", options=CompilerOptions(fold=False))
    for is_first in (True, False):
        page.session.state = replace(page.session.state, other=other)
        if is_first:  # a page that has just loaded: nothing is opened yet
            page.made.graph.request = {"name": "values", "n": 1}
            while workspace.inputs_background.job:
                page.delivered.get(timeout=PATIENCE)()
        workspace.open_other(other)
        page.made.graph.request = {"name": "values", "n": 2 + is_first}
        page.work()
        assert workspace.other is not None
        assert page.session.values is not None
        assert not page.session.values["missing"]
        workspace.show_other(None)
