"""The glossary of the course: its terms, and the text in which their first uses explain themselves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

ENTRY = re.compile(r"^- \*\*([^*]+)\*\*(?: \(([^)]*)\))?: ((?:.|\n(?=  \S))+)", re.MULTILINE)
"""A term, its other forms, and its meaning: `- **leaf** (leaves): a tensor ...`."""


@dataclass(frozen=True, slots=True)
class Glossary:
    """Meanings by form, in lower case; `terms` maps each form to its term."""

    meanings: Mapping[str, str] = field(default_factory=dict[str, str])
    terms: Mapping[str, str] = field(default_factory=dict[str, str])

    def first_uses(self) -> "FirstUses":
        """Return the state of a page on which no term was used yet."""
        return FirstUses(self)


@dataclass(slots=True)
class FirstUses:
    """Explains the first use of each term on a page."""

    glossary: Glossary
    seen: set[str] = field(default_factory=set[str])
    _pattern: re.Pattern[str] | None = None

    def explain(self, text: str) -> str:
        """Return text as HTML, in which each term that was not seen before has its meaning as a tooltip."""
        return "".join(self._pieces(text))

    def _pieces(self, text: str) -> Iterator[str]:
        at = 0
        for found in self._forms().finditer(text) if self.glossary.meanings else ():
            form = found[0].lower()
            term = self.glossary.terms[form]
            if term in self.seen:
                continue
            self.seen.add(term)
            meaning = escape(f"{term}: {self.glossary.meanings[form]}", quote=True)
            yield f'{escape(text[at : found.start()])}<dfn tabindex="0" title="{meaning}">{escape(found[0])}</dfn>'
            at = found.end()
        yield escape(text[at:])

    def _forms(self) -> re.Pattern[str]:
        if self._pattern is None:
            longest_first = sorted(self.glossary.meanings, key=lambda form: (-len(form), form))
            self._pattern = re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)
        return self._pattern


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
