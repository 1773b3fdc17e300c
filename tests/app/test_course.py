"""The lessons as pages: text, formulas, code, and what the widgets of a lesson need where no kernel runs."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner

import explorer
from explorer.app.cli import app
from explorer.errors import FileFormatError, UnknownNameError
from explorer.trace import Trace
from explorer.views import TraceIndex, course

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

import explorer.app.course as building
from explorer.app.course import LessonError, build_course, lesson_files, run_lesson
from explorer.app.course_markdown import code_html, markdown_html, plain_text
from explorer.app.course_page import Lesson, index_html, lesson_html, lesson_of
from explorer.app.course_recorder import RECORDINGS_MIME, VIEW_MIME, CourseRecorder
from explorer.app.notebook import show

NASTY = "</script><script>alert(1)</script><!--"


@pytest.fixture(scope="module")
def conflict() -> Trace:
    return explorer.record(explorer.gallery.load_named("conflict"))


def notebook(*cells: Any) -> Any:
    return nbformat.v4.new_notebook(cells=list(cells))


def text(words: str) -> Any:
    return nbformat.v4.new_markdown_cell(words)


def code(source: str, *outputs: dict[str, Any]) -> Any:
    made = [nbformat.v4.new_output(**output) for output in outputs]
    return nbformat.v4.new_code_cell(source, outputs=made)


def displayed(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


def page_of(*cells: Any) -> str:
    made = notebook(*cells)
    return lesson_html(made, [lesson_of("00_tiny", made)], 0)


def stored(page: str) -> dict[str, Any]:
    """The views and recordings in a page."""
    found = re.search(r'id="recording" data-packed="(true|false)">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[2])) if found[1] == "true" else found[2])


class TestText:
    def test_formulas_become_mathml(self) -> None:
        made = markdown_html("The sum $y_o = \\sum_i w_{oi} x_i$:\n\n$$\\log \\sum_i e^{x_i}$$\n\nIt costs $5 and $ 6.")
        assert made.count("<math") == 2
        assert 'display="inline"' in made
        assert 'display="block"' in made
        assert "\\sum" not in made
        assert "It costs $5 and $ 6." in made

    def test_a_formula_that_cannot_be_shown_is_refused(self) -> None:
        with pytest.raises(FileFormatError, match=r"the formula .*nosuch.* cannot be shown: .nosuch is not known"):
            markdown_html("$\\nosuch{x}$")

    def test_links_to_lessons_lead_to_their_pages(self) -> None:
        made = markdown_html(
            "[one](01_compile.ipynb) [part](05_folding.ipynb#levels) [paper](https://example.org/a.ipynb)"
        )
        assert re.findall('href="(.*?)"', made) == [
            "01_compile.html",
            "05_folding.html#levels",
            "https://example.org/a.ipynb",
        ]

    def test_markup_in_it_stays_text(self) -> None:
        assert "<b>" not in markdown_html(f"<b>bold</b> {NASTY}")
        assert "<script>" not in page_of(text(NASTY), code(f"x = '{NASTY}'"))
        assert "<td>1</td>" in markdown_html("| a |\n|---|\n| 1 |")

    def test_code_has_colours_and_loses_nothing(self) -> None:
        source = "# a comment\nfor x in (1, 2):\n    print(f'{x} < 3')"
        made = code_html(source)
        assert '<span class="k">for</span>' in made
        plain = re.sub("<[^>]*>", "", made).replace("&lt;", "<").replace("&#39;", "'").replace("&quot;", '"')
        assert plain == source

    def test_titles_and_minutes_are_read_from_the_lesson(self) -> None:
        made = notebook(text("# 3. Fusion of `Sum`s, [see](x)\n\nAbout 25 minutes."), code("1"))
        assert lesson_of("03_fusion", made) == Lesson("03_fusion", "3. Fusion of Sums, see", 25)
        assert plain_text("a *b*") == "a b"


class TestOutputs:
    def test_what_was_printed_is_shown(self) -> None:
        page = page_of(
            code("1", {"output_type": "stream", "name": "stdout", "text": "one <2>\n"}),
            code("2", {"output_type": "stream", "name": "stderr", "text": "\x1b[31mcareful\x1b[0m"}),
            code("3", displayed(**{"text/plain": "a trace"})),
            code("4", displayed(**{"text/plain": 'a "picture"', "image/png": "UE5H\n"})),
            code("5", displayed(**{"text/markdown": "**bold**", "text/plain": "no"})),
        )
        assert '<pre class="out" tabindex="0">one &lt;2&gt;</pre>' in page
        assert '<pre class="out stderr" tabindex="0">careful</pre>' in page
        assert "a trace</pre>" in page
        assert '<img alt="a &quot;picture&quot;" src="data:image/png;base64,UE5H">' in page
        assert "<strong>bold</strong>" in page

    def test_a_page_without_pictures_has_no_script(self) -> None:
        assert "<script" not in page_of(text("# 0. Words"), code("1"))


@pytest.fixture(scope="module")
def shown(conflict: Trace) -> str:
    """A lesson that shows one trace four times, another one once, and bars."""
    recorder = CourseRecorder()
    other = explorer.record(explorer.gallery.load_named("blackboard"))
    views = [
        recorder.graph(show(conflict, step=3, selection=[8])),  # pyright: ignore[reportArgumentType]
        recorder.question(explorer.ask(conflict, "fold-with", node=14)),
        recorder.fold_level(show(conflict, fold_level=1)),  # pyright: ignore[reportArgumentType]
        recorder.graph(show(conflict, match=0, step=3)),  # pyright: ignore[reportArgumentType]
        recorder.graph(show(other, group_by="none", colour_by="kind")),  # pyright: ignore[reportArgumentType]
        {"kind": "bars", "bars": course(TraceIndex(conflict), "layers")},
    ]
    cells = [code("show", displayed(**{VIEW_MIME: view, "text/plain": NASTY})) for view in views]
    end = code("", displayed(**{RECORDINGS_MIME: recorder.recordings()}))
    return page_of(text("# 0. Tiny"), *cells, end)


class TestViews:
    def test_each_trace_is_recorded_once(self, shown: str) -> None:
        data = stored(shown)
        assert [view["kind"] for view in data["views"]] == ["graph", "question", "graph", "graph", "graph", "bars"]
        assert [view.get("recording") for view in data["views"]] == [0, 0, 0, 0, 1, None]
        assert len(data["recordings"]) == 2
        assert shown.count("data-view=") == 6

    def test_every_picture_that_can_be_asked_for_is_there(self, shown: str) -> None:
        data = stored(shown)
        for view in data["views"][:5]:
            pictures = data["recordings"][view["recording"]]["pictures"]
            options, start = view["options"], view["start"]
            (colour,), (group,) = options["colours"], options["groups"]
            steps = range(len(data["recordings"][view["recording"]]["steps"]))
            for step in steps if view["kind"] == "graph" else [start["step"]]:
                for mode in set(options["modes"]) - {"side"}:  # which the page puts together
                    assert f"{step}/{mode}/{colour}/{group}" in pictures
        asked = data["views"][1]
        end = asked["question"]["revealing"]
        for mode in asked["revealed_options"]["modes"]:
            key = f"{end['step']}/{mode}/{end['colour_by']}/{end['group_by']}"
            assert key in data["recordings"][0]["pictures"]

    def test_it_begins_where_the_lesson_shows_it(self, shown: str) -> None:
        views = stored(shown)["views"]
        assert [view["start"]["step"] for view in views[:5]] == [3, 9, 11, 3, 0]
        assert [box[:4] for box in views[0]["start"]["selection"]] == ["g5x2"]  # layer 8 and the one like it
        assert views[1]["start"]["selection"] == ["n14"]
        assert views[1]["options"]["asking"]
        assert views[3]["start"]["hull"] != ""
        assert "match 1 of 9" in views[3]["details"]

    def test_tables_of_folding_stand_in_the_page_by_step(self, shown: str) -> None:
        assert re.findall('<div data-step="(.*?)" hidden>', shown) == ["", "10", "11", "12"]
        assert "Level 1: 2 layers in 1 group" in shown
        assert all("tables" not in view for view in stored(shown)["views"])

    def test_it_asks_for_nothing_from_outside(self, shown: str) -> None:
        assert "default-src 'none'" in shown
        addresses = set(re.findall(r"https?://[^\"'\s)<]+", shown))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
        assert set(re.findall(r'\b(?:src|href)="([^"#]{0,5})', shown)) == {"data:", "index"}

    def test_each_drawing_is_there_once_and_nothing_ends_a_script_early(self, shown: str) -> None:
        assert shown.count("export default { render };") == 3
        assert shown.count("<script") == shown.count("</script>") == 5
        assert "alert(1)</script>" not in shown

    def test_it_is_small(self, shown: str) -> None:
        assert len(shown) < 400_000


class TestTheList:
    def test_lessons_that_were_not_built_have_no_link(self) -> None:
        made = index_html([Lesson("00_a", "0. A & B", 25), Lesson("01_b", "1. B", 0)], {"00_a": 250_400})
        assert '<a href="00_a.html">0. A &amp; B</a></td><td>25</td><td>250 kB</td>' in made
        assert "<td>1. B (not built)</td><td></td><td></td>" in made

    def test_a_page_leads_to_those_beside_it(self) -> None:
        lessons = [Lesson(f"0{number}_x", f"{number}. X", 5) for number in range(3)]
        page = lesson_html(notebook(text("# 1. X")), lessons, 1)
        assert re.findall('<a href="(.*?)">(.*?)</a>', page)[:3] == [
            ("index.html", "All lessons"),
            ("00_x.html", "Before: 0. X"),
            ("02_x.html", "Next: 2. X"),
        ]

    def test_lessons_are_chosen_by_number_or_name(self, tmp_path: Path) -> None:
        for name in ("00_a.ipynb", "05_folding.ipynb", "10_last.ipynb", "other.ipynb"):
            (tmp_path / name).touch()
        names = [file.stem for file in lesson_files(tmp_path)]
        assert names == ["00_a", "05_folding", "10_last"]
        for asked in ("5", "05", "05_folding", "notebooks/05_folding.ipynb"):
            assert [file.stem for file in lesson_files(tmp_path, [asked])] == ["05_folding"]
        with pytest.raises(UnknownNameError, match="no lesson named 'other'; known are: 00_a, 05_folding, 10_last"):
            lesson_files(tmp_path, ["other"])

    def test_the_command_refuses_a_lesson_that_is_not_there(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(app, ["course", "--output", str(tmp_path), "77"])
        assert result.exit_code == 2
        assert "no lesson named '77'" in result.output


class TestRunning:
    def test_a_lesson_runs_in_its_folder_and_one_that_fails_says_where(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "BEGIN", "pass")  # without widgets nothing of the explorer need be loaded
        monkeypatch.setattr(building, "END", "pass")
        (tmp_path / "helper.py").write_text("WORD = 'here'")
        good, bad = code("import helper\nprint(helper.WORD)"), code("answer = 1 / 0")
        nbformat.write(notebook(text("# 0. Bad"), good, bad), tmp_path / "00_bad.ipynb")
        with pytest.raises(LessonError, match=r"(?s)00_bad.ipynb failed: .*answer = 1 / 0.*ZeroDivisionError"):
            build_course(tmp_path, tmp_path / "out")
        assert not (tmp_path / "out" / "00_bad.html").exists()
        nbformat.write(notebook(text("# 0. Good"), good), tmp_path / "00_bad.ipynb")
        cells = run_lesson(tmp_path / "00_bad.ipynb").cells
        assert [cell.cell_type for cell in cells] == ["markdown", "code", "code"]
        assert cells[1].outputs[0].text == "here\n"
        assert cells[2].source == ""
