"""The panes of one reader: they follow the session, and the session follows them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from explorer.app.dashboard.background import Job, call_later, deliver
from explorer.app.dashboard.measuring import TIMING
from explorer.app.dashboard.panes.compare import ComparedNames
from explorer.app.dashboard.panes.files import FilesTool
from explorer.app.dashboard.panes.header import CIRCUIT_WIDTH, Header
from explorer.app.dashboard.panes.tool import graph_options
from explorer.app.dashboard.panes.tools import Tools
from explorer.app.dashboard.panes.values import check_values, run_inputs
from explorer.app.dashboard.workspace import Address, Workspace
from explorer.app.session.library import Library
from explorer.app.session.linking import GraphLink
from explorer.app.session.opening import Opened, open_state, release_heap_soon
from explorer.app.session.sending_ahead import SendingAhead
from explorer.app.session.session import Session
from explorer.app.session.view_state import MAX_ROUNDS, ViewState, missing_from
from explorer.views import RUN_MORE, counterparts
from explorer_widgets.dashboard import UNBOUNDED, GraphPane

HEADER_WIDTH = 1000
"""Minimum width of a window with room for the tools in its header."""

STAGE = {"flex": "1000 1 480px", "min-width": "min(100%, 320px)"}
"""The style of the graph: beside it a tool is as wide as it wants, below it as wide as the page."""


class Dashboard:
    """The panes of one reader. `opened` is the opened trace of the view state, if there is one already."""

    def __init__(self, library: Library, state: ViewState, problem: str = "", opened: Opened | None = None) -> None:
        document = pn.state.curdoc
        self.is_loaded, self._is_following = False, True
        session = Session(opened or open_state(library, state), state)
        self._deliver = partial(deliver, document)
        self.workspace = Workspace(session, library, self._deliver, self._show_job, self._open_tool)
        self.messages, self.browser = self.workspace.messages, self.workspace.browser
        self.graph = GraphPane(options=graph_options())
        self.graphs = pn.Row(self.graph, sizing_mode="stretch_width", margin=0, styles=UNBOUNDED)
        self.compared = ComparedNames(self.workspace)
        self.header = Header(self.workspace)
        self.tools = Tools(self.workspace, self._make_room)
        requests = {
            "check": partial(check_values, self.workspace),
            "close-tool": partial(self.tools.open, ""),
            "timing": self.workspace.measuring.start_everything,
            "cancel": self.workspace.cancel,
            RUN_MORE: self._run_more,
        }
        self.link = self._link(session, self.graph, requests)
        self.ahead = SendingAhead(session, self.graph.send_ahead, partial(call_later, document))
        self.graph.param.watch(lambda _: self.ahead.start(), "ready")
        self.other_link: GraphLink | None = None
        self.theme = pmui.Button(
            label="Theme", size="small", variant="outlined", on_click=lambda _: self.browser.flip_theme()
        )
        self.more = pmui.Toggle(label="Tools", size="small", variant="outlined")
        self.options = pn.FlexBox(visible=False, sizing_mode="stretch_width", margin=(4, 8))
        self.more.param.watch(lambda event: self.options.param.update(visible=event.new), "value")
        self.browser.param.watch(lambda event: self._on_copy(event.new), "copied")
        self.browser.param.watch(lambda _: self._open_tool(FilesTool.name), "drops")
        self.address = Address(self.workspace, self.browser, self._deliver, self._show_states)
        session.listen(self._on_change)
        self._on_change(frozenset(("trace", "step", "other")))
        missing = missing_from(state, session.state, len(session.opened.trace.steps) - 1)
        problems = [text for text in (problem, missing) if text]
        if problems:
            self.messages.show(" ".join(problems), "error")

    def on_load(self) -> None:
        """Start slow work after the page has loaded: changes made while it loads may not reach the browser."""
        if self.is_loaded:
            return
        self.is_loaded = True
        check_values(self.workspace, ask_first=True)
        if self.workspace.session.state.other is not None:
            self.workspace.open_other(self.workspace.session.state.other)

    def fill(self, page: pmui.Page) -> None:
        """Place the panes in a page."""
        stage = pn.Column(self.compared.view, self.graphs, margin=0, styles={**UNBOUNDED, **STAGE})
        main = pn.Column(
            self.messages.view,
            self.options,
            pn.FlexBox(stage, self.tools.body, sizing_mode="stretch_width", margin=0, styles=UNBOUNDED),
            self.browser,
            sizing_mode="stretch_width",
            margin=0,
            styles=UNBOUNDED,
        )
        page.param.update(header=[*self.header.items, self.tools.buttons, self.theme], main=[main])
        self.browser.param.watch(lambda event: self._arrange(page, event.old, event.new), "width")

    def _arrange(self, page: pmui.Page, old: int, new: int) -> None:
        """In a narrow window, move the tools from the header to a row that a button opens."""
        circuit, *others = *self.header.items, self.tools.buttons
        self.header.circuit.width = min(CIRCUIT_WIDTH, max(110, new - 210))
        if (new < HEADER_WIDTH) != (0 < old < HEADER_WIDTH):
            is_narrow = new < HEADER_WIDTH
            self.options[:] = []  # first: a part in two places is followed in neither once it leaves one
            page.header = [circuit, self.more] if is_narrow else [circuit, *others, self.theme]
            self.options[:] = [*others, self.theme] if is_narrow else []
            self.more.value = False

    def close(self) -> None:
        """Cancel the work of a closed page, and free its traces."""
        self.workspace.close()
        self.ahead.close()
        for session in (self.workspace.session, self.workspace.other):
            if session is not None:
                session.close()
        release_heap_soon()

    def _link(self, session: Session, pane: GraphPane, requests: Mapping[str, Callable[[], None]]) -> GraphLink:
        """Link a graph and its session; running inputs takes long, so it happens in the background."""
        values = {"values": lambda: run_inputs(self.workspace, session, link.painted)}
        link = GraphLink(session, pane, {**requests, **values}, self.workspace.guard)
        return link

    # ------------------------------------------------------------------ session -> panes

    def _on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        if names & {"trace", "step"}:
            self.messages.clear_note()
        self.header.on_change(names)
        if names & {"trace"}:
            self.workspace.other = None  # whoever opens a trace opens the one to compare with, too
            if self.is_loaded:
                check_values(self.workspace, ask_first=True)
        if names & {"other", "trace"}:
            self._show_other()
        if self.workspace.other is not None:
            self._follow(session, self.workspace.other, names)
        self.tools.on_change(names)
        if names & {"trace", "step", "selection", "look", "other", "closer"}:
            self.address.write()

    def _show_other(self) -> None:
        """Show the second graph next to the first, or remove it."""
        if self.other_link is not None:
            self.other_link.close()
            self.other_link = None
        session, other = self.workspace.session, self.workspace.other
        if other is None:
            self.graphs[:] = [self.graph]
        else:
            pane = GraphPane()
            self.other_link = self._link(other, pane, {})
            self.graphs[:] = [self.graph, pane]
            if not other.step:  # a link names no step of it, and a tool none
                self._step_together(session, other)
                session.state = replace(session.state, other=replace(other.state, other=None))
            other.listen(partial(self._on_other_change, other))
        self.compared.show()
        self._make_room(bool(self.tools.open_name))

    def _on_other_change(self, other: Session, names: frozenset[str]) -> None:
        """Apply the reader's actions in the right graph to the left one and to the link."""
        if other is not self.workspace.other:
            return
        session = self.workspace.session
        session.state = replace(session.state, other=replace(other.state, other=None))
        self._follow(other, session, names)
        self.address.write()

    def _step_together(self, leader: Session, follower: Session) -> None:
        """Go to the step of the same path, if the other trace has one."""
        path = leader.index.step(leader.step).path
        if any(step.path == path for step in follower.opened.trace.steps):
            follower.go(path)

    def _follow(self, leader: Session, follower: Session, names: frozenset[str]) -> None:
        """Go to the step of the other trace, and select the counterparts of its selection, if these changed."""
        if not self._is_following or not names & {"step", "selection"}:
            return
        with self._without_following():
            if "step" in names:
                self._step_together(leader, follower)
            nodes = leader.selected_nodes
            follower.select_nodes(counterparts(leader.index, leader.step, nodes, follower.index, follower.step).ids)

    @contextmanager
    def _without_following(self) -> Iterator[None]:
        """Keep the traces from following each other: counterparts of counterparts may be different nodes."""
        self._is_following = False
        try:
            yield
        finally:
            self._is_following = True

    def _show_states(self, state: ViewState, other: ViewState | None) -> None:
        """Show a view state of the open trace, and one of the second trace."""
        self.messages.clear()
        with self._without_following():
            self.workspace.session.show(state)
            if other is not None and self.workspace.other is not None:
                self.workspace.other.show(other)

    def _show_job(self, job: Job | None) -> None:
        has_time_line = self.workspace.session.opened.trace.level.has_circuit
        inline = job if job is not None and job.title == TIMING and has_time_line else None
        self.graph.progress = {} if inline is None else {"text": inline.words, "share": inline.fraction}
        self.messages.show_job(None if inline is not None else job)
        if job is None:  # it may have been cancelled: controls and address show the open trace, not the chosen one
            self.header.on_change(frozenset({"trace"}))
            if self.workspace.other is None and self.workspace.session.state.other is not None:
                self.workspace.show_other(None)
            self.address.write()

    # ------------------------------------------------------------------ actions of the reader

    def _open_tool(self, name: str) -> None:
        self.tools.open(name)

    def _run_more(self) -> None:
        opened = self.workspace.session.opened
        rounds = min(2 * opened.options.max_rounds + 1, MAX_ROUNDS)
        self.workspace.recompile(replace(opened.options, max_rounds=rounds))

    def _make_room(self, is_open: bool) -> None:
        for pane in (part for part in self.graphs if isinstance(part, GraphPane)):
            main = pane is self.graph
            pane.options = graph_options(main=main, tool=main and is_open, narrow=self.workspace.other is not None)

    def _on_copy(self, answer: dict[str, Any]) -> None:
        ok = bool(answer.get("ok"))
        text = "Copied." if ok else "The browser did not allow copying; select the text and copy it yourself."
        self.messages.show(text, "info" if ok else "error")
