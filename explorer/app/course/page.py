"""Writes an executed lesson as one HTML page that needs neither a network nor a kernel, and the list of lessons.

The pages are not written by nbconvert. Its templates leave formulas to MathJax and widgets to RequireJS, which both
come from a network; here formulas are MathML, the recordings are stored once for all widgets of a page, and the page's
policy allows no requests. It renders cells one by one; here the cells that answer a question form one section that
stays closed until the question is answered. Links between lessons become links between the pages of this build. Every
block of a template and every method of its Markdown renderer would have to be replaced, and no dependency would go:
panel and rich require the parser and the highlighter that `markdown.py` uses.
"""

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from explorer.app.course.cells import Page, cells_html
from explorer.app.course.markdown import ANSWERS, CODE_STYLE, GLOSSARY, INDEX, QUIZ, Glossary, TextOf, plain_text
from explorer_widgets.page import POLICY, views_html

TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
MINUTES = re.compile(r"[Aa]bout (\d+) minutes")
ABOUT = re.compile(r"^## .*\(lesson (\d+)\)", re.MULTILINE)
"""The title of a quiz question names the lesson that it is about."""

GOAL = re.compile(r"^- ((?:.|\n(?!- |\n))+)", re.MULTILINE)
FIGURE = re.compile(r'<div class="figure">.*?</div>', re.DOTALL)
FURTHER = {
    GLOSSARY: "Glossary",
    "worksheet.html": "Worksheet",
    "worksheet_answers.html": "Answers to the worksheet",
    "lecture.html": "A lecture of 45 minutes",
}
"""Pages at the end of the list of lessons."""
SECTION = re.compile(r'<h([23])(?: id="([^"]*)")?>(.*?)</h[23]>', re.DOTALL)
"""A heading of a converted lesson: its level, id and words."""
MIN_CONTENTS = 2
"""A page with fewer sections has no list of contents."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry in the list of lessons: file name without suffix, title, minutes (0: not stated), goals in Markdown."""

    name: str
    title: str
    minutes: int
    goals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quiz:
    """An entry for the quiz: its title, number of questions, and the lessons after which some of it can be answered.

    These are the last ones of each run of lessons that it is about; the list of lessons has the quiz after the first.
    """

    title: str
    questions: int
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """All lessons, built or not; the quiz, if there is one; the file names of the existing pages; and the glossary."""

    lessons: tuple[Lesson, ...]
    quiz: Quiz | None = None
    pages: Collection[str] = ()
    glossary: Glossary = field(default_factory=Glossary)


def lesson_of(name: str, notebook: Mapping[str, Any]) -> Lesson:
    """Read the title, minutes and goals of a lesson from its first texts."""
    texts = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    title = next((found[1] for text in texts if (found := TITLE.search(text))), name)
    minutes = next((int(found[1]) for text in texts[:2] if (found := MINUTES.search(text))), 0)
    goals = GOAL.findall(next((text for text in texts[:1] if "You will be able to" in text), ""))
    return Lesson(name, plain_text(title), minutes, tuple(" ".join(goal.split()).rstrip(";.") for goal in goals))


def quiz_of(text: str, lessons: Sequence[Lesson]) -> Quiz:
    """Read the title, number of questions and lessons of a quiz; no lesson if its titles name none."""
    title = TITLE.search(text)
    numbers = [int(number) for number in ABOUT.findall(text)]
    lasts = sorted({number for number in numbers if number + 1 not in numbers})
    after = tuple(lesson.name for last in lasts for lesson in lessons if lesson.name.startswith(f"{last:02}_"))
    return Quiz(plain_text(title[1]) if title else "Quiz", len(numbers), after)


def lesson_html(notebook: Mapping[str, Any], course: Course, at: int) -> str:
    """Write the page of the executed lesson `at`. Raises: FileFormatError for a formula that cannot be converted."""
    lesson = course.lessons[at]
    page = Page(TextOf(f"{lesson.name}.ipynb", course.pages, terms=course.glossary.first_uses()))
    main = cells_html(notebook["cells"], page)
    links = [(f"{one.name}.html", f"Before: {one.title}") for one in course.lessons[:at][-1:]]
    links += [(f"{one.name}.html", f"Next: {one.title}") for one in course.lessons[at + 1 :][:1]]
    if course.quiz and lesson.name in course.quiz.after:
        links.append((QUIZ, course.quiz.title))
    scripts = views_html(page.views, page.recordings) if page.views else ""
    if "<details" in main:
        main = f'<button type="button" class="all" hidden>Open all</button>\n{main}'
        scripts += f'\n<script type="module">{FOLDS_SCRIPT}</script>'
    return _page_html(lesson.title, _between_links(main, links, course), scripts)


