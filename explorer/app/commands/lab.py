"""`circuit-explorer lab` and `course`: the lessons in JupyterLab, on this machine only, and copied into a folder."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote as quote_word
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated
from urllib.parse import quote

import typer

from explorer.app.commands.console import print_text, say_note
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
            say_note(f"opening {folder}; `circuit-explorer course DIR` copies the lessons into a folder")
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


# ---------------------------------------------------------------------- lessons in a folder of the reader


INSTALLED = Path(__file__).parents[1] / "lessons"
"""Where the wheel has the lessons."""
COPIED = ("*.ipynb", "*.md", "checks/*", "solutions/*", "pictures/*", "recorded/*")


def course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="the folder to copy them into; it is made if needed")],
) -> None:
    """Copy the lessons into a folder, to run and change them: notebooks, checks, solutions, recorded runs.

    A file that is there already stays as it is.
    """
    source, found = notebooks_folder()
    source = source if found else INSTALLED
    files = [file.relative_to(source) for pattern in COPIED for file in sorted(source.glob(pattern)) if file.is_file()]
    if not files:
        raise CircuitError(f"this installation has no lessons: {source} is empty")
    kept = [file for file in files if (folder / file).exists() or (folder / file).is_symlink()]
    written = [file for file in files if file not in kept]
    try:
        for file in written:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            replace_file(folder / file, (source / file).read_bytes())
    except OSError as error:
        raise CircuitError(f"the lessons cannot be copied into {folder}: {error.strerror or error}") from error
    counts = Counter(file.parent.as_posix() for file in written)
    listed = [f"{count} in {name}/" if name != "." else f"{count} lessons and texts" for name, count in counts.items()]
    if written:
        print_text(f"Wrote {len(written)} files into {folder}: {', '.join(listed)}.")
    if kept:
        print_text(f"Kept {len(kept)} files that were there, such as {folder / kept[0]}.")
    print_text(f"Open them: circuit-explorer lab {quote_word(str(folder))}")
