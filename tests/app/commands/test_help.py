"""`-h` and `--help` describe every command."""

import os
import subprocess
import sys

import pytest

from explorer.app.cli import app
from tests.app.commands.running import run

COMMANDS = sorted(str(command.name) for command in app.registered_commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_h_is_help(command):
    assert run(command, "-h").stdout == run(command, "--help").stdout


@pytest.mark.parametrize(
    ("begun", "completed"), [("se", ["serve"]), ("serve kr", ["kronecker"]), ("show h", ["hclt", "hmm"])]
)
def test_a_shell_completes_commands_and_circuits(begun, completed):
    words = f"circuit-explorer {begun}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    environment = {**os.environ, **asked, "_CIRCUIT_EXPLORER_COMPLETE": "complete_bash"}
    program = "import sys; sys.argv[0] = 'circuit-explorer'; from explorer.app.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert found.stdout.split() == completed, found.stderr
