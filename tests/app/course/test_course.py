"""The lessons as pages: text, formulas, code, and the recordings that replace a kernel."""

import base64
import gzip
import json
import os
import re
import signal
import sys
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
from typer.testing import CliRunner

import explorer
from explorer.app.cli import app
from explorer.errors import FileFormatError, UnknownNameError
from explorer.trace import Trace
from explorer.views import TraceIndex, stat_bars

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

import explorer.app.course.build as building
from explorer.app.course.build import LESSONS, LessonError, build_course, lesson_files, own_kernel, run_lesson
from explorer.app.course.links import HeadingIds, heading_names, target_of
from explorer.app.course.markdown import TextOf, _reader, _words, code_html, plain_text
from explorer.app.course.page import Course, Lesson, Quiz, index_html, lesson_html, lesson_of, quiz_of
from explorer.app.course.recorder import RECORDINGS_MIME, VIEW_MIME, CourseRecorder
from explorer.app.notebook.show import show

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
NASTY = "</script><script>alert(1)</script><!--"


def links_and_headings(markdown: str) -> tuple[list[str], list[str]]:
    """Return the addresses of all links in a text, and its headings as plain text."""
    links: list[str] = []
    headings: list[str] = []
    tokens = _reader().parse(markdown)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            headings.append(_words(tokens[at + 1]))
        links += [str(child.attrs["href"]) for child in token.children or () if child.type == "link_open"]
    return links, headings


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
    return lesson_html(made, Course((lesson_of("00_tiny", made),), pages=("index.html", "00_tiny.html")), 0)


def markdown_html(words: str) -> str:
    return TextOf("00_tiny.ipynb").html(words)


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

    def test_no_line_breaks_between_a_formula_and_its_punctuation(self) -> None:
        made = markdown_html("rows ($F$), `$H$`")
        assert re.sub("<math.*</math>", "F", made) == (
            '<p>rows <span class="whole">(<span class="math inline">F</span>),</span> <code>$H$</code></p>\n'
        )

    def test_a_formula_that_cannot_be_shown_is_refused(self) -> None:
        with pytest.raises(FileFormatError, match=r"the formula .*nosuch.* cannot be shown: .nosuch is not known"):
            markdown_html("$\\nosuch{x}$")

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


class TestLinks:
    @pytest.mark.parametrize(
        ("source", "address", "page"),
        [
            ("00_a.ipynb", "05_b.ipynb", "05_b.html"),
            ("00_a.ipynb", "notebooks/05_b.ipynb#levels", "05_b.html#levels"),
            ("00_a.ipynb", "05_b.ipynb#View,-slice,-gather", "05_b.html#View,-slice,-gather"),
            ("00_a.ipynb", "05_b.ipynb#Does-it-pay?", "05_b.html#Does-it-pay?"),
            ("00_a.ipynb", "./quiz.md", "quiz.html"),
            ("00_a.ipynb", "solutions/quiz.md#answer-1", "quiz_answers.html#answer-1"),
            ("quiz.md", "notebooks/solutions/quiz.md", "quiz_answers.html"),
            ("solutions/quiz.md", "../quiz.md#question-1", "quiz.html#question-1"),
            ("solutions/quiz.md", "../../notebooks/05_b.ipynb", "05_b.html"),
            ("solutions/quiz.md", "../README.md#at-a-glance", "index.html"),
            ("00_a.ipynb", "#part", "#part"),
            ("00_a.ipynb", "00_a.ipynb#part", "#part"),
            ("00_a.ipynb", "https://example.org/a.ipynb#x", "https://example.org/a.ipynb#x"),
            ("00_a.ipynb", "mailto:a@example.org", "mailto:a@example.org"),
        ],
    )
    def test_a_link_leads_to_the_page_of_its_target(self, source: str, address: str, page: str) -> None:
        pages = ("index.html", "05_b.html", "quiz.html", "quiz_answers.html")
        made = TextOf(source, pages).html(f"See [*that*]({address}).")
        assert made == f'<p>See <a href="{page}"><em>that</em></a>.</p>\n'

    def test_a_link_to_a_missing_page_is_replaced_by_its_text(self) -> None:
        made = TextOf("00_a.ipynb", ("00_a.html",)).html(
            "[five](05_b.ipynb#x), [mine](solutions/a.py), [out](http://x.y)"
        )
        assert made == '<p>five (not built), mine, <a href="http://x.y">out</a></p>\n'

    def test_a_heading_has_the_ids_of_jupyter_and_of_github(self) -> None:
        text = TextOf("00_a.ipynb")
        made = text.html("## View, slice, *gather*\n\n### `Sum` of $x$?\n\n## levels")
        assert '<h2 id="View,-slice,-gather"><a id="view-slice-gather"></a>View' in made
        assert '<h3 id="Sum-of-$x$?"><a id="sum-of-x"></a><code>' in made
        assert '<h2 id="levels">levels</h2>' in made
        assert '<h2 id="levels-1">levels</h2>' in text.html("## levels")  # of another cell of the same page

    def test_no_heading_takes_a_reserved_id(self) -> None:
        assert HeadingIds().next("recording") == ["recording-1"]

    def test_every_link_in_the_course_leads_to_a_file_and_a_heading(self) -> None:
        texts = {file.name: cells_of(file) for file in NOTEBOOKS.glob(LESSONS)}
        for name in ("quiz.md", "solutions/quiz.md", "README.md"):
            texts[name] = (NOTEBOOKS / name).read_text(encoding="utf-8")
        read = {name: links_and_headings(text) for name, text in texts.items()}
        names = {name: {one for h in headings for one in heading_names(h)} for name, (_, headings) in read.items()}
        assert "View,-slice,-gather" in names["05_folding.ipynb"]
        broken = [
            f"{source}: {address}"
            for source, (links, _) in read.items()
            for address in links
            if (target := target_of(address, source))
            if not (NOTEBOOKS / target.file).exists() or (target.heading and target.heading not in names[target.file])
        ]
        assert broken == []


