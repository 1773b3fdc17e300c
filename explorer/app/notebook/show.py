"""`explorer.show` and `explorer.ask`: a circuit, trace, match, fold level or timing in a notebook, and a question."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from explorer.app.notebook.embedding import focus_match, graph_options
from explorer.app.notebook.static_view import StaticView, static_bars, static_graph, why_static
from explorer.app.session.opening import Opened, open_trace
from explorer.app.session.session import Session
from explorer.app.session.view_state import CloserLook, ViewState
from explorer.backend import TorchCircuit
from explorer.bench import is_this_machine
from explorer.compiler import record, trace_of_circuit
from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.options import CompilerOptions
from explorer.packages import IMAGES, NOTEBOOK, is_installed, require
from explorer.symbolic import Circuit, from_cirkit, is_cirkit
from explorer.timings import BACKENDS, LAYERS, MODES, STEPS, SWEEP, Run
from explorer.trace import ConflictRecord, FoldGroup, MatchFound, Trace
from explorer.views import (
    QuestionKind,
    backend_bars,
    layers_notes,
    list_text,
    mode_bars,
    question_about,
    step_bars,
    sweep_bars,
)
from explorer.views.bars import axis_of, with_chart
from explorer_widgets.schema import BarsView, ColourBy, GroupBy, Mode

if TYPE_CHECKING:
    from explorer.app.notebook.ask_widget import AskWidget
    from explorer.app.notebook.trace_widget import FoldLevelWidget, TraceWidget
    from explorer_widgets.jupyter import BarsWidget

TAKES = (
    "show expects a circuit, a compiled circuit, a trace (with match= and step=, or fold_level=, to start there), "
    "or a timing (what explorer.bench measures, or bars of explorer.views)"
)
COMPILED_NOW = "Compiled with the default options; show(explorer.record(circuit, ...)) chooses different ones."
COMPILED_BEFORE = "A compiled circuit only; show(explorer.record(circuit)) shows its compilation."


def show(
    thing: object,
    *,
    step: "int | str | None" = None,
    match: "int | MatchFound | None" = None,
    fold_level: int | None = None,
    timing: "Run | None" = None,
    mode: Mode = "diff",
    colour_by: ColourBy = "change",
    group_by: GroupBy | None = None,
    near_misses: str | None = None,
    selection: "Sequence[str | int]" = (),
    height: int | None = None,
    film: bool = True,
    beliefs: bool = False,
    static: bool | None = None,
) -> "TraceWidget | FoldLevelWidget | BarsWidget | StaticView":
    """Show an object in a notebook and step through it.

    - A symbolic circuit is compiled first, with the default options and the recorder; its compilation is shown.
    - A compiled circuit shows its graph.
    - A circuit of cirkit, symbolic or compiled, is converted with its values and compiled here.
    - A trace shows its steps; `match` (its number in `step`, or one of `trace.steps[i].matches`) or `fold_level`
      choose where to start, and a fold level has its index tables below the graph.
    - A timing is drawn as bars with whiskers: modes, backends and batch sizes on their own, steps as
      `show(trace, timing=run)`, where the times of layers colour the graph. Other bars (`BarsView`) are drawn in the
      same way.

    Without `group_by`, the level decides the picture: plates, or a score of the calls of a compiler that is watched.
    `near_misses` names the pattern with drawn near misses; `selection` contains ids of boxes or of nodes; `height`
    is in pixels; by default, the picture is as high as what it shows. `film=False` leaves out the film and the time
    line, which tell what later steps do: for a picture before a question. `beliefs=True` starts with what each layer
    believes, if the circuit is small and a distribution: paint on its inputs. The widget has the traits `step`,
    `selection` and `view`, and the property `selected_nodes`.

    Jupyter keeps a widget, and with it its trace, until its method `close` is called.

    `static=True` shows HTML in place of a widget: it steps in the browser, without Python and after the notebook was
    saved, and what is clicked does not reach Python. By default it is shown where widgets cannot work.

    Raises: DataTypeError for anything else; UnknownNameError for an unknown step, match, level, pattern, box or
    option; ValueRangeError for a height below 1; CircuitError for static beliefs that the page cannot compute;
    MissingPackageError without the packages of Jupyter.
    """
    reason = why_static(os.environ, is_installed) if static is None else ""
    is_static = bool(static or reason)
    require("explorer.show", "ui", *(IMAGES if is_static else NOTEBOOK))
    bars = _bars_of(thing)
    if bars is not None:
        return static_bars(bars, reason) if is_static else _show_bars(bars)

    opened, note = _open(thing)
    if timing is not None and timing.subject == STEPS:
        bars = step_bars(opened.index, timing)
        return static_bars(bars, reason) if is_static else _show_bars(bars)
    if sum(start is not None for start in (match, fold_level, timing)) > 1:
        raise CircuitError("expected only one of match=, fold_level= and timing=")
    first, number = _locate_start(opened.trace, step, match, fold_level)
    closer = CloserLook(beliefs=beliefs)
    session = Session(opened, ViewState(circuit=opened.name, options=opened.options, step=first, closer=closer))
    grouping = group_by or session.look.group_by
    session.change_look(mode=mode, colour_by=colour_by, group_by=grouping, near_misses=near_misses)
    if timing is not None:
        note = _colour_by_time(session, timing)
    _select(session, selection)
    if is_static:
        options = graph_options(height, film)
        details = None if number is None else focus_match(session, first, number)
        return static_graph(session, options, details, f"{note} {reason}".strip(), table=fold_level is not None)
    from explorer.app.notebook.trace_widget import FoldLevelWidget, TraceWidget

    graph = TraceWidget(session, height, note, film=film)
    if number is not None:
        graph.focus_match(first, number)
    return graph if fold_level is None else FoldLevelWidget(graph)


def _open(thing: object) -> tuple[Opened, str]:
    """Return the trace of an object and a note about it."""
    if is_cirkit(thing):
        thing = from_cirkit(thing)
    if isinstance(thing, Circuit):
        return open_trace(record(thing), "circuit")[0], COMPILED_NOW
    if isinstance(thing, TorchCircuit):
        return Opened("compiled circuit", trace_of_circuit(thing), CompilerOptions()), COMPILED_BEFORE
    if isinstance(thing, Trace):
        return open_trace(thing, "trace")[0], ""
    if isinstance(thing, MatchFound):
        raise DataTypeError("a match belongs to a trace: show(trace, match=match)")
    if isinstance(thing, ConflictRecord):
        raise DataTypeError("a conflict is between two matches of a trace: show(trace, match=conflict.loser)")
    if isinstance(thing, FoldGroup):
        raise DataTypeError(f"a folded group belongs to a trace: show(trace, fold_level={thing.level})")
    found = f"{type(thing).__module__}.{type(thing).__qualname__}"
    raise DataTypeError(f"cannot show a {found}. {TAKES}")


def _locate_start(
    trace: Trace, step: "int | str | None", match: "int | MatchFound | None", fold_level: int | None
) -> tuple[int, int | None]:
    """Return the first step to show, and the number of the match to focus in it."""
    if match is not None:
        return _locate_match(trace, match, step)
    if fold_level is not None:
        return _locate_fold_level(trace, fold_level, step), None
    return trace.step(0 if step is None else step).index, None


def _locate_match(trace: Trace, match: "int | MatchFound", step: "int | str | None") -> tuple[int, int]:
    """Return the step and number of a match, given as a number or as the match itself."""
    if isinstance(match, MatchFound):
        steps = trace.steps if step is None else (trace.step(step),)
        for entry in steps:
            for number, found in enumerate(entry.matches):
                if found is match:
                    return entry.index, number
        where = "this trace" if step is None else f"step {step!r} of this trace"
        raise UnknownNameError(f"this match does not belong to {where}")
    if step is None:
        having = [str(entry.index) for entry in trace.steps if len(entry.matches) > match]
        if len(having) != 1:
            where = f"steps {', '.join(having)} have one" if having else "no step has that many"
            raise UnknownNameError(f"match {match} needs a step: {where}; pass step=")
        step = int(having[0])
    return trace.step(step).index, match


def _locate_fold_level(trace: Trace, level: int, step: "int | str | None") -> int:
    """Return the step that folded a level. Raises: UnknownNameError, CircuitError if it is not the given step."""
    steps = {step.folds[0].level: step.index for step in trace.steps if step.folds}
    if level not in steps:
        known = f"levels {', '.join(map(str, steps))}" if steps else "no level: folding is disabled"
        raise UnknownNameError(f"level {level} was not folded; the trace has {known}")
    if step is not None and trace.step(step).index != steps[level]:
        raise CircuitError(f"level {level} was folded in step {steps[level]}; leave out step={step!r}")
    return steps[level]


def _select(session: Session, selection: "Sequence[str | int]") -> None:
    """Select boxes by their ids, or those that represent nodes. Raises: UnknownNameError."""
    boxes = [box for box in selection if isinstance(box, str)]
    session.reveal([node for node in selection if not isinstance(node, str)])
    for node in selection:
        if not isinstance(node, str):
            holding = [box for box, held in session.boxes.items() if node in held]
            if not holding:
                raise UnknownNameError(f"step {session.step} shows no node {node}")
            boxes += holding
    for box in boxes:
        if box not in session.boxes:
            raise UnknownNameError(f"step {session.step} has no box {box!r}; it has {', '.join(session.boxes)}")
    session.select(boxes)


def _bars_of(thing: object) -> BarsView | None:
    """Return bars, with an axis if they have none; they may show a timing of modes, backends or batch sizes.

    Raises: DataTypeError for a timing that needs its trace.
    """
    if isinstance(thing, Mapping) and {"bars", "series", "unit", "log", "table"} <= set(thing):
        axis = thing.get("axis") or axis_of(thing["bars"], log=thing["log"])
        return with_chart(cast(BarsView, {**thing, "axis": axis}))
    if not isinstance(thing, Run):
        return None
    if thing.subject in (STEPS, LAYERS):
        raise DataTypeError(f"times of {thing.subject} need their trace: show(trace, timing=run)")
    views = {MODES: mode_bars, BACKENDS: backend_bars, SWEEP: sweep_bars}
    return views[thing.subject](thing)


def _colour_by_time(session: Session, run: Run) -> str:
    """Colour the layers of the timed step by their times, and return a note with their sum.

    Those of another machine are recorded ones.

    Raises: DataTypeError for a timing of another subject; CircuitError for one of a different trace.
    """
    steps = [timing.step for timing in run.timings if timing.step is not None]
    if run.subject != LAYERS or not steps:
        raise DataTypeError(f"a timing of {run.subject} is shown without a trace: show(run)")
    is_here = is_this_machine(run.setup)
    session.add_runs([run], recorded=not is_here)
    if is_here:
        session.add_findings(missing=run.missing)
    session.go(steps[0])
    session.change_look(colour_by="time")
    where = "" if is_here else f"Recorded on {list_text(list(run.setup.devices.values()))}: "
    return where + " ".join(layers_notes(run))


def _show_bars(bars: BarsView) -> "BarsWidget":
    from explorer.app.notebook.fallback import bars_fallback
    from explorer_widgets.jupyter import BarsWidget

    return BarsWidget(bars, make_fallback=lambda: bars_fallback(bars))


# ---------------------------------------------------------------------- questions


def ask(
    trace: Trace,
    kind: QuestionKind,
    *,
    step: "int | str | None" = None,
    node: int | None = None,
    pattern: str | None = None,
    stat: str | None = None,
    height: int | None = None,
) -> "AskWidget":
    """Ask what a step will do, on the picture of its matches; the answer is checked, then the step is revealed.

    - `fold-with`: which layers are folded together with layer `node`? The answer is clicked in the picture.
    - `fused-with`: which calls of a compiler that is watched become one with call `node`? They are clicked, too.
    - `matches`: does `pattern` match at `node`? The answer is yes or no.
    - `winner`: which of two matches in conflict is applied, of those that `node` is part of? One of two choices.
    - `layers-left`: how many layers, or operators, are left after the step? A number.
    - `stat`: is the statistic (a name of `trace.stats(step)`) more, the same or fewer after the step? A choice.

    By default the first step, node and pattern that raise such a question are chosen. `height` is in pixels; by
    default, the picture is as high as what it shows.

    Raises: DataTypeError for anything but a trace; UnknownNameError for an unknown kind, step, node, pattern or
    statistic; ValueRangeError for a height below 1; CircuitError for a question that the step does not raise;
    MissingPackageError without the packages of Jupyter.
    """
    require("explorer.ask", "ui", *NOTEBOOK)
    from explorer.app.notebook.ask_widget import AskWidget

    if not isinstance(trace, Trace):
        found = f"{type(trace).__module__}.{type(trace).__qualname__}"
        raise DataTypeError(f"ask expects a trace: ask(explorer.record(circuit), {kind!r}); found a {found}")
    opened, state = open_trace(trace, "trace")
    question = question_about(opened.index, kind, step, node=node, pattern=pattern, stat=stat)
    return AskWidget(Session(opened, state), height, question)
