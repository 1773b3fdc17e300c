"""`explorer.show`: its arguments, the state shared by Python and the drawing, and the saved fallback."""

import base64
import io
import json
from dataclasses import replace
from typing import Any

import pytest
import torch

import explorer
from explorer import TorchCompiler
from explorer.bench import measure_layers, measure_steps
from explorer.errors import CircuitError, DataTypeError, UnknownNameError, ValueRangeError
from explorer.timings import BACKENDS, Estimate, Run, Setup, Timing
from explorer.trace import Trace
from explorer.views import TraceIndex, picture, stat_bars
from explorer.views.bars import bar, bars_view

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")

from PIL import Image

from explorer.app.notebook.fallback import bars_fallback, fold_text, picture_fallback
from explorer.app.notebook.trace_widget import FoldLevelWidget, TraceWidget
from explorer_widgets.jupyter import BarsWidget, saved_html
from explorer_widgets.schema import BarView


@pytest.fixture(scope="module")
def conflict() -> Trace:
    return explorer.record(explorer.gallery.load_named("conflict"))


@pytest.fixture(scope="module")
def digits() -> Trace:
    return explorer.record(explorer.gallery.load_named("digits"))


def show(thing: Any, **options: Any) -> TraceWidget:
    widget = explorer.show(thing, **options)
    assert isinstance(widget, TraceWidget)
    return widget


def boxes(widget: TraceWidget) -> dict[str, str]:
    """The title of each box by id."""
    return {node["id"]: node["title"] for node in json.loads(str(widget.picture))["nodes"]}


