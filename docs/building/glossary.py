"""A Sphinx extension that explains a term of the glossary where a lesson uses it first."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from docs.building.sources import ROOT

ENTRY = re.compile(r"^- \*\*([^*]+)\*\*(?: \(([^)]*)\))?: ((?:.|\n(?=  \S))+)", re.MULTILINE)
"""A term, its other forms, and its meaning: `- **leaf** (leaves): a tensor ...`."""
NOT_EXPLAINED = (nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.raw)


@dataclass(frozen=True, slots=True)
class Glossary:
    """Meanings by form, in lower case; `terms` maps each form to its term."""

    meanings: Mapping[str, str] = field(default_factory=dict[str, str])
    terms: Mapping[str, str] = field(default_factory=dict[str, str])

    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of all forms, the longest first."""
        longest_first = sorted(self.meanings, key=lambda form: (-len(form), form))
        return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def read_glossary(markdown: str) -> Glossary:
    """Read the terms of a glossary."""
    meanings: dict[str, str] = {}
    terms: dict[str, str] = {}
    for term, others, meaning in ENTRY.findall(markdown):
        for form in (term, *filter(None, map(str.strip, others.split(",")))):
            if not form.startswith("`"):
                meanings[form.lower()] = " ".join(meaning.replace("`", "").split())
                terms[form.lower()] = term
    return Glossary(meanings, terms)


def explain_first_uses(document: nodes.document, glossary: Glossary) -> None:
    """Give the first use of each term in a document its meaning as a tooltip."""
    seen: set[str] = set()
    for text in list(document.findall(nodes.Text)):
        if not _is_in(text, NOT_EXPLAINED):
            found = list(_pieces(text.astext(), glossary, seen))
            if len(found) > 1:
                text.parent.replace(text, found)


def _is_in(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    above = node.parent
    return above is not None and (isinstance(above, kinds) or _is_in(above, kinds))


def _pieces(text: str, glossary: Glossary, seen: set[str]) -> Iterator[nodes.Node]:
    at = 0
    for found in glossary.pattern().finditer(text):
        form = found[0].lower()
        term = glossary.terms[form]
        if term in seen:
            continue
        seen.add(term)
        meaning = escape(f"{term}: {glossary.meanings[form]}", quote=True)
        yield nodes.Text(text[at : found.start()])
        yield nodes.raw("", f'<dfn tabindex="0" title="{meaning}">{escape(found[0])}</dfn>', format="html")
        at = found.end()
    yield nodes.Text(text[at:])


@cache
def glossary_of_lessons() -> Glossary:
    """Return the glossary of the lessons."""
    return read_glossary((ROOT / "notebooks" / "glossary.md").read_text(encoding="utf-8"))


def _explain(app: Sphinx, document: nodes.document, name: str) -> None:
    if re.match(r"notebooks/\d\d_", name):
        explain_first_uses(document, glossary_of_lessons())


def setup(app: Sphinx) -> dict[str, Any]:
    """Explain terms once the links of a page are resolved."""
    app.connect("doctree-resolved", _explain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
