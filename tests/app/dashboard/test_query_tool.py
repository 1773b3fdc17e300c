"""The Query tool: painted pixels are completed, rows are asked about, errors are said where the answer would be."""

import json
from collections.abc import Callable
from queue import Queue
from typing import Any

import pytest
import torch

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

import explorer
from explorer.app.dashboard.panes.query import QueryTool
from explorer.app.dashboard.panes.tool import OPENED
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import EVENTS, Session
from explorer.app.session.view_state import ViewState
from explorer.backend import queries
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, TensorParameter, operators
from explorer.templates import gallery
from explorer.templates.inputs import CategoricalInput
from explorer.trace import Trace
from tests.waiting import PATIENCE


class Reader:
    """A workspace in this host thread, with the tool open."""

    def __init__(self, circuit: str, trace: Trace | None = None) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        place, library = ViewState(circuit=circuit), Library()
        opened = Opened(circuit, trace, CompilerOptions()) if trace else open_state(library, place, lambda event: None)
        session = Session(opened, place)
        self.workspace = Workspace(session, library, self.waiting.put, lambda job: None, lambda name: None)
        self.tool = QueryTool(self.workspace)
        self.tool.on_change(EVENTS | {OPENED})

    def go(self, step: int) -> None:
        self.workspace.session.go(step)
        self.tool.on_change(frozenset({"step"}))

    def wait(self) -> None:
        """Run what is delivered until no query runs."""
        while self.workspace.inputs_background.job is not None:
            self.waiting.get(timeout=PATIENCE)()

    @property
    def shown(self) -> dict[str, Any]:
        return json.loads(self.tool.pad.query)


def test_painted_pixels_are_kept_and_the_rest_is_sampled() -> None:
    reader = Reader("digits")
    assert reader.shown["answers"] == []
    assert "trained weights of the gallery (held-out 2.03 bits per pixel)" in str(reader.tool.warning.object)
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


@pytest.mark.parametrize("kind", ["marginal", "most-probable"])
def test_painted_pixels_are_completed_by_means_and_by_the_most_probable_image(kind: str) -> None:
    reader = Reader("digits")
    reader.tool.kind.value = kind
    x, observed = [0.0] * 64, [0] * 64
    for pixel, value in ((0, 16), (27, 9), (63, 4)):
        x[pixel], observed[pixel] = float(value), 1
    reader.tool.pad.evidence = {"x": x, "observed": observed, "n": 1}
    reader.wait()
    circuit = reader.workspace.session.opened.trace.circuit_at(reader.workspace.session.step)
    row, mask = torch.tensor([x]), torch.tensor(observed, dtype=torch.bool)
    if kind == "marginal":
        wanted = queries.moments(circuit, 1, row, mask)[0, 0, 0]
    else:
        wanted = queries.most_probable(circuit, row, mask).assignment[0].double()
    (image,) = reader.shown["answers"]
    assert [image["x"][pixel] for pixel in (0, 27, 63)] == [16, 9, 4]
    # An image has four digits.
    torch.testing.assert_close(torch.tensor(image["x"], dtype=torch.float64), wanted.double(), rtol=1e-3, atol=1e-3)
    assert len({round(value, 1) for value in image["x"]}) > 3, "the other pixels are not all alike"
    x[27] = 2.0  # another stroke asks again
    reader.tool.pad.evidence = {"x": x, "observed": observed, "n": 2}
    reader.wait()
    assert (reader.shown["n"], reader.shown["answers"][0]["x"][27]) == (2, 2)


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
    assert "&#x27;many&#x27; is not a value of x2 (an integer from 0 to 1)" in str(tool.answer.object)
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
    reader.tool.kind.value = "partition"
    reader.tool._start()
    reader.wait()
    reader.go(6)
    reader.wait()
    assert "circuit_at(6)" in str(reader.tool.code.object)


def labels(tool: QueryTool) -> list[str]:
    return [str(field.label) for field in tool.row.fields if not field.disabled]


def test_the_form_has_the_variables_of_the_selected_step() -> None:
    tool = (reader := Reader("evidence")).tool
    tool.kind.value = "marginal"
    reader.go(0)
    assert labels(tool) == ["x0", "x1", "x2", "x3", "x4"], "the operand, before two coins are seen"
    tool.row.fields[0].value, tool.row.fields[1].value, tool.row.fields[4].value = "1", "0", "1"
    tool._start()
    reader.wait()
    assert "log p(x0 = 1, x1 = 0, x4 = 1)" in str(tool.answer.object)
    assert not tool.colour.visible, "the plates have no values of operands"
    reader.go(1)
    reader.wait()
    assert labels(tool) == ["x0", "x2", "x3"]
    assert [field.value for field in tool.row.fields] == ["1", "", "", "", ""], "what was typed stays where it fits"
    assert "log p(x0 = 1)" in str(tool.answer.object)
    assert "circuit_at(1)" in str(tool.code.object)
    reader.go(0)
    reader.wait()
    assert "log p(x0 = 1)" in str(tool.answer.object)
    assert len(tool.row.fields) == 5