def bundle(widget: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    made = widget._repr_mimebundle_()
    assert isinstance(made, tuple)
    return made


class TestATrace:
    def test_it_starts_at_the_first_step_or_at_a_given_one(self, conflict: Trace) -> None:
        widget = show(conflict)
        assert (widget.step, widget.trace) == (0, conflict)
        assert json.loads(str(widget.picture))["title"] == "Step 0 of 12: compile"
        widget.step = 3
        assert json.loads(str(widget.picture))["title"] == "Step 3 of 12: fuse, round 1, 7 of 9 matches"
        assert widget.session.step == 3
        assert len(json.loads(str(widget.steps))) == 13

    def test_a_height_below_one_is_a_typed_error(self, conflict: Trace) -> None:
        for height in (-5, 0):
            with pytest.raises(ValueRangeError, match=f"at least 1 pixel; got {height}"):
                show(conflict, height=height)
        with pytest.raises(DataTypeError, match="an int; got '5'"):
            show(conflict, height="5")  # pyright: ignore[reportArgumentType]

    def test_a_closed_widget_is_drawn_no_more_and_can_be_closed_again(self, conflict: Trace) -> None:
        widget = show(conflict)
        session, drawn = widget.session, str(widget.picture)
        widget.close()
        session.go(3)
        assert str(widget.picture) == drawn
        widget.close()

    def test_the_initial_step_and_look_are_arguments(self, conflict: Trace) -> None:
        widget = show(conflict, step="optimize/round 1/fuse", mode="after", colour_by="kind", group_by="none")
        assert widget.step == 3
        nothing_lit = {"slides": "", "hull": "", "match": 0, "closeup": "", "layers": [], "beliefs": False}
        assert widget.view == {"mode": "after", "colour_by": "kind", "group_by": "none", **nothing_lit}
        made = json.loads(str(widget.picture))
        assert (made["mode"], made["colour_by"], made["group_by"]) == ("after", "kind", "none")

    def test_beliefs_are_shown_from_the_start_on_request_and_stay_in_other_steps(self) -> None:
        widget = show(explorer.gallery.load_trained("digits"), step=-1, beliefs=True)
        assert widget.view["beliefs"] is True
        widget.step = 3
        assert widget.view["beliefs"] is True

    def test_the_film_which_tells_later_steps_is_left_out_on_request(self, conflict: Trace) -> None:
        assert "film" not in show(conflict).options
        assert show(conflict, film=False).options["film"] is False

    def test_selecting_sets_the_nodes_in_python_and_shows_their_details(self, conflict: Trace) -> None:
        widget = show(conflict)
        box = next(name for name, title in boxes(widget).items() if title == "Categorical")
        widget.selection = [box]
        assert widget.selected_nodes == (0, 1, 2, 3)
        assert json.loads(str(widget.details))["title"] == "Categorical #0 and 3 nodes like it"
        assert show(conflict, selection=[10]).selected_nodes == (10,)
        assert show(conflict, selection=[box]).selected_nodes == (0, 1, 2, 3)

    def test_another_view_is_drawn_when_the_trait_changes(self, conflict: Trace) -> None:
        widget = show(conflict, step=3, group_by="fold")
        before = len(boxes(widget))
        widget.view = {**dict(widget.view), "mode": "after"}
        assert json.loads(str(widget.picture))["mode"] == "after"
        assert len(boxes(widget)) < before

    def test_traits_can_be_linked_and_observed(self, conflict: Trace) -> None:
        import ipywidgets

        widget, slider, seen = show(conflict), ipywidgets.IntSlider(max=12), []
        link = ipywidgets.link((slider, "value"), (widget, "step"))
        widget.observe(lambda change: seen.append(change["new"]), names="step")
        slider.value = 5
        assert (widget.step, seen) == (5, [5])
        link.unlink()

    def test_a_slide_changes_step_and_view_together_and_is_drawn_once(self, conflict: Trace) -> None:
        widget, pictures, heard = show(conflict), [], []
        widget.observe(lambda change: pictures.append(json.loads(change["new"])), names="picture")
        widget.observe(lambda change: heard.append((change["name"], widget.session.step)), names=["step", "view"])
        sent: list[str] = []
        widget.send_state = lambda key=None: sent.extend([key] if isinstance(key, str) else key or ())
        view = {**dict(widget.view), "slides": "fold"}
        widget.set_state({"step": 10, "view": view})
        assert [(shown["step"], shown["mode"]) for shown in pictures] == [(10, "diff")]
        assert heard == [("step", 10), ("view", 10)]  # the session has moved before anyone else hears of it
        assert "picture" in sent
        assert "view" not in sent, "the page has the view already"
        assert (widget.step, widget.view, widget.session.look.slides) == (10, view, "fold")
        widget.set_state({"step": 3, "view": {**view, "mode": "after"}})  # that slide is not there
        assert (widget.step, widget.view, len(pictures)) == (10, view, 1)
        widget.step = 5
        assert widget.session.step == 5

    def test_near_misses_of_a_pattern_get_hulls(self, conflict: Trace) -> None:
        widget = show(conflict, step=3, near_misses="SumCollapse")
        kinds = {hull["kind"] for hull in json.loads(str(widget.picture))["hulls"]}
        assert "near-miss" in kinds

    def test_two_widgets_of_one_trace_do_not_share_state(self, conflict: Trace) -> None:
        one, other = show(conflict), show(conflict)
        one.step = 4
        assert other.step == 0


class TestOtherThings:
    def test_a_circuit_is_compiled_and_its_compilation_shown(self) -> None:
        widget = show(explorer.gallery.load_named("conflict"))
        assert len(widget.trace.steps) == 13
        assert "Compiled with the default options" in repr(widget)

    @pytest.mark.parametrize("fold", [True, False])
    def test_a_compiled_circuit_shows_its_graph(self, digits: Trace, fold: bool) -> None:
        compiled = TorchCompiler(fold=fold).compile(explorer.gallery.load_named("digits"))
        widget = show(compiled)
        assert len(widget.trace.steps) == 1
        x = torch.randint(17, (3, 64), generator=torch.Generator().manual_seed(0))
        assert torch.equal(widget.trace.circuit_at(0)(x), compiled(x))
        made = json.loads(str(widget.picture))
        assert [(node["title"], node["count"] * node["folds"]) for node in made["nodes"]] == [
            ("Categorical", 64),
            ("Sum", 64),
            ("CPT", 16),
            ("CPT", 4),
            ("CPT", 1),
        ]
        reads = [edge["label"] for edge in made["edges"]]
        assert reads == (["gather 4 KiB", "gather 4 KiB", "view", "view"] if fold else [""] * 4)
        wanted = digits if fold else explorer.record(explorer.gallery.load_named("digits"), fold=False)
        assert widget.trace.stats(0) == wanted.stats(-1)

    def test_a_match_is_selected_and_described(self, conflict: Trace) -> None:
        lost = conflict.conflicts()[0].loser
        for widget in (show(conflict, match=lost), show(conflict, match=lost.number, step=3)):
            assert widget.step == 3
            assert set(lost.nodes) <= set(widget.selected_nodes)
            hull = next(h for h in json.loads(str(widget.picture))["hulls"] if h["id"] == dict(widget.view)["hull"])
            assert (hull["kind"], hull["nodes"]) == ("lost", list(reversed(list(widget.selection))))
            details = json.loads(str(widget.details))
            assert details["id"] == widget.selection[-1]
            assert details["title"] == f"Candecomp, match {lost.number + 1} of 9"

    def test_a_fold_level_has_its_index_table_below_and_follows_the_step(self, digits: Trace) -> None:
        widget = explorer.show(digits, fold_level=2)
        assert isinstance(widget, FoldLevelWidget)
        assert widget.step == 9
        level = widget.fold_level
        assert level is not None
        assert level["title"] == "Level 2: 16 layers in 1 group"
        table = level["groups"][0]["table"]
        assert (len(table["rows"]), table["columns"]) == (16, ["slice", "layer", *(f"input {i}" for i in range(1, 5))])
        html = widget.table.value
        assert all(f">{cell}</td>" in html for row in table["rows"] for cell in row)
        assert "<summary>4 more rows</summary>" in html
        widget.graph.step = 10
        assert widget.step == 10
        assert "Level 3: 4 layers in 1 group" in widget.table.value
        widget.step = 3
        assert widget.graph.step == 3
        assert "Levels are folded in steps 7, 8, 9, 10, 11." in widget.table.value

    def test_a_fold_level_is_one_widget_where_boxes_of_widgets_are_not_shown(self, digits: Trace) -> None:
        widget = explorer.show(digits, fold_level=2)
        assert isinstance(widget, FoldLevelWidget)
        shown, level = widget._display_(), widget.fold_level  # what marimo calls
        assert isinstance(shown, TraceWidget)
        assert level is not None
        assert (shown.step, dict(shown.view)["closeup"]) == (9, "table")
        assert shown.selected_nodes == (level["groups"][0]["node"],)
        assert json.loads(str(shown.details))["closeup"]["memory"]

    def test_times_of_steps_are_bars_and_times_of_layers_colour_the_graph(self, conflict: Trace) -> None:
        run = measure_steps(conflict, [0, 12], batch_size=4, max_seconds=0.2)
        bars = explorer.show(conflict, timing=run)
        assert isinstance(bars, BarsWidget)
        assert [bar["label"] for bar in json.loads(str(bars.bars))["bars"]] == ["compile", "fold, level 2"]
        layers = measure_layers(conflict, 12, batch_size=4, max_seconds=0.2)
        widget = show(conflict, timing=layers)
        assert (widget.step, dict(widget.view)["colour_by"]) == (12, "time")
        assert all(look["fill"].startswith("value-") for look in json.loads(str(widget.picture))["looks"])
        assert "The calls one by one take" in repr(widget)
        with pytest.raises(DataTypeError, match=r"show\(trace, timing=run\)"):
            explorer.show(run)
        backends = replace(run, subject=BACKENDS, timings=(replace(run.timings[0], what="native"),))
        bars = explorer.show(backends)
        assert isinstance(bars, BarsWidget)
        assert json.loads(str(bars.bars))["title"] == "Forward pass by backend"
        other = explorer.record(explorer.gallery.load_named("digits"))
        with pytest.raises(CircuitError, match="the recorded run is of another compilation"):
            explorer.show(other, timing=run)

    def test_bars(self, conflict: Trace) -> None:
        index = TraceIndex(conflict)
        widget = explorer.show(stat_bars(index, "layers"))
        assert isinstance(widget, BarsWidget)
        assert json.loads(str(widget.bars))["title"] == "Calls after each step"

    @pytest.mark.parametrize(
        ("options", "kind", "words"),
        [
            ({"match": 0}, UnknownNameError, "match 0 needs a step: steps 3, 6 have one; pass step="),
            ({"match": 99, "step": 3}, UnknownNameError, "step 3 has no match 99; it has 9"),
            ({"fold_level": 7}, UnknownNameError, "level 7 was not folded; the trace has levels 0, 1, 2"),
            ({"fold_level": 0, "match": 1}, CircuitError, "expected only one of match=, fold_level= and timing="),
            ({"fold_level": 0, "step": 3}, CircuitError, "level 0 was folded in step 10; leave out step=3"),
            ({"mode": "sideways"}, UnknownNameError, "no mode named 'sideways'"),
            ({"near_misses": "Sums"}, UnknownNameError, "no pattern named 'Sums'"),
            ({"selection": [999]}, UnknownNameError, "step 0 shows no node 999"),
            ({"selection": ["box"]}, UnknownNameError, "step 0 has no box 'box'"),
        ],
    )
    def test_unknown_steps_and_names_are_refused(
        self, conflict: Trace, options: dict[str, Any], kind: type[CircuitError], words: str
    ) -> None:
        with pytest.raises(kind) as caught:
            explorer.show(conflict, **options)
        assert words in str(caught.value)

    def test_foreign_objects_are_refused_with_the_accepted_ones(self, conflict: Trace) -> None:
        with pytest.raises(DataTypeError, match=r"cannot show a builtins.list. show expects a circuit, a compiled"):
            explorer.show([1, 2])  # pyright: ignore[reportArgumentType]
        with pytest.raises(DataTypeError, match=r"show\(trace, match=match\)"):
            explorer.show(conflict.steps[3].matches[0])  # pyright: ignore[reportArgumentType]
        other = explorer.record(explorer.gallery.load_named("conflict"))
        with pytest.raises(UnknownNameError, match="does not belong to this trace"):
            explorer.show(other, match=conflict.steps[3].matches[0])


class TestWhatIsSaved:
    def test_the_current_step_is_saved_as_png_with_text_and_table(self, conflict: Trace) -> None:
        widget = show(conflict, step=3)
        widget.step = 12
        data, metadata = bundle(widget)
        image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
        size = metadata["image/png"]
        assert image.size == (2 * size["width"], 2 * size["height"])
        assert size["alt"].startswith("Step 12 of 12: fold, level 2")
        assert "text/html" not in data  # it would take precedence over the image
        lines = data["text/plain"].splitlines()
        assert lines[0] == "Step 12 of 12: fold, level 2, 1 layer not folded"
        assert [line.split()[1] for line in lines if line.startswith("n")] == ["Categorical", "CPT", "CPT"]
        assert str(widget) == data["text/plain"]

    def test_a_page_of_a_notebook_without_state_shows_the_image_and_its_description(self, conflict: Trace) -> None:
        nbformat = pytest.importorskip("nbformat")
        from nbconvert import HTMLExporter

        data, metadata = bundle(show(conflict, step=12))
        saved = {"text/html": saved_html((data, metadata))}
        outputs = [
            nbformat.v4.new_output("display_data", data, metadata=metadata),
            nbformat.v4.new_output("display_data", saved),
        ]
        cell = nbformat.v4.new_code_cell("explorer.show(trace)", outputs=outputs, execution_count=1)
        page, _ = HTMLExporter(template_name="classic").from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
        assert f'src="data:image/png;base64,{data["image/png"][:200]}' in page
        assert page.count('alt="Step 12 of 12: fold, level 2') == 2
        assert page.count('style="display:none" width=') == 1  # only JupyterLab shows it

    def test_a_fold_level_saves_its_groups_as_text(self, digits: Trace) -> None:
        data, _ = bundle(explorer.show(digits, fold_level=2))
        assert "image/png" in data
        assert "Level 2: 16 layers in 1 group" in data["text/plain"]

    def test_bars_save_an_image_and_their_table(self, conflict: Trace) -> None:
        times = {0: Estimate(2.0, 1.5, 2.5, 1.5, 2.5, 20, 0.96), 12: Estimate(1.0, 1.0, 1.0, 1.0, 1.0, 1, 0.0)}
        timings = tuple(Timing(conflict.step(at).path, "cpu", 1, found, step=at) for at, found in times.items())
        setup = Setup("", 1, "", "", 0.1, 1.0, 0, {}, {}, "")
        run = Run("steps", "forward", "conflict", {}, timings, setup, {"cuda": "no CUDA here"})
        data, metadata = bundle(explorer.show(conflict, timing=run))
        assert "2 ms (1.5 ms to 2.5 ms)" in data["text/plain"]
        assert "no CUDA here" in metadata["image/png"]["alt"]
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")

    def test_repr_is_one_stable_line(self, conflict: Trace) -> None:
        assert repr(show(conflict)) == "TraceWidget(step=0 of 12, selection=nothing)"
        level = explorer.show(conflict, fold_level=0)
        assert repr(level) == "FoldLevelWidget(step=10 of 12, selection=nothing)"


class TestFallbacks:
    def test_a_large_picture_counts_the_rest(self) -> None:
        chain = explorer.record(explorer.gallery.load_named("sum-chain"))
        fallback = picture_fallback(picture(TraceIndex(chain), 0, group_by="none"))
        assert "... and 1 more row" in fallback.text
        assert "and 1 more box." in fallback.alt

    def test_empty_bars_explain_why(self) -> None:
        missing: BarView = {**bar("plain", None, "CUDA"), "missing": "no GPU"}
        bars = bars_view("Forward", "ms", ["CUDA"], [missing], "", ["what", "CUDA"], [["plain", "no GPU"]], log=True)
        fallback = bars_fallback(bars)
        assert fallback.draw().data.startswith(b"\x89PNG")
        assert "plain  no GPU" in fallback.text

    def test_a_level_in_words_has_a_row_for_each_slice(self, digits: Trace) -> None:
        from explorer.views import fold_level

        text = fold_text(fold_level(TraceIndex(digits), 3))
        assert "node 258" in text
        assert [line.split()[0] for line in text.splitlines() if line[:1].isdigit()] == ["0", "1", "2", "3"]
