"""Opens what a link names: compiles the circuit, or loads the trace of a file, and cares for the memory of large ones.

The garbage collector would otherwise pause a step of a large trace for 0.2 s.
"""

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock, Timer
from weakref import WeakValueDictionary

from explorer.app.session.library import Library
from explorer.app.session.pattern_form import PatternForm, apply_form, put_form
from explorer.app.session.pipeline_draft import exported_trace
from explorer.app.session.view_state import TensorOptions, ViewState, readable_state, trace_of
from explorer.bench import recorded_of
from explorer.compiler import TorchCompiler, options_of, record, rerun
from explorer.errors import CircuitError
from explorer.files import json_of_bytes
from explorer.learning.tables import Column
from explorer.optimize import preset_rules
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit, LearnedEpoch, circuit_from_json
from explorer.templates import gallery
from explorer.timings import Run
from explorer.trace import COMPILED, Listener, Trace
from explorer.views import TraceIndex

LARGE = 5_000
"""From this many layers on, garbage collections would be noticed as pauses."""

RECORDED = ".trace.json"
"""Part of the names of recorded traces."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An opened trace with the index that its views share; `error` says why its compilation stopped, if it did.

    `columns` describe the table that its circuit was trained on, if any: column i is variable i. `epochs` are those of
    its training that were kept. A recorded module, or a file at a level below compiled, has no circuit that could be
    compiled with other `options`.
    """

    name: str
    trace: Trace
    options: CompilerOptions
    error: str = ""
    tensor: TensorOptions = field(default_factory=TensorOptions)
    columns: tuple[Column, ...] = ()
    epochs: tuple[LearnedEpoch, ...] = ()
    has_compiler: bool = True
    index: TraceIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", TraceIndex(self.trace))

    @cached_property
    def recorded(self) -> tuple[Run, ...]:
        """The runs of this compilation that were recorded on other machines."""
        return recorded_of(self.trace)

    @property
    def is_live(self) -> bool:
        """Whether the steps can be executed: true if it was compiled here, false if it was read from a file."""
        return self.trace.is_live

    def require_live(self) -> None:
        """Raises: CircuitError for a trace from a file: its steps cannot be executed."""
        if not self.is_live:
            advice = "compile it again first" if self.trace.level.has_circuit else "record it again in Python"
            raise CircuitError(f"this trace was read from a file, so its steps cannot be run; {advice}")


_SHARED: WeakValueDictionary[ViewState, Opened] = WeakValueDictionary()
"""The traces of the gallery that are open in some session."""


def read_link(query: str) -> tuple[ViewState, str]:
    """Return what can be read of a link, and in a sentence what cannot.

    The options of a recorded trace are not checked: it is shown as it is.
    """
    valid = {CompilerOptions()}

    def check(state: ViewState) -> None:
        is_recorded = RECORDED in state.circuit and not state.again
        if state.options not in valid and not is_recorded:
            TorchCompiler(state.options)
            valid.add(state.options)

    return readable_state(query, check)


def open_state(
    library: Library,
    state: ViewState,
    listener: Listener | None = None,
    prepare: Callable[[Opened], object] = lambda opened: None,
) -> Opened:
    """Open what a link names; `listener` receives every event of a compilation and ends it by raising.

    `prepare` receives a trace that no session has open yet: its index serves one thread at a time.

    A compilation that fails returns the trace up to the failure. Raises: the errors of opening, building and
    compiling if there is no step to show. Sessions that have the same trace of the gallery open share it; the
    second one compiles nothing.
    """
    place = trace_of(replace(state, other=None))
    shared = _SHARED.get(place) if state.circuit in gallery.names() else None
    if shared is not None:
        return shared
    listeners = () if listener is None else (listener,)
    opened = _open(library, state, listeners)
    for form, replacement in forms_of(state) if opened.trace.is_compilation else ():
        trace = apply_form(opened.trace, form, replacement, listeners)
        opened = Opened(opened.name, trace, opened.options)
    training = library.training(state.circuit)
    if training.columns or training.kept:
        opened = replace(opened, columns=training.columns, epochs=training.kept)
    is_large = len(opened.trace.start_graph) >= LARGE
    if is_large:
        settle_heap()
    prepare(opened)
    if is_large:
        settle_heap()  # also what the views have added to the index
    if state.circuit in gallery.names() and not opened.error:
        _SHARED[place] = opened
    return opened


