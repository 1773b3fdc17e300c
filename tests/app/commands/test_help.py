"""`-h` and `--help` describe every command."""

import pytest

from explorer.app.cli import app
from tests.app.commands.running import run

COMMANDS = sorted(str(command.name) for command in app.registered_commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_h_is_help(command):
    assert run(command, "-h").stdout == run(command, "--help").stdout
