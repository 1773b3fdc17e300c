"""The words of lessons as pages: formulas, code, titles, links between lessons."""

import re
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

from explorer.app.course.build import LESSONS
from explorer.app.course.markdown import (
    HeadingIds,
    TextOf,
    _reader,
    _words,
    code_html,
    heading_names,
    plain_text,
    target_of,
)
from explorer.app.course.page import Lesson, lesson_of
from explorer.errors import FileFormatError
from tests.app.course.cells import code, markdown_html, notebook, page_of, text

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
NASTY = "</script><script>alert(1)</script><!--"


class TestText:
    def test_formulas_become_mathml(self) -> None:
        made = markdown_html("The sum $y_o = \\sum_i w_{oi} x_i$:\n\n$$\\log \\sum_i e^{x_i}$$\n\nIt costs $5 and $ 6.")
        assert made.count("<math") == 2
        assert 'display="inline"' in made
        assert 'display="block"' in made
        assert "\\sum" not in made
        assert "It costs $5 and $ 6." in made

    def test_a_page_with_formulas_contains_their_font(self) -> None:
        page = page_of(text("# 0. Words\n\n$x^2$"))
        assert "font-src data:" in page
        assert page.count("@font-face") == 1
        assert len(page) < 80_000
        assert "@font-face" not in page_of(text("# 0. Words"))

    def test_no_line_breaks_between_a_formula_and_its_punctuation(self) -> None:
        made = markdown_html("rows ($F$), `$H$`")
        assert re.sub("<math.*</math>", "F", made) == (
            '<p>rows <span class="whole">(<span class="math inline">F</span>),</span> <code>$H$</code></p>\n'
        )

    def test_a_formula_that_cannot_be_shown_is_refused(self) -> None:
        with pytest.raises(FileFormatError, match=r"the formula .*nosuch.* cannot be shown: .nosuch is not known"):
            markdown_html("$\\nosuch{x}$")

    def test_markup_in_text_is_escaped(self) -> None:
        assert "<b>" not in markdown_html(f"<b>bold</b> {NASTY}")
        assert "<script>" not in page_of(text(NASTY), code(f"x = '{NASTY}'"))
        assert "<td>1</td>" in markdown_html("| a |\n|---|\n| 1 |")

    def test_highlighted_code_is_complete(self) -> None:
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

    def test_no_heading_uses_a_reserved_id(self) -> None:
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


def cells_of(file: Path) -> str:
    """The text of a lesson."""
    cells = nbformat.read(file, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
