"""Writes an executed lesson as one HTML page that needs neither a network nor a kernel, and the list of lessons.

The pages are not written by nbconvert. Its templates leave formulas to MathJax and widgets to RequireJS, which both
come from a network; here formulas are MathML, the recordings are stored once for all widgets of a page, and the page's
policy allows no requests. It renders cells one by one; here the cells after a question form one section that stays
closed until the question is answered. Links between lessons become links between the pages of this build. Every block
of a template and every method of its Markdown renderer would have to be replaced, and no dependency would go: panel and
rich require the parser and the highlighter that `markdown.py` uses.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import Any, cast

from explorer.app.course.links import ANSWERS, INDEX, QUIZ
from explorer.app.course.markdown import CODE_STYLE, TextOf, code_html, plain_text
from explorer.app.course.recorder import RECORDINGS_MIME, VIEW_MIME
from widgets.page import POLICY, view_html, views_html
from widgets.schema import EmbeddedView, RecordingView

ANSI = re.compile(r"\x1b\[[0-9;]*m")
HEADING = re.compile(r"#{1,6} ")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
MINUTES = re.compile(r"[Aa]bout (\d+) minutes")
ABOUT = re.compile(r"^## .*\(lesson (\d+)\)", re.MULTILINE)
"""The title of a quiz question names the lesson that it is about."""

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#16191d;--muted:#565d66;--line:#d5d9df;--soft:#f4f6f8;
--link:#0a5fb4;--note:#fff7e0}
@media (prefers-color-scheme:dark){:root{--bg:#0f1216;--fg:#eceef1;--muted:#a9b1bb;--line:#3a414b;
--soft:#191d23;--link:#7cc0ff;--note:#2b2412}}
*{box-sizing:border-box}
html{background:var(--bg);color:var(--fg);scroll-padding-top:1rem}
body{margin:0 auto;padding:1rem 1.2rem 4rem;max-width:60rem;
font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
main{min-width:0}
main>p,main>ul,main>ol,main>h1,main>h2,main>h3{max-width:46rem}
h1{font-size:1.9rem;line-height:1.25;margin:1.2rem 0 .8rem}
h2{font-size:1.35rem;line-height:1.3;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.6rem 0 .4rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;font-size:.92rem}
nav a{display:inline-block;padding:.2rem 0}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86rem}
p code,li code,td code{background:var(--soft);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
td code{overflow-wrap:normal}
pre{margin:.5rem 0;padding:.6rem .9rem;overflow:auto;line-height:1.5;border-radius:6px}
pre.code{background:var(--soft);border:1px solid var(--line);margin-top:1rem}
pre.out{padding:.2rem .9rem;border-left:3px solid var(--line);border-radius:0;max-height:34rem}
pre.stderr{background:var(--note)}
table{border-collapse:collapse;margin:.6rem 0}
.table{overflow-x:auto}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.lessons td+td,.lessons th+th{text-align:right;white-space:nowrap;padding:.2rem 0 .2rem .9rem;
font-variant-numeric:tabular-nums}
math{font-size:1.08em}
.whole{white-space:nowrap}
.math.block{margin:.7rem 0;overflow-x:auto;max-width:46rem}
img{max-width:100%}
.view{margin:.8rem 0}
.behind{margin:.8rem 0;padding:0 0 0 1rem;border-left:3px solid var(--line)}
.behind>summary{margin-left:-1rem;padding:.4rem 1rem;cursor:pointer;font-weight:600;background:var(--soft);
border-radius:0 6px 6px 0}
.behind>summary>span{font-weight:400;color:var(--muted)}
.behind[open]>summary>span{display:none}
.view>[data-step]{overflow:auto}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
"""


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry in the list of lessons: file name without suffix, title, minutes (0: not stated)."""

    name: str
    title: str
    minutes: int


@dataclass(frozen=True, slots=True)
class Quiz:
    """An entry for the quiz: its title, number of questions, and the last lesson that it is about."""

    title: str
    questions: int
    after: str


@dataclass(frozen=True, slots=True)
class Course:
    """All lessons, built or not; the quiz, if there is one; and the file names of the existing pages."""

    lessons: tuple[Lesson, ...]
    quiz: Quiz | None = None
    pages: Collection[str] = ()


@dataclass
class _Page:
    """State that the cells of a page share: its text converter, and its views in order."""

    text: TextOf
    views: list[EmbeddedView] = field(default_factory=list[EmbeddedView])
    recordings: list[RecordingView] = field(default_factory=list[RecordingView])


def lesson_of(name: str, notebook: Mapping[str, Any]) -> Lesson:
    """Read the title and minutes of a lesson from its first texts."""
    texts = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    title = next((found[1] for text in texts if (found := TITLE.search(text))), name)
    minutes = next((int(found[1]) for text in texts[:2] if (found := MINUTES.search(text))), 0)
    return Lesson(name, plain_text(title), minutes)


def quiz_of(text: str, lessons: Sequence[Lesson]) -> Quiz:
    """Read the title, number of questions and last lesson of a quiz; no lesson if its titles name none."""
    title = TITLE.search(text)
    numbers = [int(number) for number in ABOUT.findall(text)]
    last = [lesson.name for lesson in lessons if numbers and lesson.name.startswith(f"{max(numbers):02}_")]
    return Quiz(plain_text(title[1]) if title else "Quiz", len(numbers), last[0] if last else "")


def lesson_html(notebook: Mapping[str, Any], course: Course, at: int) -> str:
    """Write the page of the executed lesson `at`. Raises: FileFormatError for a formula that cannot be converted."""
    lesson = course.lessons[at]
    page = _Page(TextOf(f"{lesson.name}.ipynb", course.pages))
    main = _main_html(notebook["cells"], page)
    links = [(f"{one.name}.html", f"Before: {one.title}") for one in course.lessons[:at][-1:]]
    links += [(f"{one.name}.html", f"Next: {one.title}") for one in course.lessons[at + 1 :][:1]]
    if course.quiz and course.quiz.after == lesson.name:
        links.append((QUIZ, course.quiz.title))
    scripts = views_html(page.views, page.recordings) if page.views else ""
    return _page_html(lesson.title, _between_links(main, links, course), scripts)


def quiz_html(markdown: str, source: str, course: Course) -> str:
    """Write the page of the quiz or of its answers; `source` is the path of the text in the folder of the lessons.

    Raises: FileFormatError for a formula that cannot be converted.
    """
    title = TITLE.search(markdown)
    others = {"quiz.md": (ANSWERS, "Answers")}.get(source, (QUIZ, "Questions"))
    main = TextOf(source, course.pages).html(markdown)
    return _page_html(plain_text(title[1]) if title else "Quiz", _between_links(main, [others], course), "")


def index_html(course: Course, sizes: Mapping[str, int]) -> str:
    """Write the list of lessons with the size of each page in bytes; a lesson without a page was not built."""
    rows: list[str] = []
    for lesson in course.lessons:
        name, words = f"{lesson.name}.html", escape(lesson.title)
        link = f'<a href="{escape(name)}">{words}</a>' if name in sizes else f"{words} (not\u00a0built)"
        size = f"{sizes[name] / 1000:,.0f} kB" if name in sizes else ""
        rows.append(f"<tr><td>{link}</td><td>{lesson.minutes or ''}</td><td>{size}</td></tr>")
        if course.quiz and course.quiz.after == lesson.name:
            rows.append(_quiz_row(course.quiz, course.pages))
    if course.quiz and not course.quiz.after:
        rows.append(_quiz_row(course.quiz, course.pages))
    body = (
        "<main><h1>Fusion and folding, by stepping</h1><p>The lessons of Circuit Explorer as pages: you can "
        "step through their pictures and answer their questions without Python and without a network. To change the "
        "code and do the exercises, open the notebooks: <code>circuit-explorer lab</code>.</p>"
        '<table class="lessons"><tr><th scope="col">Lesson</th><th scope="col">Minutes to read</th>'
        f'<th scope="col">Size</th></tr>{"".join(rows)}</table></main>'
    )
    return _page_html("Circuit Explorer: lessons", body, "")


def _quiz_row(quiz: Quiz, pages: Collection[str]) -> str:
    """The row of the quiz and its answers in the list of lessons."""
    answers = f', <a href="{ANSWERS}">answers</a>' if ANSWERS in pages else ""
    return (
        f'<tr><td><a href="{QUIZ}">{escape(quiz.title)}</a>: {quiz.questions} questions{answers}</td>'
        "<td></td><td></td></tr>"
    )


def _between_links(main: str, links: Sequence[tuple[str, str]], course: Course) -> str:
    """Place the text of a page between navigation links; a page that does not exist is named without a link."""
    shown = [
        f'<a href="{escape(page)}">{escape(words)}</a>' if page in course.pages else f"<span>{escape(words)}</span>"
        for page, words in [(INDEX, "All lessons"), *links]
    ]
    begin, end = (f'<nav aria-label="{label}">{"".join(shown)}</nav>' for label in ("Lessons", "More lessons"))
    return f"{begin}\n<main>\n{main}</main>\n{end}"


# ---------------------------------------------------------------------- cells


def _main_html(cells: Sequence[Mapping[str, Any]], page: _Page) -> str:
    """Write all cells; those after a question, up to the next heading or question, are closed until it is answered."""
    parts: list[str] = []
    behind: list[str] | None = None
    for cell in chain.from_iterable(map(_at_headings, cells)):
        asks = _asks(cell)
        if behind is not None and (asks or _begins_section(cell)):
            parts.append(_behind_html(behind))
            behind = None
        (parts if behind is None else behind).append(_cell_html(cell, page))
        if asks:
            behind = []
    return "".join([*parts, _behind_html(behind or [])])


def _behind_html(parts: Sequence[str]) -> str:
    text = "".join(parts)
    if not text.strip():
        return ""
    return (
        '<details class="behind"><summary>What happened <span>(opens when you check an answer)</span></summary>\n'
        f"{text}</details>\n"
    )


def _asks(cell: Mapping[str, Any]) -> bool:
    views = [output.get("data", {}).get(VIEW_MIME) for output in cell.get("outputs", ())]
    return any(view is not None and view["kind"] == "question" for view in views)


def _begins_section(cell: Mapping[str, Any]) -> bool:
    return cell["cell_type"] == "markdown" and HEADING.match(cell["source"]) is not None


def _at_headings(cell: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Split a Markdown cell at its headings; any other cell is returned whole."""
    if cell["cell_type"] != "markdown":
        return [cell]
    pieces: list[list[str]] = [[]]
    is_code = False
    for line in cell["source"].splitlines(keepends=True):
        is_code ^= line.startswith("```")
        if HEADING.match(line) and not is_code:
            pieces.append([])
        pieces[-1].append(line)
    return [{**cell, "source": "".join(piece)} for piece in pieces if piece]


