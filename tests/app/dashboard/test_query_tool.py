"""The Query tool: painted pixels are completed, rows are asked about, errors are said where the answer would be."""

import json
from collections.abc import Callable
from queue import Queue
from typing import Any

import pytest

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

from explorer.app.dashboard.panes.query import QueryTool
from explorer.app.dashboard.panes.tool import OPENED
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.session import EVENTS, Session
from explorer.app.session.view_state import ViewState


class Reader:
    """A workspace whose host thread is this one, with the tool open."""

    def __init__(self, circuit: str) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        place, library = ViewState(circuit=circuit), Library()
        session = Session(open_state(library, place, lambda event: None), place)
        self.workspace = Workspace(session, library, self.waiting.put, lambda job: None)
        self.tool = QueryTool(self.workspace)
        self.tool.on_change(EVENTS | {OPENED})

    def wait(self) -> None:
        """Run what is delivered until no query runs."""
        while self.workspace.inputs_background.job is not None:
            self.waiting.get(timeout=30)()

    @property
    def shown(self) -> dict[str, Any]:
        return json.loads(self.tool.pad.query)


def test_painted_pixels_are_kept_and_the_rest_is_sampled() -> None:
    reader = Reader("digits")
    assert reader.shown["answers"] == []
    assert "not trained" in str(reader.tool.warning.object)
    reader.tool.count.value = 2
    reader.tool.pad.evidence = {"x": [16.0] + [0.0] * 63, "observed": [1] + [0] * 63, "n": 1}
    reader.wait()
    assert reader.shown["n"] == 1
    assert [one["label"] for one in reader.shown["answers"]] == ["sample 0", "sample 1"]
    assert [one["x"][0] for one in reader.shown["answers"]] == [16, 16]
    assert "known = {0: 16}" in str(reader.tool.code.object)
    session = reader.workspace.session
    assert reader.shown["chosen"] == 0
    reader.tool.pad.chosen = 1
    assert reader.shown["chosen"] == 1
    assert reader.tool.colour.label == "Colour the plates by sample 1"
    reader.tool._colour()
    reader.wait()
    values = session.values
    assert values is not None
    assert values["runs"][values.get("picked", 0)]["x"] == [float(value) for value in reader.shown["answers"][1]["x"]]
    assert (session.state.closer.closeup, len(session.selection)) == ("values", 1)


def test_a_row_is_asked_about_and_what_is_wrong_with_it_is_said_in_the_answer() -> None:
    reader = Reader("conflict")
    tool = reader.tool
    assert (tool.pad.visible, [field.label for field in tool.row.fields]) == (False, ["x0", "x1", "x2", "x3"])
    tool.kind.value, tool.row.fields[0].value = "marginal", "1"
    tool._start()
    reader.wait()
    assert "log p(x0 = 1)" in str(tool.answer.object)
    assert "1 (observed)" in str(tool.answer.object)
    tool.row.fields[2].value = "many"
    tool._start()
    assert "variable 2; got &#x27;many&#x27;" in str(tool.answer.object)
    tool.row.fields[2].value = "5"
    tool._start()
    reader.wait()
    assert 'class="bad"' in str(tool.answer.object)
    assert not tool.copy.visible
    tool.kind.value = "entropy"
    assert not tool.row.view.visible, "an entropy is of no row"


def test_one_of_several_outputs_is_asked_about() -> None:
    tool = (reader := Reader("near-misses")).tool
    assert (tool.output.visible, tool.class_.visible) == (True, True)
    tool.output.value = tool.output.end
    tool._start()
    reader.wait()
    assert f"root=({tool.output.end}, 0)" in str(tool.code.object)
    tool.kind.value = "log-likelihood"
    assert not tool.output.visible


def test_another_step_answers_again() -> None:
    reader = Reader("conflict")
    reader.tool.kind.value = "partition-function"
    reader.tool._start()
    reader.wait()
    reader.workspace.session.go(6)
    reader.tool.on_change(frozenset({"step"}))
    reader.wait()
    assert "circuit_at(6)" in str(reader.tool.code.object)
