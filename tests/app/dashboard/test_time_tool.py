"""The Time tool: its bars grow during a measurement, and stay after Cancel."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from explorer.trace import TENSOR

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

import explorer
from explorer.app.dashboard import background, measuring
from explorer.app.dashboard.measuring import EVERYTHING, WATERFALL, Request
from explorer.app.dashboard.panes import timing
from explorer.app.dashboard.panes.timing import WHAT, TimeTool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.session import Session
from explorer.app.session.view_state import TensorOptions, ViewState
from explorer.bench import RecordedFile, interleave, measurement_run, why_no_cuda
from explorer.errors import ValueRangeError
from explorer.options import CompilerOptions
from explorer.timings import BACKENDS, LAYER, LAYERS, MODES, STEPS, SWEEP, Run, Setup, Timing, estimate
from explorer.trace import KERNELS
from explorer.views import layer_times_at
from tests.runtime.circuits import has_compiler
from tests.waiting import PATIENCE


class Reader:
    """A workspace in this host thread."""

    def __init__(self) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        place = ViewState(circuit="conflict")
        library = Library()
        session = Session(open_state(library, place, lambda event: None), place)
        self.workspace = Workspace(session, library, self.waiting.put, lambda job: None, lambda name: None)
        self.tool = TimeTool(self.workspace)
        self.tool.seconds.value = 40
        self.tool.batch.value = 16

    def measure(self, what: str, until: Callable[[], bool]) -> list[dict[str, Any]]:
        """Press the button and run delivered functions until a condition holds; returns the bars so far."""
        seen: list[dict[str, Any]] = []
        self.tool.what.value = what
        self.tool.start.clicks += 1
        while not until():
            self.waiting.get(timeout=PATIENCE)()
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


SECONDS_PER_RUN = 0.2
"""The time of a run on the clock of the tests; all repeats may take forty seconds."""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader who is notified of every repeat without delay; repeats end after a number of runs, not of seconds."""
    runs = count()
    monkeypatch.setattr(interleave, "monotonic", lambda: SECONDS_PER_RUN * next(runs))
    monkeypatch.setattr(measuring, "LIVE_SECONDS", 0.0)
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


def test_time_it_shows_no_older_run_of_its_subject(reader: Reader) -> None:
    reader.measure(STEPS, lambda: bool(reader.tool.facts.object))
    reader.tool.what.value = LAYERS
    reader.workspace.measuring.start_everything()  # its bars are those of steps
    assert (reader.tool.what.value, reader.tool.bars.bars, reader.tool.facts.object) == (EVERYTHING, "", "")
    assert reader.tool.words.object.startswith("<p>This takes at most")
    reader.workspace.background.cancel()
    assert (reader.tool.bars.bars, reader.tool.facts.object) == ("", "")
    assert "Cancelled before anything was timed." in reader.tool.words.object


