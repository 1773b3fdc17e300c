"""The glossary: read from Markdown, and explained where a term is first used on a page."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("sphinx", reason="needs sphinx: pip install 'circuit-explorer[site]'")

from docutils import nodes
from docutils.utils import new_document

from docs.building.glossary import ENTRY, explain_first_uses, read_glossary

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WRITTEN = (NOTEBOOKS / "glossary.md").read_text(encoding="utf-8")
TINY = read_glossary(
    "- **leaf** (leaves, `leaf_state`): a tensor,\n  stored.\n- **fold group** (group): layers & more.\n"
)


def test_terms_have_forms_and_a_meaning() -> None:
    assert dict(TINY.terms) == {"leaf": "leaf", "leaves": "leaf", "fold group": "fold group", "group": "fold group"}
    assert TINY.meanings["leaves"] == "a tensor, stored."


def explained(*paragraphs: Any) -> list[str]:
    document = new_document("a lesson")
    for one in paragraphs:
        document += one
    explain_first_uses(document, TINY)
    return [str(raw.astext()) for raw in document.findall(nodes.raw)]


def test_the_first_use_on_a_page_is_explained() -> None:
    first = nodes.paragraph("", "Leaves and a leaf, a fold group.")
    assert explained(first, nodes.paragraph("", "A leaf & a group.")) == [
        '<dfn tabindex="0" title="leaf: a tensor, stored.">Leaves</dfn>',
        '<dfn tabindex="0" title="fold group: layers &amp; more.">fold group</dfn>',
    ]


@pytest.mark.parametrize("kind", [nodes.title, nodes.literal, nodes.reference, nodes.math, nodes.literal_block])
def test_headings_code_links_and_formulas_are_not_explained(kind: Any) -> None:
    assert explained(kind("", "a leaf")) == []
    assert explained(nodes.paragraph("", "cleaf leafy")) == []


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
