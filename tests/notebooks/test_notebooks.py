"""The notebooks run from top to bottom without an error and in time; lessons have one structure; none has outputs."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.needed import is_missing
from tests.notebooks.lessons import COMPILED, needs_compiler
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
STATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
LESSON_SECONDS = 40
"""A lesson is promised to take less on two cores: the bound is its processor time, since other tests use the cores too.

A lesson waits for nothing, so this is close to the time that passes on a clock if nothing else is running.
"""
RUN_ELSEWHERE = {"05": "tests/browser/test_lessons.py, which builds its page"}
"""Lessons that other tests run from top to bottom, so that `test_it_runs` needs to run them only in `make fuzz`."""
QUICKLY = f"""
import gc
import sys

import torch._dynamo
import torch._functorch.aot_autograd
import torch.export.exported_program

from explorer.app import images
from explorer.bench import interleave
sys.path.insert(0, {str(NOTEBOOKS.parent)!r})
from tests import quick_exports
del sys.path[0]
quick_exports.install()
images.DENSITY = 1
interleave.monotonic = lambda clock=interleave.monotonic: 20 * clock()
gc.set_threshold(20_000, 10, 10)
gc.freeze()
"""
"""Lets the time limits of measurements pass twenty times as fast, measured times are those of another clock; draws
images for saved notebooks with a quarter of the pixels; exports quickly; and looks for no cycles among what was
imported, as each measurement would otherwise do.
"""
README = (NOTEBOOKS / "README.md").read_text(encoding="utf-8")
CLAIMED = "## What this lesson claimed"


def test_lessons_have_unique_numbers() -> None:
    numbers = [file.stem[:2] for file in LESSONS]
    assert numbers[0] == "00"
    assert len(set(numbers)) == len(numbers)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[BlockingKernelClient]":
    """One Jupyter kernel of this interpreter for all notebooks, without anyone's own settings."""
    if importlib.util.find_spec("ipykernel") is None:
        is_missing("ipykernel", "pip install 'circuit-explorer[test]'")
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    own = tmp_path_factory.mktemp("jupyter")
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    manager = KernelManager(kernel_spec_manager=specs, connection_file=str(own / "kernel.json"))
    settings = {name: str(own / name) for name in STATE}
    manager.start_kernel(cwd=str(NOTEBOOKS), env={**os.environ, **settings}, extra_arguments=["--log-level=ERROR"])
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        run(client, QUICKLY)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        client.context.destroy()


def run(kernel: "BlockingKernelClient", code: str, **evaluated: str) -> dict[str, Any]:
    """Execute a cell; return the values of expressions evaluated after it."""
    reply = kernel.execute_interactive(
        code, user_expressions=evaluated, timeout=PATIENCE, allow_stdin=False, output_hook=lambda message: None
    )["content"]
    if reply["status"] != "ok":
        pytest.fail(f"this cell failed:\n{code}\n\n" + "\n".join(reply.get("traceback", [])), pytrace=False)
    return {name: value["data"]["text/plain"] for name, value in reply["user_expressions"].items()}


def nbval(folder: Path, *arguments: str) -> str:
    """Return the output of `pytest --nbval-lax` without a user's settings."""
    if importlib.util.find_spec("nbval") is None:
        is_missing("nbval", "pip install 'circuit-explorer[test]'")
    options = ("-p", "nbval", "--nbval-lax", "--nbval-current-env", "-q", "-p", "no:cacheprovider", "-c", os.devnull)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the other installed plugins take seconds to load
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(NOTEBOOKS), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **alone, **{name: str(folder / name) for name in STATE}},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:]
    return ended.stdout


@pytest.mark.fuzz  # it loads Jupyter in another process
def test_nbval_finds_the_cells_of_all_notebooks(tmp_path: Path) -> None:
    """`pytest --nbval-lax notebooks` is how a reader checks the lessons; `test_it_runs` runs the cells."""
    found = nbval(tmp_path, "--collect-only", str(NOTEBOOKS))
    cells = sum(cell["cell_type"] == "code" for file in FILES for cell in cells_of(file))
    assert found.count("::Cell ") == cells


@pytest.mark.fuzz  # it starts a kernel and loads PyTorch for a lesson that `test_it_runs` runs
def test_nbval_accepts_a_lesson(tmp_path: Path) -> None:
    (lesson,) = NOTEBOOKS.glob("02_*.ipynb")
    assert " passed" in nbval(tmp_path, str(lesson))


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=pytest.mark.fuzz if file.stem[:2] in RUN_ELSEWHERE else ())
        for file in FILES
    ],
)
def test_it_runs(file: Path, kernel: "BlockingKernelClient") -> None:
    if file.stem[:2] == COMPILED:
        needs_compiler()
    clock = {"seconds": "sum(__import__('os').times()[:4])"}
    before = run(kernel, "%reset -f", **clock)
    for cell in cells_of(file):
        if cell["cell_type"] == "code":
            run(kernel, cell["source"])
    after = run(kernel, "", **clock)
    assert float(after["seconds"]) - float(before["seconds"]) < LESSON_SECONDS
    told = [name for name, earlier in spoilers(kernel) if not is_folded_behind(file, name, earlier)]
    assert told == []


