"""Conflicts: matches that shared a node, the winner and the reason; and the result of a different strategy."""

from dataclasses import replace

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line
from explorer.app.dashboard.panes.tables import html_pane, table_html
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.view_state import STRATEGIES
from explorer.trace.ladder import COMPILED
from explorer_widgets.schema import TableView

MAX_CONFLICTS = 200


class ConflictsTool(Tool):
    """The conflicts of the step, or of the whole trace, and the strategy that decided them."""

    name = "conflicts"
    title = "Conflicts"
    help = "Matches that shared a node: which one won and why. Try a different strategy."
    supported_levels = (COMPILED.name,)
    elsewhere = "passes rewrite one match after the other, so none competes with another"

    def __init__(self, workspace: Workspace) -> None:
        self.strategy = pmui.Select(label="Strategy", options=list(STRATEGIES), size="small", width=200)
        self.use = button(workspace, "Use it", self._use)
        self.compare = button(workspace, "Compare with it", self._compare, "outlined")
        self.table = html_pane()
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls = line(self.strategy, self.use, self.compare)
        return column(controls, self.table)

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        if "trace" in names:
            self.strategy.value = session.opened.options.strategy
        if not names & {"trace", "step"}:
            return
        here, everywhere = session.opened.trace.conflicts(session.step), session.opened.trace.conflicts()
        if not everywhere:
            self.table.object = "<p>No conflicts: no two matches shared a node.</p>"
            return
        found = here or everywhere
        rows = [
            [
                str(conflict.step),
                f"{conflict.winner.rule} at {_nodes(conflict.winner.nodes)}",
                f"{conflict.loser.rule} at {_nodes(conflict.loser.nodes)}",
                str(conflict.node),
                f"{conflict.strategy}: {conflict.reason}",
            ]
            for conflict in found[:MAX_CONFLICTS]
        ]
        table: TableView = {"columns": ["step", "won", "lost", "shared node", "decided by"], "rows": rows}
        where = f"in step {session.step}" if here else "in other steps; none in this one"
        more = f", the first {MAX_CONFLICTS} of them" if len(found) > MAX_CONFLICTS else ""
        count = f"{len(found):,} {'match' if len(found) == 1 else 'matches'} lost a conflict {where}{more}"
        self.table.object = table_html(table, count)

    def _use(self) -> None:
        self.workspace.recompile(replace(self.workspace.session.opened.options, strategy=self.strategy.value))

    def _compare(self) -> None:
        session = self.workspace.session
        options = replace(session.opened.options, strategy=self.strategy.value)
        self.workspace.open_other(replace(session.state, options=options, again=True))
        self.workspace.open_tool("compare")


def _nodes(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))
