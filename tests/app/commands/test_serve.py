"""`circuit-explorer serve` warns if other machines can reach it."""

import gc
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")

from typer.testing import CliRunner

from explorer import gallery, record
from explorer.app.cli import app
from explorer.app.dashboard import serving
from explorer.app.ports import is_loopback, public_address
from explorer.errors import UnknownNameError
from tests.app.commands.running import run

WARNING = "Anyone on this network can use this machine's CPU. Address: http://"


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The options of the servers that were started; none serves."""
    started: list[Any] = []

    def pretend(options: Any, announce: Callable[[], None]) -> None:
        started.append(options)
        assert not any(one is serving.__dict__ for one in gc.get_objects()), "collections look at imported modules"
        announce()

    monkeypatch.setattr(serving, "serve", pretend)
    yield started
    gc.unfreeze()


def test_an_address_for_other_machines_warns_and_names_one_that_they_can_open(no_server: list[Any]) -> None:
    result = CliRunner().invoke(app, ["serve", "conflict", "--no-show", "--address", "0.0.0.0"])
    assert result.exit_code == 0, result.output
    assert WARNING in result.stderr
    assert "http://0.0.0.0" not in result.output + result.stderr
    assert no_server[0].address == "0.0.0.0"
    printed = result.stderr.split("Address: http://")[1].split("/")[0]
    assert printed in no_server[0].origins


def test_the_local_address_does_not_warn() -> None:
    result = CliRunner().invoke(app, ["serve", "conflict", "--no-show"])
    assert "The explorer is at http://127.0.0.1:" in result.output
    assert "Anyone on this network" not in result.output + result.stderr


def test_addresses_of_this_machine() -> None:
    assert [is_loopback(one) for one in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.0.2.7", "box")] == [
        *(True, True, True),
        *(False, False, False),
    ]
    assert public_address("192.0.2.7") == "192.0.2.7"
    assert public_address("box") == "box"
    assert public_address("0.0.0.0") not in ("0.0.0.0", "")


def test_a_machine_without_a_network_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(socket, "socket", refuse)
    assert public_address("0.0.0.0") == socket.gethostname()


def test_a_function_of_the_user_is_run_once_and_the_note_says_so(no_server: list[Any], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from explorer import gallery\ndef build():\n    return gallery.load_named('blackboard')\n"
    )
    source = f"{tmp_path}/mine.py:build"
    result = CliRunner().invoke(app, ["serve", source, "--no-show"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count(f"Note: running the code in {tmp_path}/mine.py, which may do anything") == 1
    assert len(no_server[0].library.open(source).layers) == 13
    with pytest.raises(UnknownNameError):  # what a browser asks for is never run
        no_server[0].library.open(f"{tmp_path}/mine.py:other")


def test_a_trace_of_a_lower_level_is_opened_at_its_level_or_refused(no_server: list[Any], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from explorer import gallery, record\n"
        "def build():\n    return record(gallery.load_named('blackboard'), level='tensor')\n"
    )
    source = f"{tmp_path}/mine.py:build"
    for more in ((), ("--level", "tensor")):
        assert CliRunner().invoke(app, ["serve", source, "--no-show", *more]).exit_code == 0
    result = CliRunner().invoke(app, ["serve", source, "--no-show", "--level", "program"])
    assert result.exit_code == 2
    assert "is a trace at the level tensor, which is not recorded again; remove --level program" in " ".join(
        result.stderr.split()
    )
    assert len(no_server) == 2


def test_a_trace_file_is_not_recorded_again_at_another_level(no_server: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "b.trace.json"
    record(gallery.load_named("blackboard")).save(file)
    for command in ("serve", "trace"):
        result = CliRunner().invoke(app, [command, str(file), "--level", "tensor"])
        assert result.exit_code == 2, command
        assert "is a trace at the level compiled, which is not recorded again; remove --level tensor" in " ".join(
            result.stderr.split()
        )
    assert not no_server


def test_an_error_of_the_user_ends_the_command_with_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def build():\n    return 1 / 0\n")
    result = CliRunner().invoke(app, ["serve", f"{tmp_path}/mine.py:build", "--no-show"])
    assert result.exit_code == 2
    assert "build() raised ZeroDivisionError; this is its traceback:" in result.stderr
    assert "return 1 / 0" in result.stderr
    result = CliRunner().invoke(app, ["trace", f"{tmp_path}/mine.py:biuld"])
    assert (result.exit_code, "no function named 'biuld'; known are: build" in result.stderr) == (2, True)


def test_a_table_becomes_a_trained_circuit_once(
    no_server: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'yes' if i % 3 else 'no'},{'a' if i % 3 else 'b'}\n" for i in range(40))
    Path("people.csv").write_text(f"smoker,kind\n{rows}")
    first = run("serve", "people.csv", "--no-show").output
    assert "Wrote runs/people.pt" in first
    second = run("serve", "people.csv", "--no-show").output
    assert "runs/people.pt was trained on people.csv" in second
    assert "Wrote" not in second
    assert [options.state.query() for options in no_server] == ["circuit=people.pt&beliefs=yes"] * 2
    more = rows.replace("\n", ",1\n")
    for changed in (f"smoker,kind\n{rows}no,a\n", f"smoker,kind,extra\n{more}"):
        Path("people.csv").write_text(changed)
        refused = run("serve", "people.csv", "--no-show", code=2).output
        assert "runs/people.pt was trained on something else than people.csv" in " ".join(refused.split())
    Path("runs/people.pt").unlink()
    run("serve", "people.csv", "--no-show", "--level", "bogus", code=2)
    assert not Path("runs/people.pt").exists()