def test_a_batch_that_needs_too_much_memory_is_refused_before_anything_runs(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = reader.workspace.session.opened.trace
    row_bytes = max(
        trace.stats(step.index)["activation_bytes"] + trace.stats(step.index)["copied_bytes"] for step in trace.steps
    )
    monkeypatch.setattr(measuring, "MAX_BATCH_BYTES", 16 * row_bytes)
    reader.tool.batch.value = 17
    reader.tool.start.clicks += 1
    assert reader.workspace.background.job is None
    text = str(reader.workspace.messages.text.object)
    assert "a batch of 17 rows needs about " in text
    assert "choose at most 16 rows" in text
    reader.tool.batch.value = 16
    reader.tool.start.clicks += 1
    assert reader.workspace.background.job is not None


@pytest.mark.parametrize("name", ["digits", pytest.param("poon-domingos", marks=pytest.mark.fuzz)])
def test_a_batch_of_the_default_size_is_measured_of_large_circuits(name: str) -> None:
    trace = explorer.record(explorer.gallery.load_named(name))
    measuring._check_batch(trace, Request())
    with pytest.raises(ValueRangeError, match=r"200,000 rows needs about .* choose at most"):
        measuring._check_batch(trace, Request(batch_size=200_000))


def test_a_tensor_graph_offers_only_step_times(reader: Reader) -> None:
    place = ViewState(circuit="conflict", tensor=TensorOptions(level=TENSOR))
    reader.tool.what.value = LAYERS
    reader.workspace.session.open(open_state(reader.workspace.library, place), place)
    reader.tool.on_change(frozenset({"trace"}))
    assert set(reader.tool.what.options.values()) == {STEPS, WATERFALL}
    assert reader.tool.what.value == STEPS
    assert not reader.tool.batch.visible  # the examples that were recorded are timed
    seen = reader.measure(STEPS, lambda: reader.tool.facts.object != "")
    assert seen[-1]["table"]["columns"][1] == "operators"


@has_compiler
def test_of_kernel_calls_steps_and_groups_are_timed_with_their_share_of_the_roof(reader: Reader) -> None:
    place = ViewState(circuit="digits", tensor=TensorOptions(level=KERNELS), step=7)
    session = reader.workspace.session
    session.open(open_state(reader.workspace.library, place), place)
    reader.tool.on_change(frozenset({"trace"}))
    assert set(reader.tool.what.options.values()) == {EVERYTHING, STEPS, WATERFALL, LAYERS}
    assert not reader.tool.batch.visible
    reader.tool.what.value = LAYERS
    reader.measure(LAYERS, lambda: reader.tool.facts.object != "")
    assert "share of the roof" in reader.tool.facts.object
    assert "Sum of products of CPT" in reader.tool.facts.object
    assert set(session.findings.layer_times["cpu"]) == {7}


def test_one_click_times_every_step_and_its_layers(reader: Reader) -> None:
    session = reader.workspace.session
    session.go(3)
    reader.workspace.measuring.settings = Request(batch_size=16, seconds=100)
    reader.workspace.measuring.start_everything()
    while not reader.tool.facts.object:
        reader.waiting.get(timeout=PATIENCE)()
    assert set(session.findings.times) == {step.index for step in session.opened.trace.steps}
    assert set(session.findings.layer_times["cpu"]) == {0, 3, 6, 10, 11}
    for step in (0, 3, 12):
        session.go(step)
        assert session.layer_times is not None
        assert set(session.layer_times) == set(session.index.step(step).snapshot.graph.nodes)
    assert all(name != "CPU" or "not measured" not in value for name, value in session.costs()["rows"])
    known = session.findings.missing.get("cuda", "")
    assert known == ("" if why_no_cuda() is None else "not available on this machine")


def test_a_device_without_times_is_explained_by_its_reason(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(what: str, *_: Any) -> tuple[Run, ...]:
        empty = measuring._empty_run(Request(what), "conflict", ("cpu",))
        return (replace(empty, missing={"cuda": "this trace runs on the CPU only"}),)

    monkeypatch.setattr(measuring, "_measure", measure)
    reader.measure(LAYERS, lambda: reader.workspace.background.job is None)
    assert "Nothing was timed: this trace runs on the CPU only." in str(reader.workspace.messages.text.object)
    assert "not timed on CUDA: this trace runs on the CPU only." in reader.tool.words.object


@pytest.mark.parametrize("steps_took", [5.0, 30.0])
def test_layers_of_this_step_are_timed_first_even_if_steps_took_all_the_time(
    monkeypatch: pytest.MonkeyPatch, steps_took: float
) -> None:
    trace = open_state(Library(), ViewState(circuit="conflict")).trace
    now, asked = [0.0], list[tuple[int, float, float]]()

    def time_steps(*_: Any, **settings: Any) -> str:
        now[0] += steps_took
        return "steps"

    def time_layers(_: Any, step: int, *, max_seconds: float, total_seconds: float, **__: Any) -> str:
        asked.append((step, max_seconds, total_seconds))
        now[0] += 2 * max_seconds
        return "layers"

    monkeypatch.setattr(measuring, "monotonic", lambda: now[0])
    monkeypatch.setattr(measuring, "measure_steps", time_steps)
    monkeypatch.setattr(measuring, "measure_layers", time_layers)
    settings = {"total_seconds": 20.0, "on_progress": lambda _: None, "cancelled": lambda: False}
    runs = list(measuring._measure_everything(trace, 10, settings))
    assert runs[:2] == ["steps", "layers"]
    step, most, total = asked[0]
    assert step == 10
    assert most < total  # then the first round is run to its end
    assert all(most == total for _, most, total in asked[1:])
    assert bool(asked[1:]) == (steps_took < 20)


def test_layers_keep_their_time_while_inputs_and_settings_are_the_same() -> None:
    index = open_state(Library(), ViewState(circuit="near-misses")).index
    graphs = [index.step(step).snapshot.graph for step in (2, 3)]
    measured = {2: {node: float(node + 1) for node in graphs[0].nodes}}
    kept = layer_times_at(index, 3, measured)
    same = {node for node in graphs[1].nodes if graphs[0].inputs.get(node) == graphs[1].inputs[node]}
    assert set(kept) == same
    assert 0 < len(same) < len(graphs[1].nodes)
    assert layer_times_at(index, 3, {**measured, 3: {min(same): 0.5}})[min(same)] == 0.5


def recorded(session: Session, *devices: str) -> tuple[Run, ...]:
    """Recorded runs of all subjects with times on some devices."""
    found = estimate([0.001 * i for i in range(1, 8)])
    setup = Setup("2026-01-01", 1, "", "", 0.1, 10.0, 0, {"cpu": "A processor"}, {}, "")

    def run(subject: str, whats: list[tuple[str, dict[str, Any]]]) -> Run:
        timings = [Timing(what, device, 16, found, reached=True, **more) for device in devices for what, more in whats]
        return Run(subject, "forward", session.opened.name, session.opened.trace.options, tuple(timings), setup)

    steps = [(session.index.step(step).path, {"step": step}) for step in (0, 3, 12)]
    layers = [(LAYER, {"step": 12, "node": node}) for node in session.index.step(12).snapshot.graph.nodes]
    sweep = [(f"batch {size}", {"step": 12}) for size in (1, 4)]
    return (
        run(STEPS, steps),
        run(LAYERS, [("whole forward", {"step": 12}), ("sum of layers", {"step": 12}), *layers]),
        run(SWEEP, sweep),
        run(MODES, [("as written", {}), ("folded", {})]),
        run(BACKENDS, [("torch", {}), ("native", {})]),
    )


def test_a_recorded_run_is_shown_as_a_measurement_is(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    session = reader.workspace.session
    file = RecordedFile(Path("other machine.timing.json"), recorded(session, "cpu", "cuda"))
    monkeypatch.setattr(timing, "recorded_runs", lambda: (file,))
    reader.tool.on_change(frozenset({"trace"}))
    reader.tool.recorded.value = file.path.name
    rows = {row[0]: row[1] for row in session.costs()["rows"]}
    assert (rows["CPU (recorded)"], rows["CUDA (recorded)"]) == ("4 ms ± 3 ms", "4 ms ± 3 ms")
    session.go(12)
    assert session.layer_times == dict.fromkeys(session.index.step(12).snapshot.graph.nodes, 4.0)
    session.change_look(colour_by="time")
    nodes = [node for node in session.picture().view["nodes"] if node["change"] != "removed"]
    assert {node["fill_text"] for node in nodes} == {"4 ms on CUDA, recorded"}
    titles, words = {}, {}
    for what in WHAT.values():
        reader.tool.what.value = what
        words[what] = reader.tool.words.object
        titles[what] = json.loads(reader.tool.bars.bars)["title"] if what != LAYERS else words[what]
    assert len(set(titles.values())) == len(WHAT) - 2, titles  # every step with its layers, and every step's backends
    assert "The calls one by one take 4 ms on the CPU" in titles[LAYERS]
    assert "The calls one by one take 4 ms on CUDA" in titles[LAYERS]
    assert all(text.startswith("<p>A recorded run: A processor, 2026-01-01.</p>") for text in words.values())
    reader.tool.what.value = LAYERS
    assert [f"<caption>{device}</caption>" in reader.tool.facts.object for device in ("CPU", "CUDA")] == [True, True]


def test_a_recorded_run_is_not_shown_on_a_circuit_that_is_compiled_with_other_options(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = reader.workspace.session
    file = RecordedFile(Path("other machine.timing.json"), recorded(session, "cpu"))
    monkeypatch.setattr(timing, "recorded_runs", lambda: (file,))
    state = ViewState(circuit="conflict", options=CompilerOptions(semiring="sum-product"))
    session.open(open_state(Library(), state), state)
    reader.tool.on_change(frozenset({"trace"}))
    notes: list[str] = []
    monkeypatch.setattr(reader.workspace, "note", notes.append)
    reader.tool.recorded.value = file.path.name
    assert session.findings.times == {}  # its steps have the same names, and other times
    assert "its circuit or its options are different" in notes[0]
