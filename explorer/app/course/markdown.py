"""Converts the text of a lesson to HTML without scripts: Markdown, formulas as MathML, highlighted code."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote, unquote

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from explorer.errors import FileFormatError

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


# ---------------------------------------------------------------------- text


INLINE_FORMULA = re.compile(r'[(\[]*<span class="math inline">.*?</span>[)\].,;:!?]*', re.DOTALL)
"""An inline formula with the adjacent punctuation, which must not be separated by a line break."""
LEFT_OVER = re.compile(r"\\[A-Za-z]+")
"""An unknown LaTeX command, which the converter leaves in its result."""


@dataclass(frozen=True)
class TextOf:
    """Converts the text of one page: the file `source` of the lessons, in a build with these `pages`.

    A link to a page that is not in the build is replaced by its text. The first use of each term of the glossary
    explains itself.
    """

    source: str = ""
    pages: Collection[str] = ()
    ids: HeadingIds = field(default_factory=HeadingIds)
    terms: FirstUses = field(default_factory=lambda: Glossary().first_uses())

    def html(self, markdown: str) -> str:
        """Convert Markdown to HTML; HTML markup in it is escaped.

        Raises: FileFormatError for a formula that cannot be converted.
        """
        html = _reader().render(markdown, {"text": self})
        return INLINE_FORMULA.sub(lambda found: f'<span class="whole">{found[0]}</span>', html)


def code_html(code: str) -> str:
    """Highlight Python code with the classes of `CODE_STYLE`."""
    return highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")


def formula_html(latex: str, options: Mapping[str, Any]) -> str:
    """Convert a formula to MathML. Raises: FileFormatError."""
    block = bool(options.get("display_mode"))
    try:
        html = convert(latex.strip(), display="block" if block else "inline")
    except Exception as error:
        raise FileFormatError(f"the formula {latex!r} cannot be shown: {type(error).__name__}: {error}") from error
    unknown = LEFT_OVER.findall(html)
    if unknown:
        raise FileFormatError(f"the formula {latex!r} cannot be shown: {', '.join(unknown)} is not known")
    return html


def plain_text(markdown: str) -> str:
    """Strip Markdown markup, for a title or a list."""
    return re.sub(r"[*`$]|\[([^\]]*)\]\([^)]*\)", lambda found: found[1] or "", markdown).strip()


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # As in Jupyter, dollars with a space on the inside are money, not a formula.
    reader.use(dollarmath_plugin, double_inline=True, allow_space=False, renderer=formula_html)
    for name, rule in (
        ("link_open", _link),
        ("link_close", _link_end),
        ("heading_open", _heading),
        ("heading_close", _heading_end),
        ("fence", _fence),
    ):
        reader.add_render_rule(name, rule)
    reader.add_render_rule("text", _text)
    reader.add_render_rule("math_block", _formula)
    reader.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return reader


def _link(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Render a link; links into the course lead to its pages."""
    text: TextOf = env["text"]
    target = target_of(str(tokens[at].attrs.get("href", "")), text.source)
    env["instead"] = None
    if target is None:
        return self.renderToken(tokens, at, options, env)
    if target.file == text.source:
        tokens[at].attrs["href"] = f"#{str(tokens[at].attrs['href']).partition('#')[2]}"
        return self.renderToken(tokens, at, options, env)
    address = page_address(target, text.pages)
    if not address:
        env["instead"] = " (not built)" if page_name(target.file) else ""
        return ""
    tokens[at].attrs["href"] = address
    return self.renderToken(tokens, at, options, env)


def _link_end(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Render the end of a link, or the note that replaces it."""
    return self.renderToken(tokens, at, options, env) if env["instead"] is None else env["instead"]


def _heading(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Render a heading with the ids of Jupyter and of GitHub."""
    text: TextOf = env["text"]
    first, *others = text.ids.next(_words(tokens[at + 1])) or [""]
    if first:
        tokens[at].attrs["id"] = first
    env["heading"] = True
    return self.renderToken(tokens, at, options, env) + "".join(f'<a id="{escape(one)}"></a>' for one in others)


def _heading_end(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    env["heading"] = False
    return self.renderToken(tokens, at, options, env)


def _formula(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Render a display formula, which scrolls if it is wider than the page."""
    return f'<div class="math block" tabindex="0">{formula_html(tokens[at].content, {"display_mode": True})}</div>\n'


def _text(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Render plain text, with the terms of the glossary; not within links and headings."""
    text: TextOf = env["text"]
    is_linked = any(token.type == "link_open" for token in tokens[:at]) and tokens[at].level > 0
    if is_linked or env.get("heading"):
        return escape(tokens[at].content)
    return text.terms.explain(tokens[at].content)


def _words(inline: Any) -> str:
    """Return the text of a heading from which Jupyter makes its id."""
    shown = {"text": "{}", "code_inline": "{}", "math_inline": "${}$", "softbreak": " "}
    return "".join(shown.get(part.type, "").format(part.content) for part in inline.children or ())


def _fence(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    if token.info.strip() in ("python", "py"):
        return f'<pre class="code" tabindex="0">{code_html(token.content)}</pre>\n'
    return f'<pre class="code" tabindex="0">{escape(token.content)}</pre>\n'


_LIGHT = {"k": "#0b5a9e", "s": "#9a3412", "m": "#6b21a8", "c": "#5b6470", "f": "#8a2d6d", "d": "#7a4f00"}
_DARK = {"k": "#7cc0ff", "s": "#ffb38a", "m": "#d3b0ff", "c": "#a9b1bb", "f": "#f2a7d3", "d": "#f0cf7a"}


def _code_rules(colours: Mapping[str, str]) -> str:
    """CSS rules of code colours, with a contrast of at least 4.5:1 on the background of a cell."""
    names = {
        "k": ".k,.kn,.kc,.kd,.kr,.ow",
        "s": ".s,.s1,.s2,.sa,.sd,.se,.si,.sb",
        "m": ".mi,.mf,.mh,.mb,.mo",
        "c": ".c,.c1,.ch,.cm",
        "f": ".nf,.nc,.fm",
        "d": ".nd",
    }
    return "".join(
        "".join(f".code {name}," for name in chosen.split(","))[:-1] + f"{{color:{colours[kind]}}}"
        for kind, chosen in names.items()
    )


_IN_THE_DARK = f"@media (prefers-color-scheme:dark){{{_code_rules(_DARK)}}}"
CODE_STYLE = f"{_code_rules(_LIGHT)}.code .c1{{font-style:italic}}{_IN_THE_DARK}"
