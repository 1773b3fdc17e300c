"""The pictures of lessons as pages: recordings that replace a kernel, answers that are closed."""

import re
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.trace import Trace
from explorer.views import TraceIndex, stat_bars

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

from explorer.app.notebook.recorder import RECORDINGS_MIME, VIEW_MIME, PictureRecorder
from explorer.app.notebook.show import show
from explorer_widgets.page import shared_script
from tests.site.cells import code, display_output, html_of, text, words_of
from tests.widgets.stored import read_page

BUNDLES = Path(__file__).parents[2] / "widgets" / "explorer_widgets" / "static"
NASTY = "</script><script>alert(1)</script><!--"


@pytest.fixture(scope="module")
def conflict() -> Trace:
    return explorer.record(explorer.gallery.load_named("conflict"))


class TestOutputs:
    def test_a_static_picture_is_in_the_page_and_other_outputs_stay(self) -> None:
        printed = {"output_type": "stream", "name": "stdout", "text": "one <2>\n"}
        assert html_of(code("1", printed, display_output(**{"image/svg+xml": "<svg/>"}))) == (
            '<div class="figure"><svg/></div>'
        )

    def test_a_page_without_pictures_has_no_script(self) -> None:
        assert html_of(text("# 0. Words"), code("1")) == ""


@pytest.fixture(scope="module")
def shown(conflict: Trace) -> str:
    """A lesson that shows one trace four times, another one once, and bars."""
    recorder = PictureRecorder()
    other = explorer.record(explorer.gallery.load_named("blackboard"))
    views = [
        recorder.graph(show(conflict, step=3, selection=[8])),  # pyright: ignore[reportArgumentType]
        recorder.question(explorer.ask(conflict, "fold-with", node=14)),
        recorder.fold_level(show(conflict, fold_level=1)),  # pyright: ignore[reportArgumentType]
        recorder.graph(show(conflict, match=0, step=3)),  # pyright: ignore[reportArgumentType]
        recorder.graph(show(other, group_by="none", colour_by="kind")),  # pyright: ignore[reportArgumentType]
        {"kind": "bars", "bars": stat_bars(TraceIndex(conflict), "layers")},
    ]
    cells = [code("show", display_output(**{VIEW_MIME: view, "text/plain": NASTY})) for view in views]
    end = code("", display_output(**{RECORDINGS_MIME: recorder.recordings()}))
    return html_of(text("# 0. Tiny"), *cells, end)


class TestViews:
    def test_each_trace_is_recorded_once(self, shown: str) -> None:
        data = read_page(shown)
        assert [view["kind"] for view in data["views"]] == ["graph", "question", "graph", "graph", "graph", "bars"]
        assert [view.get("recording") for view in data["views"]] == [0, 0, 0, 0, 1, None]
        assert len(data["recordings"]) == 2
        assert shown.count("data-view=") == 6

    def test_every_reachable_picture_is_recorded(self, shown: str) -> None:
        data = read_page(shown)
        for view in data["views"][:5]:
            pictures = data["recordings"][view["recording"]]["pictures"]
            options, start = view["options"], view["start"]
            (colour,), (group,) = options["colours"], options["groups"]
            steps = range(len(data["recordings"][view["recording"]]["steps"]))
            for step in steps if view["kind"] == "graph" else [start["step"]]:
                for mode in set(options["modes"]) - {"side"}:  # which the page composes
                    assert f"{step}/{mode}/{colour}/{group}" in pictures
        question = data["views"][1]
        end = question["question"]["revealing"]
        for mode in question["revealed_options"]["modes"]:
            key = f"{end['step']}/{mode}/{end['colour_by']}/{end['group_by']}"
            assert key in data["recordings"][0]["pictures"]

    def test_it_begins_where_the_lesson_shows_it(self, shown: str) -> None:
        views = read_page(shown)["views"]
        assert [view["start"]["step"] for view in views[:5]] == [3, 9, 11, 3, 0]
        assert [box[:4] for box in views[0]["start"]["selection"]] == ["g5x2"]  # layer 8 and its twin
        assert views[1]["start"]["selection"] == ["n14"]
        assert views[1]["options"]["asking"]
        assert views[3]["start"]["hull"] != ""
        assert "match 1 of 9" in views[3]["details"]

    def test_folding_tables_are_in_the_page_for_each_step(self, shown: str) -> None:
        assert re.findall('<div data-step="(.*?)" hidden>', shown) == ["", "10", "11", "12"]
        assert "Level 1: 2 layers in 1 group" in shown
        assert all("tables" not in view for view in read_page(shown)["views"])

    def test_the_page_loads_only_the_drawing_code(self, shown: str) -> None:
        assert set(re.findall(r'\b(?:src|href)="([^"#]*)', shown)) == {"../_static/pictures.js"}

    def test_each_drawing_is_in_the_shared_script_once(self) -> None:
        script = shared_script()
        for module in ("graph", "bars", "question"):
            code_of_it = (BUNDLES / f"{module}.js").read_text(encoding="utf-8")
            assert script.count(code_of_it[-1_000:-400]) == 1
        assert not re.search(r"^(import|export)\b", script, re.MULTILINE)

    def test_no_script_ends_early(self, shown: str) -> None:
        assert "alert(1)</script>" not in shown

    def test_a_page_is_small(self, shown: str) -> None:
        assert len(shown) < 100_000


class TestFolds:
    def test_an_answer_is_folded_and_may_end_with_the_next_question(self) -> None:
        words = words_of(
            text("# 0. Tiny"),
            code("one = explorer.ask(trace, 'winner')"),
            answer(code("print('first')")),
            answer(code("two = explorer.ask(trace, 'layers-left')")),
            answer(text("It is the *second*.")),
            text("Visible again."),
        )
        assert [re.sub("<summary>.*", "", one) for one in words] == [
            "# 0. Tiny",
            '<details class="fold source">',
            "one = explorer.ask(trace, 'winner')",
            "</details>",
            "...",
            '<details class="fold behind">',
            "print('first')",
            '<details class="fold source">',
            "two = explorer.ask(trace, 'layers-left')",
            "</details>",
            "...",
            '<details class="fold behind">',
            "It is the *second*.",
            "</details>",
            "</details>",
            "Visible again.",
        ]

    def test_the_assertions_at_the_end_are_folded(self) -> None:
        claims = text("## What this lesson claimed")
        words = words_of(text("# 0. Tiny"), claims, code("assert 1"), code("assert 2"), text("Next: more."))
        assert words[3:] == ["assert 1", "assert 2", "</details>", "Next: more."]


def answer(cell: Any) -> Any:
    cell.metadata["tags"] = ["answer"]
    return cell
