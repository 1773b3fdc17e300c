"""Measures how long the explorer takes to show a trace and how much it sends, against budgets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

from rich.table import Table

from explorer.app.session.opening import settle_heap
from explorer.trace import Trace
from explorer.views import TraceIndex, add_looks, cost_strip, details, empty_recording, picture, recording, steps
from explorer_widgets import page_html
from explorer_widgets.encode import picture_traits, to_json
from explorer_widgets.schema import GroupBy

VIEW_CASES = ("digits", "mnist", "poon-domingos")
"""The default circuit, and two of 5,725 and 19,342 layers."""

LARGE_CASE = "qg-cp-66"
"""A benchmark case of 31,733 layers, for the budgets of 30,000 cells."""

PROGRAM_CASE = "mnist"
"""The circuit whose program has a page that is measured: of 150 plates, with its buffers below."""

LARGE_STEPS = 6
"""How many of its changing steps are recorded: as many as are shown."""

EXPORT_MODES = ("diff", "before", "after")
"""The display options that `circuit-explorer html` records."""

GROUPINGS: Mapping[GroupBy, str] = {"plates": "plates", "fold": "graph"}
"""The pictures that are measured, the default first, with their names."""

STEP_MS = 100.0
FIRST_MS, FIRST_LAYERS = 1000.0, 20_000
"""For a trace of up to this many layers."""
EXPORT_BYTES = 500_000


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement: its circuit, value, unit, and budget, the maximum value (None: no bound).

    With `over` the budget is a minimum. `why` says why nothing was measured.
    """

    circuit: str
    what: str
    value: float | None
    unit: str
    budget: float | None = None
    over: bool = False
    why: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the budget is kept; None without a budget or a value."""
        if self.value is None or self.budget is None:
            return None
        return self.value >= self.budget if self.over else self.value <= self.budget


def measure_views(name: str, trace: Trace, on_step: Callable[[int], None] = lambda _: None) -> list[Measurement]:
    """Measure the first picture, first visits of steps, and sizes of pictures: those of plates, and of the graph.

    A step includes everything that a host computes for it: picture, JSON, details of a box, costs.
    """
    circuit = f"{name}, {layers_of(trace):,} layers"
    return [one for group_by in GROUPINGS for one in _measure_grouping(circuit, trace, group_by, on_step)]


def _measure_grouping(
    circuit: str, trace: Trace, group_by: GroupBy, on_step: Callable[[int], None]
) -> list[Measurement]:
    settle_heap()
    started = perf_counter()
    index = TraceIndex(trace)
    to_json(steps(index))
    _make_step(index, 0, group_by)
    first = perf_counter() - started
    seconds: list[float] = []
    sizes: list[int] = []
    for step in range(1, len(trace.steps)):
        started = perf_counter()
        sizes.append(_make_step(index, step, group_by))
        seconds.append(perf_counter() - started)
        on_step(step)
    what = GROUPINGS[group_by]
    return [
        Measurement(circuit, f"{what}: steps and first picture", 1000 * first, "ms", FIRST_MS),
        Measurement(circuit, f"{what}: a step in Python, median", 1000 * median(seconds), "ms", STEP_MS),
        Measurement(circuit, f"{what}: a step in Python, slowest", 1000 * max(seconds), "ms", STEP_MS),
        Measurement(circuit, f"{what}: JSON of a picture, largest", max(sizes), "bytes"),
    ]


def layers_of(trace: Trace) -> int:
    """The number of layers before optimization."""
    return len(trace.start_graph)


def export_of(name: str, trace: Trace) -> str:
    """Export the page that `circuit-explorer html` writes."""
    return page_html(recording(TraceIndex(trace), name, modes=EXPORT_MODES))


def large_export(name: str, trace: Trace) -> str:
    """Export a page with the first changing steps only, without details: recording all of a large trace takes long."""
    index = TraceIndex(trace)
    recorded = empty_recording(index, name)
    shown = [step.index for step in trace.steps if step.changed or not step.index][:LARGE_STEPS]
    add_looks(recorded, index, [(step, "diff", "change", "plates") for step in shown])
    return page_html(recorded)


def export_size(name: str, page: str, budget: float | None) -> Measurement:
    """The size of an exported page."""
    return Measurement(name, "exported page", len(page.encode()), "bytes", budget)


def view_table(measurements: Sequence[Measurement]) -> Table:
    """A table with one row per measurement."""
    table = Table(title="Time and size of showing a trace")
    for column in ("circuit", "what"):
        table.add_column(column, overflow="fold")
    for column in ("measured", "budget", ""):
        table.add_column(column, justify="right", overflow="fold")
    before = ""
    for one in measurements:
        bound = "" if one.budget is None else f"{'≥' if one.over else '≤'} {_text(one.budget, one.unit)}"
        measured = one.why if one.value is None else _text(one.value, one.unit)
        kept = "" if one.ok is None else "met" if one.ok else "MISSED"
        table.add_row("" if one.circuit == before else one.circuit, one.what, measured, bound, kept)
        before = one.circuit
    return table


def views_to_json(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return all measurements as data of JSON types."""
    return [{**asdict(one), "ok": one.ok} for one in measurements]


def _make_step(index: TraceIndex, step: int, group_by: GroupBy) -> int:
    """Compute everything shown of a step; returns the size of the picture's JSON."""
    made = picture(index, step, group_by=group_by)
    traits = picture_traits(made.view, made.coordinates.astype("<f4").tobytes())
    if made.view["nodes"]:
        to_json(details(index, step, made.view["nodes"][0]["ids"]))
    to_json(cost_strip(index, step))
    return len(traits["picture"].encode())


def _text(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1000:,.0f} kB"
    return f"{value:,.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
