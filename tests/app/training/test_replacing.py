"""No run is lost without a word: `train` refuses to replace the checkpoint of another one, and says what differs."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from explorer.app.cli import app
from explorer.app.commands import train as command
from explorer.app.training.checkpoint import Checkpoint
from explorer.files import hold_folder
from explorer.learning.curves import curve_files

OPTIONS = ("--structure", "hclt", "--units", 1, "--epochs", 1, "--method", "em")


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text("a,b\n" + "".join(f"{i % 2},{i % 3}\n" for i in range(40)))
    return file


@pytest.fixture
def trained(table: Path) -> Path:
    path = table.with_suffix(".pt")
    run("train", "--data", table, *OPTIONS, "--out", path)
    return path


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "a run with the same settings"),
        (("--epochs", 2), "a run with the same settings"),
        (("--method", "gradient"), "a different run: method is em, not gradient"),
        (("--pseudo-count", 2), "a different run: pseudo_count is 0.0, not 2.0"),
        (("--seed", 3), "a different run: seed is 0, not 3"),
        (("--preset", "handbook"), "a different run: preset is default, not handbook"),
        (("--structure", "chow-liu"), "a different run: the circuit is hclt, not chow-liu"),
        (("--units", 2), "a different run: the layers of hclt differ"),
        (
            ("--column", "b=ignore"),
            "a different run: the columns are a (categorical), b (categorical), not a (categorical)",
        ),
    ],
)
def test_another_run_is_not_replaced(table, trained, more, words):
    before = trained.read_bytes()
    said = run("train", "--data", table, *OPTIONS, *more, "--out", trained, code=2).stderr
    assert f"{trained} holds {words}" in said
    assert f"after epoch 1, which would be lost; continue it with --resume {trained}, " in said
    assert "write to another file with --out, or replace it with --overwrite" in said
    assert trained.read_bytes() == before


def test_other_data_and_rows_are_named(table, trained, tmp_path):
    other = tmp_path / "others.csv"
    other.write_text(table.read_text())
    said = run("train", "--data", other, *OPTIONS, "--out", trained, code=2).stderr
    assert f"a different run: the data are {table}, not {other}" in said
    table.write_text(table.read_text() + "1,1\n")
    assert (
        "a different run: the rows differ" in run("train", "--data", table, *OPTIONS, "--out", trained, code=2).stderr
    )
    run("train", "--data", other, *OPTIONS, "--out", trained, "--overwrite")
    assert Checkpoint.load(trained).data == str(other)


def test_resumed_run_on_other_data_does_not_replace_the_one_that_it_began_with(table, trained, tmp_path):
    other = tmp_path / "others.csv"
    other.write_text("a,b\n" + "0,2\n1,0\n" * 10)
    before = trained.read_bytes()
    arguments = ("train", "--resume", trained, "--data", other, "--epochs", 1)
    assert f"the data are {table}, not {other}" in run(*arguments, code=2).stderr
    assert trained.read_bytes() == before
    run(*arguments, "--out", tmp_path / "others.pt")
    assert run(*arguments, "--out", tmp_path / "others.pt", code=2)
    assert Checkpoint.load(tmp_path / "others.pt").data == str(other)


@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_run_of_another_process_is_not_replaced_and_both_are_kept(table, trained, tmp_path, monkeypatch, more):
    target, others = tmp_path / "shared.pt", trained.read_bytes()
    really = command.train_with_progress

    def train(*arguments: Any) -> Any:
        target.write_bytes(others)  # the other run has finished an epoch
        return really(*arguments)

    monkeypatch.setattr(command, "train_with_progress", train)
    options = ("--units", 1, "--epochs", 2, "--seed", 3)
    said = run("train", "--data", table, *options, "--out", target, *more, code=2).stderr
    (beside,) = tmp_path.glob("shared-*.pt")
    assert (
        f"another process has written {target} since this run did; this run is kept in {beside}, after epoch 1" in said
    )
    assert target.read_bytes() == others
    monkeypatch.undo()
    run("train", "--resume", beside, "--epochs", 1)
    assert len(Checkpoint.load(beside).history) == 2


SAVING = """
import sys
from dataclasses import replace
from pathlib import Path

from explorer.app.training.checkpoint import Checkpoint
from explorer.app.training.checkpoint import OwnFile
from explorer.errors import LearningError

checkpoint = replace(Checkpoint.load(sys.argv[1]), data=sys.argv[2])
for line in sys.stdin:
    own = OwnFile(Path(line.strip()))
    print("ready", flush=True)
    next(sys.stdin)
    try:
        own.save(checkpoint)
    except LearningError:
        print("kept beside", flush=True)
    else:
        print("saved", flush=True)
