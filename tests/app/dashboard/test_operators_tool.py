"""The Operators tool: the circuits that operators combined, with the layers of the selected box lit up."""

import json
from collections.abc import Callable
from queue import Queue

import pytest

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

from explorer.app.dashboard.panes.compare import OperatorsTool
from explorer.app.dashboard.panes.tool import OPENED
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import EVENTS, Session
from explorer.app.session.view_state import ViewState
from tests.waiting import PATIENCE


def tool_of(name: str) -> OperatorsTool:
    """The tool, open with a circuit of the gallery, after everything was drawn."""
    waiting: Queue[Callable[[], None]] = Queue()
    place, library = ViewState(circuit=name), Library()
    session = Session(open_state(library, place, lambda event: None), place)
    tool = OperatorsTool(Workspace(session, library, waiting.put, lambda job: None, lambda name: None))
    tool.on_change(EVENTS | {OPENED})
    while tool.workspace.drawing_background.job is not None:
        waiting.get(timeout=PATIENCE)()
    return tool


def test_the_operands_are_drawn_and_the_selected_layers_lit() -> None:
    tool = tool_of("squared")
    session = tool.workspace.session
    drawn = json.loads(tool.drawing.derivation)
    assert [one["label"] for one in drawn["circuits"]] == ["A", "multiply(A, A)"]
    assert drawn["chosen"] == []
    last = len(session.opened.trace.steps) - 1
    session.go(last)
    box, nodes = next(iter(session.boxes.items()))
    session.select([box])
    tool.on_change(frozenset({"selection"}))
    chosen = json.loads(tool.drawing.derivation)["chosen"]
    assert chosen == [[1, one] for one in session.opened.trace.lineage(nodes[0]).symbolic]


def test_before_the_compilation_the_selected_layers_are_those_of_an_operand() -> None:
    tool = tool_of("squared")
    session = tool.workspace.session
    session.go(0)
    session.select([next(box for box, nodes in session.boxes.items() if 12 in nodes)])
    tool.on_change(frozenset({"selection"}))
    assert [0, 0] in json.loads(tool.drawing.derivation)["chosen"]


def test_only_circuits_that_operators_made_have_the_tool() -> None:
    assert [OperatorsTool.supports(opened(name)) for name in ("squared", "evidence", "conflict")] == [True, True, False]


def opened(name: str) -> Opened:
    return open_state(Library(), ViewState(circuit=name))
