"""`explorer.show(..., static=True)`: HTML that is saved in place of a widget, and where it is chosen by itself."""

import base64
import gzip
import html
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import explorer
from explorer.app.images import bars_png
from explorer.app.notebook import fallback, static_view
from explorer.app.notebook.show import COMPILED_NOW
from explorer.app.notebook.static_view import StaticView, why_static
from explorer.bench import measure_layers
from explorer.errors import CircuitError, NoKernelError, ValueRangeError
from explorer.trace import Trace
from explorer.views import TraceIndex, stat_bars
from explorer_widgets.encode import Png
from explorer_widgets.schema import BarsView
from tests.widgets.stored import read_page

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def conflict() -> Trace:
    return explorer.record(explorer.gallery.load_named("conflict"))


def show(thing: Any, **options: Any) -> StaticView:
    shown = explorer.show(thing, static=True, **options)
    assert isinstance(shown, StaticView)
    return shown


def page_of(shown: StaticView) -> dict[str, Any]:
    """The data of the page in the frame."""
    frame = re.search(r'srcdoc="([^"]*)"', shown.html)
    assert frame is not None
    return read_page(html.unescape(frame.group(1)))


class TestWhatIsSaved:
    def test_a_frame_with_all_steps_and_an_image_below_it(self, conflict: Trace) -> None:
        data, metadata = show(conflict, step=3)._repr_mimebundle_()
        assert list(data) == ["text/html", "image/png", "text/plain"]
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
        assert metadata["image/png"]["alt"].startswith("Step 3 of 12: fuse, round 1")
        before, frame = data["text/html"].split("<iframe")
        assert f'src="data:image/png;base64,{data["image/png"]}"' in before
        assert 'alt="Step 3 of 12: fuse, round 1' in before
        assert 'sandbox="allow-scripts allow-downloads"' in frame
        assert data["text/plain"].startswith("Step 3 of 12: fuse, round 1")

    def test_a_page_of_a_notebook_has_the_frame_and_one_image(self, conflict: Trace) -> None:
        nbformat = pytest.importorskip("nbformat")
        from nbconvert import HTMLExporter

        data, metadata = show(conflict)._repr_mimebundle_()
        output = nbformat.v4.new_output("display_data", data, metadata=metadata)
        cell = nbformat.v4.new_code_cell("explorer.show(trace, static=True)", outputs=[output], execution_count=1)
        page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
        assert page.count("<iframe") == page.count(data["image/png"]) == 1

    def test_nothing_is_loaded_from_elsewhere(self, conflict: Trace) -> None:
        text = html.unescape(show(conflict).html)
        assert "default-src 'none'" in text
        packed = re.findall('<script type="text/plain" id=".*?">(.*?)</script>', text)
        unpacked = [gzip.decompress(base64.b64decode(data)).decode() for data in packed]
        addresses = re.findall(r"https?://[^\"'`\s)\\]+", "\n".join([text, *unpacked]))
        assert {*addresses} == {"http://www.w3.org/2000/svg"}, "only the namespace that the code names"

    def test_the_picture_starts_as_it_was_asked_for(self, conflict: Trace) -> None:
        page = page_of(show(conflict, step=3, mode="after", colour_by="kind", group_by="none", selection=[14]))
        (view,) = page["views"]
        start = {name: view["start"][name] for name in ("step", "mode", "colour_by", "group_by")}
        assert start == {"step": 3, "mode": "after", "colour_by": "kind", "group_by": "none"}
        assert view["start"]["selection"] == ["n14"]
        pictures = page["recordings"][0]["pictures"]
        modes = ("diff", "before", "after")
        assert {*pictures} == {f"{step}/{mode}/kind/none" for step in range(13) for mode in modes}

    def test_a_match_is_described_and_near_misses_are_drawn(self, conflict: Trace) -> None:
        page = page_of(show(conflict, match=1, step=3, near_misses="SumCollapse"))
        (view,) = page["views"]
        assert "match 2 of 9" in view["details"]
        assert (view["start"]["hull"], view["start"]["match"]) == ("hull-2", 1)
        picture = page["recordings"][0]["pictures"][f"3/diff/change/{view['start']['group_by']}"]
        assert "near-miss" in {hull["kind"] for hull in picture["hulls"]}

    def test_a_fold_level_has_its_tables_and_bars_are_bars(self, conflict: Trace) -> None:
        fold = show(conflict, fold_level=1)
        assert "Level 1: 2 layers in 1 group" in html.unescape(fold.html)
        assert "Level 1: 2 layers in 1 group" in str(fold)
        bars = show(stat_bars(TraceIndex(conflict), "layers"))
        assert page_of(bars)["views"][0]["kind"] == "bars"

    def test_the_image_of_bars_is_drawn_once(self, conflict: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn: list[Png] = []

        def count_and_draw(bars: BarsView) -> Png:
            drawn.append(bars_png(bars))
            return drawn[-1]

        monkeypatch.setattr(fallback, "bars_png", count_and_draw)
        shown = show(stat_bars(TraceIndex(conflict), "layers"))
        (image,) = drawn
        assert f'<div style="position:relative;height:{image.height + static_view.BARS_MARGIN}px;' in shown.html

    def test_the_height_is_that_of_the_frame(self, conflict: Trace) -> None:
        shown = show(conflict, height=300)
        assert '<div style="position:relative;height:300px;' in shown.html
        assert page_of(shown)["views"][0]["options"]["height"] == "100vh"
        with pytest.raises(ValueRangeError, match="at least 1 pixel; got 0"):
            show(conflict, height=0)

    def test_it_is_small_and_says_its_size(self, conflict: Trace) -> None:
        shown = show(conflict)
        assert len(shown.html) < 600_000
        assert repr(shown) == f"StaticView('Step 0 of 12: compile', {len(shown.html) / 1e6:.1f} MB)"

    def test_a_large_trace_has_one_step(self, conflict: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(static_view, "MAX_BYTES", 1)
        shown = show(conflict, step=3)
        page = page_of(shown)
        assert {key.split("/")[0] for key in page["recordings"][0]["pictures"]} == {"3"}
        assert page["views"][0]["options"]["stepper"] is False
        assert "<p><small>Only this step: " in shown.html

    def test_one_step_has_one_table(self, conflict: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
        every = show(conflict, fold_level=1)
        monkeypatch.setattr(static_view, "MAX_BYTES", 1)
        one = show(conflict, fold_level=1)
        assert re.findall('data-step="(.*?)"', html.unescape(one.html)) == ["", "11"]
        assert re.findall('data-step="(.*?)"', html.unescape(every.html)) == ["", "10", "11", "12"]

    def test_beliefs_that_the_page_cannot_compute_are_refused(self) -> None:
        sos = explorer.gallery.load_named("sos")
        with pytest.raises(CircuitError, match="a page without Python cannot show beliefs of this circuit: "):
            show(sos, beliefs=True)


class TestChoosing:
    @pytest.mark.parametrize(
        ("environment", "missing", "reason"),
        [
            ({}, (), ""),
            ({"VSCODE_PID": "1"}, (), ""),
            ({"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}, (), "Kaggle does not load"),
            ({"DATABRICKS_RUNTIME_VERSION": "15.4"}, (), "Databricks documents only"),
            ({}, ("anywidget",), "The widget needs anywidget: pip install anywidget."),
            ({}, ("anywidget", "ipywidgets"), "The widget needs anywidget and ipywidgets"),
        ],
    )
    def test_static_where_widgets_cannot_work(
        self, environment: dict[str, str], missing: tuple[str, ...], reason: str
    ) -> None:
        found = why_static(environment, lambda name: name not in missing)
        assert found.startswith(reason)
        assert bool(found) == bool(reason)

    def test_it_says_so_below_the_picture_and_can_be_overruled(
        self, conflict: Trace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
        shown = explorer.show(conflict)
        assert isinstance(shown, StaticView)
        assert shown.html.endswith(f"<p><small>{shown.note}</small></p>")
        assert "show(..., static=False) tries the widget" in shown.note
        assert not isinstance(explorer.show(conflict, static=False), StaticView)

    def test_the_note_of_the_widget_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert show(explorer.gallery.load_named("conflict")).note == COMPILED_NOW
        monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
        shown = explorer.show(explorer.gallery.load_named("conflict"))
        assert isinstance(shown, StaticView)
        assert shown.note.startswith(f"{COMPILED_NOW} Kaggle does not load")

    def test_times_of_another_machine_are_called_recorded(self, conflict: Trace) -> None:
        run = measure_layers(conflict, 12, batch_size=4, max_seconds=0.2)
        elsewhere = replace(run, setup=replace(run.setup, devices={"cpu": "Other machine"}))
        assert "<p><small>Recorded on Other machine: The calls one by one take" in show(conflict, timing=elsewhere).html

    def test_what_needs_a_kernel_is_refused(self, conflict: Trace) -> None:
        view: Any = show(conflict)
        for name in ("observe", "step", "selection", "selected_nodes", "view"):
            assert not hasattr(view, name)
            with pytest.raises(NoKernelError, match=f"no `{name}`, since it has no kernel; .* static=False") as found:
                getattr(view, name)
            assert isinstance(found.value, CircuitError)
        with pytest.raises(NoKernelError, match="no `step`"):
            view.step = 5
        with pytest.raises(AttributeError, match="no attribute 'height'"):
            view.height = 5
        view.close()

    def test_no_widget_is_made(self) -> None:
        code = (
            "import sys, explorer\n"
            "explorer.show(explorer.gallery.load_named('conflict'), match=0, step=3, static=True)\n"
            "print(sorted({'anywidget', 'ipywidgets', 'IPython'} & set(sys.modules)))"
        )
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert printed.strip() == "[]"


@pytest.mark.browser
class TestInABrowser:
    def test_it_steps_and_selects_without_python(self, page: "Page", conflict: Trace) -> None:
        page.set_content(show(conflict, step=3).html)
        frame = page.frames[1]
        frame.locator(".ce-box").first.wait_for()
        frame.locator(".ce-frame[tabindex='0']").focus()
        page.keyboard.press("ArrowRight")
        frame.locator(".ce-step-title", has_text="Step 6 of 12").wait_for()
        frame.locator(".ce-box").first.click()
        frame.locator(".ce-box.ce-selected").first.wait_for()
        assert page.evaluate("() => { try { return frames[0].document.title } catch { return 'apart' } }") == "apart"

    def test_the_image_is_seen_where_frames_are_removed(self, page: "Page", conflict: Trace) -> None:
        page.set_content(re.sub("<iframe.*?</iframe>", "", show(conflict, step=3).html))
        image = page.get_by_role("img", name="Step 3 of 12: fuse, round 1")
        page.wait_for_function("image => image.naturalWidth > 300", arg=image.element_handle())
        assert image.is_visible()
