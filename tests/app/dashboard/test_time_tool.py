"""The Time tool: its bars grow during a measurement, and stay after Cancel."""

import json
import threading
from collections.abc import Callable, Iterator
from queue import Empty, Queue
from typing import Any

import pytest

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

from explorer.app.dashboard import background
from explorer.app.dashboard.panes import timing
from explorer.app.dashboard.panes.timing import LAYERS, MODES, STEPS, SWEEP, WATERFALL, TimeTool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.options import TENSOR_LEVEL, TensorOptions
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.bench import interleave, measurement_run


class Reader:
    """A workspace whose host thread is this one."""

    def __init__(self) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        place = ViewState(circuit="conflict")
        library = Library()
        session = Session(open_state(library, place, lambda event: None), place)
        self.workspace = Workspace(session, library, self.waiting.put, lambda job: None)
        self.tool = TimeTool(self.workspace)
        self.tool.seconds.value = 40
        self.tool.batch.value = 16

    def measure(self, what: str, until: Callable[[], bool]) -> list[dict[str, Any]]:
        """Press the button and run delivered functions until a condition holds; returns the bars so far."""
        seen: list[dict[str, Any]] = []
        self.tool.what.value = what
        self.tool.start.clicks += 1
        while not until():
            self.waiting.get(timeout=30)()
            if self.tool.bars.bars and (not seen or json.loads(self.tool.bars.bars) != seen[-1]):
                seen.append(json.loads(self.tool.bars.bars))
        return seen

    def leave(self) -> None:
        """Cancel the job and wait for it: a measuring thread must not outlive the test."""
        self.workspace.background.cancel()
        while any(thread.name == "Timing" for thread in threading.enumerate()):
            try:
                self.waiting.get(timeout=0.1)()
            except Empty:
                continue


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader who is notified of every repeat without delay; repeats that may take forty seconds end after 0.8."""
    monkeypatch.setattr(interleave, "monotonic", lambda clock=interleave.monotonic: 50 * clock())
    monkeypatch.setattr(timing, "LIVE_SECONDS", 0.0)
    for module in (background, measurement_run):
        monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.0)
    reader = Reader()
    yield reader
    reader.leave()


def test_bars_grow_during_a_measurement_and_the_last_ones_are_final(reader: Reader) -> None:
    seen = reader.measure(MODES, lambda: bool(reader.tool.facts.object))
    assert all(str(bars["note"]).startswith("Still measuring.") for bars in seen[:-1])
    assert not str(seen[-1]["note"]).startswith("Still measuring.")
    assert len(seen) > 1


@pytest.mark.parametrize("what", [STEPS, WATERFALL, SWEEP])
def test_every_bar_has_a_time_inside_its_interval(reader: Reader, what: str) -> None:
    bars = reader.measure(what, lambda: bool(reader.tool.facts.object))[-1]["bars"]
    known = [bar for bar in bars if bar["value"] is not None]
    assert len(known) >= 3
    assert all(bar["low"] is None or bar["low"] <= bar["value"] <= bar["high"] for bar in known)


def test_cancel_keeps_the_finished_bars_and_reports_it(reader: Reader) -> None:
    live = reader.measure(MODES, lambda: "Still measuring." in reader.tool.bars.bars)[-1]
    reader.workspace.background.cancel()
    assert "Cancelled; these are the times so far." in reader.tool.words.object
    kept = json.loads(reader.tool.bars.bars)
    assert kept["bars"] == live["bars"]
    assert not kept["note"].startswith("Still measuring.")
    reader.measure(MODES, lambda: True)
    assert reader.tool.bars.bars == ""  # a new measurement starts without bars
    reader.workspace.background.cancel()
    assert "Cancelled before anything was timed." in reader.tool.words.object


def test_a_tensor_graph_offers_only_step_times(reader: Reader) -> None:
    place = ViewState(circuit="conflict", tensor=TensorOptions(level=TENSOR_LEVEL))
    reader.tool.what.value = LAYERS
    reader.workspace.session.open(open_state(reader.workspace.library, place), place)
    reader.tool.on_change(frozenset({"trace"}))
    assert set(reader.tool.what.options.values()) == {STEPS, WATERFALL}
    assert reader.tool.what.value == STEPS
    assert reader.tool.batch.disabled
    seen = reader.measure(STEPS, lambda: reader.tool.facts.object != "")
    assert seen[-1]["table"]["columns"][1] == "operators"