def _open(library: Library, state: ViewState, listeners: tuple[Listener, ...]) -> Opened:
    item = library.open(state.circuit)
    if isinstance(item, Trace) and not item.level.has_circuit:
        if state.again:
            raise CircuitError(
                f"{state.circuit} is a trace at the level {item.level.name}, and a file contains no module to record; "
                "record it again in Python"
            )
        tensor = replace(state.tensor, level=item.level.name)
        return Opened(state.circuit, item, options_of(item), tensor=tensor, has_compiler=False)
    if state.tensor.level != COMPILED:
        circuit = item if isinstance(item, Circuit) else circuit_of(item)
        compiler = TorchCompiler(state.options)
        for form, replacement in forms_of(state):
            put_form(compiler, form, replacement)
        tensor = state.tensor
        return _record(state, tensor, lambda: exported_trace(circuit, compiler, tensor, state.circuit, listeners))
    if isinstance(item, Trace):
        if not state.again:
            return Opened(state.circuit, item, options_of(item))
        if state.options == options_of(item):
            return Opened(state.circuit, rerun(item, listeners=listeners), state.options)
        foreign = foreign_rules(item)
        if foreign:
            raise CircuitError(
                f"{state.circuit} uses custom rules ({', '.join(foreign)}), which are not available here; compile "
                "it in Python: explorer.rerun(trace, compiler) with a compiler that has them"
            )
    circuit = item if isinstance(item, Circuit) else circuit_of(item)
    compiler = TorchCompiler(state.options, listeners=listeners)
    return _record(state, TensorOptions(), lambda: record(circuit, compiler))


def _record(state: ViewState, tensor: TensorOptions, make: Callable[[], Trace]) -> Opened:
    """Record a trace; if a rule fails, open the trace up to the failure."""
    try:
        return Opened(state.circuit, make(), state.options, tensor=tensor)
    except CircuitError as error:
        partial = error.trace
        if not isinstance(partial, Trace) or not partial.steps:
            raise
        return Opened(state.circuit, partial, state.options, str(error), tensor)


def circuit_of(trace: Trace) -> Circuit:
    """Return the symbolic circuit of a trace. Raises: CircuitError if it has none."""
    if isinstance(trace.subject, Circuit):
        return trace.subject
    if trace.circuit_json is None:
        raise CircuitError("the trace contains no circuit; record the circuit again")
    return circuit_from_json(trace.circuit_json, "the circuit in the trace")


def open_trace(trace: Trace, name: str) -> tuple[Opened, ViewState]:
    """Wrap an existing trace with its view state, for notebooks."""
    tensor = TensorOptions(level=trace.level.name)
    opened = Opened(name, trace, options_of(trace), tensor=tensor)
    return opened, replace(ViewState(), circuit=name, options=opened.options, tensor=tensor)


def forms_of(state: ViewState) -> tuple[tuple[PatternForm, str], ...]:
    """Return the applied patterns of a link, each with its replacement. Raises: FormError, FileFormatError."""
    read = [json_of_bytes(text.encode(), "pattern form", "form in the link") for text in state.form]
    return tuple(zip(map(PatternForm.from_json, read), state.replacement, strict=True))


def foreign_rules(trace: Trace, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the rules of a trace that neither its preset nor `known` contains."""
    if not trace.level.has_circuit:
        return ()
    names = (*preset_rules(trace.options["preset"]).names, *known)
    return tuple(rule.name for rule in trace.rules if rule.name not in names)


def unused_skips(trace: Trace) -> tuple[str, ...]:
    """Return the entries of `skip` that matched nothing: a typo, or a node of a different compilation."""
    refused = {
        f"{miss.refusal.pattern}@{miss.parameter_path.split('.')[0] if miss.parameter_path else miss.refusal.root}"
        for step in trace.steps
        for miss in step.refusals
        if miss.refusal.is_switched_off
    }
    paths = [step.path for step in trace.steps]
    return tuple(
        entry
        for entry in options_of(trace).skip
        if entry not in refused and not any(path == entry or path.startswith(f"{entry}/") for path in paths)
    )


# ---------------------------------------------------------------------- the memory of large traces


RELEASE_SECONDS = 2.0
"""Time from the end of a session until its memory is released: its page and document are gone by then."""
_timers: list[Timer] = []
_lock = Lock()


def settle_heap() -> None:
    """Hide all present objects from later collections, without looking at them: a collection of them is one long pause.

    Call it after opening a trace: a trace of 20,000 layers holds millions of objects, and none is garbage or in a
    cycle, so they are still freed as soon as they are unused. Garbage in cycles waits for `release_heap`.
    """
    gc.freeze()


def release_heap() -> None:
    """Free closed pages, which have cycles and may be hidden from the collector, and return the memory to the system.

    Objects stay hidden if they were. Only glibc returns memory on request.
    """
    was_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.collect()
    if was_frozen:
        gc.freeze()
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def release_heap_soon() -> None:
    """Release the heap in a moment, once for all sessions that end until then."""
    with _lock:
        if not any(timer.is_alive() for timer in _timers):
            _timers[:] = [Timer(RELEASE_SECONDS, release_heap)]
            _timers[0].daemon = True
            _timers[0].start()
