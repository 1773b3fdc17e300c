"""The settings of `circuit-explorer lab`; `tests/browser/test_jupyterlab.py` starts it."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.commands.lab import (
    lab_command,
    lab_environment,
    notebooks_folder,
    print_when_it_listens,
    run_until_told,
)
from explorer.app.ports import free_port
from tests.app.commands.running import run
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(  # looked up, not imported, which takes seconds per collecting process
    importlib.util.find_spec("jupyterlab") is None, reason="needs JupyterLab: pip install 'circuit-explorer[ui]'"
)


def test_the_kernel_is_that_of_this_interpreter_whatever_the_reader_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    readers, settings = tmp_path / "readers", tmp_path / "settings"
    for name in ("python3", "julia"):
        spec = readers / "kernels" / name / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": ["/nowhere/python"], "display_name": name, "language": "python"}))
    settings.mkdir()
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(readers))
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/nowhere/python"
    for name, value in lab_environment(settings, "token").items():
        monkeypatch.setenv(name, value)
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == sys.executable
    assert "julia" in KernelSpecManager().find_kernel_specs()


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    command = lab_command(tmp_path, 9999, show=True)
    assert "--ServerApp.ip=127.0.0.1" in command
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--no-browser" not in command
    assert "--no-browser" in lab_command(tmp_path, 9999, show=False)


def test_it_opens_the_first_notebook_of_the_folder(tmp_path: Path) -> None:
    assert not any("default_url" in word for word in lab_command(tmp_path, 9999, show=True))
    for name in ("b.ipynb", "a lesson.ipynb", "0.txt"):
        (tmp_path / name).touch()
    assert "--LabApp.default_url=/lab/tree/a%20lesson.ipynb" in lab_command(tmp_path, 9999, show=True)


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ended = CliRunner().invoke(app, ["lab", "--no-show", "--port", str(other.getsockname()[1])])
    assert ended.exit_code == 2
    assert "choose another port with --port" in ended.output


SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
RUN = f"""
import os, sys
from explorer.app.commands.lab import run_until_told

sys.exit(run_until_told([sys.executable, "-c", {SLEEPER!r}], os.environ))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_it_starts_ends_with_it_and_without_a_traceback(number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert errors == ""
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_signal_while_the_command_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Told)
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        code = run_until_told([sys.executable, "-c", "import time; time.sleep(20)"], os.environ)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert code == 128 + signal.SIGTERM


def test_the_exit_code_of_the_command_is_returned() -> None:
    assert run_until_told([sys.executable, "-c", "raise SystemExit(3)"], os.environ) == 3


LATE = (
    "import socket, sys, time; sys.stdin.readline(); s = socket.create_server(('127.0.0.1', {port})); time.sleep(600)"
)


def test_the_address_is_printed_when_it_listens(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    command = [sys.executable, "-c", LATE.format(port=port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child, ThreadPoolExecutor(1) as thread:
        try:
            printed = thread.submit(print_when_it_listens, child, port, "at the address")
            assert capsys.readouterr().out == ""
            assert not printed.done()
            assert child.stdin is not None
            child.stdin.write(b"listen\n")
            child.stdin.flush()
            printed.result()
            with socket.create_connection(("127.0.0.1", port)):
                pass
        finally:
            child.terminate()
    assert capsys.readouterr().out == "at the address\n"
    print_when_it_listens(child, port, "never")
    assert capsys.readouterr().out == ""


def test_course_copies_the_lessons_and_keeps_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "my lessons"
    (folder / "checks").mkdir(parents=True)
    (folder / "checks" / "lesson_05.py").write_text("mine")
    assert "Kept 1 files that were there" in run("course", folder).output
    assert (folder / "checks" / "lesson_05.py").read_text() == "mine"
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert {"05_folding.ipynb", "README.md", "solutions/lesson_05.py", "pictures/svg.py"} <= names
    assert not any("__pycache__" in name for name in names)
    again = run("course", folder).output
    assert "Wrote" not in again
    assert f"Kept {len(names)} files" in again.replace("\n", " ")


def test_course_refuses_a_file_and_an_installation_without_lessons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        result = CliRunner().invoke(app, ["course", str(folder)])
        assert result.exit_code == 2
        assert "cannot be copied into" in " ".join(result.output.split())
    monkeypatch.setattr("explorer.app.commands.lab.notebooks_folder", lambda: (tmp_path, False))
    result = CliRunner().invoke(app, ["course", str(tmp_path / "out")])
    assert "this installation has no lessons" in " ".join(result.output.split())


def test_the_folder_is_that_of_the_checkout() -> None:
    assert notebooks_folder() == (ROOT / "notebooks", True)
