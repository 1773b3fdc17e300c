"""Runs the lessons, each in its own kernel, and rewrites them for the site: pictures without Python, closed answers.

Four things are closed: the code that asks a question, what answers it (the cells tagged `answer` right behind it), the
code of static pictures (tagged `figure`), and the section that asserts the lesson's claims.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import nbformat
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from docs.building.sources import ROOT, Sources, keep, rewrite_links
from explorer.app.notebook.recorder import RECORDINGS_MIME, VIEW_MIME
from explorer_widgets.page import stores_html, view_html
from explorer_widgets.schema import EmbeddedView

CELL_SECONDS = 900
BEGIN = (
    "from explorer.app.notebook.recorder import PictureRecorder as _pictures\n"
    "_pictures = _pictures()\n_pictures.begin()"
)
END = "_pictures.end()"
STATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
"""The variables of Jupyter's and IPython's settings folders; each lesson gets its own empty folders."""
ANSWER, FIGURE = "answer", "figure"
CLAIMS = "## What this lesson claimed"
"""The heading of the section with assertions about what the lesson says."""

Cell = Any


def lesson_files() -> list[Path]:
    """Return the notebooks of the lessons in order."""
    return sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def write_lesson(file: Path, sources: Sources, kept: Path | None) -> None:
    """Write a lesson: run, if there is a folder `kept` of those that were run."""
    notebook = nbformat.read(file, as_version=4) if kept is None else run_lesson(file, kept)
    cells = site_cells(notebook.cells)
    source = f"notebooks/{file.name}"
    for number, cell in enumerate(cells):
        cell.id = str(number)
        if cell.cell_type == "markdown":
            cell.source = rewrite_links(cell.source, source)
    sources.write(source, nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL)))


KERNEL = {"language_info": {"name": "python", "pygments_lexer": "python"}}


# ---------------------------------------------------------------------- run


def run_lesson(file: Path, kept: Path) -> Any:
    """Return a notebook with its outputs and the recordings of its widgets; `kept` has those of earlier builds.

    Raises: nbclient's errors for a cell that fails or does not end.
    """
    return nbformat.reads(keep(kept, file.stem, [file], lambda: nbformat.writes(execute(file))), as_version=4)


def execute(file: Path) -> Any:
    """Run a notebook in its folder in a fresh kernel; its last cell displays the recordings.

    The kernel runs this interpreter, whatever kernels are registered; the user's Jupyter settings are ignored.
    """
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [nbformat.v4.new_code_cell(BEGIN), *notebook.cells, nbformat.v4.new_code_cell(END)]
    with TemporaryDirectory() as own:
        environment = {**os.environ, **{name: str(Path(own) / name.lower()) for name in STATE}}
        environment.pop("PYTHONSTARTUP", None)  # IPython would run this file before the lesson
        native = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(
                kernel_name=NATIVE_KERNEL_NAME, kernel_spec_manager=native, connection_file=f"{own}/kernel.json"
            ),
            timeout=CELL_SECONDS,
            shutdown_kernel="immediate",
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(file.parent)}},
            store_widget_state=False,
        )
        with ThreadPoolExecutor(max_workers=1) as thread:  # a caller such as a test may have a loop of its own
            thread.submit(lambda: asyncio.run(client.async_execute(env=environment, cleanup_kc=True))).result()
    notebook.cells = notebook.cells[1:]
    notebook.cells[-1].source = ""
    return notebook


# ---------------------------------------------------------------------- rewrite


def site_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a page: pictures as elements with their data at the end, answers and claims in folds."""
    views: list[EmbeddedView] = []
    shown = [with_pictures(cell, views) for cell in cells]
    return folded(shown)


def with_pictures(cell: Cell, views: list[EmbeddedView]) -> Cell:
    """Return a cell with its pictures as HTML; their data are added to `views`."""
    if cell.cell_type != "code":
        return cell
    made = nbformat.v4.new_code_cell(cell.source, metadata={"tags": [*cell.metadata.get("tags", ())]})
    for output in cell.outputs:
        data = output.get("data", {})
        if RECORDINGS_MIME in data:
            stores = stores_html(views, data[RECORDINGS_MIME]) if views else ""
            output = html_output(f'{stores}\n<script defer src="../_static/pictures.js"></script>')
            made.source = "..."  # a cell without code would be left out
            made.metadata.tags.append("remove-input")
        elif VIEW_MIME in data:
            view = cast(EmbeddedView, data[VIEW_MIME])
            output = html_output(view_html(len(views), view.get("tables", {}), data.get("text/plain", "")))
            views.append(view)
        elif "image/svg+xml" in data:
            output = html_output(f'<div class="figure">{data["image/svg+xml"]}</div>')
        made.outputs.append(output)
    return made


def folded(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with folds around what answers a question, and around the assertions at the end."""
    claims = claims_at(cells)
    found: list[Cell] = []
    at = 0
    while at < len(cells):
        cell, end = cells[at], at + 1
        found += with_closed_code(cell) if is_question(cell) or is_figure(cell) else [cell]
        if is_question(cell):
            while end < len(cells) and is_answer(cells[end]):
                end += 1
            # An answer may end with the next question, and then has a fold within it.
            inner = folded(cells[at + 1 : end])
            found += fold("behind", "What happened <span>(opens when you have answered)</span>", inner)
        elif end in claims:
            end = claims.stop
            found += fold("claims", "The assertions behind the text", cells[at + 1 : end])
        at = end
    return found


def with_closed_code(cell: Cell) -> list[Cell]:
    """Return a cell as its picture and its code in a fold: before a question, and after a static picture."""
    shown = nbformat.v4.new_code_cell("...", outputs=cell.outputs, metadata={"tags": ["remove-input"]})
    code = nbformat.v4.new_code_cell(cell.source)
    if is_question(cell):
        return [*fold("source", "The code of this question", [code]), shown]
    return [shown, *fold("source", "The code of this picture", [code])]


def fold(kind: str, summary: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return cells within an element that is closed at first; none for none."""
    if not cells:
        return []
    begin = f'<details class="fold {kind}"><summary>{summary}</summary>'
    return [nbformat.v4.new_markdown_cell(begin), *cells, nbformat.v4.new_markdown_cell("</details>")]


def is_question(cell: Cell) -> bool:
    """Return whether a cell asks the reader to predict."""
    return cell.cell_type == "code" and "explorer.ask(" in cell.source


def is_answer(cell: Cell) -> bool:
    """Return whether a cell belongs to the answer of the question before it."""
    return ANSWER in cell.metadata.get("tags", ())


def is_figure(cell: Cell) -> bool:
    """Return whether a cell only draws a static picture."""
    return FIGURE in cell.metadata.get("tags", ())


def claims_at(cells: Sequence[Cell]) -> range:
    """Return where the code that asserts the lesson's claims is; empty without that section."""
    for at, cell in enumerate(cells):
        if cell.cell_type == "markdown" and cell.source.startswith(CLAIMS):
            end = at + 1
            while end < len(cells) and cells[end].cell_type == "code":
                end += 1
            return range(at + 1, end)
    return range(0)


def html_output(html: str) -> Any:
    """Return an output of HTML."""
    return nbformat.v4.new_output("display_data", data={"text/html": html})
