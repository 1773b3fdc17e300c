"""`explorer.ask`: a question about a step, answered before the step is shown."""

from typing import TYPE_CHECKING

from explorer.app.session.opening import open_trace
from explorer.app.session.session import Session
from explorer.errors import DataTypeError
from explorer.packages import NOTEBOOK, require
from explorer.trace import Trace
from explorer.views import QuestionKind, question_about

if TYPE_CHECKING:
    from explorer.app.notebook.ask_widget import AskWidget


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