def cells_of(file: Path) -> str:
    """The text of a lesson."""
    cells = nbformat.read(file, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def broken_links(folder: Path) -> list[str]:
    """The links of all pages in a folder without an existing page or heading as target."""
    pages = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.html")}
    ids = {name: set(map(unescape, re.findall(r'<(?:h\d|a) id="(.*?)"', page))) for name, page in pages.items()}
    found: list[str] = []
    for name, page in pages.items():
        for address in map(unescape, re.findall(r'<a href="(.*?)"', page)):
            file, _, heading = address.partition("#")
            if "://" in file:
                continue
            if (file or name) not in pages or (heading and unquote(heading) not in ids[file or name]):
                found.append(f"{name}: {address}")
    return found


class TestOutputs:
    def test_printed_output_is_shown(self) -> None:
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
        {"kind": "bars", "bars": stat_bars(TraceIndex(conflict), "layers")},
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

    def test_every_reachable_picture_is_recorded(self, shown: str) -> None:
        data = stored(shown)
        for view in data["views"][:5]:
            pictures = data["recordings"][view["recording"]]["pictures"]
            options, start = view["options"], view["start"]
            (colour,), (group,) = options["colours"], options["groups"]
            steps = range(len(data["recordings"][view["recording"]]["steps"]))
            for step in steps if view["kind"] == "graph" else [start["step"]]:
                for mode in set(options["modes"]) - {"side"}:  # which the page composes
                    assert f"{step}/{mode}/{colour}/{group}" in pictures
        asked = data["views"][1]
        end = asked["question"]["revealing"]
        for mode in asked["revealed_options"]["modes"]:
            key = f"{end['step']}/{mode}/{end['colour_by']}/{end['group_by']}"
            assert key in data["recordings"][0]["pictures"]

    def test_it_begins_where_the_lesson_shows_it(self, shown: str) -> None:
        views = stored(shown)["views"]
        assert [view["start"]["step"] for view in views[:5]] == [3, 9, 11, 3, 0]
        assert [box[:4] for box in views[0]["start"]["selection"]] == ["g5x2"]  # layer 8 and its twin
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

    def test_each_drawing_is_included_once_and_nothing_ends_a_script_early(self, shown: str) -> None:
        assert shown.count("export default { render };") == 3
        assert shown.count("<script") == shown.count("</script>") == 5
        assert "alert(1)</script>" not in shown

    def test_it_is_small(self, shown: str) -> None:
        assert len(shown) < 400_000


def test_a_heading_inside_a_cell_ends_the_section_behind_a_question(conflict: Trace) -> None:
    recorder = CourseRecorder()
    asked = recorder.question(explorer.ask(conflict, "winner"))
    behind = "It won.\n\n```python\n# no heading\n```\n\n## Next\n\nMore."
    page = page_of(
        text("# 0. Tiny"),
        code("ask", displayed(**{VIEW_MIME: asked, "text/plain": "q"})),
        text(behind),
        code("", displayed(**{RECORDINGS_MIME: recorder.recordings()})),
    )
    closed = re.findall(r'<details class="behind">(.*?)</details>', page, re.DOTALL)
    assert len(closed) == 1
    assert "It won." in closed[0]
    assert "no heading" in closed[0]
    assert "More." not in closed[0]
    assert "Next</h2>" in page


class TestTheList:
    def test_lessons_that_were_not_built_have_no_link(self) -> None:
        lessons = (Lesson("00_a", "0. A & B", 25), Lesson("01_b", "1. B", 0))
        made = index_html(Course(lessons), {"00_a.html": 250_400})
        assert '<a href="00_a.html">0. A &amp; B</a></td><td>25</td><td>250 kB</td>' in made
        assert "<td>1. B (not\u00a0built)</td><td></td><td></td>" in made

    def test_the_quiz_follows_the_last_lesson_that_it_is_about(self) -> None:
        lessons = tuple(Lesson(f"0{number}_x", f"{number}. X", 5) for number in range(3))
        quiz = quiz_of("# Quiz: `X`\n\n## Question 1 (lesson 1)\n\n## Question 2 (lesson 0)\n", lessons)
        assert quiz == Quiz("Quiz: X", 2, "01_x")
        course = Course(lessons, quiz, ("quiz.html", "quiz_answers.html"))
        words = re.sub("<[^>]*>", " ", index_html(course, {}))
        assert re.findall(r"[012]\. X|Quiz: X|2 questions|answers", words) == [
            "0. X",
            "1. X",
            "Quiz: X",
            "2 questions",
            "answers",
            "2. X",
        ]

    def test_a_page_links_to_its_neighbours(self) -> None:
        lessons = tuple(Lesson(f"0{number}_x", f"{number}. X", 5) for number in range(3))
        course = Course(lessons, Quiz("Quiz", 2, "01_x"), ("index.html", "00_x.html", "01_x.html", "quiz.html"))
        page = lesson_html(notebook(text("# 1. X")), course, 1)
        assert re.findall('<a href="(.*?)">(.*?)</a>', page)[:3] == [
            ("index.html", "All lessons"),
            ("00_x.html", "Before: 0. X"),
            ("quiz.html", "Quiz"),
        ]
        assert "<span>Next: 2. X</span>" in page  # not in this build

    def test_lessons_are_chosen_by_number_or_name(self, tmp_path: Path) -> None:
        for name in ("00_a.ipynb", "05_folding.ipynb", "10_last.ipynb", "other.ipynb"):
            (tmp_path / name).touch()
        names = [file.stem for file in lesson_files(tmp_path)]
        assert names == ["00_a", "05_folding", "10_last"]
        for asked in ("5", "05", "05_folding", "notebooks/05_folding.ipynb"):
            assert [file.stem for file in lesson_files(tmp_path, [asked])] == ["05_folding"]
        twice = [file.stem for file in lesson_files(tmp_path, ["5", "10", "05_folding", "5"])]
        assert twice == ["05_folding", "10_last"]
        with pytest.raises(UnknownNameError, match="no lesson named 'other'; known are: 00_a, 05_folding, 10_last"):
            lesson_files(tmp_path, ["other"])
        with pytest.raises(UnknownNameError):
            lesson_files(tmp_path, [""])

    def test_the_command_refuses_a_lesson_that_is_not_there(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(app, ["course", "--output", str(tmp_path), "77"])
        assert result.exit_code == 2
        assert "no lesson named '77'" in result.output


@pytest.fixture
def unrun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Skip running lessons, so that pages have no outputs; returns the names of the skipped ones."""
    names: list[str] = []

    def read(file: Path) -> Any:
        names.append(file.stem)
        return nbformat.read(file, as_version=4)

    monkeypatch.setattr(building, "run_lesson", read)
    return names


class TestBuilding:
    def test_every_link_of_every_page_leads_to_a_page_and_a_heading(self, tmp_path: Path, unrun: list[str]) -> None:
        build_course(NOTEBOOKS, tmp_path)
        pages = {file.name for file in tmp_path.iterdir()}
        assert pages == {f"{name}.html" for name in unrun} | {"index.html", "quiz.html", "quiz_answers.html"}
        assert broken_links(tmp_path) == []
        assert '<a href="quiz.html">' in (tmp_path / "05_folding.html").read_text(encoding="utf-8")
        assert 'id="View,-slice,-gather"' in (tmp_path / "05_folding.html").read_text(encoding="utf-8")

    def test_some_lessons_alone_have_no_link_that_leads_nowhere(self, tmp_path: Path, unrun: list[str]) -> None:
        build_course(NOTEBOOKS, tmp_path, ["3", "03_fusion", "5"])
        assert unrun == ["03_fusion", "05_folding"]
        assert broken_links(tmp_path) == []

    def test_unwritable_pages_are_reported_before_a_lesson_is_run(self, tmp_path: Path, unrun: list[str]) -> None:
        file = tmp_path / "file"
        file.touch()
        (tmp_path / "out" / "index.html").mkdir(parents=True)  # like any reason why it cannot be written
        for output, words in (
            (file, "cannot be written into"),
            (file / "below", "it is a file, or in one"),
            (tmp_path / "out", "Is a directory"),
        ):
            result = CliRunner().invoke(app, ["course", "--output", str(output), "0"])
            assert result.exit_code == 2
            assert words in " ".join(result.output.split())
        assert unrun == []

    def test_a_file_that_is_not_a_notebook_is_named(self, tmp_path: Path) -> None:
        for content in (b"{", b"[]", b"{}", b"\xff", b'{"nbformat": 9}', b'{"cells": [{}], "nbformat": 4}'):
            (tmp_path / "00_x.ipynb").write_bytes(content)
            with pytest.raises(FileFormatError, match=r"00_x\.ipynb is not a Jupyter notebook: "):
                build_course(tmp_path, tmp_path / "out")

    def test_without_the_notebooks_it_says_where_they_are(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("explorer.app.commands.lab.notebooks_folder", lambda: (tmp_path, False))
        result = CliRunner().invoke(app, ["course", "--output", str(tmp_path / "out")])
        assert result.exit_code == 2
        assert "the lessons are not installed with the package" in " ".join(result.output.split())
        assert not (tmp_path / "out").exists()

    def test_pages_built_before_an_interruption_are_listed(
        self, tmp_path: Path, unrun: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = building.run_lesson

        def stopped(file: Path) -> Any:
            if len(unrun) == 2:
                raise KeyboardInterrupt
            return run(file)

        monkeypatch.setattr(building, "run_lesson", stopped)
        result = CliRunner().invoke(app, ["course", "--output", str(tmp_path)])
        assert result.exit_code == 130
        assert "stopped" in result.output
        listed = re.findall(r'<a href="(\d\d_.*?)\.html"', (tmp_path / "index.html").read_text(encoding="utf-8"))
        assert listed == unrun


class TestRunning:
    def test_a_lesson_runs_in_its_folder_and_one_that_fails_says_where(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "BEGIN", "pass")  # without widgets the explorer need not be loaded
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

    def test_ctrl_c_ends_the_kernel_and_comes_through(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(building, "BEGIN", "import os, signal, time")
        press = code("print(os.getpid(), file=open('pid', 'w'), flush=True)\nos.kill(os.getppid(), signal.SIGINT)")
        nbformat.write(notebook(text("# 0. Long"), press, code("time.sleep(60)")), tmp_path / "00_long.ipynb")
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                run_lesson(tmp_path / "00_long.ipynb")
        finally:
            signal.signal(signal.SIGINT, before)
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)

    def test_the_kernel_is_that_of_this_python_whatever_is_registered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "BEGIN", "pass")
        monkeypatch.setattr(building, "END", "pass")
        broken = tmp_path / "data" / "kernels" / "python3"
        broken.mkdir(parents=True)
        spec = {"argv": ["/nowhere/python", "{connection_file}"], "display_name": "Broken", "language": "python"}
        (broken / "kernel.json").write_text(json.dumps(spec))
        (tmp_path / "startup.py").write_text("STARTED = True")
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_PATH"):
            monkeypatch.setenv(name, str(tmp_path / "data"))
        monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "startup.py"))
        kernel = own_kernel(tmp_path).kernel_spec
        assert kernel is not None
        assert kernel.argv[0] == sys.executable
        ask = code("import sys\nprint(sys.executable, 'STARTED' in globals())")
        nbformat.write(notebook(text("# 0. Who"), ask), tmp_path / "00_who.ipynb")
        (output,) = run_lesson(tmp_path / "00_who.ipynb").cells[1].outputs
        assert output.text == f"{sys.executable} False\n"
