"""Compiles a function of the user by XLA, in a process of its own that imports nothing of this package.

`python running.py FILE FUNCTION FOLDER` writes a dump, the log of the fusion pass and `told.json` into the folder.
"""

import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any


def run(file: Path, name: str, folder: Path) -> Mapping[str, str]:
    """Execute the file, and compile what its function returns; returns the version of jax, or an error."""
    sys.path.insert(0, str(file.parent))
    defined = run_path(str(file), run_name=f"user_file_{file.stem}")
    if not callable(defined.get(name)):
        known = ", ".join(key for key, value in defined.items() if callable(value)) or "(none)"
        return {"error": "UnknownNameError", "message": f"no function named {name!r}; known are: {known}"}
    made: Any = defined[name]()
    if not (isinstance(made, tuple) and len(made) == 2 and callable(made[0]) and isinstance(made[1], tuple)):
        wanted = "it must return a function of JAX and a tuple of its arguments, (f, (x, ...))"
        return {"error": "DataTypeError", "message": f"{wanted}; found {type(made).__name__}"}
    jax, function = import_module("jax"), made[0]
    lowered = getattr(function, "lower", jax.jit(function).lower)(*made[1])
    log, before = os.open(folder / "fusion.log", os.O_WRONLY | os.O_CREAT), os.dup(2)
    os.dup2(log, 2)  # XLA writes its log there
    try:
        lowered.compile(compiler_options={"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": ".*"})
    finally:
        os.dup2(before, 2)
    return {"version": str(jax.__version__)}


if __name__ == "__main__":
    told = run(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    Path(sys.argv[3], "told.json").write_text(json.dumps(told), encoding="utf-8")
