"""What is said to the reader: progress with Cancel, notes, and errors with a report that can be copied."""

from collections.abc import Callable
from html import escape

import panel as pn
import panel_material_ui as pmui

from explorer.app.background import Job
from explorer.app.panes.layout import line
from explorer.app.panes.tables import STYLE

TOAST = {
    "position": "absolute",
    "top": "8px",
    "right": "12px",
    "z-index": "30",
    "max-width": "min(760px, 70%)",
    "padding": "2px 6px",
    "border": "1px solid var(--mui-palette-divider, GrayText)",
    "border-radius": "8px",
    "background": "var(--mui-palette-background-paper, Canvas)",
    "box-shadow": "0 2px 10px rgba(0,0,0,.25)",
}


class Messages:
    """A line above the graph; empty and invisible where there is nothing to say."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.text = pn.pane.HTML("", stylesheets=[STYLE], sizing_mode="stretch_width", margin=(6, 10))
        self.bar = pmui.LinearProgress(value=0, max=100, visible=False, width=180, margin=(14, 10))
        self.cancel = pmui.Button(
            label="Cancel", size="small", variant="outlined", visible=False, on_click=lambda _: cancel()
        )
        self.close = pmui.Button(label="Close", size="small", variant="text", on_click=lambda _: self.clear())
        self.text.styles = {"flex": "1 1 300px"}
        self.view = line(self.text, self.bar, self.cancel, self.close)
        self.view.param.update(visible=False, sizing_mode=None, styles={**self.view.styles, **TOAST})

    def say(self, text: str, tone: str, report: str) -> None:
        """Show a line; an error is announced at once, a note politely."""
        role = "alert" if tone == "error" else "status"
        sign = "bad" if tone == "error" else "good"
        more = f"<details><summary>Report</summary><pre>{escape(report)}</pre></details>" if report else ""
        self.text.object = f'<div role="{role}"><p class="{sign}">{escape(text)}</p>{more}</div>'
        self.bar.visible = self.cancel.visible = False
        self.close.visible = self.view.visible = True

    def clear(self) -> None:
        """Say nothing."""
        self.text.object = ""
        self.view.visible = False

    def show_job(self, job: Job | None) -> None:
        """Show what runs and how far it is; None: nothing runs any more."""
        if job is None:
            if self.cancel.visible:
                self.clear()
            self.bar.visible = self.cancel.visible = False
            return
        said = f"{job.title}: {job.text}" if job.text else f"{job.title} …"
        self.text.object = f'<div role="status"><p>{escape(said)}</p></div>'
        self.bar.param.update(
            visible=True,
            variant="indeterminate" if job.fraction is None else "determinate",
            value=0 if job.fraction is None else round(100 * job.fraction),
        )
        self.cancel.visible = self.view.visible = True
        self.close.visible = False
