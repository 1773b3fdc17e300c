"""The dashboard without a browser: every tool opens on every kind of trace, and errors are shown in the page."""

import gc
import json
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from queue import Queue
from typing import Any

import panel as pn
import panel_material_ui as pmui
import pytest
from bokeh.document import Document
from bokeh.models import ImportedStyleSheet
from panel.io.state import set_curdoc
from panel.util.parameters import edit_readonly

import explorer
from explorer.app.dashboard import dashboard
from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.page import make_page
from explorer.app.dashboard.panes import measure
from explorer.app.dashboard.panes.tools import TOOLS
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.pattern_form import LayerForm, PatternForm
from explorer.app.session.session import Session
from explorer.app.session.view_state import DisplayOptions, TensorOptions, ViewState
from explorer.errors import ValueRangeError
from explorer.options import CompilerOptions
from explorer.templates import gallery
from explorer.trace import TENSOR
from explorer_widgets.dashboard import GraphPane
from tests.waiting import PATIENCE

pn.extension()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    explorer.record(gallery.load_named("conflict")).save(tmp_path / "c.trace.json")
    return tmp_path


def shown_by(workspace: Workspace) -> str:
    return str(workspace.messages.text.object)


def errors_of(made: Dashboard) -> str:
    text = shown_by(made.workspace)
    return text if 'role="alert"' in text else ""


def wait_for_work(workspace: Workspace, delivered: "Queue[Callable[[], None]]") -> None:
    """Run the functions that the work delivers, until no job is running."""
    while workspace.background.job:
        delivered.get(timeout=PATIENCE)()


PLACES = {
    "conflict": ViewState(circuit="conflict", step=3),
    "blackboard": ViewState(circuit="blackboard", step=8),
    "a file": ViewState(circuit="c.trace.json", step=3),
    "the program level": ViewState(circuit="blackboard", tensor=TensorOptions("program"), step=2),
    "the level of kernel calls": ViewState(circuit="blackboard", tensor=TensorOptions("kernels"), step=2),
    "the tensor level": ViewState(circuit="conflict", tensor=TensorOptions(TENSOR), step=2),
    "neither optimized nor folded": ViewState(circuit="hmm", options=CompilerOptions(optimize=False, fold=False)),
}


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_every_tool_opens_steps_and_closes_without_an_error(folder: Path, place: ViewState) -> None:
    made = Dashboard(Library(folder), place)
    last = len(made.workspace.session.opened.trace.steps) - 1
    level = made.workspace.session.opened.tensor.level
    opened = made.workspace.session.opened
    supported = [tool for tool in TOOLS if level in tool.supported_levels and tool.supports(opened)]
    assert list(made.tools.buttons.options.values()) == [tool.name for tool in supported]
    for tool in supported:
        made.tools.open(tool.name)
        assert errors_of(made) == ""
        assert (made.tools.open_name, made.tools.body.visible) == (tool.name, True)
        assert made.tools.buttons.value == [tool.name]
        made.workspace.session.select([next(iter(made.workspace.session.boxes))])
        for step in (0, last, min(place.step, last)):
            made.workspace.session.go(step)
            assert errors_of(made) == "", (tool.name, step)
        made.tools.open("")
        assert (made.tools.open_name, made.tools.body.visible, made.tools.buttons.value) == ("", False, [])


def test_the_button_of_the_open_tool_closes_it_and_another_one_changes_it() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard"))
    made.tools.buttons.value = ["measure"]
    assert made.tools.open_name == "measure"
    made.tools.buttons.value = ["measure", "compare"]
    assert (made.tools.open_name, made.tools.buttons.value) == ("compare", ["compare"])
    made.tools.buttons.value = []
    assert (made.tools.open_name, made.tools.body.visible) == ("", False)


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
def test_an_open_tool_says_its_purpose_at_the_level_that_is_opened() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard", tensor=TensorOptions("program")))
    made.tools.open("pipeline")

    def said() -> str:
        return " ".join(part.object for part in made.tools.content if isinstance(part, pn.pane.HTML))

    assert "Which passes run" in said()
    assert "Not at level program: Pattern" in said()
    layers = ViewState(circuit="blackboard")
    made.workspace.session.open(open_state(made.workspace.library, layers), layers)
    made.tools.on_change(frozenset({"trace"}))
    assert "Which rules apply" in said()
    assert "Not at level" not in said()


