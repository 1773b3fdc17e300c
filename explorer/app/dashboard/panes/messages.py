"""Messages to the reader: progress with Cancel, notes, and errors with a report to copy."""

from collections.abc import Callable
from html import escape

import panel as pn
import panel_material_ui as pmui

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.layout import line
from explorer.app.dashboard.panes.tables import STYLE

TOAST = {
    "position": "fixed",
    "top": "6px",
    "right": "12px",
    "z-index": "1300",
    "width": "max-content",
    "max-width": "min(640px, 60vw)",
    "max-height": "40vh",
    "overflow": "auto",
    "padding": "2px 6px",
    "border": "1px solid var(--mui-palette-divider, GrayText)",
    "border-radius": "8px",
    "background": "var(--mui-palette-background-paper, Canvas)",
    "box-shadow": "0 2px 10px rgba(0,0,0,.25)",
}


class Messages:
    """The last message and, below it, the running job; over a corner of the graph, so that nothing moves."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._is_note = False
        self.text, self.progress = _words(), _words()
        self.close = pmui.Button(label="Close", size="small", variant="text", on_click=lambda _: self.clear())
        self.bar = pmui.LinearProgress(value=0, max=100, width=90, margin=(14, 10))
        self.cancel = pmui.Button(label="Cancel", size="small", variant="outlined", on_click=lambda _: cancel())
        self.message = line(self.text, self.close)
        self.job = line(self.progress, self.bar, self.cancel)
        for part in (self.message, self.job):
            part.param.update(flex_wrap="nowrap", visible=False)
        self.view = pn.Column(visible=False, margin=0, styles=TOAST)

    def show(self, text: str, tone: str, report: str) -> None:
        """Show a message until it is closed; an error is announced assertively, a note politely."""
        role = "alert" if tone == "error" else "status"
        sign = "bad" if tone == "error" else "good"
        more = f"<details><summary>Report</summary><pre>{escape(report)}</pre></details>" if report else ""
        self.text.object = f'<div role="{role}"><p class="{sign}">{escape(text)}</p>{more}</div>'
        self.message.visible = True
        self._is_note = tone != "error"
        self._update_visibility()

    def clear_note(self) -> None:
        """Clear a note, which is about the previous picture."""
        if self._is_note:
            self.clear()

    def clear(self) -> None:
        """Clear the message."""
        self.text.object = ""
        self.message.visible = self._is_note = False
        self._update_visibility()

    def show_job(self, job: Job | None) -> None:
        """Show the running job and its progress; None: no job is running."""
        self.job.visible = job is not None
        if job is None:
            self.progress.object = ""
        else:
            self.progress.object = f'<div role="status"><p>{escape(job.words)}</p></div>'
            self.bar.param.update(
                variant="indeterminate" if job.fraction is None else "determinate",
                value=0 if job.fraction is None else round(100 * job.fraction),
            )
        self._update_visibility()

    def _update_visibility(self) -> None:
        """Place what is visible: parts that are not on the page do not delay its loading."""
        shown = [part for part in (self.message, self.job) if part.visible]
        if self.view.objects != shown:
            self.view[:] = shown
        self.view.visible = bool(shown)


def _words() -> pn.pane.HTML:
    return pn.pane.HTML("", stylesheets=[STYLE], margin=(6, 10), styles={"flex": "1 1 auto", "min-width": "0"})