def _cell_html(cell: Mapping[str, Any], page: _Page) -> str:
    if cell["cell_type"] == "markdown":
        return page.text.html(cell["source"])
    if cell["cell_type"] != "code":
        return ""
    outputs = "".join(_output_html(output, page) for output in cell["outputs"])
    code = cell["source"].strip("\n")
    return (f'<pre class="code" tabindex="0">{code_html(code)}</pre>\n' if code else "") + outputs


def _output_html(output: Mapping[str, Any], page: _Page) -> str:
    if output["output_type"] == "stream":
        return _text_html(output["text"], output["name"])
    if output["output_type"] == "error":
        return _text_html("\n".join(output["traceback"]), "stderr")
    data = output["data"]
    if RECORDINGS_MIME in data:
        page.recordings = cast("list[RecordingView]", data[RECORDINGS_MIME])
        return ""
    if VIEW_MIME in data:
        view = cast(EmbeddedView, data[VIEW_MIME])
        page.views.append(view)
        return view_html(len(page.views) - 1, view.get("tables", {}), data.get("text/plain", "")) + "\n"
    if "text/markdown" in data:
        return page.text.html(data["text/markdown"])
    if "image/png" in data:
        words = escape(data.get("text/plain", ""), quote=True)
        return f'<img alt="{words}" src="data:image/png;base64,{data["image/png"].strip()}">\n'
    return _text_html(data.get("text/plain", ""), "stdout")


def _text_html(text: str, name: str) -> str:
    words = ANSI.sub("", text).rstrip("\n")
    if not words:
        return ""
    return f'<pre class="out{" stderr" if name == "stderr" else ""}" tabindex="0">{escape(words)}</pre>\n'


def _page_html(title: str, body: str, scripts: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{STYLE}{CODE_STYLE}</style>
</head>
<body>
{body}
{scripts}
</body>
</html>
"""
