"""The traces of closed sessions are freed, although large ones are hidden from the garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from explorer.app.session import heap
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
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


def test_the_trace_of_closed_pages_is_freed_although_it_is_hidden_from_the_collector() -> None:
    place = ViewState(circuit="near-misses", options=CompilerOptions(seed=77))
    session = Session(open_state(Library(), place), place)
    session.picture()
    page, trace = Cycle(session), weakref.ref(session.opened.trace)
    heap.settle_heap()  # as after opening a large one
    del session, page
    gc.collect()
    assert trace() is not None
    heap.release_heap()
    assert trace() is None
    assert gc.get_freeze_count() > 0


def test_sessions_that_end_together_release_the_heap_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for timer in heap._timers:  # of a page that another test closed
        timer.join()
    released: list[int] = []
    monkeypatch.setattr(heap, "release_heap", lambda: released.append(1))
    monkeypatch.setattr(heap, "RELEASE_SECONDS", 0.05)
    for _ in range(3):
        heap.release_heap_soon()
    heap._timers[0].join()
    assert released == [1]
