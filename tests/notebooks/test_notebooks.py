"""The notebooks run from top to bottom without an error, and are committed without outputs."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needed import is_missing

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))
OPTIONS = ("--nbval-lax", "--nbval-current-env", "-q", "-p", "no:cacheprovider", "-c", os.devnull)
STATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def test_there_are_notebooks() -> None:
    assert [file.name for file in FILES][:1] == ["first_look.ipynb"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_runs(file: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("nbval") is None:
        is_missing("nbval", "pip install 'circuit-explorer[test]'")
    own = {name: str(tmp_path / name) for name in STATE}  # nobody's own settings
    ended = subprocess.run(
        # In a process of its own: cells must run in order, in one worker, and warnings of Jupyter are its own.
        [sys.executable, "-m", "pytest", *OPTIONS, "--rootdir", str(NOTEBOOKS), str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, **own},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_committed_without_what_a_run_leaves(file: Path) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert [cell["execution_count"] for cell in cells] == [None] * len(cells)
    assert "widgets" not in notebook["metadata"]