def quiz_html(markdown: str, source: str, course: Course) -> str:
    """Write the page of the quiz, its answers or another text; `source` is its path in the folder of the lessons.

    Raises: FileFormatError for a formula that cannot be converted.
    """
    title = TITLE.search(markdown)
    others = {"quiz.md": (ANSWERS, "Answers"), "solutions/quiz.md": (QUIZ, "Questions")}.get(source)
    main = TextOf(source, course.pages).html(markdown)
    return _page_html(
        plain_text(title[1]) if title else "Quiz", _between_links(main, [others] if others else [], course), ""
    )


def first_figure(page: str) -> str:
    """Return the first static picture of a page; empty for a page without one."""
    found = FIGURE.search(page)
    return found[0] if found else ""


def index_html(course: Course, sizes: Mapping[str, int], picture: str = "") -> str:
    """Write the list of lessons with the size of each page in bytes; a lesson without a page was not built.

    `picture` is HTML that is shown first.
    """
    rows: list[str] = []
    for lesson in course.lessons:
        name, words = f"{lesson.name}.html", escape(lesson.title)
        link = f'<a href="{escape(name)}">{words}</a>' if name in sizes else f"{words} (not\u00a0built)"
        size = f"{sizes[name] / 1000:,.0f} kB" if name in sizes else ""
        rows.append(f"<tr><td>{link}{_goals_html(lesson)}</td><td>{lesson.minutes or ''}</td><td>{size}</td></tr>")
        if course.quiz and course.quiz.after[:1] == (lesson.name,):
            rows.append(_quiz_row(course.quiz, course.pages))
    if course.quiz and not course.quiz.after:
        rows.append(_quiz_row(course.quiz, course.pages))
    further = "".join(f'<a href="{page}">{words}</a>' for page, words in FURTHER.items() if page in course.pages)
    body = (
        f"<main><h1>Fusion and folding, by stepping</h1>{picture}<p>The lessons of Circuit Explorer as pages: you can "
        "step through their pictures and answer their questions without Python and without a network. To change the "
        "code and do the exercises, open the notebooks: <code>circuit-explorer lab</code>.</p>"
        '<table class="lessons"><tr><th scope="col">Lesson</th><th scope="col">Minutes to read</th>'
        f'<th scope="col">Size</th></tr>{"".join(rows)}</table><nav>{further}</nav></main>'
    )
    return _page_html("Circuit Explorer: lessons", body, "")


def _goals_html(lesson: Lesson) -> str:
    """List what a reader of the lesson will be able to do."""
    if not lesson.goals:
        return ""
    words = TextOf()
    return f'<ul class="goals">{"".join(f"<li>{words.html(goal)}</li>" for goal in lesson.goals)}</ul>'


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
        for page, words in [
            (INDEX, "All lessons"),
            *links,
            *([(GLOSSARY, "Glossary")] if course.glossary.terms else []),
        ]
    ]
    begin, end = (f'<nav aria-label="{label}">{"".join(shown)}</nav>' for label in ("Lessons", "More lessons"))
    return f"{begin}\n{_contents_html(main)}<main>\n{main}</main>\n{end}"


def _contents_html(main: str) -> str:
    """List the sections of a page, and its exercises within them; empty for a page without sections."""
    sections = [found for found in SECTION.findall(main) if found[1]]
    if len(sections) < MIN_CONTENTS:
        return ""
    rows = "".join(
        f'<li{" class=part" if level == "3" else ""}><a href="#{name}">{re.sub("<[^>]*>", "", words)}</a></li>'
        for level, name, words in sections
    )
    return f'<nav class="contents" aria-label="Contents"><ol>{rows}</ol></nav>\n'