SPOILERS = """
from explorer.app.notebook.ask_widget import AskWidget as _AskWidget
_named = [(name, one) for name, one in globals().items() if not name.startswith("_")]
_asked = [(name, one.trace, one.question) for name, one in _named if isinstance(one, _AskWidget)]
_spoilers = [
    (name, earlier)
    for at, (name, trace, question) in enumerate(_asked)
    for earlier, its_trace, asked in _asked[:at]
    if trace is its_trace and question.after_step >= asked.step and asked.kind != "stat"
]
"""
"""The questions with a picture that shows an earlier answer."""


def spoilers(kernel: "BlockingKernelClient") -> list[tuple[str, str]]:
    """Return each question of the notebook with the earlier one that its picture answers."""
    return ast.literal_eval(run(kernel, SPOILERS, found="_spoilers")["found"])


def is_folded_behind(file: Path, name: str, earlier: str) -> bool:
    """Return whether a question is part of the answer of an earlier one, or in a later section."""
    cells = cells_of(file)
    first, last = (
        next(at for at, cell in enumerate(cells) if cell["source"].startswith(f"{one} = explorer.ask("))
        for one in (earlier, name)
    )
    between = cells[first + 1 : last + 1]
    headings = [cell for cell in between if cell["cell_type"] == "markdown" and cell["source"].startswith("## ")]
    return bool(headings) or all("answer" in cell["metadata"].get("tags", ()) for cell in between)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_committed_without_outputs(file: Path) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert [cell["execution_count"] for cell in cells] == [None] * len(cells)
    assert "widgets" not in notebook["metadata"]


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
class TestALesson:
    def test_begins_with_title_goals_and_duration(self, file: Path) -> None:
        first = cells_of(file)[0]
        number = int(file.stem[:2])
        assert first["cell_type"] == "markdown"
        assert re.match(rf"# {number}\. \S", first["source"])
        assert "You will be able to" in first["source"]
        assert len(re.findall(r"^- ", first["source"], re.MULTILINE)) >= 3
        assert re.search(r"[Aa]bout \d+ minutes", first["source"])

    def test_states_the_same_duration_as_the_list_of_lessons(self, file: Path) -> None:
        stated = re.search(r"[Aa]bout (\d+) minutes to read, (\d+) more for the exercises", cells_of(file)[0]["source"])
        (row,) = re.findall(rf"^\| \[[^]]*\]\({file.name}\) \|.*$", README, re.MULTILINE)
        assert stated
        assert [cell.strip() for cell in row.split("|")][3:5] == list(stated.groups())

    def test_asks_before_it_shows(self, file: Path) -> None:
        assert code_of(file).count("explorer.ask(") >= 2

    def test_has_exercises_each_with_a_check_and_a_solution(self, file: Path) -> None:
        cells = cells_of(file)
        headings = [(at, found) for at, cell in enumerate(cells) for found in exercises_in(cell)]
        numbers = [number for _, number in headings]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) in (2, 3)
        ends = [at for at, _ in headings[1:]] + [len(cells)]
        for (at, number), end in zip(headings, ends, strict=True):
            code = "\n".join(cell["source"] for cell in cells[at:end] if cell["cell_type"] == "code")
            assert f"lesson_{file.stem[:2]}.exercise_{number}(" in code
        checks, solutions = (functions_in(NOTEBOOKS / folder / f"lesson_{file.stem[:2]}.py") for folder in FOLDERS)
        assert checks >= {f"exercise_{number}" for number in numbers}
        assert solutions >= {f"solution_{number}" for number in numbers}

    def test_ends_by_asserting_its_claims(self, file: Path) -> None:
        cells = cells_of(file)
        headings = [at for at, cell in enumerate(cells) if cell["source"].startswith(CLAIMED)]
        assert len(headings) == 1
        claims = [cell["source"] for cell in cells[headings[0] :] if cell["cell_type"] == "code"]
        assert claims
        assert all(re.search(r"^\s*assert |assert_close\(", claim, re.MULTILINE) for claim in claims)
        last = cells[-1]
        assert last["cell_type"] == "markdown"
        assert last["source"].startswith("Next: ")
        assert "\n" not in last["source"].strip()


FOLDERS = ("checks", "solutions")


def cells_of(file: Path) -> list[dict[str, Any]]:
    """Return the cells, each source as one string."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def code_of(file: Path) -> str:
    return "\n".join(cell["source"] for cell in cells_of(file) if cell["cell_type"] == "code")


def exercises_in(cell: dict[str, Any]) -> list[int]:
    if cell["cell_type"] != "markdown":
        return []
    return [int(number) for number in re.findall(r"^### Exercise (\d+)", cell["source"], re.MULTILINE)]


def functions_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
