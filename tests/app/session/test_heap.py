"""The traces of closed sessions are freed, although large ones are hidden from the garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from explorer.app.session import opening
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.options import CompilerOptions


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_sessions_share_the_trace_of_a_circuit_of_the_gallery() -> None:
    one = open_state(Library(), ViewState(circuit="near-misses", step=3))
    other = open_state(Library(), ViewState(circuit="near-misses", other=ViewState()))
    assert one is other
    options = CompilerOptions(disable=("SumCollapse",))
    assert open_state(Library(), ViewState(circuit="near-misses", options=options)) is not one


class Cycle:
    """Refers to itself, as a page does, and holds a trace."""

    def __init__(self, trace: object) -> None:
        self.itself, self.trace = self, trace


def test_trace_of_closed_pages_is_freed_although_hidden_from_the_collector() -> None:
    place = ViewState(circuit="near-misses", options=CompilerOptions(seed=77))
    session = Session(open_state(Library(), place), place)
    session.picture()
    page, trace = Cycle(session), weakref.ref(session.opened.trace)
    opening.settle_heap()  # as after opening a large one
    del session, page
    gc.collect()
    assert trace() is not None
    opening.release_heap()
    assert trace() is None
    assert gc.get_freeze_count() > 0


def test_large_trace_is_hidden_from_the_collector_before_its_views_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "LARGE", 1)
    collected: list[str] = []
    found: list[bool] = []

    def listen(phase: str, info: dict[str, int]) -> None:
        collected.append(phase)

    def draw(opened: Opened) -> None:
        found.append(any(one is opened.trace for one in gc.get_objects()))

    gc.collect()
    gc.disable()  # automatic collections, which are short since they look at new objects only
    gc.callbacks.append(listen)
    try:
        opened = open_state(Library(), ViewState(circuit="near-misses", options=CompilerOptions(seed=78)), None, draw)
        found.append(any(one is opened.index for one in gc.get_objects()))
    finally:
        gc.callbacks.remove(listen)
        gc.enable()
    assert found == [False, False]
    assert collected == []


def test_the_trace_of_a_large_circuit_is_freed_without_a_collection() -> None:
    place = ViewState(circuit="near-misses", options=CompilerOptions(seed=79))
    session = Session(open_state(Library(), place), place)
    session.picture()
    session.steps()
    trace, index = weakref.ref(session.opened.trace), weakref.ref(session.index)
    gc.disable()
    try:
        opening.settle_heap()
        session.close()
        assert (trace(), index()) == (None, None)
    finally:
        gc.enable()


def test_sessions_that_end_together_release_the_heap_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for timer in opening._timers:  # of a page that another test closed
        timer.join()
    released: list[int] = []
    monkeypatch.setattr(opening, "release_heap", lambda: released.append(1))
    monkeypatch.setattr(opening, "RELEASE_SECONDS", 0.05)
    for _ in range(3):
        opening.release_heap_soon()
    opening._timers[0].join()
    assert released == [1]
