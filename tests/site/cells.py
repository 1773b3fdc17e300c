"""Lessons made of a few cells, and the cells that the site has of them."""

from typing import Any

import nbformat

from docs.building.lessons import site_cells


def notebook(*cells: Any) -> Any:
    return nbformat.v4.new_notebook(cells=list(cells))


def text(words: str) -> Any:
    return nbformat.v4.new_markdown_cell(words)


def code(source: str, *outputs: dict[str, Any]) -> Any:
    made = [nbformat.v4.new_output(**output) for output in outputs]
    return nbformat.v4.new_code_cell(source, outputs=made)


def display_output(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


def html_of(*cells: Any) -> str:
    """The HTML that the site's cells contain."""
    outputs = [output for cell in site_cells(cells) for output in cell.get("outputs", ())]
    return "\n".join(output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {}))


def words_of(*cells: Any) -> list[str]:
    """The sources of the site's cells."""
    return [cell.source for cell in site_cells(cells)]