"""


def test_of_two_processes_that_save_at_once_one_is_kept_beside(trained, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                Popen([sys.executable, "-c", SAVING, trained, name], stdin=PIPE, stdout=PIPE, text=True)
            )
            for name in ("first", "second")
        ]

        def tell(line: object) -> list[str]:
            for worker in workers:
                print(line, file=worker.stdin, flush=True)
            return sorted(worker.stdout.readline().strip() for worker in workers if worker.stdout)

        for number in range(20):
            target = folder / f"{number}.pt"
            if number % 2:
                target.write_bytes(trained.read_bytes())
            assert tell(target) == ["ready", "ready"]
            assert tell("go") == ["kept beside", "saved"]
            (beside,) = folder.glob(f"{number}-*.pt")
            assert {Checkpoint.load(file).data for file in (target, beside)} == {"first", "second"}


def test_holding_a_folder_creates_nothing_and_it_may_be_missing(tmp_path):
    for path in (tmp_path / "new.pt", tmp_path / "missing/new.pt", Path(os.devnull)):
        with hold_folder(path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_training_writes_through_a_pipe_and_has_curves_only_beside_a_file(table, tmp_path):
    pipe = tmp_path / "pipe.pt"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        content = pool.submit(pipe.read_bytes)
        said = run("train", "--data", table, *OPTIONS, "--out", pipe).stderr
        kept = tmp_path / "kept.pt"
        kept.write_bytes(content.result())
    assert f"wrote {pipe}; there are learning curves only beside a file" in said
    assert Checkpoint.load(kept).history
    assert list(tmp_path.glob("*.curves.*")) == []


def test_curves_are_beside_the_file_that_a_link_names(tmp_path):
    (tmp_path / "runs").mkdir()
    link = tmp_path / "link.pt"
    link.symlink_to(tmp_path / "runs/kept.pt")
    assert [file.relative_to(tmp_path.resolve()).as_posix() for file in curve_files(link)] == [
        "runs/kept.curves.svg",
        "runs/kept.curves.csv",
    ]
    assert curve_files(os.devnull) == ()


def test_foreign_file_is_not_replaced_and_an_empty_one_is(table, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("notes")
    said = run("train", "--data", table, *OPTIONS, "--out", file, code=2).stderr
    assert f"{file} exists, and would be replaced by the checkpoint; write to another file" in said
    assert file.read_text() == "notes"
    file.write_text("")  # as `mktemp` makes it
    run("train", "--data", table, *OPTIONS, "--out", file)
    assert Checkpoint.load(file).history


def test_resumed_run_says_up_to_which_epoch_it_trains(trained):
    said = run("train", "--resume", trained, "--epochs", 2).stdout
    assert f"Continuing {trained} after epoch 1: to epoch 3 (--epochs 2)." in said
    assert len(Checkpoint.load(trained).history) == 3
    assert len(run("train", "--resume", trained).stdout) > 0
    assert len(Checkpoint.load(trained).history) == 33


def test_explore_keeps_another_run_and_repeats_its_own(tmp_path):
    path = tmp_path / "digits.pt"
    for _ in range(2):
        assert "another run" not in run("explore", "--epochs", 1, "--out", tmp_path).output
    run("train", "digits", "--resume", path, "--epochs", 1)
    said = run("explore", "--epochs", 1, "--out", tmp_path)
    assert said.stderr.count(f"{path} holds another run and stays") == 1
    assert said.output.index("holds another run") < said.output.index("3. Training")
    assert "open it with: circuit-explorer serve digits" in said.stderr.replace(
        "python -m explorer", "circuit-explorer"
    )
    assert len(Checkpoint.load(path).history) == 2
    assert (tmp_path / "digits.trace.json.gz").exists()


@pytest.mark.parametrize(
    "command", [("explore", "--epochs", 1, "--out", "new/runs"), ("train", "--out", "new/runs/a.pt")]
)
def test_a_misspelled_folder_is_refused_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run(*command, code=2)
    assert "there is no folder new" in said.stderr
    assert "mkdir -p new" in said.stderr
    assert "Training" not in said.stdout
    assert not any(tmp_path.iterdir())


def test_explore_says_before_it_compiles_that_its_folder_cannot_be_written(tmp_path):
    (tmp_path / "runs").write_text("")
    said = run("explore", "--out", tmp_path / "runs", code=2)
    assert said.stderr.rstrip().endswith("write elsewhere with --out")
    assert not said.stdout
