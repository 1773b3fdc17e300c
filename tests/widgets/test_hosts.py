"""The classes of the hosts: their traits are the contract, and neither host loads the other."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer_widgets.encode import Png, picture_traits
from tests.widgets.samples import bars, coordinates, pictures, question, steps

TRAITS = {"picture", "coordinates", "steps", "step", "selection", "view", "details", "options", "request"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_widgets_loads_no_host() -> None:
    names = "('panel', 'bokeh', 'ipywidgets', 'anywidget', 'torch', 'explorer')"
    assert (
        run(
            "import sys, explorer_widgets, explorer_widgets.schema, explorer_widgets.page; "
            f"print([n for n in {names} if n in sys.modules])"
        )
        == "[]"
    )


def test_user_modules_named_widgets_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "widgets.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    code = "from explorer.views import TraceIndex; from explorer_widgets.schema import VERSION; print(VERSION)"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.strip().isdigit()


def test_coordinates_of_the_wrong_length_are_refused() -> None:
    shown = pictures()[0]
    with pytest.raises(ValueError, match=r"3 boxes: expected 48 bytes, got 8"):
        picture_traits(shown, b"12345678")
    beside = {**shown, "other": pictures()[2]}
    assert len(picture_traits(beside, bytes(16 * 5))["coordinates"]) == 80  # pyright: ignore[reportArgumentType]


class TestJupyter:
    @pytest.fixture(autouse=True)
    def _needs_anywidget(self) -> None:
        pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")

    def test_traits_are_synced(self) -> None:
        from explorer_widgets.jupyter import GraphWidget

        widget = GraphWidget(pictures()[0], coordinates(pictures()[0]), steps())
        assert set(widget.keys) >= TRAITS
        assert json.loads(widget.picture)["nodes"][2]["title"] == "Sum"
        assert len(json.loads(widget.steps)) == 3
        assert widget.options == {"compact": True}

    def test_showing_another_picture_sends_both_parts_in_one_message(self) -> None:
        from explorer_widgets.jupyter import GraphWidget

        widget = GraphWidget()
        sent: list[set[str]] = []
        widget.send_state = lambda key=None: sent.append(set(key or ()))  # pyright: ignore[reportAttributeAccessIssue]
        widget.show_picture(pictures()[1], coordinates(pictures()[1]))
        assert sent == [{"picture", "coordinates"}]

    def test_the_changes_of_one_update_are_told_together_and_once(self) -> None:
        from explorer_widgets.jupyter import GraphWidget

        widget = GraphWidget()
        told: list[dict[str, Any]] = []
        widget.on_user_change(lambda changes: told.append(dict(changes)))
        request = {"name": "values", "n": 1}
        widget.set_state({"selection": [], "step": 2, "view": {"mode": "after"}, "request": request, "ready": True})
        assert told == [{"step": 2, "view": {"mode": "after"}, "request": request}]
        widget.set_state({"step": 2})
        widget.step = 1
        widget.selection = ["Sum"]
        assert told[1:] == [{"step": 1}, {"selection": ["Sum"]}]

    def test_repr_is_stable_and_describes_the_picture(self) -> None:
        from explorer_widgets.jupyter import BarsWidget, GraphWidget

        assert repr(GraphWidget(selection=["Sum"])) == "GraphWidget(step=0, selection=Sum)"
        assert repr(BarsWidget(bars())) == "BarsWidget(Forward)"

    def test_an_image_is_included(self) -> None:
        from explorer_widgets.jupyter import Fallback, GraphWidget

        calls: list[int] = []

        def make() -> Fallback:
            calls.append(1)
            return Fallback(lambda: Png(b"PNG", 300, 200), "Sum reads Hadamard", "the table")

        widget = GraphWidget(make_fallback=make)
        assert calls == []  # drawn on display, not before
        bundle = widget._repr_mimebundle_()
        assert bundle is not None
        data, metadata = bundle
        assert data["image/png"] == "UE5H"
        assert data["text/plain"] == "the table"
        assert metadata["image/png"] == {"width": 300, "height": 200, "alt": "Sum reads Hadamard"}
        assert "application/vnd.jupyter.widget-view+json" in data

    def test_a_second_output_holds_the_image_for_a_saved_notebook_in_jupyterlab(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import explorer_widgets.jupyter as host

        outputs: list[dict[str, str]] = []
        monkeypatch.setattr(host, "publish_display_data", lambda data, metadata=None: outputs.append(data))
        fallback = host.Fallback(lambda: Png(b"PNG", 300, 200), 'reads "a" < b', "the table")
        host.GraphWidget(make_fallback=lambda: fallback)._ipython_display_()
        widget, saved = outputs
        assert set(widget) == {"application/vnd.jupyter.widget-view+json", "text/plain", "image/png"}
        assert list(saved) == ["text/html"]
        assert 'alt="reads &quot;a&quot; &lt; b" src="data:image/png;base64,UE5H"' in saved["text/html"]
        assert 'width="300" height="200"' in saved["text/html"]

        outputs.clear()
        host.GraphWidget()._ipython_display_()
        assert [set(data) for data in outputs] == [{"application/vnd.jupyter.widget-view+json", "text/plain"}]

    def test_the_traits_of_a_question_are_synced(self) -> None:
        from explorer_widgets.jupyter import QuestionWidget

        widget = QuestionWidget(question=json.dumps(question()))
        assert set(widget.keys) >= {"picture", "question", "selection", "answer", "revealed", "options"}
        assert json.loads(widget.question) == question()
        assert (widget.answer, widget.revealed) == (None, False)

    def test_it_loads_no_panel(self) -> None:
        assert run("import sys, explorer_widgets.jupyter; print('panel' in sys.modules)") == "False"


class TestDashboard:
    @pytest.fixture(autouse=True)
    def _needs_panel(self) -> None:
        pytest.importorskip("panel", reason="needs panel: pip install 'circuit-explorer[ui]'")

    def test_params_are_the_contract(self) -> None:
        from explorer_widgets.dashboard import GraphPane

        pane = GraphPane()
        assert set(pane.param) >= TRAITS
        assert pane.sizing_mode == "stretch_width"

    def test_showing_another_picture_changes_both_parts_at_once(self) -> None:
        from explorer_widgets.dashboard import GraphPane

        pane = GraphPane()
        seen: list[set[str]] = []
        pane.param.watch(
            lambda *events: seen.append({event.name for event in events}), ["picture", "coordinates", "step"]
        )
        pane.show_picture(pictures()[1], coordinates(pictures()[1]), step=1)
        assert seen == [{"picture", "coordinates", "step"}]

    def test_the_browser_model_is_invisible_and_counts_its_requests(self) -> None:
        from explorer_widgets.dashboard import BrowserHost

        browser = BrowserHost()
        assert set(browser.param) >= {"flips", "copy", "copied"}
        assert (browser.width, browser.height, browser.margin) == (0, 0, 0)
        browser.flip_theme()
        browser.flip_theme()
        assert browser.flips == 2
        browser.put_on_clipboard("import explorer")
        assert browser.copy == {"text": "import explorer", "n": 1}
        browser.put_on_clipboard("import explorer")
        assert browser.copy == {"text": "import explorer", "n": 2}  # the same text is copied again

    def test_the_modules_are_served_as_they_are(self) -> None:
        from explorer_widgets.dashboard import BarsPane, BrowserHost, GraphPane
        from explorer_widgets.static import BARS, GRAPH, HOST

        assert GraphPane._bundle_path == GRAPH
        assert BarsPane(bars())._bundle_path == BARS
        assert BrowserHost._bundle_path == HOST

    def test_it_loads_no_widgets_of_jupyter(self) -> None:
        assert run("import sys, explorer_widgets.dashboard; print('anywidget' in sys.modules)") == "False"
