"""Install the wheel in a folder that `scripts/fresh.sh` prepared, as a new user would, and use it.

First without extras: each command works, or says what to install. Then what it said is installed, in a second
environment, and the commands run that a new user meets first, in a working folder outside the checkout.
"""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from urllib.request import urlopen
from zipfile import ZipFile

CHECKOUT = Path(__file__).resolve().parents[1]
MAX_SECONDS = 1_200
ADDRESS = re.compile(r"http://[^\s)]+")
CONCURRENT = 3
"""How many checks run at once."""
LESSONS, CELLS = ("00_circuits_in_ten_minutes", "05_folding"), 4
"""The lessons that are begun, and how many code cells of each are run."""

USE = """
import torch
import explorer

circuit = explorer.record(explorer.gallery.load_named("digits")).compiled
fast = circuit.fast()
x = torch.randint(17, (8, 64))
with torch.no_grad():
    assert torch.allclose(fast(x), circuit(x))
optimizer = torch.optim.Adam(circuit.parameters(), lr=0.1)
before = -fast(x).mean()
before.backward()
optimizer.step()
assert -fast(x).mean() < before
assert explorer.gallery.load_trained("digits").leaf_names
trace = explorer.record(explorer.gallery.load_named("blackboard"))
assert "image/png" in explorer.show(trace)._repr_mimebundle_()[0]
explorer.ask(trace, "layers-left")
"""


class Environment:
    """A virtual environment whose programs run in a working folder, without settings of Python."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.bin = folder / "bin"
        self.work = work
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.env |= {
            "VIRTUAL_ENV": str(folder),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "BROWSER": "true",
        }

    def run(self, *command: str) -> str:
        """Run a program of the environment and return its output. Raises: SystemExit if it fails."""
        done = self._run(*command)
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def advice(self, *command: str) -> list[str]:
        """Return the arguments for pip in the message of a command that needs an extra."""
        done = self._run(*command)
        found = re.search(r"not installed; run: pip (install .+)", done.stdout)
        if done.returncode != 2 or found is None:
            raise SystemExit(f"{shlex.join(command)} did not say what to install:\n{done.stdout}")
        return shlex.split(found[1])

    def pip(self, *arguments: str) -> None:
        """Run pip."""
        self.run("python", "-m", "pip", "--disable-pip-version-check", *arguments, "--quiet")

    @contextmanager
    def serving(self, *command: str, terminal: bool = False) -> Iterator[str]:
        """Run a command, in a terminal or not, until it has printed an address that answers; stop it by Ctrl-C."""
        read, write = pty.openpty() if terminal else os.pipe()
        process = subprocess.Popen(
            [self.bin / command[0], *command[1:]],
            cwd=self.work,
            env=self.env,
            stdin=write if terminal else subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            start_new_session=True,
        )
        os.close(write)
        try:
            yield _address(process, read)
            process.send_signal(signal.SIGINT)
            if (code := process.wait(MAX_SECONDS)) not in (0, 130):
                raise SystemExit(f"{shlex.join(command)} ended with {code} after Ctrl-C")
        finally:
            process.kill()
            process.wait()
            os.close(read)

    def _run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=MAX_SECONDS,
        )


def main(folder: Path, wheel: Path) -> None:
    """Check a wheel with the environments `lean` and `full` of a folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs would inherit that it is ignored
    _check_files(ZipFile(wheel).namelist())
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        lean, full = Environment(folder / "lean", work), Environment(folder / "full", work)
        _step("The wheel without extras", lambda: lean.pip("install", str(wheel)))
        lean.pip("install", "--force-reinstall", "--no-deps", str(wheel))
        if not (folder / "ready").exists():
            _step("A second environment", lambda: _copy(folder / "lean", folder / "full"))
        with ThreadPoolExecutor(CONCURRENT) as pool:  # half of the time is spent waiting for disks and servers
            checks = [pool.submit(_step, "Each command works or says what to install", lambda: _check_lean(lean))]
            full.pip("install", "--force-reinstall", "--no-deps", str(wheel))
            for command in ("explore", "serve"):
                advice = lean.advice("circuit-explorer", command)
                _step(f"pip {shlex.join(advice)}", lambda advice=advice: full.pip(*advice))
            (folder / "ready").touch()
            full.run("circuit-explorer", "course", "notebooks")
            checks += [pool.submit(_step, what, check) for what, check in _checks_of(full).items()]
            for one in checks:
                one.result()


