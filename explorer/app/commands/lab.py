"""`circuit-explorer lab` and `course`: the lessons in JupyterLab, on this machine only, and as pages."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated
from urllib.parse import quote

import typer

from explorer.app.commands.console import notes, print_text, say_note
from explorer.app.ports import LOCAL, check_port, free_port
from explorer.errors import CircuitError
from explorer.files import replace_file
from explorer.packages import require

QUIET = (
    "--log-level=WARN",
    "-y",  # Ctrl-C ends it at once
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
"""Extensions that fetch news, newer versions or lists of extensions; disabled, so that no request leaves."""
PAGE = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
"""Settings that disable the question whether to fetch news."""

POLL_SECONDS = 0.1
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end the command: Ctrl-C, an end requested by another program, a closed terminal."""


def lab(
    folder: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, help="the folder to open (default: the notebooks)")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="listen here (default: a free port)")] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open the browser")] = True,
) -> None:
    """Open a folder of notebooks in JupyterLab; it listens on 127.0.0.1 only. Ctrl-C ends it."""
    require("the command lab", "ui", "jupyterlab")
    if folder is None:
        folder, found = notebooks_folder()
        if not found:
            say_note(f"the notebooks are not installed with the package; opening {folder} instead")
    if port is None:
        chosen = free_port(LOCAL)
    else:
        check_port(LOCAL, port)
        chosen = port
    token = secrets.token_hex(16)
    told = f"JupyterLab on {folder}: http://{LOCAL}:{chosen}{first_page(folder)}?token={token}\nCtrl-C ends it."
    with TemporaryDirectory() as settings:
        own = lab_environment(Path(settings), token)
        command = lab_command(folder, chosen, show)
        code = run_until_told(command, {**os.environ, **own}, lambda child: print_when_it_listens(child, chosen, told))
    if code:
        raise typer.Exit(code)


def print_when_it_listens(child: "subprocess.Popen[bytes]", port: int, text: str) -> None:
    """Print once a process listens on a port of this machine; print nothing if it ends before."""
    while child.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((LOCAL, port)) == 0:
                print_text(text)
                return
        time.sleep(POLL_SECONDS)


def run_until_told(
    command: Sequence[str],
    env: Mapping[str, str],
    on_start: "Callable[[subprocess.Popen[bytes]], None]" = lambda child: None,
) -> int:
    """Run a command until it ends, or until this process is told to end; return the exit code for this process.

    The command never outlives this process, and never hears Ctrl-C itself: while it starts, it would print a traceback.
    """
    told: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def end(number: int, _frame: FrameType | None) -> None:
        told.append(number)
        if child is not None:
            child.terminate()

    previous = {number: signal.signal(number, end) for number in ENDING}
    try:
        with subprocess.Popen(command, env=env, start_new_session=True) as child:
            if told:  # while it started
                child.terminate()
            on_start(child)
            code = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 + told[0] if told else code


def notebooks_folder() -> tuple[Path, bool]:
    """The folder `notebooks` of the checkout that contains this package, or the current folder and False."""
    folder = Path(__file__).parents[3] / "notebooks"
    return (folder, True) if any(folder.glob("*.ipynb")) else (Path.cwd(), False)


def lab_environment(settings: Path, token: str) -> dict[str, str]:
    """The environment of JupyterLab: its token, and a folder of settings with precedence over the user's.

    `python3` is the kernel of this interpreter, whatever the user has registered under that name.
    """
    from ipykernel.kernelspec import write_kernel_spec

    write_kernel_spec(settings / "kernels" / "python3")
    file = settings / "labconfig" / "page_config.json"
    replace_file(file, json.dumps(PAGE).encode())
    paths = {name: [str(settings), os.environ.get(name, "")] for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")}
    return {"JUPYTER_TOKEN": token, **{name: os.pathsep.join(filter(None, both)) for name, both in paths.items()}}


def lab_command(folder: Path, port: int, show: bool) -> list[str]:
    """The command that starts JupyterLab; its token is passed in the environment."""
    address = [f"--ServerApp.ip={LOCAL}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *address, *QUIET]
    if os.name == "posix" and os.geteuid() == 0:
        command.append("--allow-root")  # as in a container, where Jupyter would refuse to start
    if (path := first_page(folder)) != "/lab":
        command.append(f"--LabApp.default_url={path}")
    return command if show else [*command, "--no-browser"]


def first_page(folder: Path) -> str:
    """The path of the page to open: the first notebook of the folder, or else the launcher."""
    names = sorted(file.name for file in folder.glob("*.ipynb"))
    return f"/lab/tree/{quote(names[0])}" if names else "/lab"


# ---------------------------------------------------------------------- lessons as pages


OUTPUT = Path("build") / "course"
WHERE = "clone the repository and run this command in its folder notebooks"


def course(
    lessons: Annotated[
        list[str] | None, typer.Argument(metavar="LESSON", help="by number or name (default: all lessons)")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="write the pages here")] = OUTPUT,
) -> None:
    """Run the lessons and write them as HTML pages that open from disk, step, and check answers without Python."""
    from explorer.app.course.build import LESSONS, build_course

    folder, found = notebooks_folder()
    if not found and not any(folder.glob(LESSONS)):
        raise CircuitError(f"the lessons are not installed with the package, and {folder} has none: {WHERE}")
    with notes().status("Running the lessons") as status:
        sizes = build_course(folder, output, lessons or (), lambda name: status.update(f"Running {name}"))
    for name, size in sizes.items():
        print_text(f"{output / name}.html ({size / 1000:,.0f} kB)")
    print_text(f"Open {output / 'index.html'} in a browser.")
