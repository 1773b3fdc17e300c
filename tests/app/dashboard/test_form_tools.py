"""The tools Pattern and Pipeline: their controls change a form or a draft, part by part."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
import pytest

from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.panes import patterns
from explorer.app.dashboard.panes.patterns import START, PatternTool
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened
from explorer.app.session.pattern_form import ConditionForm, LayerForm, NodeForm, PatternForm
from explorer.app.session.pipeline_draft import PipelineDraft
from explorer.app.session.view_state import TensorOptions, ViewState
from explorer.rewrite import CompilationMode, ConvergenceMode
from explorer.symbolic import LearnedEpoch, pack_values
from explorer.templates import gallery

pn.extension()


@pytest.fixture
def tool() -> PatternTool:
    made = Dashboard(Library(), ViewState(circuit="conflict", step=2))
    made.tools.open("pattern")
    tool = made.tools._tools["pattern"]
    assert isinstance(tool, PatternTool)
    return tool


def control(tool: PatternTool, label: str, at: int = 0) -> Any:
    """The control with a label; of several ones by its position."""
    return controls(tool, label)[at]


def controls(tool: PatternTool, label: str) -> list[Any]:
    known: list[Any] = tool.rows.select(pmui.widgets.base.MaterialWidget)
    return [one for one in known if one.label == label]


def press(tool: PatternTool, label: str, at: int = 0) -> None:
    control(tool, label, at).clicks += 1


def test_a_circuit_with_an_applied_pattern_keeps_what_is_known_of_its_training(
    tool: PatternTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, found = tool.workspace, list[Opened]()
    packed = pack_values({"weight": np.zeros((1, 1))})
    epoch = LearnedEpoch(0, 1.0, 1.0, packed, lambda: gallery.load_named("conflict"))
    workspace.session.opened = replace(workspace.session.opened, epochs=(epoch,))
    monkeypatch.setattr(patterns, "apply_form", lambda trace, form, replacement: trace)
    job = SimpleNamespace(check=lambda: None)
    monkeypatch.setattr(workspace.background, "start", lambda title, work, then, show_error: then(work(job)))
    tool._start_applying(found.append)
    assert found[0].epochs == (epoch,)


def test_conditions_are_added_changed_and_removed(tool: PatternTool) -> None:
    press(tool, "Condition")
    (first,) = tool.form.entries[0].conditions
    assert tool.form.entries[1] == START.entries[1]
    assert "Enter a value" in str(tool.words.object)
    value = control(tool, "integer")
    value.value_input = "1"
    control(tool, "is").value = "≥"
    assert tool.form.entries[0].conditions == (ConditionForm(first.field, "≥", "1"),)
    assert "Enter a value" not in str(tool.words.object)
    assert control(tool, "integer") is value, "what is typed stays in its field"
    other = next(name for name in control(tool, "Field").options if name != first.field)
    control(tool, "Field").value = other
    assert tool.form.entries[0].conditions[0].field == other
    press(tool, "Remove", 1)  # the first one removes the layer
    assert tool.form == START


def test_layers_are_added_at_the_input_side_and_the_last_one_stays(tool: PatternTool) -> None:
    press(tool, "Condition", 1)
    press(tool, "Add a layer below")
    assert [layer.type for layer in tool.form.entries] == ["TorchSumLayer", *["TorchHadamardLayer"] * 2]
    assert tool.form.entries[1] == tool.form.entries[2]
    control(tool, "Layer 3 (input 2 below)").value = "TorchSumLayer"
    assert tool.form.entries[2] == LayerForm("TorchSumLayer")
    press(tool, "Remove")
    assert [layer.type for layer in tool.form.entries] == ["TorchHadamardLayer", "TorchSumLayer"]
    control(tool, "Name").value_input = "Other"
    control(tool, "the first layer is an output").value = True
    press(tool, "Remove")
    assert tool.form == PatternForm("Other", (LayerForm("TorchSumLayer"),), is_output=True)
    assert controls(tool, "Remove") == []


def test_a_parameter_is_a_chain_of_nodes_with_conditions(tool: PatternTool) -> None:
    press(tool, "Parameter")
    name, parameter = tool.form.entries[0].parameters[0]
    (node,) = parameter.entries
    press(tool, "Node below")
    control(tool, "Node 1").value = "TorchSoftmaxParameter"
    assert tool.form.entries[0].parameters[0][1].entries == (NodeForm("TorchSoftmaxParameter"), node)
    press(tool, "Condition", 1)  # of the first node: the layer has the first button
    assert len(tool.form.entries[0].parameters[0][1].entries[0].conditions) == 1
    press(tool, "Remove", 2)  # of the layer, of the parameter, of the first node
    assert tool.form.entries[0].parameters == ((name, parameter),)
    press(tool, "Remove", 1)
    assert tool.form == START


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
def test_an_entry_of_a_pipeline_is_changed_by_its_controls_but_not_by_showing_it() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard", tensor=TensorOptions("program")))
    made.tools.open("pipeline")
    tool: Any = made.tools._tools["pipeline"]
    form = tool.passes
    first, second = (replace(entry, on=i == 0) for i, entry in enumerate(form.draft.entries[:2]))
    strange = replace(first, config=replace(first.config, modes=()))  # no choice of the control shows it
    draft = PipelineDraft((strange, second))
    form._edit(draft, 0)
    form.list.value = [draft.labels[1]]
    assert (form.draft, form.on.value) == (draft, False)
    form.modes.value = "infer only"
    form.convergence.value = "until nothing changes"
    form.on.value = True
    changed = form.draft.entries[1]
    assert (changed.on, changed.config.modes) == (True, {CompilationMode.INFER})
    assert changed.config.convergence is ConvergenceMode.UNTIL_FIXED_POINT
    assert form.draft.entries[0] == strange
