"""Runs the lessons, each in a kernel of its own, and writes them as pages."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from explorer.app.course_page import ANSI, Lesson, index_html, lesson_html, lesson_of
from explorer.errors import CircuitError, unknown_name

LESSONS = "[0-9][0-9]_*.ipynb"
CELL_SECONDS = 120
BEGIN = "from explorer.app.course_recorder import CourseRecorder as _course\n_course = _course()\n_course.begin()"
END = "_course.end()"
STATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
SHOWN_ERROR = 1_500
"""Letters of the end of a failing cell's traceback that are told."""


class LessonError(CircuitError):
    """A lesson did not run to its end; the message says which cell and why."""


def lesson_files(folder: Path, asked: Sequence[str] = ()) -> list[Path]:
    """The lessons of a folder in order, or those that are asked for by number (`05`) or name.

    Raises: UnknownNameError for one that is not there.
    """
    files = sorted(folder.glob(LESSONS))
    names = [file.stem for file in files]
    chosen: list[Path] = []
    for name in asked:
        stem = Path(name).stem
        found = [file for file in files if file.stem == stem or file.stem.split("_")[0] == stem.zfill(2)]
        if not found:
            raise unknown_name("lesson", name, names)
        chosen += found
    return chosen if asked else files


def build_course(
    folder: Path,
    output: Path,
    asked: Sequence[str] = (),
    on_lesson: Callable[[str], None] = lambda name: None,
) -> dict[str, int]:
    """Run the lessons of a folder and write their pages and `index.html`; gives the size of each page in bytes.

    Pages that were built before are kept. `on_lesson` is told the name of each lesson before it is run.
    Raises: UnknownNameError for a lesson that is not there; LessonError for one that fails; FileFormatError for a
    formula that cannot be shown.
    """
    every = lesson_files(folder)
    if not every:
        raise CircuitError(f"there are no lessons in {folder}: files like 00_name.ipynb")
    lessons = [lesson_of(file.stem, nbformat.read(file, as_version=4)) for file in every]
    chosen = lesson_files(folder, asked)
    output.mkdir(parents=True, exist_ok=True)
    made: dict[str, int] = {}
    for file in chosen:
        on_lesson(file.stem)
        at = every.index(file)
        made[file.stem] = _write(output / f"{file.stem}.html", lesson_html(run_lesson(file), lessons, at))
    sizes = {lesson.name: page.stat().st_size for lesson in lessons if (page := _page(output, lesson)).exists()}
    _write(output / "index.html", index_html(lessons, sizes))
    return made


def run_lesson(file: Path) -> Any:
    """The notebook with its outputs, and with what its widgets show, run in its folder in a fresh kernel.

    Nobody's own settings of Jupyter are read. Raises: LessonError.
    """
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [_hidden(BEGIN), *notebook.cells, _hidden(END)]
    with TemporaryDirectory() as own:
        environment = {**os.environ, **{name: str(Path(own) / name.lower()) for name in STATE}}
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(file.parent)}},
            store_widget_state=False,
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise LessonError(f"{file.name} failed: {ANSI.sub('', str(error))[-SHOWN_ERROR:]}") from error
        except (CellTimeoutError, DeadKernelError) as error:
            raise LessonError(f"{file.name} did not end: {error}") from error
    notebook.cells = notebook.cells[1:]
    notebook.cells[-1].source = ""  # what it displayed are the recordings
    return notebook


def _hidden(code: str) -> Any:
    return nbformat.v4.new_code_cell(code)


def _page(output: Path, lesson: Lesson) -> Path:
    return output / f"{lesson.name}.html"


def _write(file: Path, text: str) -> int:
    data = text.encode()
    file.write_bytes(data)
    return len(data)