def test_the_cost_of_a_program_is_its_memory_first() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard", tensor=TensorOptions("program")))
    made.tools.open("measure")
    tool: Any = made.tools._tools["measure"]
    assert tool.cost.stat.value == "peak_bytes"


def test_an_open_tool_is_beside_the_graph_which_keeps_its_height_and_its_legend() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard"))
    height = made.graph.options["height"]
    made.tools.open("measure")
    assert "var(--explorer-side-width," in made.tools.body.styles["flex"]
    assert (made.graph.options["tool"], made.graph.options["height"]) == (True, height)
    assert "legend" not in made.graph.options
    made.graph.request = {"name": "close-tool", "n": 1}
    assert (made.graph.options["tool"], made.tools.body.visible) == (False, False)


def test_another_level_keeps_the_patterns_that_were_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    delivered: Queue[Callable[[], None]] = Queue()
    monkeypatch.setattr(dashboard, "deliver", lambda document, action: delivered.put(action))
    form = PatternForm("TwoSums", (LayerForm("TorchSumLayer"),) * 2)
    state = ViewState(circuit="conflict", form=(json.dumps(form.to_json()),), replacement=("one layer",))
    made = Dashboard(Library(), state)
    layers = len(made.workspace.session.opened.trace.graph_at(-1).nodes)
    calls: list[int] = []
    for level in ("kernels", "compiled"):
        made.header.level.value = level
        wait_for_work(made.workspace, delivered)
        session = made.workspace.session
        assert (session.state.form, session.opened.tensor.level) == (state.form, level)
        assert "TwoSums" in made.workspace.python()
        calls.append(len(session.opened.trace.graph_at(-1).nodes))
    assert calls[1] == layers
    plain = open_state(made.workspace.library, ViewState(circuit="conflict", tensor=TensorOptions("tensor")))
    kept = open_state(made.workspace.library, replace(state, tensor=TensorOptions("tensor")))
    assert len(kept.trace.graph_at(0).nodes) != len(plain.trace.graph_at(0).nodes)


def test_a_tool_closes_when_a_level_is_opened_that_it_does_not_support() -> None:
    made = Dashboard(Library(), ViewState(circuit="blackboard"))
    made.tools.open("pattern")
    program = ViewState(circuit="blackboard", tensor=TensorOptions("program"))
    made.workspace.session.open(open_state(made.workspace.library, program), program)
    assert (made.tools.open_name, made.tools.body.visible, errors_of(made)) == ("", False, "")
    assert "Pattern" not in made.tools.buttons.options


def test_the_inspector_shows_costs_and_conflicts_of_a_step_without_a_selection() -> None:
    made = Dashboard(Library(), ViewState(circuit="conflict", step=3))
    sections = {section["heading"]: section for section in json.loads(made.graph.details)["sections"]}
    assert ["calls", "9 (−3)"] in sections["Cost"]["rows"]
    reason = "largest-match: equal size (2 = 2): SumCollapse is nearer to the outputs, so it wins"
    assert [row[1] for row in sections["Conflicts"]["rows"]] == [reason] * 2


def test_the_inspector_shows_the_fold_key_and_why_two_layers_are_apart() -> None:
    made = Dashboard(Library(), ViewState(circuit="near-misses", step=11))  # level 1 was folded
    session = made.workspace.session
    groups = [group for group in session.opened.trace.fold_groups() if group.level == 1]
    session.select_nodes([groups[0].node])
    found = json.loads(made.graph.details)["sections"]
    (key,) = (section for section in found if section["heading"] == "Fold key of level 1")
    assert ["layers", str(len(groups[0].members))] in key["rows"]
    session.select_nodes([group.node for group in groups[:2]])
    found = json.loads(made.graph.details)["sections"]
    assert any(section["heading"] == "Folded together?" and section["lines"] for section in found)


