"""Building the pages of a course: which lessons, links between their pages, what is refused, interruptions."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.errors import FileFormatError, UnknownNameError

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

import explorer.app.course.build as building
from explorer.app.course.build import build_course, lesson_files
from explorer.app.course.page import Course, Lesson, Quiz, first_figure, index_html, lesson_html, lesson_of, quiz_of
from tests.app.course.cells import notebook, text

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


class TestTheList:
    def test_lessons_that_were_not_built_have_no_link(self) -> None:
        lessons = (Lesson("00_a", "0. A & B", 25), Lesson("01_b", "1. B", 0))
        made = index_html(Course(lessons), {"00_a.html": 250_400})
        assert '<a href="00_a.html">0. A &amp; B</a></td><td>25</td><td>250 kB</td>' in made
        assert "<td>1. B (not\u00a0built)</td><td></td><td></td>" in made

    def test_it_begins_with_a_picture_and_lists_what_a_reader_will_be_able_to_do(self) -> None:
        first = text("# 0. A\n\nYou will be able to\n\n- read *x*\n  and y;\n- write z.\n\nAbout 5 minutes.")
        lesson = lesson_of("00_a", notebook(first))
        assert lesson.goals == ("read *x* and y", "write z")
        picture = first_figure('<p>1</p><div class="figure"><svg></svg></div><div class="figure">2</div>')
        made = index_html(Course((lesson,)), {}, picture)
        assert made.index('<div class="figure"><svg></svg></div>') < made.index("<p>The lessons")
        assert "<li><p>read <em>x</em> and y</p>" in made
        assert first_figure("<p>no picture</p>") == ""

    def test_the_quiz_follows_the_first_lessons_that_it_is_about(self) -> None:
        lessons = tuple(Lesson(f"0{number}_x", f"{number}. X", 5) for number in range(3))
        quiz = quiz_of("# Quiz: `X`\n\n## Question 1 (lesson 1)\n\n## Question 2 (lesson 0)\n", lessons)
        assert quiz == Quiz("Quiz: X", 2, ("01_x",))
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
        course = Course(lessons, Quiz("Quiz", 2, ("01_x",)), ("index.html", "00_x.html", "01_x.html", "quiz.html"))
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
        for name in ("5", "05", "05_folding", "notebooks/05_folding.ipynb"):
            assert [file.stem for file in lesson_files(tmp_path, [name])] == ["05_folding"]
        twice = [file.stem for file in lesson_files(tmp_path, ["5", "10", "05_folding", "5"])]
        assert twice == ["05_folding", "10_last"]
        with pytest.raises(UnknownNameError, match="no lesson named 'other'; known are: 00_a, 05_folding, 10_last"):
            lesson_files(tmp_path, ["other"])
        with pytest.raises(UnknownNameError):
            lesson_files(tmp_path, [""])

    def test_the_command_refuses_an_unknown_lesson(self, tmp_path: Path) -> None:
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
        texts = {"index.html", "glossary.html", "quiz.html", "quiz_answers.html"}
        texts |= {"lecture.html", "worksheet.html", "worksheet_answers.html"}
        assert pages == {f"{name}.html" for name in unrun} | texts
        assert broken_links(tmp_path) == []
        linked = [name for name in unrun if '<a href="quiz.html">' in (tmp_path / f"{name}.html").read_text("utf-8")]
        assert linked == ["05_folding", "09_buffers", "12_watch_torch_compile"]
        assert 'id="View,-slice,-gather"' in (tmp_path / "05_folding.html").read_text(encoding="utf-8")

    def test_a_subset_of_lessons_has_no_dead_links(self, tmp_path: Path, unrun: list[str]) -> None:
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

    def test_missing_notebooks_raise_an_error_that_says_where_they_are(
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
