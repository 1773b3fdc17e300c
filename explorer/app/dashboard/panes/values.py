"""The equivalence badge: the output after every step compared with the unoptimized circuit's, on a fixed batch."""

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened
from explorer.bench import random_inputs
from explorer.trace import StepCheck

ROWS = 16
AT_ONCE = 1_500
"""Up to this many layers the values are checked without a request."""


def check_values(workspace: Workspace, ask_first: bool = False) -> None:
    """Check the values of every step in the background; with `ask_first` only if that is quick."""
    opened = workspace.session.opened
    if not opened.is_live or (ask_first and len(opened.trace.steps[0].snapshot.graph.nodes) > AT_ONCE):
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
        x = random_inputs(opened.trace.circuit_at(0), ROWS) if opened.trace.level.has_batches else None
        return {check.step: check for check in opened.trace.check(x, lambda s: job.report(s.path, s.index / steps))}
