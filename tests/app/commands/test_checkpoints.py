"""Checkpoints of circuits from files and functions: they contain the circuit, and no command runs what they name."""

from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.view_state import ViewState
from explorer.app.training.checkpoint import FORMAT, Checkpoint
from explorer.errors import FileFormatError
from tests.app.commands.running import run

SMALL = ("--batch-size", "1024", "--threads", "1")
MINE = """
from pathlib import Path

def build():
    with Path(__file__).with_name("executed").open("a") as log:
        log.write("again ")
    from explorer.templates import fully_factorized
    return fully_factorized(64, num_categories=17)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the user in the current folder; its function notes that it was called."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def executed(folder: Path) -> int:
    """The number of times that the function was called."""
    log = folder / "executed"
    return log.read_text().count("again") if log.exists() else 0


def test_a_trained_circuit_of_a_function_needs_the_function_no_longer(mine: Path, tmp_path: Path) -> None:
    run("train", "mine.py:build", *SMALL, "--epochs", 1, "--out", "mine.pt")
    assert executed(tmp_path) == 1
    run("sample", "mine.pt", "-n", 1)
    run("evaluate", "mine.pt")
    assert isinstance(Library(tmp_path).open("mine.pt").layers, tuple)
    mine.unlink()
    output = run("train", "--resume", "mine.pt", *SMALL, "--epochs", 1).output
    assert "mine.py" not in output
    found = Checkpoint.load("mine.pt")
    assert (found.circuit, len(found.history), executed(tmp_path)) == ("mine.py:build", 2, 1)


def write_foreign(path: Path, circuit: str, state: Any) -> None:
    """Write a checkpoint that names its circuit, as older versions and attackers do."""
    content = {"format": FORMAT, "version": 1, "circuit": circuit, "options": {}, "data": "digits"}
    torch.save({**content, "leaf_state": state, "history": []}, path)


@pytest.mark.usefixtures("mine")
def test_no_command_runs_or_reads_what_a_checkpoint_names(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_foreign(folder / "evil.pt", "mine.py:build", {})
    for command in (
        *(("sample", "folder/evil.pt", "-n", "1"), ("evaluate", "folder/evil.pt"), ("show", "folder/evil.pt")),
        *(("train", "--resume", "folder/evil.pt"), ("train", "folder/evil.pt"), ("trace", "folder/evil.pt")),
        *(
            ("time", "folder/evil.pt"),
            ("query", "marginal", "folder/evil.pt"),
            ("serve", "folder/evil.pt", "--no-show"),
        ),
    ):
        assert "opens no other file and runs no function" in run(*command, code=2).stderr, command
    library = Library(folder)
    with pytest.raises(FileFormatError, match="runs no function"):
        open_state(library, ViewState(circuit="evil.pt"))
    with pytest.raises(FileFormatError, match="runs no function"):
        library.upload("evil.pt", (folder / "evil.pt").read_bytes())
    assert executed(tmp_path) == 0


@pytest.mark.usefixtures("mine")
def test_an_older_checkpoint_is_completed_by_naming_its_function(tmp_path: Path) -> None:
    run("train", "mine.py:build", *SMALL, "--epochs", 1, "--out", "new.pt")
    write_foreign(tmp_path / "old.pt", "mine.py:build", dict(Checkpoint.load("new.pt").leaf_state))
    run("train", "mine.py:build", "--resume", "old.pt", *SMALL, "--epochs", 1, "--out", "whole.pt")
    assert executed(tmp_path) == 2
    run("sample", "whole.pt", "-n", 1)
    assert executed(tmp_path) == 2
