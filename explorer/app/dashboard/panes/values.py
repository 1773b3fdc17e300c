"""Runs the steps of a trace: on a fixed batch for the equivalence badge, on inputs of the close-up."""

from collections.abc import Callable, Sequence

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.close_up import run_values
from explorer.app.session.opening import Opened
from explorer.app.session.session import Session
from explorer.bench import random_inputs
from explorer.trace import StepCheck
from explorer.views import TraceIndex, no_values
from explorer_widgets.schema import ValuesView

ROWS = 16
ANOTHER = "Another circuit was opened while the inputs were run."
AT_ONCE = 1_500
"""Up to this many layers the values are checked without a request."""


def check_values(workspace: Workspace, ask_first: bool = False) -> None:
    """Check the values of every step in the background; with `ask_first` only if that is quick."""
    opened = workspace.session.opened
    if not opened.is_live or (ask_first and len(opened.trace.start_graph) > AT_ONCE):
        return

    def show(checks: dict[int, StepCheck]) -> None:
        if workspace.session.opened is opened:
            workspace.session.add_findings(checks=checks)

    background = workspace.quiet_background if ask_first else workspace.background
    background.start("Checking values", lambda job: _check(opened, job), show, workspace.show_error)


def _check(opened: Opened, job: Job) -> dict[int, StepCheck]:
    import torch

    steps = len(opened.trace.steps)
    with torch.no_grad():
        x = random_inputs(opened.trace.circuit_at(opened.trace.start), ROWS) if opened.trace.level.has_batches else None
        return {check.step: check for check in opened.trace.check(x, lambda s: job.report(s.path, s.index / steps))}


def run_inputs(
    workspace: Workspace, session: Session, painted: Sequence[float], picked: Callable[[], None] | None = None
) -> None:
    """Run the inputs of the close-up in the background, with an index of its own: an index serves one thread.

    The page waits for an answer, whatever becomes of the run. With `picked` it shows the values of `painted`, and
    `picked` is called once these are there.
    """
    opened = session.opened

    def run() -> ValuesView:
        found = run_values(TraceIndex(opened.trace), painted, paints=True)
        return {**found, "picked": len(found["runs"]) - 1} if picked is not None and found["runs"] else found

    def show(values: ValuesView) -> None:
        if session.opened is opened:
            session.show_values(values)
            if picked is not None:
                picked()
        elif session.values is None:
            session.show_values(no_values(ANOTHER, can_run=True))

    def fail(error: Exception) -> None:
        workspace.show_error(error)
        show(no_values(f"The inputs could not be run: {error}", can_run=True))

    workspace.inputs_background.start(
        "Running inputs",
        lambda job: run(),
        show,
        fail,
        on_cancel=lambda: show(no_values("The run was cancelled.", can_run=True)),
    )
