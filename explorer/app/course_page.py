"""A lesson that was run, as one HTML page that needs neither a network nor a kernel; and the page that lists them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from explorer.app.course_markdown import CODE_STYLE, code_html, markdown_html, plain_text
from explorer.app.course_recorder import RECORDINGS_MIME, VIEW_MIME
from widgets.page import POLICY, view_html, views_html
from widgets.schema import EmbeddedView, RecordingView

ANSI = re.compile(r"\x1b\[[0-9;]*m")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
MINUTES = re.compile(r"[Aa]bout (\d+) minutes")

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
pre{margin:.5rem 0;padding:.6rem .9rem;overflow:auto;line-height:1.5;border-radius:6px}
pre.code{background:var(--soft);border:1px solid var(--line);margin-top:1rem}
pre.out{padding:.2rem .9rem;border-left:3px solid var(--line);border-radius:0;max-height:34rem}
pre.stderr{background:var(--note)}
table{border-collapse:collapse;margin:.6rem 0}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
math{font-size:1.08em}
math[display=block]{margin:.7rem 0;overflow:auto}
img{max-width:100%}
.view{margin:.8rem 0}
.view>[data-step]{overflow:auto}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
"""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the list of lessons says of one: file name without ending, title, minutes (0: not said)."""

    name: str
    title: str
    minutes: int


@dataclass
class _Views:
    """The views of a page, in the order in which they stand in it."""

    views: list[EmbeddedView] = field(default_factory=list[EmbeddedView])
    recordings: list[RecordingView] = field(default_factory=list[RecordingView])


def lesson_of(name: str, notebook: Mapping[str, Any]) -> Lesson:
    """Title and minutes of a lesson, from its first text."""
    texts = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    title = next((found[1] for text in texts if (found := TITLE.search(text))), name)
    minutes = next((int(found[1]) for text in texts[:2] if (found := MINUTES.search(text))), 0)
    return Lesson(name, plain_text(title), minutes)


def lesson_html(notebook: Mapping[str, Any], lessons: Sequence[Lesson], at: int) -> str:
    """The page of lesson `at`, which was run. Raises: FileFormatError for a formula that cannot be shown."""
    views = _Views()
    main = "".join(_cell_html(cell, views) for cell in notebook["cells"])
    links = [("index.html", "All lessons")]
    links += [(f"{one.name}.html", f"Before: {one.title}") for one in lessons[:at][-1:]]
    links += [(f"{one.name}.html", f"Next: {one.title}") for one in lessons[at + 1 :][:1]]
    nav = "".join(f'<a href="{escape(address)}">{escape(words)}</a>' for address, words in links)
    begin, end = (f'<nav aria-label="{label}">{nav}</nav>' for label in ("Lessons", "More lessons"))
    scripts = views_html(views.views, views.recordings) if views.views else ""
    return _page_html(lessons[at].title, f"{begin}\n<main>\n{main}</main>\n{end}", scripts)


def index_html(lessons: Sequence[Lesson], sizes: Mapping[str, int]) -> str:
    """The list of lessons; one without a size was not built."""
    rows: list[str] = []
    for lesson in lessons:
        words = escape(lesson.title)
        link = f'<a href="{escape(lesson.name)}.html">{words}</a>' if lesson.name in sizes else f"{words} (not built)"
        size = f"{sizes[lesson.name] / 1000:,.0f} kB" if lesson.name in sizes else ""
        rows.append(f"<tr><td>{link}</td><td>{lesson.minutes or ''}</td><td>{size}</td></tr>")
    body = (
        "<main><h1>Fusion and folding, by stepping</h1><p>The lessons of Circuit Explorer as pages: their pictures can "
        "be stepped through and their questions answered, without Python and without a network. To change the code "
        "and to do the exercises, open the notebooks: <code>circuit-explorer lab</code>.</p>"
        '<table><tr><th scope="col">Lesson</th><th scope="col">Minutes</th><th scope="col">Size</th></tr>'
        f"{''.join(rows)}</table></main>"
    )
    return _page_html("Circuit Explorer: lessons", body, "")


# ---------------------------------------------------------------------- cells


def _cell_html(cell: Mapping[str, Any], views: _Views) -> str:
    if cell["cell_type"] == "markdown":
        return markdown_html(cell["source"])
    if cell["cell_type"] != "code":
        return ""
    outputs = "".join(_output_html(output, views) for output in cell["outputs"])
    code = cell["source"].strip("\n")
    return (f'<pre class="code" tabindex="0">{code_html(code)}</pre>\n' if code else "") + outputs


def _output_html(output: Mapping[str, Any], views: _Views) -> str:
    if output["output_type"] == "stream":
        return _text_html(output["text"], output["name"])
    if output["output_type"] == "error":
        return _text_html("\n".join(output["traceback"]), "stderr")
    data = output["data"]
    if RECORDINGS_MIME in data:
        views.recordings = cast("list[RecordingView]", data[RECORDINGS_MIME])
        return ""
    if VIEW_MIME in data:
        view = cast(EmbeddedView, data[VIEW_MIME])
        views.views.append(view)
        return view_html(len(views.views) - 1, view.get("tables", {}), data.get("text/plain", "")) + "\n"
    if "text/markdown" in data:
        return markdown_html(data["text/markdown"])
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