def test_a_tool_that_raises_reports_it_and_the_page_keeps_working(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("<b>on purpose</b>")

    made = Dashboard(Library(), ViewState(circuit="blackboard"))
    monkeypatch.setattr("explorer.app.dashboard.panes.measure.stat_bars", broken)
    made.tools.buttons.value = ["measure"]
    messages = errors_of(made)
    assert "Something went wrong in the explorer itself: ZeroDivisionError: &lt;b&gt;on purpose&lt;/b&gt;" in messages
    assert "<summary>Report</summary>" in messages
    made.graph.step = 3
    assert made.workspace.session.step == 3
    made.messages.clear()
    assert (errors_of(made), made.messages.view.visible) == ("", False)


def test_actions_in_the_drawing_update_everything() -> None:
    made = Dashboard(Library(), ViewState(circuit="digits"))
    made.graph.step = 3
    assert (made.workspace.session.step, json.loads(made.graph.picture)["step"]) == (3, 3)
    made.workspace.session.go(8)
    assert (made.graph.step, json.loads(made.graph.picture)["step"]) == (8, 8)
    made.graph.view = {"mode": "nonsense"}
    assert "no mode named" in errors_of(made)
    assert made.workspace.session.look == DisplayOptions()


@pytest.mark.parametrize("name", ["circuit", "level"])
def test_a_control_is_set_once_when_the_selected_trace_opens(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The page sends back each value of a control, so a value that is set for a moment would be chosen again."""
    delivered: Queue[Callable[[], None]] = Queue()
    monkeypatch.setattr(dashboard, "deliver", lambda document, action: delivered.put(action))
    made = Dashboard(Library(), ViewState(circuit="conflict"))
    control = getattr(made.header, name)
    values: list[str] = []
    control.param.watch(lambda event: values.append(event.new), "value")
    control.value = chosen = {"circuit": "hmm", "level": "tensor"}[name]
    wait_for_work(made.workspace, delivered)
    assert values == [chosen]


def test_selecting_the_open_circuit_again_ends_the_opening_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    delivered: Queue[Callable[[], None]] = Queue()
    monkeypatch.setattr(dashboard, "deliver", lambda document, action: delivered.put(action))
    made = Dashboard(Library(), ViewState(circuit="conflict"))
    before = made.workspace.session.opened
    made.header.circuit.value = "hmm"
    assert made.workspace.background.job is not None
    made.header.circuit.value = "conflict"
    assert made.workspace.background.job is None
    assert (made.workspace.session.opened, made.header.circuit.value) == (before, "conflict")


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
def test_only_a_circuit_from_a_file_can_be_compiled_again(folder: Path) -> None:
    explorer.record(gallery.load_named("blackboard"), level="program").save(folder / "p.trace.json")
    for name, disabled in (("c.trace.json", False), ("p.trace.json", True)):
        made = Dashboard(Library(folder), ViewState(circuit=name))
        made.tools.open("files")
        assert made.tools._tools["files"].again.disabled is disabled  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
def test_a_module_has_no_options_of_a_compiler(tmp_path: Path) -> None:
    trace = explorer.record(gallery.load_named("blackboard"), level="tensor")  # as little known as a module
    trace.save(tmp_path / "t.trace.json")
    for library, name in ((Library(tmp_path), "t.trace.json"), (Library(built={"m.py:build": trace}), "m.py:build")):
        made = Dashboard(library, ViewState(circuit=name))
        assert made.header.level.disabled
        made.tools.open("pipeline")
        assert not made.tools._tools["pipeline"].of_compiler.visible  # type: ignore[attr-defined]
        assert made.tools._tools["pipeline"].passes.run.disabled  # type: ignore[attr-defined]
        assert errors_of(made) == ""
    made = Dashboard(Library(), ViewState(circuit="blackboard", tensor=TensorOptions("tensor")))
    made.tools.open("pipeline")
    assert made.tools._tools["pipeline"].of_compiler.visible  # type: ignore[attr-defined]
    assert not made.header.level.disabled


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (ViewState(circuit="conflict", step=99), "The link names step 99, but the last step is"),
        (
            ViewState(circuit="conflict", look=DisplayOptions(near_misses="NoPattern")),
            "near misses of NoPattern, which this trace does not have",
        ),
        (ViewState(circuit="conflict", selection=("n999",)), "The link selects n999, which this step does not show."),
        (ViewState(circuit="conflict", step=1), ""),
    ],
)
def test_what_a_link_names_and_the_trace_lacks_is_said(state: ViewState, said: str) -> None:
    made = Dashboard(Library(), state)
    assert said in errors_of(made)
    assert bool(errors_of(made)) is bool(said)


def test_timing_a_loaded_trace_is_refused_with_a_reason(folder: Path) -> None:
    made = Dashboard(Library(folder), ViewState(circuit="c.trace.json"))
    made.tools.open("measure")
    made.tools._tools["measure"].time.start.param.trigger("clicks")  # type: ignore[attr-defined]
    assert "compile it again first" in errors_of(made)


def test_a_page_that_cannot_be_built_explains_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueRangeError("nothing <can> be opened")

    monkeypatch.setattr(dashboard, "open_state", refuse)
    page = make_page(Library())
    assert page.site_url == "./"  # also below the prefix of a proxy
    (alert,) = page.main
    assert isinstance(alert, pmui.Alert)
    text: Any = alert.objects[0]
    assert text.object == '<p role="alert">nothing &lt;can&gt; be opened</p>'


def test_a_session_after_a_discarded_one_asks_no_other_host_for_styles() -> None:
    """A page that connects after its session was discarded gets a new one, for which no page is written."""
    document = Document()
    with set_curdoc(document):
        make_page(Library()).server_doc(document)
    styles = [style for root in document.roots for style in root.select({"type": ImportedStyleSheet})]
    found = {str(style.url) for style in styles if isinstance(style, ImportedStyleSheet)}
    assert found
    assert not [url for url in found if "://" in url]


def test_actions_of_one_reader_are_not_sent_to_other_pages() -> None:
    page = make_page(Library())
    with set_busy():
        assert page.busy is False


@contextmanager
def set_busy() -> Iterator[None]:
    """As during any reader's action: this is one value for all pages of a server."""
    with edit_readonly(pn.state):
        pn.state.busy = True
    try:
        yield
    finally:
        with edit_readonly(pn.state):
            pn.state.busy = False


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    """Append to the list that is returned at each call of a function of a module."""
    function, calls = getattr(module, name), list[object]()

    def call(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return function(*args, **more)

    monkeypatch.setattr(module, name, call)
    return calls


def test_costs_are_drawn_once_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Dashboard(Library(), ViewState(circuit="near-misses"))
    bars = count_calls(monkeypatch, measure, "stat_bars")
    made.tools.open("measure")
    made.workspace.session.go(3)
    assert len(bars) == 1


@pytest.fixture
def workspace() -> Iterator[tuple[Workspace, Callable[[], None]]]:
    place = ViewState(circuit="conflict")
    delivered: Queue[Callable[[], None]] = Queue()
    session = Session(open_state(Library(), place), place)
    made = Workspace(session, Library(), delivered.put, lambda job: None, lambda name: None)
    yield made, lambda: wait_for_work(made, delivered)
    made.background.cancel()


def test_the_guard_shows_typed_errors_as_a_line_and_others_with_a_report(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = workspace
    logged: list[str] = []
    monkeypatch.setattr(logging.getLogger("explorer"), "error", logged.append)

    def typed(value: int) -> None:
        raise ValueRangeError(f"{value} is too large")

    def other() -> None:
        raise KeyError("x")

    made.guard(typed)(7)
    assert shown_by(made) == '<div role="alert"><p class="bad">7 is too large</p></div>'
    assert logged == []
    made.guard(other)()
    (report,) = logged
    assert report.startswith("Traceback")
    assert 'raise KeyError("x")' in report
    said = "Something went wrong in the explorer itself: KeyError: &#x27;x&#x27;"
    assert f'<div role="alert"><p class="bad">{said}</p>' in shown_by(made)
    assert f"<pre>{escape(report)}</pre>" in shown_by(made)
    made.guard(lambda: made.note("done"))()
    assert shown_by(made) == '<div role="status"><p class="good">done</p></div>'


def test_compiling_again_keeps_the_step_and_the_view(workspace: Any) -> None:
    made, wait = workspace
    made.session.go(3)
    made.session.change_look(mode="after", colour_by="kind")
    made.recompile(CompilerOptions(strategy="first-match"))
    wait()
    assert shown_by(made) == ""
    assert made.session.opened.trace.options["strategy"] == "first-match"
    assert (made.session.step, made.session.look) == (3, DisplayOptions(mode="after", colour_by="kind"))
    assert made.session.state.options == CompilerOptions(strategy="first-match")


def test_a_failed_opening_is_reported_and_the_open_trace_stays(workspace: Any) -> None:
    made, wait = workspace
    before = made.session.opened
    made.open(ViewState(circuit="nothing"))
    wait()
    assert "no circuit or trace named &#x27;nothing&#x27;" in shown_by(made)
    assert 'role="alert"' in shown_by(made)
    assert made.session.opened is before


def test_a_second_trace_is_shown_and_removed(workspace: Any) -> None:
    made, wait = workspace
    made.open_other(ViewState(circuit="blackboard", other=ViewState()))
    wait()
    assert made.other.opened.name == "blackboard"
    assert made.session.state.other.circuit == "blackboard"
    assert made.session.state.other.other is None
    made.show_other(None)
    assert (made.other, made.session.state.other) == (None, None)


@pytest.mark.parametrize(("named", "shown"), [(7, 7), (0, 3)])
def test_a_link_may_name_the_step_of_the_second_trace_which_else_begins_at_that_of_the_first(
    named: int, shown: int
) -> None:
    made = Dashboard(Library(), ViewState(circuit="digits", step=3))
    other = ViewState(circuit="digits", options=CompilerOptions(disable=("CategoricalLogSoftmax",)), step=named)
    made.workspace.show_other(Session(open_state(made.workspace.library, other), other))
    assert made.workspace.other is not None
    assert (made.workspace.session.step, made.workspace.other.step) == (3, shown)
    known = made.workspace.session.state.other
    assert known is not None
    assert known.step == shown
    left, right = (part.options for part in made.graphs if isinstance(part, GraphPane))
    assert (left["main"], right["main"], right["requests"]) == (True, False, [])
    made.tools.open("compare")
    assert [part.options["tool"] for part in made.graphs if isinstance(part, GraphPane)] == [True, False]


def test_both_sides_of_a_comparison_say_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    delivered: Queue[Callable[[], None]] = Queue()
    monkeypatch.setattr(dashboard, "deliver", lambda document, action: delivered.put(action))
    made = Dashboard(Library(), ViewState(circuit="conflict", step=3))
    made.tools.open("compare")
    tool: Any = made.tools._tools["compare"]
    assert not made.compared.view.visible

    def compare(options: CompilerOptions) -> tuple[str, str, str]:
        made.workspace.open_other(replace(made.workspace.session.state, options=options, again=True))
        wait_for_work(made.workspace, delivered)
        return str(made.compared.left.object), str(made.compared.right.object), tool.variant.value

    assert compare(CompilerOptions(disable=("SumCollapse",))) == (
        *("<h3>With SumCollapse</h3>", "<h3>Without SumCollapse</h3>"),
        "without rule SumCollapse",
    )
    assert made.compared.view.visible
    assert compare(CompilerOptions(strategy="first-match")) == (
        *("<h3>Strategy largest-match</h3>", "<h3>Strategy first-match</h3>"),
        "strategy first-match",
    )
    assert compare(CompilerOptions(seed=7, fold=False)) == (
        *("<h3>With folding, seed 0</h3>", "<h3>Without folding, seed 7</h3>"),
        "without folding, seed 7",
    )
    made.workspace.show_other(None)
    assert not made.compared.view.visible


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # as above
def test_a_closed_page_keeps_no_trace() -> None:
    place = ViewState(circuit="conflict", options=CompilerOptions(seed=5))
    made = Dashboard(Library(), place)
    for tool in TOOLS:
        made.tools.open(tool.name)
        made.workspace.session.go(3)
    made.tools.open("")
    jobs = (made.workspace.quiet_background, made.workspace.drawing_background, made.workspace.background)
    while any(one.job for one in jobs):
        threading.Event().wait(0.01)
    trace = weakref.ref(made.workspace.session.opened.trace)
    made.close()
    gc.collect()
    assert trace() is None
