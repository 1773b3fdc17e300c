"""From a place to a trace: the circuit is compiled, or the file's trace taken as it is."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from explorer.app.heap import settle_heap
from explorer.app.library import Library
from explorer.app.options import CompileOptions, options_of
from explorer.app.pattern_form import PatternForm
from explorer.app.pattern_use import apply_form
from explorer.app.place import Place
from explorer.compiler import record, rerun
from explorer.errors import CircuitError
from explorer.files import json_of_bytes
from explorer.symbolic import Circuit, circuit_from_json
from explorer.trace import Event, Trace
from explorer.views import TraceIndex

LARGE = 5_000
"""From so many layers on, searches for garbage would be felt as pauses."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A trace that is looked at, with what its views share. `error` says why its compilation stopped, if it did."""

    name: str
    trace: Trace
    options: CompileOptions
    error: str = ""
    index: TraceIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", TraceIndex(self.trace))

    @property
    def is_live(self) -> bool:
        """Whether the steps can be executed: yes for what was compiled here, no for what was read from a file."""
        return self.trace.compiled is not None


def open_place(library: Library, place: Place, listener: Callable[[Event], Any] | None = None) -> Opened:
    """Open what a place names; `listener` is told every event of a compilation, and ends it by raising.

    A compilation that fails gives the trace up to there. Raises: what opening, building and compiling raise where
    there is no step to show.
    """
    opened = _open(library, place, listener)
    for text, replacement in zip(place.form, place.replacement, strict=False):
        form = PatternForm.from_json(json_of_bytes(text.encode(), "pattern form", "form in the link"))
        opened = Opened(opened.name, apply_form(opened.trace, form, replacement), opened.options)
    if len(opened.trace.steps[0].snapshot.graph) >= LARGE:
        settle_heap()
    return opened


def _open(library: Library, place: Place, listener: Callable[[Event], Any] | None) -> Opened:
    item = library.open(place.circuit)
    if isinstance(item, Trace):
        if not place.again:
            return Opened(place.circuit, item, options_of(item))
        if place.options == options_of(item):
            return Opened(place.circuit, rerun(item), place.options)
    circuit = item if isinstance(item, Circuit) else circuit_of(item)
    try:
        listeners = () if listener is None else (listener,)
        trace = record(circuit, listeners=listeners, **place.options.changed())
    except CircuitError as error:
        partial = error.trace
        if not isinstance(partial, Trace) or not partial.steps:
            raise
        return Opened(place.circuit, partial, place.options, str(error))
    return Opened(place.circuit, trace, place.options)


def circuit_of(trace: Trace) -> Circuit:
    """The symbolic circuit of a trace. Raises: CircuitError if it holds none."""
    if isinstance(trace.subject, Circuit):
        return trace.subject
    if trace.circuit_json is None:
        raise CircuitError("the trace holds no circuit; record the circuit again")
    return circuit_from_json(trace.circuit_json, "the circuit in the trace")


def opened_trace(trace: Trace, name: str) -> tuple[Opened, Place]:
    """A trace that is at hand, and its place: for notebooks."""
    opened = Opened(name, trace, options_of(trace))
    return opened, replace(Place(), circuit=name, options=opened.options)
