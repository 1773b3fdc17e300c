"""A reader of a recording or of a fast call passes through few files and functions, and a fast call imports little."""

import subprocess
import sys

import pytest

from tests.runtime.circuits import has_compiler

COUNT = """
import sys
from pathlib import Path
import explorer

HERE = str(Path(explorer.__file__).parent)
passed = set()

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(HERE):
        passed.add(frame.f_code)

def count(run, of):
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    print(len({of(code) for code in passed}))
"""

RECORDING = """
circuit = explorer.gallery.load_named("digits")
explorer.record(circuit)  # what is imported first
count(lambda: explorer.record(circuit), lambda code: code.co_filename)
"""

FAST_CALL = """
import torch
fast = explorer.TorchCompiler().compile(explorer.gallery.load_named("digits")).freeze().fast(backend="native")
x = torch.randint(17, (8, 64))
with torch.no_grad():
    fast(x)
    count(lambda: fast(x), lambda code: code)
"""

IMPORTED = """
import explorer.runtime
print(sum(name.partition(".")[0] == "explorer" for name in sys.modules))
"""


def counted(program: str) -> int:
    """Return the output of a program in a process of its own."""
    ran = subprocess.run([sys.executable, "-c", COUNT + program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.parametrize(
    ("program", "most"),
    [
        pytest.param(RECORDING, 40, id="files of a recording"),
        pytest.param(FAST_CALL, 30, id="functions of a fast call", marks=has_compiler),
        pytest.param(IMPORTED, 200, id="modules that runtime imports"),
    ],
)
def test_paths_through_the_program_are_short(program: str, most: int) -> None:
    assert most / 3 < counted(program) <= most