def _check_files(names: list[str]) -> None:
    """Check that the wheel has the marker of typed packages, and no pictures, which only texts show."""
    pictures = [name for name in names if name.endswith((".png", ".gif"))]
    if pictures or "explorer/py.typed" not in names:
        raise SystemExit(
            f"the wheel must have explorer/py.typed and no pictures; it has {', '.join(pictures or names)}"
        )


def _check_lean(lean: Environment) -> None:
    program = lean.work / "lean_program.py"
    shutil.copyfile(CHECKOUT / "tests" / "lean_program.py", program)
    printed = lean.run("python", str(program), "commands")
    failures: dict[str, dict[str, str]] = json.loads(printed.splitlines()[-1])
    lines = [f"{name}: {why}" for failed in failures.values() for name, why in failed.items()]
    if lines:
        raise SystemExit("\n".join(lines))


def _checks_of(full: Environment) -> dict[str, Callable[[], object]]:
    """Return what a new user does first, by its name; the longest first."""
    name = "circuit-explorer"
    return {
        **{f"The first cells of lesson {lesson}": partial(_begin_lesson, full, lesson) for lesson in LESSONS},
        "explore in a terminal": partial(_open, full, name, "explore", "--epochs", "1", terminal=True),
        "serve": partial(_open, full, name, "serve", "--no-show", "--port", str(_free_port())),
        "fast(), training, show and ask": partial(full.run, "python", "-c", USE),
        "time": partial(full.run, name, "time", "blackboard", "--device", "cpu", "--batch", "8", "--seconds", "0.2"),
        "html": partial(full.run, name, "html", "digits", "-o", "digits.html"),
        "--version": partial(_check_version, full),
    }


def _check_version(full: Environment) -> None:
    ways = ("circuit-explorer", "--version"), ("python", "-m", "explorer", "--version")
    one, other = (full.run(*way) for way in ways)
    if one != other or not one.startswith("circuit-explorer "):
        raise SystemExit(f"two ways to ask for the version answer {one!r} and {other!r}")


def _open(full: Environment, *command: str, terminal: bool = False) -> None:
    """Open the page that a command prints, and a link to a step of a circuit, whose session is in the page."""
    with full.serving(*command, terminal=terminal) as address:
        for link, expected in (
            (address, "Circuit Explorer"),
            (f"{address.partition('?')[0]}?circuit=hmm&step=2", "docs_json"),
        ):
            with urlopen(link, timeout=MAX_SECONDS) as page:
                text = page.read().decode()
            if expected not in text:
                raise SystemExit(f"{link} does not answer with a page of the dashboard:\n{text[:2000]}")


def _begin_lesson(full: Environment, lesson: str) -> None:
    """Run the first code cells of a lesson in its kernel."""
    file = full.work / "notebooks" / f"{lesson}.ipynb"
    notebook = json.loads(file.read_text(encoding="utf-8"))
    code = [number for number, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"]
    notebook["cells"] = notebook["cells"][: code[CELLS - 1] + 1]
    file.write_text(json.dumps(notebook), encoding="utf-8")
    full.run("jupyter", "execute", "--kernel_name=python3", str(file))


def _address(process: "subprocess.Popen[bytes]", output: int) -> str:
    """Return the address that a process prints, once it accepts connections. Raises: SystemExit if it ends before."""
    printed, give_up = "", monotonic() + MAX_SECONDS
    while (found := ADDRESS.search(printed)) is None:
        try:
            part = os.read(output, 1 << 16)
        except OSError:  # the terminal is closed
            part = b""
        if not part:
            raise SystemExit(f"the process ended without an address:\n{printed}")
        printed += part.decode(errors="replace")
    port = int(re.sub(r"^http://[^:/]+:(\d+).*", r"\1", found[0]))
    while process.poll() is None and monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return found[0]
        sleep(0.1)
    raise SystemExit(f"{found[0]} does not answer:\n{printed}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _copy(lean: Path, full: Path) -> None:
    """Create a second environment with the packages of the first, by links to the same files."""
    shutil.rmtree(full, ignore_errors=True)
    venv.EnvBuilder(symlinks=True).create(full)
    source, target = (sysconfig.get_path("purelib", "venv", {"base": str(one)}) for one in (lean, full))
    shutil.copytree(source, target, copy_function=os.link, dirs_exist_ok=True)


def _step(what: str, run: Callable[[], object]) -> None:
    start = monotonic()
    run()
    sys.stdout.write(f"{what}: {monotonic() - start:.1f} s\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