def _page_html(title: str, body: str, scripts: str) -> str:
    font = math_font_style() if "<math" in body else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}{FONT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{font}{STYLE}{CODE_STYLE}</style>
</head>
<body>
{body}
{scripts}
</body>
</html>
"""


# ---------------------------------------------------------------------- style and font


MATH_FONT = Path(__file__).parent / "fonts" / "noto-sans-math.woff2"
FONT_POLICY = "; font-src data:"
"""Lets a page use the font that it contains."""

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#16191d;--muted:#565d66;--line:#d5d9df;--soft:#f4f6f8;
--link:#0a5fb4;--note:#fff7e0;--column:50rem}
@media (prefers-color-scheme:dark){:root{--bg:#0f1216;--fg:#eceef1;--muted:#a9b1bb;--line:#3a414b;
--soft:#191d23;--link:#7cc0ff;--note:#2b2412}}
*{box-sizing:border-box}
html{background:var(--bg);color:var(--fg);scroll-padding-top:1rem}
body{margin:0 auto;padding:1rem 1.2rem 4rem;max-width:calc(var(--column) + 2.4rem);
font:17px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
main{min-width:0}
h1{font-size:1.9rem;line-height:1.25;margin:1.2rem 0 .8rem}
h2{font-size:1.35rem;line-height:1.3;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.6rem 0 .4rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;font-size:.92rem}
nav a{display:inline-block;padding:.2rem 0}
.contents{display:block;margin:1rem 0;padding:.6rem .9rem;border:1px solid var(--line);border-radius:6px}
.contents ol{list-style:none;margin:0;padding:0;columns:2 16rem}
.contents a{color:inherit;text-decoration:none}
.contents a:hover{text-decoration:underline}
.contents .part{padding-left:1rem}
@media (min-width:88rem){body{position:relative}
.contents{position:fixed;top:1rem;left:max(1rem,calc(50vw - var(--column)/2 - 17rem));width:14.5rem;
max-height:calc(100vh - 2rem);overflow-y:auto;border-width:0 1px 0 0;border-radius:0}
.contents ol{columns:auto}}
button.all{font:inherit;font-size:.92rem;padding:.2rem .8rem;min-height:28px;color:inherit;background:var(--soft);
border:1px solid var(--muted);border-radius:6px;cursor:pointer}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.85rem}
p code,li code,td code,h2 code,h3 code{background:var(--soft);padding:.1em .3em;border-radius:4px;
overflow-wrap:anywhere}
td code{overflow-wrap:normal}
pre{margin:.5rem 0;padding:.6rem .9rem;overflow:auto;line-height:1.5;border-radius:6px}
pre.code{background:var(--soft);border:1px solid var(--line);margin-top:1rem}
pre.out{padding:.2rem .9rem;border-left:3px solid var(--line);border-radius:0;max-height:34rem}
pre.stderr{background:var(--note)}
table{border-collapse:collapse;margin:.6rem 0}
.table{overflow-x:auto}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.lessons td+td{white-space:nowrap}
.lessons td+td,.lessons th+th{text-align:right;padding:.2rem 0 .2rem .9rem;
font-variant-numeric:tabular-nums}
.goals{overflow-wrap:anywhere;margin:.2rem 0 .4rem;padding-left:1.1rem;font-size:.92rem;color:var(--muted)}
.goals p{margin:0}
dfn{font-style:inherit;text-decoration:underline dotted var(--muted);text-underline-offset:.2em;cursor:help;
position:relative}
dfn:focus::after{content:attr(title);position:absolute;left:0;top:1.6em;z-index:2;width:max-content;max-width:20rem;
padding:.4rem .7rem;font:14px/1.45 system-ui,sans-serif;color:var(--bg);background:var(--fg);border-radius:6px}
math{font-family:"Course Math",math;font-size:1.04em}
.whole{white-space:nowrap}
.math.block{margin:.7rem 0;overflow-x:auto}
img{max-width:100%}
.figure{margin:1rem 0;overflow-x:auto}
.figure svg{max-width:100%;height:auto}
.view{margin:.8rem 0}
@media (min-width:56rem){.view{--wide:min(66rem,100vw - 3rem);width:var(--wide);margin-left:calc(50% - var(--wide)/2)}}
@media (min-width:88rem){.view{--wide:min(66rem,50vw + var(--column)/2 - 2rem);margin-left:0}}
details.fold{margin:.8rem 0;padding:0 0 0 1rem;border-left:3px solid var(--line)}
.fold>summary{margin-left:-1rem;padding:.4rem 1rem;cursor:pointer;font-weight:600;background:var(--soft);
border-radius:0 6px 6px 0}
.fold>summary>span{font-weight:400;color:var(--muted)}
.fold.source>summary{font-weight:400;color:var(--muted)}
.behind[open]>summary>span{display:none}
.view>[data-step]{overflow:auto}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media print{.contents,button.all,nav{display:none}.view,.figure{break-inside:avoid}
details.fold::details-content{content-visibility:visible;block-size:auto}
pre.out{max-height:none}pre{white-space:pre-wrap}}
"""

FOLDS_SCRIPT = """
const folds = [...document.querySelectorAll("details.fold")];
const button = document.querySelector("button.all");
const words = () => { button.textContent = folds.every((one) => one.open) ? "Close all" : "Open all"; };
button.hidden = false;
button.addEventListener("click", () => {
  const open = folds.some((one) => !one.open);
  for (const one of folds) one.open = open;
  words();
});
for (const one of folds) one.addEventListener("toggle", words);
let closed = [];
addEventListener("beforeprint", () => {
  closed = folds.filter((one) => !one.open);
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
"""
"""Opens all folds for the button and for printing, and closes again what was closed before printing."""


@cache
def math_font_style() -> str:
    """Return the CSS with the font of formulas, for a page that has some."""
    data = base64.b64encode(MATH_FONT.read_bytes()).decode()
    return f'@font-face{{font-family:"Course Math";src:url(data:font/woff2;base64,{data}) format("woff2")}}'