def test_what_is_observed_in_the_picture_is_in_the_form_until_it_is_typed_over() -> None:
    tool = (reader := Reader("evidence")).tool
    tool.kind.value = "marginal"
    session, values = reader.workspace.session, lambda: [field.value for field in tool.row.fields]
    reader.go(1)

    def hear() -> None:
        tool.on_change(frozenset({"observed"}))

    session.observe(["1", "", "", "0", ""])
    hear()
    assert values() == ["1", "", "", "0", ""]
    tool._start()
    reader.wait()
    assert "log p(x0 = 1, x3 = 0)" in str(tool.answer.object)
    tool.row.fields[0].value = "0"
    hear()
    assert values() == ["0", "", "", "0", ""], "it was taken once"
    session.observe(["", "", "", "7", ""])
    hear()
    assert values() == [""] * 5, "7 is not a value of x3"


def pair() -> Circuit:
    """A mixture of products of two variables."""
    b = CircuitBuilder()
    inputs = [b.add(CategoricalInput(2)(v, 2)) for v in range(2)]
    return b.build(b.sum(b.hadamard(*inputs), num_units=1))


def test_operands_of_different_widths_are_not_offered_and_the_tool_says_why() -> None:
    def table(units: int) -> Circuit:
        builder, weight = CircuitBuilder(), TensorParameter((units, 2))
        layer = EmbeddingLayer(scope=(0,), num_output_units=units, num_states=2, weight=weight)
        return builder.build(builder.add(layer))

    product = operators.multiply(table(3), table(2))
    reader = Reader("tables", explorer.record(product, semiring="sum-product"))
    assert "outputs of 3 and B has outputs of 2 units" in str(reader.tool.answer.object)
    assert reader.tool.meaning.object
    last = len(reader.workspace.session.opened.trace.steps) - 1
    reader.go(last)
    reader.tool.kind.value = "partition"
    reader.tool._start()
    reader.wait()
    assert "outputs of 3" not in str(reader.tool.answer.object)
    assert reader.tool.class_.end == 5


def test_operands_are_outputs_that_can_be_chosen() -> None:
    made = operators.multiply(pair(), pair())
    tool = (reader := Reader("digits", explorer.record(made))).tool
    reader.go(2)
    assert not tool.output.visible
    reader.go(0)
    assert (tool.output.visible, tool.output.end) == (True, 1)
    tool.output.value = 1
    tool._start()
    reader.wait()
    assert "root=(1, 0)" in str(tool.code.object)
    reader.go(1)
    reader.wait()
    assert (tool.output.visible, tool.output.value) == (False, 0)
    assert "root" not in str(tool.code.object)
    assert 'class="bad"' not in str(tool.answer.object)


def test_an_error_of_another_step_does_not_stay() -> None:
    tool = (reader := Reader("evidence")).tool
    tool.kind.value = "marginal"
    tool.row.fields[0].value = "many"
    tool._start()
    assert 'class="bad"' in str(tool.answer.object)
    reader.go(1)
    assert str(tool.answer.object) == ""
    assert tool.row.fields[0].value == ""


def test_an_answer_that_comes_after_another_step_was_chosen_is_asked_again() -> None:
    tool = (reader := Reader("evidence")).tool
    tool.kind.value = "marginal"
    reader.go(0)
    tool._start()
    reader.go(1)
    reader.wait()
    assert "circuit_at(1)" in str(tool.code.object)


def test_pixels_that_a_circuit_reads_no_more_are_not_observed() -> None:
    made = operators.evidence(gallery.load_named("digits"), {62: 3, 63: 5})
    tool = (reader := Reader("digits", explorer.record(made))).tool
    tool.count.value = 1
    reader.go(0)
    tool.pad.evidence = {"x": [16.0] + [0.0] * 61 + [1.0] * 2, "observed": [1] + [0] * 61 + [1] * 2, "n": 1}
    reader.wait()
    reader.go(1)
    reader.wait()
    assert reader.shown["observed"] == [1] + [0] * 63
    assert [len(one["x"]) for one in reader.shown["answers"]] == [64], "the last pixels are drawn"
    assert "known = {0: 16}" in str(tool.code.object)
