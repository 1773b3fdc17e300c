"""Runs the command line in this process."""

from pathlib import Path

from typer.testing import CliRunner, Result

from explorer.app.cli import app


def run(*arguments: str | int | Path, code: int = 0) -> Result:
    """The result of a command, which must end with this exit code."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result
