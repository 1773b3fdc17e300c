"""Runs in a lean environment: calls every command and public entry, imports every module, and prints what failed.

The first argument is what to do, with commas: commands first, which are to import what they need themselves. The others
are the top-level packages that the environment lacks.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from types import MappingProxyType

import torch
from typer.testing import CliRunner

import explorer
import explorer_widgets
from explorer.app.cli import app
from explorer.errors import MissingPackageError

TABLE = "people.csv"
CHECKPOINT = "people.pt"

NEEDS_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gallery": (),
        "trace": ("blackboard", "--level", "kernels", "-o", "blackboard.trace.json.gz"),
        "validate": ("blackboard.trace.json.gz",),
        "show": ("blackboard", "--level", "tensor"),
        "rules": ("--level", "program"),
        "train": ("--data", TABLE, "--epochs", "1", "--out", CHECKPOINT),
        "evaluate": (CHECKPOINT,),
        "sample": (CHECKPOINT, "-n", "2"),
        "query": ("entropy", "blackboard"),
        "count": ("and.nnf",),
        "time": ("blackboard", "--seconds", "0.1", "--batch", "2", "--device", "cpu", "--level", "kernels"),
        "watch": ("linear.py:build", "--no-dashboard"),
        "html": ("blackboard", "-o", "page.html"),
        "svg": ("blackboard", "-o", "picture.svg"),
        "course": ("lessons",),
        "bench": ("compile", "--help"),
    }
)
"""Arguments of the commands that run without any extra, in an order in which one finds the files of another."""

NEEDS_EXTRA: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "explore": (),
        "serve": ("blackboard", "--no-show"),
        "lab": ("--no-show",),
        "svg": ("blackboard", "-o", "a.png"),
    }
)
"""Arguments of the commands that say what to install."""


def modules(missing: list[str]) -> dict[str, str]:
    """Return the modules that cannot be imported, and why.

    A package may need an extra: then its modules say how to install it. A module of another one may itself import a
    package that is missing, or its neighbours in the same folder do, which nothing outside imports before it is needed.
    """
    found: dict[str, str] = {}
    for package in (explorer, explorer_widgets):
        for module in walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda name: None):
            try:
                import_module(module.name)
            except MissingPackageError as error:
                _check_advice(module.name, str(error), found)
            except ModuleNotFoundError as error:
                path = getattr(module.module_finder, "path", "")
                by = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
                own = [file for file in by if file.suffix == ".py" and "importlib" not in file.parts]
                if error.name not in missing or own[-1].parent != Path(path):
                    found[module.name] = f"{error} ({own[-1]})"
    return found


def entries(_: list[str]) -> dict[str, str]:
    """Return the public names that fail, and why."""
    builder = explorer.CircuitBuilder()
    circuit = explorer.gallery.load_named("blackboard")
    trace = explorer.record(circuit)
    x = torch.zeros(2, len(circuit.scope), dtype=torch.long)
    calls: dict[str, Callable[[], object]] = {
        "Circuit": lambda: explorer.Circuit(circuit.graph),
        "CircuitBuilder": lambda: builder,
        "TorchCompiler": lambda: explorer.TorchCompiler().compile(circuit)(x).sum().backward(),
        "Trace": lambda: trace.save("blackboard.trace.json.gz") or explorer.Trace.load("blackboard.trace.json.gz"),
        "ask": lambda: explorer.ask(trace, "layers-left"),
        "fast": lambda: explorer.fast(trace.compiled)(x).sum().backward(),
        "gallery": explorer.gallery.names,
        "load": lambda: explorer.load("blackboard").sample(2),
        "record": lambda: explorer.record(circuit, level="kernels"),
        "rerun": lambda: explorer.rerun(trace),
        "show": lambda: explorer.show(trace),
        "watch": lambda: explorer.watch(torch.mm, torch.ones(2, 2), torch.ones(2, 2)),
        "watch_onnx": lambda: explorer.watch_onnx(b""),
        "watching": lambda: _enter(explorer.watching()),
    }
    found = {name: "not called by this test" for name in explorer.__all__ if name not in calls}
    exec("from explorer import *", {})
    for name in calls:
        try:
            calls[name]()
        except MissingPackageError as error:
            if name not in ("ask", "show", "watch_onnx"):
                found[name] = str(error)
            _check_advice(name, str(error), found)
        except Exception as error:  # noqa: BLE001 (the test prints it)
            found[name] = repr(error)
    return found


def _enter(context: AbstractContextManager[object]) -> None:
    with context:
        pass


def commands(_: list[str]) -> dict[str, str]:
    """Return the commands that end otherwise than by success, or by saying what to install; and what they printed."""
    Path(TABLE).write_text("a,b\n" + "".join(f"{i % 3},{i % 2}\n" for i in range(60)))
    Path("and.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nA 2 0 1\n")
    Path("linear.py").write_text("import torch\ndef build():\n    return torch.nn.Linear(2, 2), (torch.ones(1, 2),)\n")
    runner = CliRunner()
    names = {command.name for command in app.registered_commands}
    found = {str(name): "not called by this test" for name in names - {*NEEDS_NOTHING, *NEEDS_EXTRA}}
    needs_extra = dict(NEEDS_EXTRA)
    works = dict(NEEDS_NOTHING)
    if find_spec("benchmarks") is None:  # as in a wheel
        needs_extra["bench"] = works.pop("bench")
    for name, arguments in works.items():
        result = runner.invoke(app, [name, *arguments])
        if result.exit_code != 0:
            found[name] = f"{result.output}{result.exception!r}"
    for name, arguments in needs_extra.items():
        result = runner.invoke(app, [name, *arguments])
        if result.exit_code != 2:
            found[name] = f"{result.output}{result.exception!r}"
        _check_advice(name, result.stderr, found)
    return found


def _check_advice(name: str, message: str, found: dict[str, str]) -> None:
    if re.search(r"not installed.* run:? pip install ", message) is None:
        found[name] = message


if __name__ == "__main__":
    tasks = {"modules": modules, "entries": entries, "commands": commands}
    failures = {name: tasks[name](sys.argv[2:]) for name in sys.argv[1].split(",")}
    sys.stdout.write(f"\n{json.dumps(failures)}\n")
