"""Links of the course: the ids of headings, and links between files rewritten as links between pages."""

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

INDEX, QUIZ, ANSWERS, GLOSSARY = "index.html", "quiz.html", "quiz_answers.html", "glossary.html"
TEXTS = {
    "quiz.md": QUIZ,
    "solutions/quiz.md": ANSWERS,
    "glossary.md": GLOSSARY,
    "lecture.md": "lecture.html",
    "worksheet.md": "worksheet.html",
    "solutions/worksheet.md": "worksheet_answers.html",
    "README.md": INDEX,
}
"""The page of each file that is not a lesson, by its path in the folder of the lessons."""
OUTSIDE = re.compile(r"^([a-z][a-z0-9+.-]*:|//|/)", re.IGNORECASE)
TAKEN = "recording"
"""An id that the page itself uses."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a link: a file by its path in the folder of the lessons, and its heading, empty for none."""

    file: str
    heading: str


def target_of(address: str, source: str) -> Target | None:
    """Return the target of a link in the file `source` of the lessons; None for an address outside of the course.

    A path may also start at the root of the repository: `notebooks/quiz.md`.
    """
    if OUTSIDE.match(address):
        return None
    path, _, heading = address.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(path))) if path else source
    return Target(re.sub(r"^(\.\./)?notebooks/", "", file), unquote(heading))


def page_name(file: str) -> str:
    """Return the page of a lesson or text of the course; empty for a file without one."""
    return file.removesuffix(".ipynb") + ".html" if file.endswith(".ipynb") else TEXTS.get(file, "")


def page_address(target: Target, pages: Collection[str]) -> str:
    """Return the address of a target among the pages of a build; empty if it has none."""
    page = page_name(target.file)
    if page not in pages:
        return ""
    # The list of lessons does not have the headings of the README that it replaces.
    return f"{quote(page)}#{quote(target.heading, safe=',?!:()')}" if target.heading and page != INDEX else quote(page)


def heading_names(words: str) -> tuple[str, ...]:
    """Return the link names of a heading: `View,-slice,-gather` in Jupyter, `view-slice-gather` on GitHub."""
    github = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
    return tuple(dict.fromkeys(name for name in (words.strip().replace(" ", "-"), github) if name))


@dataclass
class HeadingIds:
    """The unique ids of the headings of one page: repeated names are numbered, as on GitHub."""

    taken: set[str] = field(default_factory=lambda: {TAKEN})

    def next(self, words: str) -> list[str]:
        """Return the ids of the next heading."""
        ids = [self._free(name) for name in heading_names(words)]
        self.taken.update(ids)
        return list(dict.fromkeys(ids))

    def _free(self, name: str) -> str:
        count, found = 0, name
        while found in self.taken:
            count += 1
            found = f"{name}-{count}"
        return found
