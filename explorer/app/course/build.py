"""Runs the lessons, each in its own kernel, and writes them as pages."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

from explorer.app.course.cells import ANSI
from explorer.app.course.markdown import INDEX, TEXTS, Glossary, page_name, read_glossary
from explorer.app.course.page import Course, first_figure, index_html, lesson_html, lesson_of, quiz_html, quiz_of
from explorer.errors import CircuitError, FileFormatError, unknown_name
from explorer.files import replace_file

LESSONS = "[0-9][0-9]_*.ipynb"
CELL_SECONDS = 300
BEGIN = "from explorer.app.course.recorder import CourseRecorder as _course\n_course = _course()\n_course.begin()"
END = "_course.end()"
STATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
"""The variables of Jupyter's and IPython's settings folders; each lesson gets its own empty folders."""
MAX_ERROR_LENGTH = 1_500
"""Number of characters reported from the end of a failing cell's traceback."""


class LessonError(CircuitError):
    """A lesson did not finish; the message contains the cell and the reason."""


def lesson_files(folder: Path, selection: Sequence[str] = ()) -> list[Path]:
    """Return the lessons of a folder in order, or those requested by number (`05`) or name, each once.

    Raises: UnknownNameError for an unknown lesson.
    """
    files = sorted(folder.glob(LESSONS))
    names = [file.stem for file in files]
    chosen: list[Path] = []
    for name in selection:
        stem = Path(name).stem
        number = stem.zfill(2) if stem else ""
        found = [file for file in files if stem == file.stem or number == file.stem.split("_")[0]]
        if not found:
            raise unknown_name("lesson", name, names)
        chosen += [file for file in found if file not in chosen]
    return chosen if selection else files


def build_course(
    folder: Path,
    output: Path,
    selection: Sequence[str] = (),
    on_lesson: Callable[[str], None] = lambda name: None,
) -> dict[str, int]:
    """Run the lessons of a folder and write their pages; returns the size of each page in bytes.

    The quiz, its answers, the glossary and `index.html` are written as well. Existing pages are kept. `on_lesson`
    receives the name of each lesson before it is run.
    Raises: UnknownNameError for an unknown lesson; LessonError for one that fails; FileFormatError for a file that is
    not a notebook and for a formula that cannot be converted; CircuitError for a folder without lessons, and if
    `output` is a file.
    """
    every = lesson_files(folder)
    if not every:
        raise CircuitError(f"there are no lessons in {folder}: files like 00_name.ipynb")
    chosen = lesson_files(folder, selection)
    course = _course(folder, output, every, chosen)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise CircuitError(
            f"the pages cannot be written into {output}: it is a file, or in one, not a folder"
        ) from error
    except OSError as error:
        raise CircuitError(f"the pages cannot be written into {output}: {error.strerror or error}") from error
    # Write the quick pages first: if nothing can be written, no lesson has to run to find out.
    for source, page in TEXTS.items():
        if page in course.pages and page != INDEX:
            _write(output / page, quiz_html((folder / source).read_text(encoding="utf-8"), source, course))
    _write_index(output, course)
    sizes: dict[str, int] = {}
    for file in chosen:
        on_lesson(file.stem)
        page = lesson_html(run_lesson(file), course, every.index(file))
        sizes[file.stem] = _write(output / f"{file.stem}.html", page)
        _write_index(output, course)
    return sizes


def run_lesson(file: Path) -> Any:
    """Run a notebook in its folder in a fresh kernel; returns it with its outputs and the recordings of its widgets.

    The kernel runs this interpreter, whatever kernels are registered; the user's Jupyter settings are ignored.
    Raises: LessonError; FileFormatError.
    """
    notebook = _read(file)
    notebook.cells = [_hidden_cell(BEGIN), *notebook.cells, _hidden_cell(END)]
    with TemporaryDirectory() as own:
        environment = {**os.environ, **{name: str(Path(own) / name.lower()) for name in STATE}}
        environment.pop("PYTHONSTARTUP", None)  # IPython would run this file before the lesson
        client = NotebookClient(
            notebook,
            km=own_kernel(Path(own)),
            timeout=CELL_SECONDS,
            shutdown_kernel="immediate",
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(file.parent)}},
            store_widget_state=False,
        )
        try:
            _execute(client, environment)
        except CellExecutionError as error:
            raise LessonError(f"{file.name} failed: {ANSI.sub('', str(error))[-MAX_ERROR_LENGTH:]}") from error
        except (CellTimeoutError, RuntimeError) as error:  # the kernel died, or never answered
            raise LessonError(f"{file.name} did not end: {error}") from error
    notebook.cells = notebook.cells[1:]
    notebook.cells[-1].source = ""  # its outputs are the recordings
    return notebook


def own_kernel(folder: Path) -> AsyncKernelManager:
    """Return the kernel of this interpreter, not yet started; registered kernels are ignored.

    Its connection file is written into the folder.
    """
    native = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    return AsyncKernelManager(
        kernel_name=NATIVE_KERNEL_NAME, kernel_spec_manager=native, connection_file=str(folder / "kernel.json")
    )


def _execute(client: NotebookClient, environment: Mapping[str, str]) -> None:
    """Run a notebook; Ctrl-C ends its kernel and is raised.

    In the main thread nbclient would handle Ctrl-C itself, and fail when it ends the kernel a second time.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None] | None]] = Future()

    async def execute() -> None:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        await client.async_execute(env=dict(environment), cleanup_kc=True)

    with ThreadPoolExecutor(max_workers=1) as thread:
        running = thread.submit(asyncio.run, execute())
        try:
            running.result()
        except KeyboardInterrupt:
            loop, task = started.result()
            if task is not None and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)
            raise


def _course(folder: Path, output: Path, every: Sequence[Path], chosen: Sequence[Path]) -> Course:
    """Return the course with the pages that will exist when the chosen lessons are built."""
    lessons = tuple(lesson_of(file.stem, _read(file)) for file in every)
    pages = {INDEX} | {page_name(file.name) for file in every if file in chosen or _page(output, file.stem).exists()}
    pages |= {page for source, page in TEXTS.items() if (folder / source).exists()}
    quiz = folder / "quiz.md"
    found = quiz_of(quiz.read_text(encoding="utf-8"), lessons) if quiz.exists() else None
    glossary = folder / "glossary.md"
    terms = read_glossary(glossary.read_text(encoding="utf-8")) if glossary.exists() else Glossary()
    return Course(lessons, found, pages, terms)


def _write_index(output: Path, course: Course) -> None:
    pages = [page for lesson in course.lessons if (page := _page(output, lesson.name)).exists()]
    picture = first_figure(pages[0].read_text(encoding="utf-8")) if pages else ""
    _write(output / INDEX, index_html(course, {page.name: page.stat().st_size for page in pages}, picture))


def _read(file: Path) -> Any:
    """Read a notebook. Raises: FileFormatError."""
    try:
        return nbformat.read(file, as_version=4)
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise FileFormatError(f"{file} is not a Jupyter notebook: {str(error).splitlines()[0]}") from error


def _hidden_cell(code: str) -> Any:
    return nbformat.v4.new_code_cell(code)


def _page(output: Path, name: str) -> Path:
    return output / f"{name}.html"


def _write(file: Path, text: str) -> int:
    data = text.encode()
    replace_file(file, data)
    return len(data)
