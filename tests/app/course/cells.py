"""Lessons made of a few cells, and the pages made of them."""

from typing import Any

import nbformat

from explorer.app.course.markdown import TextOf
from explorer.app.course.page import Course, lesson_html, lesson_of


def notebook(*cells: Any) -> Any:
    return nbformat.v4.new_notebook(cells=list(cells))


def text(words: str) -> Any:
    return nbformat.v4.new_markdown_cell(words)


def code(source: str, *outputs: dict[str, Any]) -> Any:
    made = [nbformat.v4.new_output(**output) for output in outputs]
    return nbformat.v4.new_code_cell(source, outputs=made)


def display_output(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


def page_of(*cells: Any) -> str:
    made = notebook(*cells)
    return lesson_html(made, Course((lesson_of("00_tiny", made),), pages=("index.html", "00_tiny.html")), 0)


def markdown_html(words: str) -> str:
    return TextOf("00_tiny.ipynb").html(words)
