"""The glossary: read from Markdown, and explained where a term is first used on a page."""

import re
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'circuit-explorer[ui]'")
pytest.importorskip("nbclient", reason="needs nbclient: pip install 'circuit-explorer[ui]'")

from explorer.app.course.markdown import ENTRY, TextOf, read_glossary

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
WRITTEN = (NOTEBOOKS / "glossary.md").read_text(encoding="utf-8")
TINY = read_glossary(
    "- **leaf** (leaves, `leaf_state`): a tensor,\n  stored.\n- **fold group** (group): layers & more.\n"
)


def test_terms_have_forms_and_a_meaning() -> None:
    assert dict(TINY.terms) == {"leaf": "leaf", "leaves": "leaf", "fold group": "fold group", "group": "fold group"}
    assert TINY.meanings["leaves"] == "a tensor, stored."


def test_the_first_use_on_a_page_is_explained() -> None:
    text = TextOf("x.md", terms=TINY.first_uses())
    first = text.html("Leaves and a leaf, a *fold group*.")
    assert '<dfn tabindex="0" title="leaf: a tensor, stored.">Leaves</dfn> and a leaf' in first
    assert '<em><dfn tabindex="0" title="fold group: layers &amp; more.">fold group</dfn></em>' in first
    assert "dfn" not in text.html("A leaf & a group.")


@pytest.mark.parametrize("words", ["## A leaf", "`leaf`", "[a leaf](https://example.org)", "$leaf$", "cleaf leafy"])
def test_headings_code_links_formulas_and_parts_of_words_are_not_explained(words: str) -> None:
    assert "dfn" not in TextOf("x.md", terms=TINY.first_uses()).html(words)


def test_without_a_glossary_text_is_escaped() -> None:
    assert TextOf("x.md").html("a < leaf") == "<p>a &lt; leaf</p>\n"


class TestTheGlossaryOfTheCourse:
    def test_every_line_is_read_and_terms_are_in_order(self) -> None:
        terms = [term for term, *_ in ENTRY.findall(WRITTEN)]
        assert len(terms) == WRITTEN.count("\n- ")
        assert terms == sorted(terms, key=str.lower)

    def test_a_form_belongs_to_one_term(self) -> None:
        forms = [
            form for term, others, _ in ENTRY.findall(WRITTEN) for form in (term, *filter(None, others.split(", ")))
        ]
        assert len(forms) == len(set(forms))

    def test_every_term_is_used_in_a_lesson(self) -> None:
        lessons = [nbformat.read(file, as_version=4) for file in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")]
        cells = [cell for lesson in lessons for cell in lesson.cells]
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown").lower()
        for term, others, _ in ENTRY.findall(WRITTEN):
            forms = [form.strip("`").lower() for form in (term, *filter(None, others.split(", ")))]
            assert any(re.search(rf"\b{re.escape(form)}\b", text) for form in forms), term
