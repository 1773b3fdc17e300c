"""Writes the cells of an executed lesson as HTML: what a reader sees first, and what is folded away.

Four things are folded: the code that asks a question, what answers it (the cells tagged `answer` right behind it), the
code of static pictures (tagged `figure`), and the section that asserts the lesson's claims. Everything else is visible.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from explorer.app.course.markdown import TextOf, code_html
from explorer.app.course.recorder import RECORDINGS_MIME, VIEW_MIME
from explorer_widgets.page import view_html
from explorer_widgets.schema import EmbeddedView, RecordingView

ANSI = re.compile(r"\x1b\[[0-9;]*m")
ANSWER = "answer"
"""The tag of the cells that answer the question before them."""
FIGURE = "figure"
"""The tag of a cell with its picture first and its code folded away."""
CLAIMS = "## What this lesson claimed"
"""The heading of the section with assertions about what the lesson says."""

Cell = Mapping[str, Any]


@dataclass
class Page:
    """State that the cells of a page share: its text converter, and its views in order."""

    text: TextOf
    views: list[EmbeddedView] = field(default_factory=list[EmbeddedView])
    recordings: list[RecordingView] = field(default_factory=list[RecordingView])


def is_question(cell: Cell) -> bool:
    """Return whether a cell asks the reader to predict."""
    return cell["cell_type"] == "code" and "explorer.ask(" in cell["source"]


def is_answer(cell: Cell) -> bool:
    """Return whether a cell belongs to the answer of the question before it."""
    return ANSWER in cell["metadata"].get("tags", ())


def is_figure(cell: Cell) -> bool:
    """Return whether a cell only draws a static picture."""
    return FIGURE in cell["metadata"].get("tags", ())


def claims_at(cells: Sequence[Cell]) -> range:
    """Return where the code that asserts the lesson's claims is; empty without that section."""
    for at, cell in enumerate(cells):
        if cell["cell_type"] == "markdown" and cell["source"].startswith(CLAIMS):
            end = at + 1
            while end < len(cells) and cells[end]["cell_type"] == "code" and cells[end]["source"]:
                end += 1
            return range(at + 1, end)
    return range(0)


def cells_html(cells: Sequence[Cell], page: Page) -> str:
    """Write all cells."""
    claims = claims_at(cells)
    parts: list[str] = []
    at = 0
    while at < len(cells):
        end = claims.stop if at in claims else at + 1
        if at in claims:
            parts.append(
                _fold("claims", "The assertions behind the text", [_cell_html(one, page) for one in cells[at:end]])
            )
        else:
            parts.append(_cell_html(cells[at], page))
        if is_question(cells[at]):
            while end < len(cells) and is_answer(cells[end]):
                end += 1
            parts.append(_answer_html(cells[at + 1 : end], page))
        at = end
    return "".join(parts)


def _answer_html(cells: Sequence[Cell], page: Page) -> str:
    """Fold away what answers a question; an answer may end with the next question, and then has a fold within it."""
    last = next((at + 1 for at, cell in enumerate(cells) if is_question(cell)), len(cells))
    parts = [_cell_html(cell, page) for cell in cells[:last]]
    if last < len(cells):
        parts.append(_answer_html(cells[last:], page))
    return _fold("behind", "What happened <span>(opens when you have answered)</span>", parts)


def _question_html(cell: Cell, page: Page) -> str:
    """Write a question: its picture and controls, its code folded away."""
    code = _fold("source", "The code of this question", [_code_html(cell)])
    return code + "".join(_output_html(output, page) for output in cell["outputs"])


def _fold(kind: str, summary: str, parts: Sequence[str]) -> str:
    text = "".join(parts)
    if not text.strip():
        return ""
    return f'<details class="fold {kind}"><summary>{summary}</summary>\n{text}</details>\n'


def _cell_html(cell: Cell, page: Page) -> str:
    if is_question(cell):
        return _question_html(cell, page)
    if cell["cell_type"] == "markdown":
        return page.text.html(cell["source"])
    if cell["cell_type"] != "code":
        return ""
    outputs = "".join(_output_html(output, page) for output in cell["outputs"])
    if is_figure(cell):
        return outputs + _fold("source", "The code of this picture", [_code_html(cell)])
    return _code_html(cell) + outputs


def _code_html(cell: Cell) -> str:
    code = cell["source"].strip("\n")
    return f'<pre class="code" tabindex="0">{code_html(code)}</pre>\n' if code else ""


def _output_html(output: Mapping[str, Any], page: Page) -> str:
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
    if "image/svg+xml" in data:
        return f'<div class="figure">{data["image/svg+xml"]}</div>\n'
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
