"""Reasons that a pattern was not applied: at a node, entry by entry; near misses."""

from html import escape
from typing import Any

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.tables import html_pane, section_html
from explorer.app.dashboard.panes.tool import Tool, column, columns, line
from explorer.app.dashboard.workspace import Workspace
from explorer.errors import CircuitError
from explorer.views import closest_pattern, near_misses, why_not


class WhyNotTool(Tool):
    """Shows the matcher's checks at the selected box, up to the first that fails.

    Until the reader chooses a pattern, it is the one that got furthest at the box; a pass that is shown comes first.
    """

    name = "why-not"
    title = "Why not"
    help = "Why a pattern was not applied at the selected node, and where it nearly matched."
    has_button = False

    def __init__(self, workspace: Workspace) -> None:
        self.pattern = pmui.Select(label="Pattern", options=[], size="small", width=230)
        self.show = pmui.Checkbox(label="Draw its near misses on the graph", value=False)
        self.answer = html_pane()
        self.misses = html_pane()
        self._shown: str | None = None
        """The pattern that was set last; another one in its control was chosen by the reader."""
        self._is_chosen = False
        """Whether the reader chose the pattern of this trace."""
        self.pattern.param.watch(workspace.guard(lambda event: event.new == self._shown or self._choose()), "value")
        self.show.param.watch(workspace.guard(lambda event: event.new == self._has_misses or self._choose()), "value")
        super().__init__(workspace)

    def build(self) -> Viewable:
        left = column(line(self.pattern, self.show), self.answer)
        return columns(left, column(self.misses))

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        if "trace" in names:
            patterns = [rule.pattern for rule in session.opened.trace.rules]
            kept = self.pattern.value if self.pattern.value in patterns else None
            self._fill(kept or self._likely(patterns), options=patterns)
            self._is_chosen = False
        if names & {"trace", "look"}:
            self.show.value = self._has_misses
            if self._has_misses:
                self._fill(session.look.near_misses)
                self._is_chosen = True
        if session.selected_layers and names & {"trace", "selection", "step"} and not self._is_chosen:
            node, passes = session.selected_layers[-1], not session.opened.trace.level.has_circuit
            here = closest_pattern(session.index, node, session.step) if passes else None
            closest = here or closest_pattern(session.index, node)
            self._fill(closest or self.pattern.value)
        if names & {"trace", "step"}:
            found = near_misses(session.index, session.step)
            shown = "".join(section_html(section) for section in found["sections"])
            self.misses.object = f"<h3>{escape(found['title'])}</h3>" + (shown or "<p>No pattern nearly matched.</p>")
        self._answer()

    def _likely(self, patterns: list[str]) -> str | None:
        """The initial pattern: the one with the most near misses at the step."""
        found = self.workspace.session.opened.trace.near_misses(None, self.workspace.session.step)
        best = max(found, key=lambda misses: len(misses.refusals), default=None)
        return best.pattern if best is not None else next(iter(patterns), None)

    def _fill(self, pattern: str | None, **more: Any) -> None:
        """Set the pattern without asking for its near misses."""
        self._shown = pattern
        self.pattern.param.update(value=pattern, **more)

    @property
    def _has_misses(self) -> bool:
        """Whether the graph shows near misses."""
        return self.workspace.session.look.near_misses is not None

    def _choose(self) -> None:
        """Show the pattern that the reader chose, and its near misses if the reader wants them."""
        self._shown, self._is_chosen = self.pattern.value, True
        self.workspace.session.change_look(near_misses=self.pattern.value if self.show.value else None)
        self.show.value = self._has_misses  # without patterns there are none
        self._answer()

    def _answer(self) -> None:
        session = self.workspace.session
        layers = session.selected_layers
        if not layers or self.pattern.value is None:
            self.answer.object = "<p>Select a box in the graph to ask about it.</p>"
            return
        try:
            found = why_not(session.index, self.pattern.value, layers[-1])
        except CircuitError as error:  # after folding, or without optimization, no pattern was tried
            self.answer.object = f"<p>{escape(str(error))}.</p>"
            return
        count = len(session.inspected_nodes)
        many = f"<p>The box represents {count:,} nodes; this is the first.</p>" if count > 1 else ""
        many = many or (f"<p>This is the last of {len(layers):,} selected ones.</p>" if len(layers) > 1 else "")
        sections = "".join(section_html(section) for section in found["sections"])
        self.answer.object = f"<h3>{escape(found['title'])}</h3>{many}{sections}"
