"""`circuit-explorer bench`: hands its arguments to the commands in `benchmarks/`, which only a checkout has."""

from importlib.util import find_spec

import typer

from explorer.errors import MissingPackageError

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Every argument belongs to the command of `benchmarks/`, `--help` included."""


def bench(context: typer.Context) -> None:
    """Measure speed next to the peer compilers, and the views against their budgets."""
    if find_spec("benchmarks") is None:
        raise MissingPackageError(
            "the benchmarks are in the folder benchmarks/ of the project, which is not installed with the package: "
            "clone the project, run pip install -e '.[bench]' in its folder, and then this command"
        )
    from benchmarks.commands import bench as commands

    command = typer.main.get_command(commands)
    code = command(context.args, prog_name=context.command_path, standalone_mode=False)
    if code:
        raise typer.Exit(code)
